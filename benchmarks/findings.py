"""Findings: what a close reading of the paper against its data and released artefacts showed, computed from the ledger.

Each finding is a function of the stored results that returns what the paper says, what its data or released artefacts
say, what this suite measures, and whether that confirms it. The numbers in the sentences are computed; the rule by
which a finding counts as confirmed stands in its function. What was not measured leaves a finding open, not wrong.

    ./reproduce.sh show findings      # table1 writes them
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import comb
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd

from benchmarks.verdict import paper_table, printed
from rsgg.data import ASD, TreeCycles
from rsgg.data.dataset import Dataset
from rsgg.errors import DataError
from rsgg.graph import Graph

CONFIRMED, PARTLY, OPEN, NOT_CONFIRMED = "confirmed", "partly confirmed", "open", "not confirmed"
COLUMNS = ("number", "finding", "paper", "artefacts", "measured", "verdict", "command")
TABLE1 = "./reproduce.sh table1"
STRUCTURAL = ("ged", "correctness", "sparsity", "fidelity", "oracle_accuracy")


class NotMeasured(Exception):
    """A finding needs a row that is not there."""


@dataclass(frozen=True)
class Finding:
    """A line of findings.csv, but for its number and title."""

    paper: str
    artefacts: str
    measured: str
    verdict: str
    command: str = TABLE1


@dataclass(frozen=True, eq=False)
class Results:
    """What findings are computed from: the table in numbers, the ledger behind it, and the folder of the data."""

    table: pd.DataFrame
    ledger: pd.DataFrame
    data_dir: Path | None = None

    @cached_property
    def _indexed(self) -> pd.DataFrame:
        return self.table.set_index(["dataset", "method", "variant", "metric"])

    def line(self, dataset: str, method: str, variant: str, metric: str) -> pd.Series:
        try:
            return self._indexed.loc[(dataset, method, variant, metric)]
        except KeyError as error:
            raise NotMeasured(f"{dataset}, {method} ({variant}) was not measured") from error

    def mean(self, dataset: str, method: str, variant: str, metric: str) -> float:
        return float(self.line(dataset, method, variant, metric)["mean"])

    def rows(self, dataset: str, method: str, variant: str, *, all_replicates: bool = False) -> pd.DataFrame:
        """Ledger rows of replicate 0, or of all replicates."""
        found = self.ledger
        for name, value in (("dataset", dataset), ("method", method), ("variant", variant)):
            found = found if found.empty else found[found[name] == value]
        if found.empty:
            raise NotMeasured(f"{dataset}, {method} ({variant}) was not measured")
        return found if all_replicates else found[found["seed"] == found["seed"].min()]

    def verdicts(self, dataset: str, method: str, metrics: tuple[str, ...]) -> list[str]:
        return [str(self.line(dataset, method, "released", metric)["verdict"]) for metric in metrics]


FINDINGS: dict[int, tuple[str, Callable[[Results], Finding]]] = {}


def finding(number: int, title: str) -> Callable[[Callable[[Results], Finding]], Callable[[Results], Finding]]:
    """Enter a function into the findings; its docstring is the rule of its verdict."""

    def enter(function: Callable[[Results], Finding]) -> Callable[[Results], Finding]:
        FINDINGS[number] = title, function
        return function

    return enter


def paper_value(dataset: str, method: str, metric: str) -> float:
    cell = printed(dataset, method, metric)
    if cell is None:
        raise NotMeasured(f"the paper prints no {metric} of {method} on {dataset}")
    return cell.value


def _numbers(values: list[float], decimals: int = 3) -> str:
    return ", ".join(f"{value:.{decimals}f}" for value in values)


# -- 1 to 4: what the rows of the competitors are ------------------------------------------------------------------


@finding(1, "CF²'s row is the empty graph.")
def cf2_is_the_empty_graph(results: Results) -> Finding:
    """Confirmed if the released CF² and the control that deletes every edge agree exactly, metric by metric, instance
    by instance, and every printed structural metric is inside our prediction interval."""
    same, inside, shown = True, True, []
    for dataset in ("tree-cycles", "asd"):
        keys = ["fold", "instance"]
        ours, control = (
            results.rows(dataset, *row).set_index(keys) for row in (("cf2", "released"), ("empty", "control"))
        )
        same &= bool((ours["ged"] == control["ged"]).all() and (ours["predicted_cf"] == control["predicted_cf"]).all())
        inside &= results.verdicts(dataset, "cf2", STRUCTURAL) == ["reproduced"] * len(STRUCTURAL)
        values = [results.mean(dataset, "empty", "control", metric) for metric in STRUCTURAL]
        shown.append(f"{dataset} {_numbers(values)}")
    paper = [f"{data} {_numbers([paper_value(data, 'cf2', m) for m in STRUCTURAL])}" for data in ("tree-cycles", "asd")]
    return Finding(
        f"GED, Correctness, Sparsity, Fidelity and Oracle Accuracy of CF²: {'; '.join(paper)}.",
        "The released mask is trained on its size alone and its weights in (0, 1) are cut to integers.",
        f"Deleting every edge scores {'; '.join(shown)}; the released CF² "
        f"{'agrees with it' if same else 'differs from it'} on every instance.",
        CONFIRMED if same and inside else PARTLY if same else NOT_CONFIRMED,
        f"{TABLE1} --methods cf2:released,empty",
    )


@finding(2, "G-CounteRGAN's row is an untrained network.")
def gcountergan_is_untrained(results: Results) -> Finding:
    """Confirmed if closed form, measurement and print agree within half a percent on both data sets."""
    kept = 1 / (1 + math.exp(-1))
    shown, close = [], True
    for dataset in ("tree-cycles", "asd"):
        rows = results.rows(dataset, "g-countergan", "released")
        pairs = rows["n_nodes"] * (rows["n_nodes"] - 1) / 2
        closed = float(((1 - kept) * rows["n_edges"] + (pairs - rows["n_edges"]) / 2).mean())
        ours, paper = (
            results.mean(dataset, "g-countergan", "released", "ged"),
            paper_value(dataset, "g-countergan", "ged"),
        )
        close &= max(abs(closed / paper - 1), abs(ours / paper - 1)) < 0.005
        shown.append(f"{dataset}: closed form {closed:.1f}, measured {ours:.1f}, printed {paper:.1f}")
    return Finding(
        "G-CounteRGAN is trained for each fold.",
        "A hard sample inside the generator's forward pass lets no gradient through: edges are kept with sigmoid(1), "
        "other "
        "pairs added with sigmoid(0).",
        f"GED, {'; '.join(shown)}.",
        CONFIRMED if close else NOT_CONFIRMED,
        f"{TABLE1} --methods g-countergan:released",
    )


@finding(3, "CLEAR's row is a conditional auto-encoder without a counterfactual signal.")
def clear_has_no_counterfactual_signal(results: Results) -> Finding:
    """Confirmed if every output of the released CLEAR on Tree-Cycles has a cycle."""
    rows = results.rows("tree-cycles", "clear", "released", all_replicates=True)
    cyclic = float((rows["predicted_cf"] == 1).mean())
    asd = results.rows("asd", "clear", "released")["predicted_cf"].value_counts(normalize=True)
    faithful = [results.mean("tree-cycles", "clear", "faithful", f"correctness_class_{c}") for c in (0, 1)]
    return Finding(
        f"Correctness {paper_value('tree-cycles', 'clear', 'correctness'):.3f} on Tree-Cycles.",
        "The released loss has no gradient from the classifier and is conditioned on the class that the graph has.",
        f"{100 * cyclic:.1f} % of {len(rows)} outputs on Tree-Cycles are cyclic whatever the input; on ASD "
        f"{100 * asd.max():.0f} % are of class {asd.idxmax()}. With the classifier's term CLEAR explains "
        f"{faithful[0]:.2f} "
        f"of the trees and {faithful[1]:.2f} of the cyclic graphs.",
        CONFIRMED if cyclic == 1 else NOT_CONFIRMED,
        f"{TABLE1} --methods clear",
    )


@finding(4, "MEG's row comes from 32-node graphs and never asks the oracle.")
def meg_is_from_other_graphs(results: Results) -> Finding:
    """Confirmed if the printed GED is inside our interval on 32 nodes, outside on 28, and the oracle is never asked."""
    on_32, on_28 = (results.line(data, "meg", "released", "ged") for data in ("tree-cycles-32", "tree-cycles"))
    asked = float((results.rows("tree-cycles-32", "meg", "released")["calls"] - 1).max())
    size = paper_value("tree-cycles", "meg", "ged") / paper_value("tree-cycles", "meg", "sparsity")
    verdicts = on_32["verdict"] == "reproduced", on_28["verdict"] == "reproduced"
    return Finding(
        f"GED {paper_value('tree-cycles', 'meg', 'ged'):.1f} on the Tree-Cycles graphs of 28 nodes that all methods "
        f"share.",
        f"GED over Sparsity is |V| + |E| = {size:.1f} in MEG's row and 55.6 in all others.",
        f"The released procedure gives {on_32['mean']:.1f} on 32 nodes and {on_28['mean']:.1f} on 28; it asks the "
        f"oracle "
        f"{asked:.0f} times per explanation.",
        CONFIRMED if verdicts == (True, False) and asked == 0 else NOT_CONFIRMED,
        f"{TABLE1} --methods meg:released",
    )


# -- 5, 6: RSGG-CE's own row, and what Correctness measures --------------------------------------------------------


def cut_probability(size: int, edges: int) -> float:
    """P(a cycle of `size` edges is cut by `edges` uniform draws with replacement from all `edges` edges):
    1 - Σ_j (-1)^j C(size, j) (1 - j / edges)^edges."""
    return -sum((-1) ** j * comb(size, j) * (1 - j / edges) ** edges for j in range(1, size + 1))


def all_cut_probability(sizes: Sequence[int], edges: int) -> float:
    """P(every one of these disjoint cycles is cut): Σ over sets S of cycles of (-1)^|S| P(no edge of S is missing)."""
    sets = [chosen for size in range(len(sizes) + 1) for chosen in combinations(sizes, size)]
    return sum((-1) ** len(chosen) * (1 - cut_probability(sum(chosen), edges)) for chosen in sets)


def uniform_correctness(graphs: Iterable[Graph]) -> float:
    """Expected Correctness of the edge bootstrap with uniform draws: a tree gets a cycle sooner or later, a cyclic
    graph is explained if all its cycles are cut, since what is added later cuts nothing."""
    cycles = [([len(c) for c in nx.cycle_basis(graph.to_networkx())], graph.n_edges) for graph in graphs]
    return float(np.mean([all_cut_probability(sizes, edges) if sizes else 1.0 for sizes, edges in cycles]))


@finding(
    5,
    "RSGG-CE's row hardly depends on training; trained as Eq. 4 says, the method beats its own row.",
)
def rsgg_row_hardly_depends_on_training(results: Results) -> Finding:
    """Confirmed if the untrained and the uniform generator's means lie inside the released row's prediction interval on
    both data sets (GED and Correctness), and the faithful generator's AUROC is above .85."""
    inside, shown = True, []
    for dataset in ("tree-cycles", "asd"):
        for metric in ("ged", "correctness"):
            released = results.line(dataset, "rsgg-ce", "released", metric)
            others = [results.mean(dataset, f"released-{kind}", "control", metric) for kind in ("untrained", "uniform")]
            inside &= all(released["pi_low"] <= other <= released["pi_high"] for other in others)
            shown.append(f"{dataset} {metric} {_numbers([float(released['mean']), *others])}")
    auroc = [results.mean("tree-cycles", "rsgg-ce", variant, "removal_auroc") for variant in ("released", "faithful")]
    ours = [results.mean("tree-cycles", "rsgg-ce", "faithful", metric) for metric in ("correctness", "ged")]
    return Finding(
        "The learned edge probabilities guide the sampling; Correctness .885 at GED 11.000.",
        "A_g gets no gradient in the released code, and E draws with replacement from E edges drop about 1/e of them.",
        f"Trained, untrained and uniform released generators: {'; '.join(shown)} (closed form for uniform draws: "
        f"{uniform_correctness(TreeCycles().load().graphs):.3f}). AUROC of removals {auroc[0]:.2f} released, "
        f"{auroc[1]:.2f} trained by Eq. 4, "
        f"which "
        f"reaches Correctness {ours[0]:.3f} at GED {ours[1]:.2f}.",
        CONFIRMED if inside and auroc[1] > 0.85 else PARTLY,
        f"{TABLE1} --methods rsgg-ce,released-untrained,released-uniform",
    )


@finding(6, "Correctness on Tree-Cycles of CF², CLEAR and G-CounteRGAN is a class prior.")
def correctness_is_a_class_prior(results: Results) -> Finding:
    """Confirmed if each of the three released methods explains all graphs of one class and none of the other."""
    shown, one_way = [], True
    for method in ("cf2", "clear", "g-countergan"):
        per_class = [results.mean("tree-cycles", method, "released", f"correctness_class_{c}") for c in (0, 1)]
        one_way &= sorted(per_class) == [0.0, 1.0]
        shown.append(f"{method} {per_class[0]:.3f} of the trees and {per_class[1]:.3f} of the cyclic graphs")
    share = float((results.rows("tree-cycles", "cf2", "released")["predicted"] == 1).mean())
    return Finding(
        "Correctness .496, .504 and .504; the appendix gives the classes as .504 and .496.",
        "Each released method moves every graph in one direction.",
        f"They explain: {'; '.join(shown)}. {share:.3f} of our graphs are cyclic.",
        CONFIRMED if one_way else NOT_CONFIRMED,
        f"{TABLE1} --methods cf2:released,clear:released,g-countergan:released --datasets tree-cycles",
    )


# -- 8 to 10, 12 -----------------------------------------------------------------------------------------------------


@finding(8, "The probability of cutting a cycle of three nodes is not 2/3.")
def cutting_a_triangle(results: Results) -> Finding:
    """Confirmed if the share of lone triangles that the uniform bootstrap cuts is within 3.5 standard errors of the
    closed form, and 2/3 is not."""
    rows = results.rows("tree-cycles", "released-uniform", "control", all_replicates=True)
    cuts = []
    for seed, part in rows.groupby("seed"):
        graphs = TreeCycles(seed=int(seed)).load().graphs
        lone = {i for i, graph in enumerate(graphs) if [len(c) for c in nx.cycle_basis(graph.to_networkx())] == [3]}
        cuts += (part.loc[part["instance"].isin(lone), "calls"] == 2).tolist()  # the input, and the first check
    share, expected = float(np.mean(cuts)), cut_probability(3, 28)
    error = math.sqrt(expected * (1 - expected) / len(cuts))
    fits, not_printed = abs(share - expected) < 3.5 * error, abs(share - 2 / 3) > 3.5 * error
    return Finding(
        "“If the number of nodes in a cycle is 3, the probability of cutting it is 2/3.”",
        "E draws with replacement from E edges: 1 - Σ_j (-1)^j C(3, j) (1 - j/E)^E.",
        f"Closed form {expected:.3f}; {share:.3f} of {len(cuts)} lone triangles are cut at the first check.",
        CONFIRMED if fits and not_printed else PARTLY if fits else NOT_CONFIRMED,
        f"{TABLE1} --methods released-uniform --datasets tree-cycles",
    )


@finding(9, "Statements of the text that its data and its own table do not bear out.")
def what_the_text_says_of_data_and_numbers(results: Results) -> Finding:
    """Confirmed if all four countable statements fail: three cycles, ASD unconnected, the best fidelity, the mean."""
    trees = TreeCycles().load()
    most = max(len(nx.cycle_basis(graph.to_networkx())) for graph in trees.graphs)
    results.rows("asd", "empty", "control")  # with no ASD in the results the data may not be at hand either
    asd = _asd(results.data_dir)
    connected = sum(nx.is_connected(graph.to_networkx()) for graph in asd.graphs)
    fidelity = {m: paper_value("asd", m, "fidelity") for m in ("cf2", "clear", "g-countergan", "rsgg-ce")}
    bold = [m for m in fidelity if paper_table().loc[("asd", m, "fidelity"), "bold"]]
    outcomes = 500 * paper_value("tree-cycles", "rsgg-ce", "correctness")
    statements = (
        most <= 2,
        2 * connected > len(asd),
        max(fidelity, key=fidelity.__getitem__) not in bold,
        outcomes % 1 > 0,
    )
    return Finding(
        "Tree-Cycles has up to three cycles; the majority of ASD's graphs are unconnected; Fidelity .287 is "
        "highlighted on "
        "ASD; Correctness .885 is a mean over ten folds of fifty graphs.",
        "The efficiency figures are cited in swapped order.",
        f"At most {most} cycles in our 500 graphs, by construction; {connected} of {len(asd)} ASD graphs are "
        f"connected; "
        f"CLEAR's printed Fidelity {fidelity['clear']:.3f} is larger; .885 of 500 outcomes is {outcomes:.1f}.",
        CONFIRMED if all(statements) else PARTLY,
        "./reproduce.sh datasets",
    )


def _asd(data_dir: Path | None) -> Dataset:
    try:
        return ASD().load(data_dir)
    except DataError as error:
        raise NotMeasured(str(error)) from error


@finding(10, "Runtime and Oracle Calls mix rows with and without training.")
def training_is_counted_in_some_rows(results: Results) -> Finding:
    """Confirmed if the printed calls of learned methods fit the share of folds trained that we infer, and that share
    is not the same in all rows."""
    shown, shares = [], set()
    for dataset in ("tree-cycles", "asd"):
        for method in ("cf2", "clear", "g-countergan", "rsgg-ce"):
            ours = [
                results.mean(dataset, method, "released", f"oracle_calls_{which}_training")
                for which in ("with", "without")
            ]
            share = float(paper_table().loc[(dataset, method, "oracle_calls"), "training"])
            shares.add(share)
            shown.append(
                f"{dataset} {method}: printed {paper_value(dataset, method, 'oracle_calls'):.1f}, measured with "
                f"training "
                f"{ours[0]:.1f}, without {ours[1]:.1f} (share {share:g})"
            )
    return Finding(
        "Runtime and Oracle Calls are compared between methods.",
        "The released evaluator trains inside the first explanation of a fold unless a saved model is found on disk.",
        f"{'; '.join(shown)}.",
        CONFIRMED if len(shares) > 1 else NOT_CONFIRMED,
    )


@finding(
    12,
    "With controls and a minimiser in the table, Correctness 1 at (or next to) the optimal GED costs fewer calls "
    "than the best printed row.",
)
def search_reaches_the_optimum(results: Results) -> Finding:
    """Confirmed if random order + minimiser has Correctness 1 at no more than 1 % above the optimal GED on both data
    sets with fewer oracle calls than RSGG-CE's printed row."""
    shown, holds = [], True
    for dataset in ("tree-cycles", "asd"):
        correct, distance, calls = (
            results.mean(dataset, "two-sided-min", "search", m) for m in ("correctness", "ged", "explain_calls")
        )
        best = results.mean(dataset, "optimum", "control", "ged")
        printed_calls = paper_value(dataset, "rsgg-ce", "oracle_calls")
        holds &= correct == 1 and distance <= 1.01 * best and calls < printed_calls
        shown.append(
            f"{dataset}: Correctness {correct:.3f} at GED {distance:.2f} (optimum {best:.2f}) with {calls:.1f} calls "
            f"(printed for RSGG-CE: {printed_calls:.1f})"
        )
    return Finding(
        "RSGG-CE's row is the best of Table 1 on Correctness and GED.",
        "",
        f"Random two-sided order + minimiser, {'; '.join(shown)}.",
        CONFIRMED if holds else PARTLY,
        f"{TABLE1} --methods two-sided-min,optimum",
    )


def compute(results: Results) -> pd.DataFrame:
    """All findings as lines of findings.csv; one that lacks a row is open, with the reason."""
    lines = []
    for number, (title, compute_one) in FINDINGS.items():
        try:
            found = compute_one(results)
        except NotMeasured as gap:
            found = Finding("", "", f"Not measured: {gap}.", OPEN)
        lines.append({"number": number, "finding": title, **found.__dict__})
    return pd.DataFrame(lines, columns=list(COLUMNS))


STANDS = """## What stands

Partial-order sampling gives both additions and removals without retraining for an instance; RSGG-CE's row is the best
of the printed rows on Correctness and GED, and comes out of the released code again; guarded groups over edge scores,
the frame of the method, are what the improved variants here build on.
"""


def markdown(findings: pd.DataFrame) -> str:
    """The findings as a page."""
    parts = [
        "# Findings",
        "Computed from the stored results by `benchmarks/findings.py`; the rule of each verdict is there.",
    ]
    for line in findings.itertuples():
        parts.append(f"## {line.number}. {line.finding}")
        said = (("The paper", line.paper), ("Data and artefacts", line.artefacts), ("Measured", line.measured))
        parts.append("\n".join(f"- *{who}:* {text}" for who, text in said if text))
        parts.append(f"**{str(line.verdict).capitalize()}.** Again: `{line.command}`")
    return "\n\n".join([*parts, STANDS])
