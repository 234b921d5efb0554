"""Explainers made of explainers.

    Minimised(base=CLEAR())                        what the base returns, made minimal
    BestOf(base=RSGGCE(), k=3)                     three candidates of the base, made minimal; the smallest is returned
    FirstOf(first=TaughtRSGGCE(), second=OBS())    the second is asked about graphs for which the first found nothing

They are fitted, saved and loaded as one explainer. Questions of all their parts add up and share the budget of a
result. Whatever they return was shown to the oracle and keeps the constraints, whether or not a part knows of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import MISSING, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from rsgg.constraints import Constraint, Feasible
from rsgg.counterfactual import Candidate, candidates_of
from rsgg.edits import Codes, applied, codes_between, origins, pairs_between
from rsgg.errors import DataError, UsageError
from rsgg.explainer import Capabilities, Explainer
from rsgg.graph import Graph, GraphBatch
from rsgg.hyperparameters import Limits, as_json, hyper, saved_values
from rsgg.minimise import minimise, minimise_edits
from rsgg.oracles.counting import CountingOracle
from rsgg.seeds import numpy_rng

UNCHECKED = "the oracle budget was used up before the result could be checked"


def _part_advice(part: Any) -> str:
    """What to give instead of something that is no explainer."""
    if isinstance(part, Explainer):
        return ""
    example = f"{part.__name__}()" if isinstance(part, type) and issubclass(part, Explainer) else "RSGGCE()"
    return f"give an explainer, not a class or anything else, as in base={example}"


def part_field(default_factory: Callable[[], Explainer] | None = None, doc: str = "") -> Any:
    """Declare an explainer that another one is made of, with a default for subclasses that have one."""
    about = {"symbol": "part", "doc": doc, "limits": Limits(check=_part_advice)}
    # None is no explainer: an explainer made without a part says so in a sentence.
    return (
        field(default=None, metadata=about)
        if default_factory is None
        else field(default_factory=default_factory, metadata=about)
    )


@dataclass(kw_only=True)
class Composed(Explainer):
    """What explainers around others share: fields declared by `part_field` are fitted, saved and loaded with it."""

    def parts(self) -> dict[str, Explainer]:
        """The explainers inside, by field."""
        return {name: getattr(self, name) for name in self._part_names()}

    @classmethod
    def _part_names(cls) -> list[str]:
        return [f.name for f in fields(cls) if f.metadata.get("symbol") == "part"]

    @property
    def encoding(self) -> str | None:  # type: ignore[override]
        return next((part.encoding for part in self.parts().values() if part.encoding), None)

    @property
    def fitted_(self) -> bool:  # type: ignore[override]
        return all(part.fitted_ or not part.capabilities.learns for part in self.parts().values())

    @property
    def fitted_on_(self) -> tuple[int, int] | None:  # type: ignore[override]
        return next((part.fitted_on_ for part in self.parts().values() if part.fitted_on_), None)

    def _mark_fitted(self, on: tuple[int, int] | None = None) -> None:
        for part in self.parts().values():
            part._mark_fitted(on if part.capabilities.learns else None)

    def _needs_relaxation(self) -> bool:
        return any(part._needs_relaxation() for part in self.parts().values())

    def _needs_embeddings(self) -> bool:
        return any(part._needs_embeddings() for part in self.parts().values())

    def _needs_every_class(self) -> bool:
        return any(part.capabilities.learns and part._needs_every_class() for part in self.parts().values())

    def all_constraints(self) -> tuple[Constraint, ...]:
        own = self.constraints
        return own + tuple(one for part in self.parts().values() for one in part.all_constraints() if one not in own)

    def check_values(self) -> None:
        super().check_values()
        for part in self.parts().values():
            part.check_values()

    def _fit(self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, seed: int) -> None:
        for part in self.parts().values():
            part._fit(graphs, classes, oracle, seed)

    # -- hyper-parameters and learned state: the parts', and its own ------------------------------------

    def hyperparameters(self) -> dict[str, Any]:
        values = {name: value for name, value in super().hyperparameters().items() if name not in self._part_names()}
        for field_, part in self.parts().items():
            name = type(part).__name__
            prefix = name if len(self.parts()) == 1 else field_
            values |= {field_: name} | {f"{prefix}.{key}": value for key, value in part.hyperparameters().items()}
        return values

    @classmethod
    def tiny(cls) -> Self:
        parts: dict[str, Any] = {name: cls._default_part(name).tiny() for name in cls._part_names()}
        return cls(**parts)

    @classmethod
    def _default_part(cls, name: str) -> type[Explainer]:
        """The class of a part, for subclasses that have one by default."""
        make = next(f for f in fields(cls) if f.name == name).default_factory
        if make is MISSING:
            raise UsageError(f"{cls.__name__} has no {name} of its own; give it one: {cls.__name__}({name}=...).")
        return type(make())

    def _archive(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        own = {name: value for name, value in super().hyperparameters().items() if name not in self._part_names()}
        header: dict[str, Any] = {"explainer": type(self).__name__, "hyperparameters": as_json(own), "parts": {}}
        arrays: dict[str, np.ndarray] = {}
        for name, part in self.parts().items():
            header["parts"][name], learned = part._archive()
            arrays |= {f"{name}/{key}": array for key, array in learned.items()}
        return header, arrays

    @classmethod
    def _from_archive(
        cls, header: dict[str, Any], arrays: dict[str, np.ndarray], objects: dict[str, Any], path: str | Path
    ) -> Self:
        """The explainer that `_archive` described; the classes of its parts have to be imported.

        A file of a single explainer is read as the part of one that has a single part. Of `objects`, those that are no
        fields of this class are for its parts.
        """
        names = cls._part_names()
        parts: dict[str, Any] = {}
        if "parts" not in header and len(names) == 1:
            kind = _known(header, path)
            if issubclass(kind, Composed):  # which has parts: without them the same header would be read for ever
                raise DataError(f"{path} holds a {kind.__name__} without its parts; fit and save it again.")
            parts[names[0]] = kind._from_archive(header, arrays, objects, path)
            return cls(**parts)
        if header.get("explainer") != cls.__name__ or set(header.get("parts", ())) != set(names):
            raise UsageError(
                f"{path} holds a fitted {header.get('explainer')}, not a {cls.__name__}; load it with that class."
            )
        own = {name: value for name, value in objects.items() if name in {f.name for f in fields(cls)}}
        rest = {name: value for name, value in objects.items() if name not in own}
        for name in names:
            of_part = {key.removeprefix(f"{name}/"): a for key, a in arrays.items() if key.startswith(f"{name}/")}
            kind = _known(header["parts"][name], path)
            wanted = rest if len(names) == 1 else {n: v for n, v in rest.items() if n in {f.name for f in fields(kind)}}
            parts[name] = kind._from_archive(header["parts"][name], of_part, wanted, path)
        return cls(**{**saved_values(cls, header, own, path), **own, **parts})


def _known(header: Any, path: str | Path) -> type[Explainer]:
    """The class that this header of a saved explainer names."""
    if not isinstance(header, dict) or "explainer" not in header:
        raise DataError(f"{path} does not hold a saved explainer; give a file that save wrote.")
    for known in _subclasses(Explainer):  # type: ignore[type-abstract]
        if known.__name__ == header["explainer"]:
            return known
    raise UsageError(f"{path} holds a fitted {header['explainer']}, which is not known here; import its class first.")


def _subclasses(parent: type[Explainer]) -> Iterator[type[Explainer]]:
    for child in parent.__subclasses__():
        yield child
        yield from _subclasses(child)


# -- Minimal, best, first ------------------------------------------------------------------------------------------


@dataclass(kw_only=True)
class Minimised(Composed):
    """Any explainer, its results made minimal: the "+ min" row of a method.

    A failure stays a failure. Calls of the base and of the minimiser add up. The base is asked with the same seed as
    on its own, so the two rows can be compared instance by instance. What a base returns without having asked the
    oracle is asked about first, and is a failure if it does not change the class: all results are valid. From what a
    base returns without knowing of the constraints, edits that break them are left out before it is asked about. Edits
    of nodes, where the base makes some, are left out like those of pairs.
    """

    base: Explainer = part_field(doc="the method whose results are made minimal")

    @property
    def capabilities(self) -> Capabilities:  # type: ignore[override]  # the base's, so not the class's
        return replace(
            self.base.capabilities, deterministic=False, may_return_invalid=False, asymmetric=False, constraints=True
        )

    def _explain(
        self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, k: int, seed: int
    ) -> list[Candidate]:
        candidates = _valid(self.base, graphs, classes, oracle, k, seed)
        owner, offered = _simple_graphs(candidates, graphs, k)
        with_nodes, edits = _node_edits(candidates, graphs, k)
        if len(owner):
            instance = owner // k
            minimal = minimise(graphs.select(instance), classes[instance], offered, oracle, owner, seed, k=k)
            for i, adjacency in zip(owner.tolist(), minimal, strict=True):
                candidates[i] = Candidate(adjacency)
        if len(with_nodes):
            instance = with_nodes // k
            smaller = minimise_edits(graphs.select(instance), classes[instance], edits, oracle, with_nodes, seed, k=k)
            for i, one in zip(with_nodes.tolist(), candidates_of(graphs, instance.tolist(), smaller), strict=True):
                candidates[i] = one
        return candidates


@dataclass(kw_only=True)
class BestOf(Minimised):
    """The smallest of `k` candidates of the base, each made minimal. They share the budget of a result equally."""

    base: Explainer = part_field(doc="the method whose candidates are compared")
    k: int = hyper(3, "k", at_least=1, doc="candidates of the base for each result")

    def _explain(
        self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, k: int, seed: int
    ) -> list[Candidate]:
        owners = torch.arange(len(graphs) * k).repeat_interleave(self.k)
        with oracle.on_behalf_of(owners.tolist()):
            candidates = super()._explain(graphs, classes, oracle, k * self.k, seed)
        of_owner = (candidates[i : i + self.k] for i in range(0, len(candidates), self.k))
        return [min(several, key=lambda one: _size(one, graphs[owner // k])) for owner, several in enumerate(of_owner)]


def _size(candidate: Candidate, original: Graph) -> float:
    """What its edits cost, infinite for a failure."""
    if (made := candidate.edited) is not None:
        pairs = pairs_between(original, made.graph, made.node_edits)
        return float(len(pairs) + sum(one.cost for one in made.node_edits))
    if candidate.adjacency is None:
        return float("inf")
    n = original.n_nodes
    return float((candidate.adjacency[:n, :n].cpu().numpy() != original.adjacency).sum()) / 2


@dataclass(kw_only=True)
class FirstOf(Composed):
    """What `first` finds; where its (first) candidate for a graph is a failure, what `second` finds with the rest of
    the budget.
    """

    first: Explainer = part_field(doc="the method that is asked first")
    second: Explainer = part_field(doc="the method that is asked where the first found nothing")

    @property
    def capabilities(self) -> Capabilities:  # type: ignore[override]  # those of both
        a, b = self.first.capabilities, self.second.capabilities
        return Capabilities(
            adds=a.adds or b.adds,
            removes=a.removes or b.removes,
            learns=a.learns or b.learns,
            generative=a.generative or b.generative,
            needs_relaxation=a.needs_relaxation or b.needs_relaxation,
            needs_embeddings=a.needs_embeddings or b.needs_embeddings,
            permutation_invariant=a.permutation_invariant and b.permutation_invariant,
            deterministic=a.deterministic and b.deterministic,
            reads_labels=(a.learns or b.learns) and all(one.reads_labels for one in (a, b) if one.learns),
            targets=a.targets and b.targets,
            constraints=True,
        )

    def check_values(self) -> None:
        super().check_values()
        read = {part.encoding for part in self.parts().values() if part.encoding}
        if len(read) > 1:
            raise UsageError(f"FirstOf cannot join methods that read different node encodings ({', '.join(read)}).")

    def _explain(
        self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, k: int, seed: int
    ) -> list[Candidate]:
        candidates = _valid(self.first, graphs, classes, oracle, k, seed)
        failed = [i for i in range(len(graphs)) if not candidates[i * k].offered]
        if failed:
            owners, rows = [i * k + j for i in failed for j in range(k)], torch.tensor(failed)
            with oracle.on_behalf_of(owners):
                others = _valid(self.second, graphs.select(rows), classes[rows], oracle, k, seed, rows)
            for owner, other in zip(owners, others, strict=True):
                if other.offered or not candidates[owner].offered:
                    candidates[owner] = other
        return candidates


# -- Candidates that count -----------------------------------------------------------------------------------------


def _valid(
    part: Explainer, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, k: int, seed: int,
    rows: Tensor | None = None,
) -> list[Candidate]:  # fmt: skip
    """What a part explains, as graphs that the oracle was shown and that keep the constraints, or failures.

    A part that returns what it has not asked about, or that knows no constraints, is checked: its results are mended
    and asked about, one call each. `rows` are the positions of the graphs in the batch that is explained.
    """
    feasible = oracle.feasible
    if feasible is None or part.capabilities.constraints:
        candidates = list(part._explain(graphs, classes, oracle, k, seed))
        feasible = None
    else:
        with oracle.without_constraints():
            candidates = list(part._explain(graphs, classes, oracle, k, seed))
    trusted = not part.capabilities.may_return_invalid and feasible is None
    untrusted = [Candidate(None)] * len(candidates)
    for i, candidate in enumerate(candidates):
        if not candidate.offered or (trusted and (candidate.adjacency is None or _is_simple(candidate.adjacency))):
            continue
        if oracle.exhausted(i):
            candidates[i] = Candidate(None, UNCHECKED)
        else:
            untrusted[i] = candidate
    _check_node_edits(candidates, untrusted, graphs, classes, oracle, k, feasible, rows)
    owner, offered = _simple_graphs(untrusted, graphs, k)
    for row, i in enumerate(owner.tolist()):
        if feasible is not None:
            place = i // k if rows is None else int(rows[i // k])
            offered[row] = _mended(feasible, offered[row], place, (seed, "mended", graphs.names[i // k], i % k))
            broken = feasible.broken(offered[row], place)
            same = torch.equal(offered[row], graphs.adjacency[i // k])
            if broken or same:
                why = f"breaks {broken}" if broken else "has no edit that the constraints allow"
                candidates[i] = Candidate(None, f"what the method returned {why}")
                continue
        candidates[i] = Candidate(offered[row])
    asked = torch.tensor([candidates[i].adjacency is not None for i in owner.tolist()], dtype=torch.bool)
    if asked.any():
        owner, offered = owner[asked], offered[asked]
        answers = oracle.predict(graphs.candidates(offered, owner // k), owner)
        for i in owner[answers == classes[owner // k]].tolist():
            candidates[i] = Candidate(None, "what the method returned does not change the class")
    return candidates


def _check_node_edits(
    candidates: list[Candidate], untrusted: list[Candidate], graphs: GraphBatch, classes: Tensor,
    oracle: CountingOracle, k: int, feasible: Feasible | None, rows: Tensor | None,
) -> None:  # fmt: skip
    """Of untrusted candidates with edits of nodes, turn those into failures that break a rule or change no class."""
    left = list(untrusted)
    for i, candidate in enumerate(untrusted):
        if (made := candidate.edited) is not None and feasible is not None:
            place = i // k if rows is None else int(rows[i // k])
            origin = origins(made.node_edits, int(graphs.sizes[i // k]))
            if broken := feasible.broken_by(made.graph, origin, place):
                candidates[i] = left[i] = Candidate(None, f"what the method returned breaks {broken}")
    owner, edits = _node_edits(left, graphs, k)
    if len(owner):
        answers = oracle.predict(applied(graphs, owner // k, edits), owner)
        for i in owner[answers == classes[owner // k]].tolist():
            candidates[i] = Candidate(None, "what the method returned does not change the class")


def _node_edits(candidates: list[Candidate], graphs: GraphBatch, k: int) -> tuple[Tensor, list[Codes]]:
    """The owners that have a graph with edits of nodes, int64 [R], and all edits of each of these graphs."""
    found = [(i, one.edited) for i, one in enumerate(candidates) if one.edited is not None]
    edits = [codes_between(graphs[i // k], made.graph, made.node_edits, graphs.n_nodes) for i, made in found]
    return torch.tensor([i for i, _ in found], dtype=torch.long), edits


def _mended(feasible: Feasible, adjacency: Tensor, instance: int, names: tuple[object, ...]) -> Tensor:
    """The graph without edits that break a constraint; the others are tried in random order."""
    if not feasible.broken(adjacency, instance):
        return adjacency
    return feasible.mended(adjacency, instance, lambda edits: numpy_rng(*names).permutation(edits))


def _is_simple(adjacency: Tensor) -> bool:
    return not bool((adjacency > 1).any()) and not bool(adjacency.diagonal().any())


def _simple_graphs(candidates: list[Candidate], graphs: GraphBatch, k: int) -> tuple[Tensor, Tensor]:
    """The owners that have a graph, int64 [R], and these graphs without self loops and multiplicities, [R, N, N].

    Of a matrix that is not symmetric the upper triangle counts, as in `Counterfactual.edits`.
    """
    found = [(i, c.adjacency) for i, c in enumerate(candidates) if c.adjacency is not None]
    simple = torch.zeros(len(found), *graphs.adjacency.shape[1:], dtype=torch.uint8)
    for row, (i, adjacency) in enumerate(found):
        n = int(graphs.sizes[i // k])
        upper = (adjacency[:n, :n] > 0).to(torch.uint8).triu(1)
        simple[row, :n, :n] = upper + upper.T
    return torch.tensor([i for i, _ in found], dtype=torch.long), simple
