"""Oracles that write, guess, change their mind or compute NaN, and graphs that a method refuses: reasons, no claims."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import networkx as nx
import pytest
import torch
from torch import Tensor, nn

from rsgg.baselines import controls, search
from rsgg.baselines.cf2 import CF2
from rsgg.baselines.clear import CLEAR
from rsgg.baselines.gcountergan import GCounteRGAN
from rsgg.baselines.released.cf2 import ReleasedCF2
from rsgg.baselines.released.clear import ReleasedCLEAR
from rsgg.baselines.released.gcountergan import ReleasedGCounteRGAN
from rsgg.compose import Minimised
from rsgg.contract.explainer import training_graphs
from rsgg.edges import EdgeBatch
from rsgg.errors import FitError, GraphError, OracleError
from rsgg.explainer import Explainer
from rsgg.graph import GraphBatch
from rsgg.oracles import CountingOracle, Oracle, PyGOracle, TrainedGNN, TreeCyclesOracle, WrappedOracle
from rsgg.oracles.networks import GraphClassifier
from rsgg.oracles.oracle import Embeddings
from rsgg.rsgg_ce import RSGGCE, LiteralRSGGCE, ReleasedRSGGCE, TaughtRSGGCE
from tests.graphs import tree, unicyclic
from tests.rsgg.test_contract import OF_RULES

GRAPHS = GraphBatch.of([tree(8, seed) if seed % 2 else unicyclic(8, 3, seed) for seed in range(12)])

# -- oracles that write ----------------------------------------------------------------------------------

WAYS_TO_WRITE: dict[str, Callable[[Tensor], object]] = {
    "in place": lambda adjacency: adjacency.zero_(),
    "through NumPy": lambda adjacency: adjacency.numpy().fill(0),  # torch does not notice
    "past autograd": lambda adjacency: adjacency.data.fill_(0),
}


class Writes(TreeCyclesOracle):
    """The rule of Tree-Cycles, which then wipes out what it was shown; its parent says that it only reads."""

    def __init__(self, write: Callable[[Tensor], object]) -> None:
        self.write = write

    def predict(self, graphs: GraphBatch) -> Tensor:
        answers = super().predict(graphs)
        self.write(graphs.adjacency)
        return answers

    def predict_edges(self, graphs: EdgeBatch) -> Tensor:
        answers = super().predict_edges(graphs)
        self.write(graphs.u)
        return answers


@pytest.mark.parametrize("way", WAYS_TO_WRITE)
@pytest.mark.parametrize("explainer", [TaughtRSGGCE.tiny(), ReleasedRSGGCE.tiny(), search.OBS(), controls.Empty()])
def test_what_an_oracle_writes_reaches_neither_data_nor_results(way: str, explainer: Explainer) -> None:
    oracle, before = Writes(WAYS_TO_WRITE[way]), GRAPHS.adjacency.clone()
    results = explainer.fit(GRAPHS, oracle).explain(GRAPHS, oracle, k=2)
    assert torch.equal(GRAPHS.adjacency, before)
    expected = explainer.fit(GRAPHS, TreeCyclesOracle()).explain(GRAPHS, TreeCyclesOracle(), k=2)
    for one, other in zip(results, expected, strict=True):
        assert (one.input.adjacency == before[one.instance].numpy()).all()
        assert (one.found, one.edits, one.calls) == (other.found, other.edits, other.calls)


SOFT_QUESTIONS = ("relaxed", "relaxed_graphs", "relaxed_edges", "relaxed_messages")


def asked_softly(question: str, oracle: Oracle, graphs: GraphBatch, soft: Tensor, weight: Tensor) -> tuple[Any, ...]:
    """Ask one of the soft questions; returns what the oracle was asked about."""
    edges = EdgeBatch.of(graphs)
    about = {"relaxed": (soft, None), "relaxed_graphs": (graphs, soft)}.get(question, (edges, weight))
    getattr(CountingOracle(oracle), question)(*about)
    return about


@pytest.mark.parametrize("question", SOFT_QUESTIONS)
def test_a_relaxation_that_writes_is_shown_copies(question: str) -> None:
    class Soft(TreeCyclesOracle):
        pass

    def wiped(self: Oracle, *about: Any) -> Tensor:
        for part in about:
            if isinstance(part, Tensor):
                part.data.fill_(7)
        return torch.full((len(about[0]) if question == "relaxed" else len(GRAPHS), 2), 0.5)

    setattr(Soft, question, wiped)
    soft, weight = GRAPHS.adjacency.float(), torch.ones(int(GRAPHS.n_edges.sum()))
    asked_softly(question, Soft(), GRAPHS, soft, weight)
    assert torch.equal(soft, GRAPHS.adjacency.float()) and (weight == 1).all()


@pytest.mark.parametrize("question", SOFT_QUESTIONS)
def test_a_relaxation_that_only_reads_is_shown_the_values_themselves(question: str) -> None:
    class Soft(TreeCyclesOracle):
        reads_only = True

    seen: list[Any] = []

    def looked(self: Oracle, *about: Any) -> Tensor:
        seen.extend(about)
        return torch.full((len(GRAPHS), 2), 0.5)

    setattr(Soft, question, looked)
    soft, weight = GRAPHS.adjacency.float(), torch.ones(int(GRAPHS.n_edges.sum()))
    about = asked_softly(question, Soft(), GRAPHS, soft, weight)
    assert len(seen) == len(about) and all(one is other for one, other in zip(seen, about, strict=True))


def test_oracles_that_only_read_are_shown_the_graphs_themselves() -> None:
    """Copies cost time: the project's own oracles do without, also behind a wrapper that passes questions on."""

    class Shown(TreeCyclesOracle):
        reads_only = True

        def predict(self, graphs: GraphBatch) -> Tensor:
            assert graphs is GRAPHS
            return super().predict(graphs)

    CountingOracle(Shown()).predict(GRAPHS)
    CountingOracle(WrappedOracle(Shown())).predict(GRAPHS)


# -- oracles that compute NaN ----------------------------------------------------------------------------


class SometimesNaN(nn.Module):
    """Logits by the number of edges; NaN for graphs with an odd number of them."""

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        edges = torch.bincount(batch[edge_index[0]], minlength=int(batch.max()) + 1) / 2
        logit = torch.where(edges % 2 == 1, torch.nan, edges - 7.0)
        return torch.stack((-logit, logit), 1)


@pytest.mark.parametrize("explainer", [controls.TwoSided(), search.OBS(), RSGGCE(epochs=1, generator="uniform")])
def test_a_graph_of_which_the_model_computes_nan_is_neither_input_nor_result(explainer: Explainer) -> None:
    graphs = [nx.gnm_random_graph(8, m, seed=m) for m in (4, 6, 8, 10, 5)]
    oracle = PyGOracle(SometimesNaN(), n_classes=2)
    with pytest.warns(UserWarning, match="could not read 1 of 5") if explainer.capabilities.learns else nullcontext():
        explainer.fit(graphs, oracle)
    results = explainer.explain(graphs, oracle)
    assert "NaN" in results[-1].reason and not results[-1].found
    for result in results:
        assert result.found or result.reason
        assert not result.found or result.returned.n_edges % 2 == 0


def test_networks_of_the_project_that_compute_nan_do_not_answer() -> None:
    oracle = TrainedGNN("gcn")
    oracle.network = GraphClassifier("gcn", 1, 2, width=4, pooling="mean").eval()
    assert len(oracle.predict(GRAPHS)) == len(GRAPHS)
    with torch.no_grad():
        next(oracle.network.parameters()).fill_(torch.nan)
    with pytest.raises(OracleError, match="NaN or infinity for graph 0"):
        oracle.predict(GRAPHS)


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        (lambda p: p * torch.nan, "NaN or infinity"),
        (lambda p: p[:, :1], r"shape \(\d+, 1\)"),
        (lambda p: p.tolist(), "a list"),
    ],
)
def test_a_relaxation_that_is_none_is_a_sentence(returned: Callable[[Tensor], object], said: str) -> None:
    class Odd(TreeCyclesOracle):
        def relaxed(self, adjacency: Tensor, features: Tensor | None = None) -> Tensor:
            return returned(super().relaxed(adjacency, features))  # type: ignore[return-value]

        def relaxed_edges(self, graphs: EdgeBatch, weight: Tensor) -> Tensor:
            return returned(super().relaxed_edges(graphs, weight))  # type: ignore[return-value]

    with pytest.raises(OracleError, match=f"must return the probability of each class.*{said}"):
        CountingOracle(Odd()).relaxed(GRAPHS.adjacency.float())
    with pytest.raises(OracleError, match=said):
        CF2.tiny().fit(GRAPHS, Odd()).explain(GRAPHS, Odd())


# -- oracles that fail on graphs that a method makes -------------------------------------------------------


class KnowsOnly(TreeCyclesOracle):
    """Answers about the graphs that it has seen, and fails on all others, soft ones included."""

    def __init__(self, graphs: GraphBatch, soft: bool = False) -> None:
        self.known, self.soft = {adjacency.numpy().tobytes() for adjacency in graphs.adjacency}, soft

    def _require_known(self, adjacency: Tensor) -> None:
        if any(one.to(torch.uint8).numpy().tobytes() not in self.known for one in adjacency.detach()):
            raise ValueError("this is no graph of mine")

    def predict(self, graphs: GraphBatch) -> Tensor:
        self._require_known(graphs.adjacency)
        return super().predict(graphs)

    def predict_edges(self, graphs: EdgeBatch) -> Tensor:
        raise ValueError("a list is no graph of mine")

    def relaxed(self, adjacency: Tensor, features: Tensor | None = None) -> Tensor:
        if not self.soft:
            self._require_known(adjacency)
        return super().relaxed(adjacency, features)


@pytest.mark.parametrize("name", OF_RULES)
@pytest.mark.filterwarnings("ignore")
def test_a_fit_outlives_an_oracle_that_fails_on_made_graphs(name: str) -> None:
    """With a relaxation that works every method is fitted; what it says to have found the relaxation has shown it."""
    made = OF_RULES[name]()
    oracle, graphs = KnowsOnly(training_graphs(), soft=True), training_graphs()
    explainer = made.tiny() if isinstance(made, type) else made
    results = explainer.fit(graphs, oracle).explain(graphs[:4], oracle)
    assert len(results) == 4
    for result in results:
        after = TreeCyclesOracle().predict(GraphBatch.of([result.returned]))
        assert int(after) != result.before if result.found else result.reason


@pytest.mark.parametrize("explainer", [LiteralRSGGCE.tiny(), RSGGCE.tiny(), ReleasedCLEAR.tiny()])
def test_made_graphs_on_which_the_oracle_fails_are_counted_in_a_warning(explainer: Explainer) -> None:
    oracle = CountingOracle(KnowsOnly(training_graphs(), soft=True))
    name = type(explainer).__name__
    said = rf"failed on (\d+) graphs that {name} made while it learnt, which count as not flipped: .* no graph of mine"
    with pytest.warns(UserWarning, match=said) as warned:
        explainer.fit(training_graphs(), oracle)
    (message,) = (str(one.message) for one in warned if "not flipped" in str(one.message))
    unscored = int(message.split("failed on ")[1].split()[0])
    assert 0 < unscored <= oracle.calls and not oracle.unscored
    history = getattr(explainer, "history_", [])
    assert all(row["flip_rate"] == 0 for row in history if "flip_rate" in row), "no answer is no flip"


def test_only_the_graphs_on_which_the_oracle_fails_are_not_flipped() -> None:
    """One of the others flips: what can be answered is."""
    graphs = training_graphs()
    classes = TreeCyclesOracle().predict(graphs)
    shown = graphs.adjacency.clone()
    shown[3] = 0
    oracle = CountingOracle(KnowsOnly(graphs))
    flips = oracle.flips(graphs.candidates(shown, torch.arange(len(graphs))), 1 - classes)
    assert flips.tolist() == [i != 3 for i in range(len(graphs))]
    assert (oracle.calls, len(oracle.unscored)) == (len(graphs), 1)


@pytest.mark.parametrize("explainer", [CLEAR.tiny(), GCounteRGAN.tiny(), Minimised(base=CLEAR.tiny())])
def test_a_gradient_that_an_oracle_does_not_give_ends_the_fit_with_a_sentence(explainer: Explainer) -> None:
    name = type(explainer).__name__
    with pytest.raises(
        OracleError, match=rf"^{name} could not be fitted: .* no graph of mine; .* use a method"
    ) as ended:
        explainer.fit(training_graphs(), KnowsOnly(training_graphs()))
    assert str(ended.value).count("could not be fitted") == 1


# -- oracles that change their mind ----------------------------------------------------------------------


class Noisy(Oracle):
    """Gives two answers of a hundred at random, and remembers what it has said of which graph, in order."""

    name = "noisy"

    def __init__(self, n_classes: int, seed: int, share: float = 0.02) -> None:
        self.n_classes, self.share, self.draw = n_classes, share, random.Random(seed)
        self.said: dict[bytes, list[int]] = defaultdict(list)

    def predict(self, graphs: GraphBatch) -> Tensor:
        right = TreeCyclesOracle().predict(graphs) if self.n_classes == 2 else graphs.n_edges % self.n_classes
        answers = [
            self.draw.randrange(self.n_classes) if self.draw.random() < self.share else c for c in right.tolist()
        ]
        for adjacency, answer in zip(graphs.adjacency, answers, strict=True):
            self.said[adjacency.numpy().tobytes()].append(answer)
        return torch.tensor(answers)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "explainer",
    [search.OBS(), search.IRand(), controls.TwoSided(), controls.Empty(), Minimised(base=controls.Complete())],
)
def test_a_result_is_what_a_noisy_oracle_said(explainer: Explainer, n_classes: int) -> None:
    for seed in range(5):
        oracle = Noisy(n_classes, seed)
        for result in explainer.explain(GRAPHS, oracle, seed=seed):
            assert result.before in oracle.said[result.input.adjacency.tobytes()]
            said = oracle.said[result.returned.adjacency.tobytes()]
            if result.found:
                assert result.after in said and result.after != result.before
                assert n_classes == 2 or result.after == said[-1], "asked again, the last answer counts"
            else:
                assert result.reason


def test_a_result_that_does_not_hold_when_asked_again_is_no_claim() -> None:
    """Said to be of another class once and of the input's own when the result is checked."""

    class Forgets(Oracle):
        name, n_classes = "forgets", 3

        def __init__(self) -> None:
            self.seen: set[bytes] = set()

        def predict(self, graphs: GraphBatch) -> Tensor:
            keys = [adjacency.numpy().tobytes() for adjacency in graphs.adjacency]
            answers = [0 if key in self.seen or key in inputs else 1 for key in keys]
            self.seen.update(keys)
            return torch.tensor(answers)

    inputs = {adjacency.numpy().tobytes() for adjacency in GRAPHS.adjacency}
    for result in search.OBS().explain(GRAPHS, Forgets()):
        assert result.offered and not result.found and result.after == 0
        assert result.reason == "what OBS returned is of class 0, which is not another one"


# -- graphs that a method refuses ------------------------------------------------------------------------

RELEASED = (ReleasedRSGGCE, ReleasedCF2, ReleasedCLEAR, ReleasedGCounteRGAN)


@pytest.mark.parametrize("cls", RELEASED)
def test_a_graph_of_another_size_costs_the_others_nothing(cls: type[Explainer]) -> None:
    oracle = TreeCyclesOracle()
    fitted = cls.tiny().fit(GRAPHS, oracle)
    expected = fitted.explain(GRAPHS[:3], oracle, k=2)
    results = fitted.explain([GRAPHS[0], nx.path_graph(5), GRAPHS[1], nx.cycle_graph(11), GRAPHS[2]], oracle, k=2)
    assert [(r.instance, r.candidate) for r in results] == [(i, j) for i in range(5) for j in range(2)]
    for result in (*results[2:4], *results[6:8]):
        assert not result.offered and "8 nodes" in result.reason
    for one, other in zip((*results[:2], *results[4:6], *results[8:]), expected, strict=True):
        assert (one.found, one.edits, one.calls, one.before) == (other.found, other.edits, other.calls, other.before)
    with pytest.raises(GraphError, match="8 nodes"):
        fitted.explain([nx.path_graph(5), nx.cycle_graph(11)], oracle)


def test_the_released_gan_refuses_graphs_that_its_convolutions_leave_nothing_of() -> None:
    small = [nx.path_graph(4), nx.cycle_graph(4)]
    with pytest.raises(FitError, match="needs 5 nodes or more, not 4"):
        ReleasedGCounteRGAN.tiny().fit(small, TreeCyclesOracle())
    five = [nx.path_graph(5), nx.cycle_graph(5)]
    assert len(ReleasedGCounteRGAN.tiny().fit(five, TreeCyclesOracle()).explain(five, TreeCyclesOracle())) == 2


# -- oracles that embed wrongly --------------------------------------------------------------------------


class Embeds(TreeCyclesOracle):
    """Embeds nodes and graphs with one number each, after `change` has been at both."""

    def __init__(self, change: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]) -> None:
        self.change = change

    def why_no_embeddings(self) -> str:
        return ""

    def embeddings(self, graphs: EdgeBatch, weight: Tensor | None = None) -> Embeddings:
        return Embeddings(*self.change(torch.ones(int(graphs.sizes.sum()), 1), torch.ones(len(graphs), 1)))


def test_embeddings_are_passed_on_if_there_is_a_finite_row_for_each_node_and_graph() -> None:
    edges, nan = EdgeBatch.of(GRAPHS), torch.tensor([[torch.nan]])
    nodes, pooled = CountingOracle(Embeds(lambda nodes, pooled: (nodes, pooled))).embeddings(edges)
    assert (len(nodes), len(pooled)) == (int(GRAPHS.sizes.sum()), len(GRAPHS))
    wrong: list[Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]] = [
        lambda nodes, pooled: (nodes[1:], pooled),
        lambda nodes, pooled: (nodes, pooled[1:]),
        lambda nodes, pooled: (torch.cat((nodes[1:], nan)), pooled),
        lambda nodes, pooled: (nodes, torch.cat((pooled[1:], nan))),
    ]
    for change in wrong:
        with pytest.raises(OracleError, match="must embed 96 nodes and 12 graphs with finite numbers"):
            CountingOracle(Embeds(change)).embeddings(edges)
