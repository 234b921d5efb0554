"""MEG on molecules as a row of the tables: its RDKit actions, with the graph that the oracle knows.

`rsgg.baselines.molecules` explains SMILES; tables explain graphs. So a graph is looked up as its molecule
(`KnownMolecules`, by name), the molecule is played with, every molecule that is reached is shown to the oracle as a
graph (`rsgg.molecule_edits`), and the best one that changes the class is said as edits of the input.

    MoleculeMEG(molecules=KnownMolecules(smiles, elements)).explain(graphs, oracle)

An episode has one step, as in the original; atoms that may be added are of the elements of the molecule. The original
plays 5000 episodes, here there are 200: a molecule has some hundred actions. Probabilities are those of the oracle, one
call for each molecule, the input included; an oracle that has none says 0 and 1. Of a salt one part is edited.

Deviations are those of `rsgg.baselines.molecules`. End states that edits of the graph cannot say, or that differ in
bonds' orders only, which the graph does not have, are no answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import torch
from torch import Tensor

from rsgg.baselines.known_molecules import Instance, MoleculeExplainer
from rsgg.baselines.meg import Judgement, Played, Recipe, q_learning
from rsgg.baselines.molecules import Molecule, MoleculeEnvironment, canonical
from rsgg.counterfactual import BUDGET_USED_UP, Candidate
from rsgg.data.molecules import load_rdkit
from rsgg.errors import GraphError
from rsgg.explainer import Capabilities
from rsgg.graph import Graph, GraphBatch
from rsgg.hyperparameters import Choice, hyper
from rsgg.molecule_edits import MoleculeGraph, as_edits, questions
from rsgg.oracles.counting import CountingOracle


@dataclass(kw_only=True)
class MoleculeMEG(MoleculeExplainer):
    """Q-learning over valid molecules, for graphs whose molecules are known; see the top of the file."""

    episodes: int = hyper(200, "episodes", space=Choice((100, 200, 400, 800)), paper=5000, at_least=1)
    decay: float = hyper(0.985, "ε decay", at_least=0, at_most=1, doc="by which exploration shrinks per episode")
    horizon: int = hyper(1, "T", space=Choice((1, 2)), paper=1, at_least=1, doc="steps of an episode at most")
    batch: int = hyper(8, "batch size", paper=1, at_least=1, doc="transitions per gradient step")
    interval: int = hyper(2, "update interval", paper=1, at_least=1, doc="steps of play per gradient step")
    replay: int = hyper(10_000, "replay", paper=10_000, at_least=1)
    lr: float = hyper(1e-4, "lr", paper=1e-4, above=0)
    discount: float = hyper(0.95, "γ", paper=0.95, at_least=0, at_most=1)
    polyak: float = hyper(0.995, "polyak", paper=0.995, at_least=0, at_most=1)
    keep: int = hyper(10, "counterfactuals", paper=10, at_least=1, doc="end states that are kept")

    capabilities: ClassVar[Capabilities] = Capabilities(adds=True, removes=True, permutation_invariant=False)

    @classmethod
    def tiny(cls) -> Self:
        return cls(episodes=20, decay=0.9)

    def _of_molecule(self, instance: Instance, oracle: CountingOracle, k: int, seed: int) -> list[Candidate]:
        graph, owner = instance.graph, instance.owner
        try:
            start = canonical(instance.smiles)
            elements = tuple(sorted(set(Molecule.from_smiles(start).elements)))
        except GraphError as error:
            return [Candidate(None, str(error).rstrip("."))] * k
        asked = _Asked(instance.like, oracle, owner, instance.columns)
        if not set(elements) <= set(asked.columns):
            return [Candidate(None, "the molecule has an element that the graphs do not have")] * k
        environment = MoleculeEnvironment(start, asked, elements)
        environment.class_ = instance.class_

        def judged(state: str) -> Judgement | None:
            new = state not in environment.probabilities
            return None if new and oracle.exhausted(owner) else environment.judge(state)

        def judge(states: list[tuple[int, str]]) -> list[Judgement | None]:
            return [judged(state) for _, state in states]

        (played,) = q_learning([environment], judge, self._recipe(), [(seed, "meg molecules", graph.name)])
        return self._candidates_of(graph, played, asked, k)

    def _candidates_of(self, graph: Graph, played: Played[str], asked: _Asked, k: int) -> list[Candidate]:
        """The end states that change the class and can be said as edits, best first; where they are too few, why."""
        ends = [end.state for end in played.best if end.judgement.valid]
        said = [as_edits(graph, asked.graphs[state]) for state in ends]
        found = [Candidate(None, edited=one) for one in said if one is not None]
        reason = f"{len(ends)} of the {self.keep} best molecules of {self.episodes} episodes change the class"
        if len(found) < len(ends):
            reason += f", {len(ends) - len(found)} of them cannot be said as edits"
        return (found + [Candidate(None, BUDGET_USED_UP if played.out_of_budget else reason)] * k)[:k]

    def _recipe(self) -> Recipe:
        return Recipe(**{name: getattr(self, name) for name in Recipe.__dataclass_fields__})


@dataclass(eq=False)
class _Asked:
    """The oracle on graphs as one on SMILES; a question is charged to `owner`. `graphs` are those it was shown."""

    like: GraphBatch
    oracle: CountingOracle
    owner: int
    columns: dict[str, int]

    def __post_init__(self) -> None:
        self.graphs: dict[str, MoleculeGraph] = {}
        self.relaxed = not self.oracle.why_not_differentiable()

    @torch.no_grad()
    def __call__(self, smiles: Sequence[str]) -> Tensor:
        """Class probabilities [molecules, classes]."""
        chem, _ = load_rdkit()
        for one in smiles:
            made = MoleculeGraph.of(chem.MolFromSmiles(one), one, self.columns)
            assert made is not None, "elements are those of the input"
            self.graphs[one] = made
        shown = questions([self.graphs[one] for one in smiles], self.like)
        owner = torch.full((len(smiles),), self.owner)
        if self.relaxed:
            return self.oracle.probabilities(shown, owner)
        return torch.nn.functional.one_hot(self.oracle.predict(shown, owner), self.oracle.n_classes).float()
