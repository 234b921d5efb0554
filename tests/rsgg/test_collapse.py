"""What a user learns about a fit: a summary per class, one warning where it collapsed, progress if asked for."""

from __future__ import annotations

import warnings
from typing import Any

import networkx as nx
import numpy as np
import pytest
from torch import Tensor

from rsgg.collapse import CollapseWarning, summary
from rsgg.contract.explainer import training_graphs
from rsgg.explainer import Explainer
from rsgg.graph import Graph, GraphBatch
from rsgg.oracles import Oracle, TreeCyclesOracle
from rsgg.progress import listening, tell
from rsgg.rsgg_ce import RSGGCE, RankedRSGGCE, TaughtRSGGCE


class Stubborn(Oracle):
    """Trees and cycles as they are named, edited graphs as the input: nothing ever flips."""

    name = "stubborn"

    def predict(self, graphs: GraphBatch) -> Tensor:
        return (graphs.features[:, 0, 0] > 0).long()  # type: ignore[index]


def graphs_with_features() -> GraphBatch:
    classes = TreeCyclesOracle().predict(training_graphs()).tolist()
    graphs = list(training_graphs())
    return GraphBatch.of(
        [g.__class__(g.adjacency, np.full((8, 1), c, dtype=float)) for g, c in zip(graphs, classes, strict=True)]
    )


def line(c: int, epoch: int, flip_rate: float, edits: float, diversity: float) -> dict[str, float]:
    return {"class": c, "epoch": epoch, "flip_rate": flip_rate, "edits": edits, "diversity": diversity}


@pytest.mark.parametrize(
    ("flips", "edits", "diversity", "collapsed"),
    [
        (0.9, 2.0, 1.0, "no"),
        (0.49, 2.0, 1.0, "proposes nothing that flips"),
        (0.9, 2.0, 0.04, "always proposes the same"),
        (0.9, 5.5, 1.0, "proposes another graph"),
    ],
)
def test_the_end_of_training_is_judged(flips: float, edits: float, diversity: float, collapsed: str) -> None:
    """The last tenth of twenty epochs is what two of them say; eighteen others say the opposite."""
    before = [line(0, epoch, 1 - flips, 20 - edits, 0.0) for epoch in range(18)]
    end = [line(0, epoch, flips + d, edits + d, diversity + d) for epoch, d in ((18, -0.005), (19, 0.005))]
    (told,) = summary([*before, *end], [10.0])
    assert told["collapsed"] == collapsed
    assert (told["flip_rate"], told["edits"]) == (pytest.approx(flips), pytest.approx(edits))
    assert summary([], [10.0]) == [{"class": 0, "edges": 10.0, "collapsed": ""}]


@pytest.mark.parametrize("explainer", [RSGGCE.tiny(), RankedRSGGCE.tiny(), TaughtRSGGCE.tiny()])
def test_a_training_that_nothing_comes_of_is_one_warning(explainer: Explainer) -> None:
    with pytest.warns(CollapseWarning) as told:
        explainer.fit(graphs_with_features(), Stubborn())
    (sentence,) = [str(one.message) for one in told if one.category is CollapseWarning]
    assert sentence.startswith(f"The training of {type(explainer).__name__} collapsed: for class 0 it ")
    assert "class 1" in sentence and "summary()" in sentence
    table = explainer.summary()  # type: ignore[attr-defined]
    assert table["class"].tolist() == [0, 1] and (table["flip_rate"] == 0).all() and "no" not in set(table["collapsed"])


def test_the_warning_says_which_options_to_set_and_to_what() -> None:
    graphs = [
        Graph(nx.to_numpy_array(nx.gnm_random_graph(20, 79 + i % 3, seed=i)), np.full((20, 1), i % 2))
        for i in range(12)
    ]

    def told(**options: Any) -> str:
        with pytest.warns(CollapseWarning) as heard:
            RSGGCE(epochs=2, warmup=0, hidden=4, latent=4, layers=1, **options).fit(graphs, Stubborn())
        return str(next(one.message for one in heard if one.category is CollapseWarning))

    plain = told()
    assert "start with removals=8, additions=8, a tenth of the 80 edges per graph" in plain
    assert "identities=True if each node is the same thing" in plain and "TaughtRSGGCE" in plain
    followed = told(removals=8.0, additions=8.0, identities=True)
    assert "removals=" not in followed and "identities" not in followed and "epochs" in followed


def test_a_training_that_works_is_no_warning_and_is_summed_up() -> None:
    explainer = TaughtRSGGCE.tiny()
    with warnings.catch_warnings():
        warnings.simplefilter("error", CollapseWarning)
        explainer.fit(training_graphs(), TreeCyclesOracle())
    table = explainer.summary()
    assert table["graphs"].tolist() == [12, 12] and table["flip_rate"].tolist() == [1, 1]
    assert set(table["collapsed"]) == {"no"} and (table["edits"] >= 1).all()
    assert table["edges"].tolist() == [7, 8], "trees of eight nodes, and with a cycle"


def test_progress_is_printed_where_it_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CollapseWarning)
        RSGGCE.tiny().fit(training_graphs(), TreeCyclesOracle())
        assert capsys.readouterr().err == ""
        RSGGCE.tiny().fit(training_graphs(), TreeCyclesOracle(), verbose=True)
    assert "class 0: epoch 20 of 20, " in capsys.readouterr().err
    TaughtRSGGCE.tiny().fit(training_graphs(), TreeCyclesOracle(), verbose=True)
    assert capsys.readouterr().err.splitlines()[-1] == "24 of 24 graphs are searched and taught"
    heard: list[str] = []
    with listening(heard.append):
        tell("so far")
    tell("nobody hears this")
    assert heard == ["so far"]
