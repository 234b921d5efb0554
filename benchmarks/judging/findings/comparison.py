"""Findings on Table 1: what its rows are (1 to 4), what its columns measure (6, 10), what needs no learning (12)."""

from __future__ import annotations

import math
from collections.abc import Callable

import pandas as pd

from benchmarks.judging.evidence import Evidence, paper_value
from benchmarks.judging.findings.finding import BOTH, TABLE1, Finding, finding, numbers
from benchmarks.registry import methods, tasks
from benchmarks.registry.metrics import METRICS
from benchmarks.registry.rules import CLOSED_FORM_SHARE, NEAR_OPTIMUM, SAME_SIZE
from benchmarks.results.paper import paper_table

STRUCTURAL = ("ged", "correctness", "sparsity", "fidelity", "oracle_accuracy")


def row_is(results: Evidence, method: str, words: str, holds_on: Callable[[str], bool]) -> tuple[dict[str, bool], str]:
    """What findings 1 and 3 ask of a printed row: that the released method does on every instance what the finding
    says (in `words`), and that the printed structural metrics lie inside our interval; and which of them do not."""
    conditions, outside = {}, []
    for dataset in BOTH:
        label = tasks.label(dataset)
        off = [METRICS[name].label for name in STRUCTURAL if not results.reproduced(dataset, method, name)]
        conditions[f"{label}: {words}"] = holds_on(dataset)
        conditions[f"{label}: the five printed structural metrics lie inside our prediction intervals"] = not off
        outside += [f"{label} {', '.join(off)}"] if off else []
    return conditions, f" Printed, but outside our intervals: {'; '.join(outside)}." if outside else ""


@finding(1, "CF²'s row is the empty graph.")
def cf2_is_the_empty_graph(results: Evidence) -> Finding:
    """The released CF² against the control that deletes every edge, instance by instance."""

    def is_empty(dataset: str) -> bool:
        both = results.side_by_side(dataset, ("cf2", "released"), ("empty", "control"))
        return all((both[name] == both[f"{name}_other"]).all() for name in ("ged", "predicted_cf"))

    conditions, outside = row_is(results, "cf2", "every instance is answered as by deleting every edge", is_empty)
    paper, shown = [], []
    for dataset in BOTH:
        label = tasks.label(dataset)
        paper.append(f"{label} {numbers([paper_value(dataset, 'cf2', metric) for metric in STRUCTURAL])}")
        shown.append(f"{label} {numbers([results.mean(dataset, 'empty', 'control', metric) for metric in STRUCTURAL])}")
    return Finding(
        f"GED, Correctness, Sparsity, Fidelity and Oracle Accuracy of CF²: {'; '.join(paper)}.",
        "The released mask is trained on its size alone and its weights in (0, 1) are cut to integers.",
        f"Deleting every edge scores {'; '.join(shown)}.{outside}",
        conditions,
        f"{TABLE1} --methods cf2:released,empty",
    )


@finding(2, "G-CounteRGAN's row has the GED of an untrained network.")
def gcountergan_is_untrained(results: Evidence) -> Finding:
    """Closed form, measurement and print of GED."""
    kept = 1 / (1 + math.exp(-1))
    shown, conditions = [], {}
    for dataset in BOTH:
        rows, label = results.rows(dataset, "g-countergan", "released"), tasks.label(dataset)
        pairs = rows["n_nodes"] * (rows["n_nodes"] - 1) / 2
        closed = float(((1 - kept) * rows["n_edges"] + (pairs - rows["n_edges"]) / 2).mean())
        ours, paper = (
            results.mean(dataset, "g-countergan", "released", "ged"),
            paper_value(dataset, "g-countergan", "ged"),
        )
        words = f"{label}: closed form and measurement are within {100 * CLOSED_FORM_SHARE:g} % of the printed GED"
        conditions[words] = max(abs(closed / paper - 1), abs(ours / paper - 1)) < CLOSED_FORM_SHARE
        shown.append(f"{label}: closed form {closed:.1f}, measured {ours:.1f}, printed {paper:.1f}")
    return Finding(
        "G-CounteRGAN is trained for each fold.",
        "A hard sample inside the generator's forward pass lets no gradient through: edges are kept with sigmoid(1), "
        "other pairs added with sigmoid(0).",
        f"GED, {'; '.join(shown)}.",
        conditions,
        f"{TABLE1} --methods g-countergan:released",
    )


@finding(3, "CLEAR's row comes from outputs of one class, whatever the input.")
def clear_has_no_counterfactual_signal(results: Evidence) -> Finding:
    """The classes of all outputs of the released CLEAR."""
    classes = {
        dataset: results.rows(dataset, "clear", "released", all_replicates=True)["predicted_cf"] for dataset in BOTH
    }
    conditions, outside = row_is(
        results, "clear", "every output is of the same class", lambda dataset: classes[dataset].nunique() == 1
    )
    shown = []
    for dataset, found in classes.items():
        share = found.value_counts(normalize=True)
        shown.append(
            f"{tasks.label(dataset)} {100 * share.max():.1f} % of {len(found)} outputs are of class {share.idxmax()}"
        )
    faithful = [results.mean("tree-cycles", "clear", "faithful", f"correctness_class_{c}") for c in (0, 1)]
    return Finding(
        f"Correctness {paper_value('tree-cycles', 'clear', 'correctness'):.3f} on Tree-Cycles.",
        "The released loss has no gradient from the classifier; at explanation the graph's own class is the condition.",
        f"On {'; on '.join(shown)}.{outside} With the classifier's term CLEAR explains "
        f"{faithful[0]:.2f} of the trees and {faithful[1]:.2f} of the cyclic graphs.",
        conditions,
        f"{TABLE1} --methods clear",
    )


@finding(4, "The sizes in MEG's row are those of 32-node graphs, and its printed Oracle Calls are 0.")
def meg_is_from_other_graphs(results: Evidence) -> Finding:
    """Confirmed if the printed GED / Sparsity is the |V| + |E| of our 32-node graphs (within one) and not that of the
    28-node ones, and zero calls are printed. How the end states come about in `ReleasedMEG` was read in a commit that
    was chosen because it fits the stored runs, whose mean is printed (docs/evidence.md)."""
    sizes = {data: _size(results.rows(data, "meg", "released")) for data in ("tree-cycles-32", "tree-cycles")}
    ged = [results.mean(data, "meg", "released", "ged") for data in sizes]
    printed_size = {
        method: paper_value("tree-cycles", method, "ged") / paper_value("tree-cycles", method, "sparsity")
        for method in ("meg", "cf2", "clear", "g-countergan", "rsgg-ce")
    }
    others = [size for method, size in printed_size.items() if method != "meg"]
    fits = [abs(printed_size["meg"] - size) < SAME_SIZE for size in sizes.values()]
    return Finding(
        f"GED {paper_value('tree-cycles', 'meg', 'ged'):.1f} on the graphs of 28 nodes that all methods share.",
        f"The printed GED over Sparsity is {printed_size['meg']:.1f} in MEG's row and {min(others):.1f} to "
        f"{max(others):.1f} in the others; the printed calls are 0.",
        f"|V| + |E| is {sizes['tree-cycles-32']:.1f} for graphs of 32 nodes and {sizes['tree-cycles']:.1f} for 28. Our "
        f"reading of the end states has GED {ged[0]:.1f} on 32 nodes and {ged[1]:.1f} on 28; it is the code of a "
        "commit that was chosen because it fits the stored runs (docs/evidence.md).",
        {
            "the printed GED over Sparsity is the size of graphs of 32 nodes, and not of 28": fits == [True, False],
            "the printed Oracle Calls are 0": paper_value("tree-cycles", "meg", "oracle_calls") == 0,
        },
        f"{TABLE1} --methods meg:released",
    )


def _size(rows: pd.DataFrame) -> float:
    return float((rows["n_nodes"] + rows["n_edges"]).mean())


@finding(
    6, "As released, CF², CLEAR and G-CounteRGAN explain one class of Tree-Cycles only: a class prior is their score."
)
def correctness_is_a_class_prior(results: Evidence) -> Finding:
    """Correctness of each of the three released methods, class by class."""
    shown, conditions, paper = [], {}, []
    for method in ("cf2", "clear", "g-countergan"):
        label = methods.label(method)
        per_class = [results.mean("tree-cycles", method, "released", f"correctness_class_{c}") for c in (0, 1)]
        conditions[f"{label} explains all graphs of one class and none of the other"] = sorted(per_class) == [0.0, 1.0]
        shown.append(f"{label} {per_class[0]:.3f} of the trees and {per_class[1]:.3f} of the cyclic graphs")
        paper.append(paper_value("tree-cycles", method, "correctness"))
    share = float((results.rows("tree-cycles", "cf2", "released")["predicted"] == 1).mean())
    return Finding(
        f"Correctness {numbers(paper)}; the appendix gives the classes as .504 and .496.",
        "Each released method moves every graph in one direction.",
        f"They explain: {'; '.join(shown)}. {share:.3f} of our graphs are cyclic.",
        conditions,
        f"{TABLE1} --methods cf2:released,clear:released,g-countergan:released --datasets tree-cycles",
    )


@finding(
    10,
    "The printed Oracle Calls come out if training is counted in some rows and left out of others; consistent by "
    "construction, since the shares of trained folds come from these very numbers.",
)
def training_is_counted_in_some_rows(results: Evidence) -> Finding:
    """The rows whose calls are a fixed schedule (CF², CLEAR, G-CounteRGAN), with the share of trained folds that we
    infer for each from the print. RSGG-CE's calls are shown too, and decide nothing: on Tree-Cycles both readings are
    open."""
    shown, conditions = [], {}
    for dataset in BOTH:
        shares, fits, label = set(), True, tasks.label(dataset)
        for method in ("cf2", "clear", "g-countergan", "rsgg-ce"):
            calls = [
                results.mean(dataset, method, "released", f"oracle_calls_{w}_training") for w in ("with", "without")
            ]
            share = float(paper_table().loc[(dataset, method, "oracle_calls"), "training"])
            if method != "rsgg-ce":
                shares.add(share)
                fits &= results.reproduced(dataset, method, "oracle_calls")
            shown.append(
                f"{label} {methods.label(method)} {paper_value(dataset, method, 'oracle_calls'):.1f} printed, "
                f"{calls[0]:.1f} with and {calls[1]:.1f} without training (share {share:g})"
            )
        words = f"{label}: the printed calls of CF², CLEAR and G-CounteRGAN come out, with shares that differ"
        conditions[words] = fits and len(shares) > 1
    return Finding(
        "Runtime and Oracle Calls are compared between methods.",
        "The released evaluator trains inside the first explanation of a fold unless a saved model is found on disk. "
        "Which folds were trained is inferred from the printed calls themselves.",
        f"Calls per explanation: {'; '.join(shown)}. That these rows meet the print is no evidence of its own. "
        f"{_two_readings(results)}",
        conditions,
    )


def _two_readings(results: Evidence) -> str:
    """RSGG-CE's printed calls on Tree-Cycles: trained or not?"""
    kinds = ("with", "without")
    with_training, without = (
        results.mean("tree-cycles", "rsgg-ce", "released", f"oracle_calls_{kind}_training") for kind in kinds
    )
    printed, ours = (
        paper_value("tree-cycles", "rsgg-ce", "correctness"),
        results.mean("tree-cycles", "rsgg-ce", "released", "correctness"),
    )
    return (
        f"RSGG-CE on Tree-Cycles: {paper_value('tree-cycles', 'rsgg-ce', 'oracle_calls'):.1f} are printed; "
        f"{with_training:.1f} is ours with training, {without:.1f} without, at Correctness {ours:.3f}. At the printed "
        f"{printed:.3f} more failures, of 1002 calls each, would raise the latter to about "
        f"{without + 1002 * (ours - printed):.1f}: whether training is inside cannot be decided."
    )


@finding(
    12,
    "With nothing learnt, a minimiser reaches Correctness 1 next to the optimal GED with fewer questions than RSGG-CE "
    "as released asks.",
)
def search_reaches_the_optimum(results: Evidence) -> Finding:
    """The search without learning against the optimum and RSGG-CE as released."""
    shown, conditions = [], {}
    for dataset in BOTH:
        correct, distance, calls = (
            results.mean(dataset, "two-sided-min", "search", m) for m in ("correctness", "ged", "explain_calls")
        )
        best = results.mean(dataset, "optimum", "control", "ged")
        released = results.mean(dataset, "rsgg-ce", "released", "explain_calls")
        words = f"Correctness 1, GED at most {NEAR_OPTIMUM:g} times the optimum, fewer questions to explain a graph"
        label = tasks.label(dataset)
        conditions[f"{label}: {words}"] = correct == 1 and distance <= NEAR_OPTIMUM * best and calls < released
        shown.append(
            f"{label}: Correctness {correct:.3f} at GED {distance:.2f} (optimum {best:.2f}) with {calls:.1f} calls "
            f"({methods.label('rsgg-ce', 'released')}: {released:.1f}, the input asked about once)"
        )
    return Finding(
        "RSGG-CE's row is the best of Table 1 on Correctness and GED.",
        "",
        f"{methods.label('two-sided-min', 'search')}: {'; '.join(shown)}.",
        conditions,
        f"{TABLE1} --methods two-sided-min,optimum,rsgg-ce:released",
    )
