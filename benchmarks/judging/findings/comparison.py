"""Findings on Table 1: what its rows are (1 to 4), what its columns measure (6, 10), what needs no learning (12)."""

from __future__ import annotations

import math

import pandas as pd

from benchmarks.judging.evidence import Evidence, paper_value
from benchmarks.judging.findings.finding import (
    CONFIRMED,
    NOT_CONFIRMED,
    PARTLY,
    TABLE1,
    Finding,
    finding,
    numbers,
    verdict_of,
)
from benchmarks.results.paper import paper_table

STRUCTURAL = ("ged", "correctness", "sparsity", "fidelity", "oracle_accuracy")


@finding(1, "CF²'s row is the empty graph.")
def cf2_is_the_empty_graph(results: Evidence) -> Finding:
    """Confirmed if the released CF² and the control that deletes every edge agree exactly, metric by metric, instance
    by instance, and every printed structural metric is inside our prediction interval."""
    same, inside, shown = True, True, []
    for dataset in ("tree-cycles", "asd"):
        both = results.side_by_side(dataset, ("cf2", "released"), ("empty", "control"))
        same &= all((both[name] == both[f"{name}_other"]).all() for name in ("ged", "predicted_cf"))
        inside &= results.reproduced(dataset, "cf2", *STRUCTURAL)
        values = [results.mean(dataset, "empty", "control", metric) for metric in STRUCTURAL]
        shown.append(f"{dataset} {numbers(values)}")
    paper = [f"{data} {numbers([paper_value(data, 'cf2', m) for m in STRUCTURAL])}" for data in ("tree-cycles", "asd")]
    return Finding(
        f"GED, Correctness, Sparsity, Fidelity and Oracle Accuracy of CF²: {'; '.join(paper)}.",
        "The released mask is trained on its size alone and its weights in (0, 1) are cut to integers.",
        f"Deleting every edge scores {'; '.join(shown)}; the released CF² "
        f"{'agrees with it' if same else 'differs from it'} on every instance.",
        CONFIRMED if same and inside else PARTLY if same else NOT_CONFIRMED,
        f"{TABLE1} --methods cf2:released,empty",
    )


@finding(2, "G-CounteRGAN's row is an untrained network.")
def gcountergan_is_untrained(results: Evidence) -> Finding:
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
        "other pairs added with sigmoid(0).",
        f"GED, {'; '.join(shown)}.",
        CONFIRMED if close else NOT_CONFIRMED,
        f"{TABLE1} --methods g-countergan:released",
    )


@finding(3, "CLEAR's row is a conditional auto-encoder without a counterfactual signal.")
def clear_has_no_counterfactual_signal(results: Evidence) -> Finding:
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
        f"{faithful[0]:.2f} of the trees and {faithful[1]:.2f} of the cyclic graphs.",
        CONFIRMED if cyclic == 1 else NOT_CONFIRMED,
        f"{TABLE1} --methods clear",
    )


@finding(4, "MEG's row comes from 32-node graphs and never asks the oracle.")
def meg_is_from_other_graphs(results: Evidence) -> Finding:
    """Confirmed if the printed GED / Sparsity is the |V| + |E| of our 32-node graphs (within one) and not that of the
    28-node ones, and zero calls are printed. How the end states came about is inferred (see `ReleasedMEG`)."""
    sizes = {data: _size(results.rows(data, "meg", "released")) for data in ("tree-cycles-32", "tree-cycles")}
    ged = [results.mean(data, "meg", "released", "ged") for data in sizes]
    printed_size = {
        method: paper_value("tree-cycles", method, "ged") / paper_value("tree-cycles", method, "sparsity")
        for method in ("meg", "cf2", "clear", "g-countergan", "rsgg-ce")
    }
    others = [size for method, size in printed_size.items() if method != "meg"]
    fits = [abs(printed_size["meg"] - size) < 1 for size in sizes.values()]
    never = paper_value("tree-cycles", "meg", "oracle_calls") == 0
    return Finding(
        f"GED {paper_value('tree-cycles', 'meg', 'ged'):.1f} on the graphs of 28 nodes that all methods share.",
        f"The printed GED over Sparsity is {printed_size['meg']:.1f} in MEG's row and {min(others):.1f} to "
        f"{max(others):.1f} in the others; the printed calls are 0.",
        f"|V| + |E| is {sizes['tree-cycles-32']:.1f} for graphs of 32 nodes and {sizes['tree-cycles']:.1f} for 28. The "
        f"nearest of ten random end states, as inferred, has GED {ged[0]:.1f} on 32 nodes and {ged[1]:.1f} on 28.",
        CONFIRMED if fits == [True, False] and never else NOT_CONFIRMED,
        f"{TABLE1} --methods meg:released",
    )


def _size(rows: pd.DataFrame) -> float:
    return float((rows["n_nodes"] + rows["n_edges"]).mean())


@finding(6, "Correctness on Tree-Cycles of CF², CLEAR and G-CounteRGAN is a class prior.")
def correctness_is_a_class_prior(results: Evidence) -> Finding:
    """Confirmed if each of the three released methods explains all graphs of one class and none of the other."""
    shown, one_way, one_way_methods = [], True, ("cf2", "clear", "g-countergan")
    paper = [paper_value("tree-cycles", method, "correctness") for method in one_way_methods]
    for method in one_way_methods:
        per_class = [results.mean("tree-cycles", method, "released", f"correctness_class_{c}") for c in (0, 1)]
        one_way &= sorted(per_class) == [0.0, 1.0]
        shown.append(f"{method} {per_class[0]:.3f} of the trees and {per_class[1]:.3f} of the cyclic graphs")
    share = float((results.rows("tree-cycles", "cf2", "released")["predicted"] == 1).mean())
    return Finding(
        f"Correctness {numbers(paper)}; the appendix gives the classes as .504 and .496.",
        "Each released method moves every graph in one direction.",
        f"They explain: {'; '.join(shown)}. {share:.3f} of our graphs are cyclic.",
        CONFIRMED if one_way else NOT_CONFIRMED,
        f"{TABLE1} --methods cf2:released,clear:released,g-countergan:released --datasets tree-cycles",
    )


@finding(10, "Runtime and Oracle Calls mix rows with and without training.")
def training_is_counted_in_some_rows(results: Evidence) -> Finding:
    """Confirmed if the printed calls of the rows whose calls are a fixed schedule (CF², CLEAR, G-CounteRGAN) come out
    with the share of trained folds that we infer for each, and these shares differ. RSGG-CE's calls are shown too."""
    shown, shares, fits = [], set(), True
    for dataset in ("tree-cycles", "asd"):
        for method in ("cf2", "clear", "g-countergan", "rsgg-ce"):
            calls = [
                results.mean(dataset, method, "released", f"oracle_calls_{w}_training") for w in ("with", "without")
            ]
            share = float(paper_table().loc[(dataset, method, "oracle_calls"), "training"])
            if method != "rsgg-ce":
                shares.add(share)
                fits &= results.reproduced(dataset, method, "oracle_calls")
            shown.append(
                f"{dataset} {method} {paper_value(dataset, method, 'oracle_calls'):.1f} printed, {calls[0]:.1f} with "
                f"and {calls[1]:.1f} without training (share {share:g})"
            )
    return Finding(
        "Runtime and Oracle Calls are compared between methods.",
        "The released evaluator trains inside the first explanation of a fold unless a saved model is found on disk.",
        f"Calls per explanation: {'; '.join(shown)}.",
        CONFIRMED if fits and len(shares) > 1 else NOT_CONFIRMED,
    )


@finding(12, "With nothing learnt, a minimiser reaches Correctness 1 next to the optimal GED with fewer questions.")
def search_reaches_the_optimum(results: Evidence) -> Finding:
    """Confirmed if random order + minimiser has Correctness 1 at no more than 1 % above the optimal GED on both data
    sets with fewer questions than RSGG-CE as released asks to explain; partly if on one."""
    shown, holds = [], []
    for dataset in ("tree-cycles", "asd"):
        correct, distance, calls = (
            results.mean(dataset, "two-sided-min", "search", m) for m in ("correctness", "ged", "explain_calls")
        )
        best = results.mean(dataset, "optimum", "control", "ged")
        released = results.mean(dataset, "rsgg-ce", "released", "explain_calls")
        holds.append(correct == 1 and distance <= 1.01 * best and calls < released)
        shown.append(
            f"{dataset}: Correctness {correct:.3f} at GED {distance:.2f} (optimum {best:.2f}) with {calls:.1f} calls "
            f"(RSGG-CE as released: {released:.1f}, the input asked about once)"
        )
    return Finding(
        "RSGG-CE's row is the best of Table 1 on Correctness and GED.",
        "",
        f"Random two-sided order + minimiser, {'; '.join(shown)}.",
        verdict_of(*holds),
        f"{TABLE1} --methods two-sided-min,optimum,rsgg-ce:released",
    )
