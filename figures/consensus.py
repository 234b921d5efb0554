"""Consensus: which edits recur (Conclusion: several candidates as one cohesive explanation).

    python figures/consensus.py [--results results/local]

`consensus_candidates`: on one Tree-Cycles graph per class, the share of RSGG-CE's valid candidates that edit a pair,
for a trained, an untrained and the released generator (`candidates.parquet`, `./reproduce.sh traces`); with the
agreement of the candidates, the mean Jaccard index of two of them. `consensus_asd`: on ASD, whose nodes are the same
brain regions in every graph, the share of valid counterfactuals that edit a pair, averaged over the methods as their
papers define them, so that no method counts for more because it edits more graphs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize

from figures import figure as drawing
from figures import style
from figures.edge_scores import GENERATORS
from figures.figure import Drawn
from figures.method import CLASSES, COMMAND, DATASET, chosen, layout, of, pairs, stored
from figures.pictograms import METHODS, is_valid, source_of
from figures.qualitative import CLASSES as ASD_CLASSES
from figures.results import Results, shown

TOP = 10


def shares(edits: Sequence[object], n: int) -> np.ndarray:
    """The share of these lists of edits that hold a pair, [n, n], upper triangle and diagonal."""
    counts = np.zeros(n * n)
    for listed in edits:
        counts[np.asarray(listed, dtype=int)] += 1
    return (counts / max(1, len(edits))).reshape(n, n)


def agreement(edits: Sequence[object]) -> float:
    """The mean Jaccard index |A ∩ B| / |A ∪ B| of two lists of edits: 1 always the same, 0 nothing in common."""
    sets = [set(np.asarray(listed, dtype=int).tolist()) for listed in edits]
    return float(np.mean([len(a & b) / max(1, len(a | b)) for a, b in combinations(sets, 2)] or [np.nan]))


def draw(results: Results) -> list[Drawn]:
    """Edits that many candidates, or many methods, agree on."""
    return [_candidates(results), _asd(results)]


# -- Candidates of one graph ---------------------------------------------------------------------------------------


def _candidates(results: Results) -> Drawn:
    table, path = stored(results, "candidates", DATASET)
    traces, inputs = of(stored(results, "traces", DATASET)[0], "rsgg-ce", "faithful"), results.inputs(DATASET)
    graphs = chosen(traces, inputs)
    missing = [f"candidates on a {CLASSES[c]} graph of Tree-Cycles ({COMMAND})" for c in (1, 0) if c not in graphs]
    figure, axes = plt.subplots(2, 3, figsize=(style.PAGE, 4.6))
    for axis in axes.flat:
        axis.set_axis_off()
    seen = []
    for row, c in zip(axes, (1, 0), strict=True):
        for axis, (whose, label) in zip(row, GENERATORS.items(), strict=True):
            own = of(table, *whose)
            rows = own[(own.index == graphs[c]) & own["found"]] if c in graphs and len(own) else own.iloc[:0]
            if len(rows):
                said = _edited_pairs(axis, inputs[graphs[c]], list(rows["edits"]))
                total = int((own.index == graphs[c]).sum())
                axis.set_title(
                    f"{label}, graph {graphs[c]} ({CLASSES[c]})\n{len(rows)} of {total} valid, {said}", fontsize=7
                )
                seen.append(f"{label} on the {CLASSES[c]} graph {said}")
            elif c in graphs:
                axis.set_title(f"{label}, graph {graphs[c]} ({CLASSES[c]})\nno valid candidate", fontsize=7)
    colours = ScalarMappable(Normalize(0, 1), plt.get_cmap("viridis_r"))
    figure.colorbar(colours, ax=axes, fraction=0.02, pad=0.02, label="share of valid candidates that edit the pair")
    figure.supxlabel(" ", fontsize=7)
    figure.suptitle(f"Candidates for one graph. Drawn from {shown(path) if path else 'nothing'}.", fontsize=7)
    caption = (
        "What the candidates for one graph have in common: pairs coloured by the share of the valid candidates that "
        "edit them, solid where an edge is removed, dashed where one is added, grey edges untouched. Agreement is the "
        "mean Jaccard index of two candidates' edits; in a tree every added edge closes a cycle, so that candidates "
        "need not agree. "
        f"Seen: {'; '.join(seen) or 'nothing is stored'}."
    )
    return Drawn("consensus_candidates", figure, caption, "Conclusion (several candidates)", tuple(missing))


def _edited_pairs(axis: Axes, adjacency: np.ndarray, edits: list[object]) -> str:
    share, where = shares(edits, len(adjacency)), layout(adjacency)
    graph = nx.from_numpy_array(adjacency)
    nx.draw_networkx_nodes(graph, where, ax=axis, node_size=7, node_color="black", linewidths=0)
    nx.draw_networkx_edges(graph, where, ax=axis, edge_color="#BBBBBB", width=0.8)
    for kind, dashes in ((1, "solid"), (0, (0, (2, 1)))):
        listed = [(int(u), int(v)) for u, v in np.argwhere(share > 0) if adjacency[u, v] == kind]
        colours = [float(share[pair]) for pair in listed]
        nx.draw_networkx_edges(
            graph, where, edgelist=listed, ax=axis, edge_color=colours, edge_cmap=plt.get_cmap("viridis_r"),
            edge_vmin=0, edge_vmax=1, width=[1 + 2.5 * value for value in colours], style=dashes,
        )  # fmt: skip
    axis.set_aspect("equal")
    return f"agreement {agreement(edits):.2f}"


# -- Methods on ASD ------------------------------------------------------------------------------------------------


def over_methods(ledgers: Mapping[str, pd.DataFrame], c: int) -> np.ndarray:
    """The share of a class's valid counterfactuals that edit a pair, the mean of the methods' shares, [n, n]."""
    maps = []
    for ledger in ledgers.values():
        rows = ledger[is_valid(ledger) & (ledger["predicted"] == c)]
        if len(rows):
            maps.append(shares(list(rows["edits"]), int(rows["n_nodes"].iloc[0])))
    return np.mean(maps, axis=0) if maps else np.zeros((1, 1))


def _asd(results: Results) -> Drawn:
    ledgers = {method: results.ledger("asd", method, "faithful") for method in METHODS}
    missing = [f"{style.METHODS[m].label} (faithful) on ASD" for m, ledger in ledgers.items() if ledger.empty]
    ledgers = {method: ledger for method, ledger in ledgers.items() if len(ledger)}
    figure, axes = plt.subplots(2, 2, figsize=(style.PAGE, 5.6), width_ratios=(1, 0.8))
    seen = []
    by_class = [over_methods(ledgers, c) for c in range(len(ASD_CLASSES))]
    most = max(0.01, *(float(share.max()) for share in by_class))
    for (field, bars), (c, name) in zip(axes, enumerate(ASD_CLASSES), strict=True):
        share = by_class[c]
        whole = np.maximum(share, share.T)
        image = field.imshow(whole, cmap="viridis", vmin=0, vmax=most, interpolation="none")
        field.set(xlabel="brain region", ylabel="brain region")
        field.set_title(f"class {c}, {name}", fontsize=7)
        field.grid(False)
        figure.colorbar(image, ax=field, fraction=0.046, pad=0.03, label="share that edit the pair")
        top = np.argsort(-share, axis=None, kind="stable")[:TOP]
        regions = [f"{u}–{v}" for u, v in pairs(top, len(share))]
        bars.barh(range(len(top)), share.flat[top], color=style.BLUE)
        bars.set_yticks(range(len(top)), regions, fontsize=6)
        bars.invert_yaxis()
        bars.set(xlim=(0, 1), xlabel="share that edit the pair")
        bars.set_title(f"class {c}: the {len(top)} pairs edited most", fontsize=7)
        seen.append(f"for {name} graphs region pair {regions[0]}, by {share.flat[top[0]]:.0%}")
    figure.supxlabel(" ", fontsize=7)
    labels = ", ".join(style.METHODS[method].label for method in ledgers) or "none"
    figure.suptitle(f"Methods: {labels}. {source_of(results, 'asd', '*.faithful')}", fontsize=6.5)
    caption = (
        f"Where the methods ({labels}, as their own papers define them) edit ASD graphs: the share of valid "
        "counterfactuals of a class that add or remove a pair of brain regions, the mean of the methods' shares. "
        f"Edited most: {'; '.join(seen)}."
        if ledgers
        else "Where the methods edit ASD graphs; nothing is stored."
    )
    return Drawn("consensus_asd", figure, caption, "", tuple(missing))


if __name__ == "__main__":
    drawing.script("consensus", draw)
