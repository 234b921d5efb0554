"""Consensus: which edits recur (Conclusion: several candidates as one cohesive explanation).

    python figures/consensus.py [--results results/local]

`consensus_candidates`: on one Tree-Cycles graph per class, the share of RSGG-CE's valid candidates that edit a pair,
for a trained, an untrained and the released generator (`candidates.parquet`, `./reproduce.sh traces`); with the
agreement of the candidates, the mean Jaccard index of two of them. `consensus_asd`: on ASD, whose nodes are the same
brain regions in every graph, the share of valid counterfactuals that edit a pair, averaged over the methods as their
papers define them (RSGG-CE: by score function), so that no method counts for more because it edits more graphs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize

from benchmarks.registry.tasks import ASD
from benchmarks.results.reader import Results
from figures import figure, style
from figures.edge_scores import GENERATORS
from figures.figure import CAPTIONS, Drawn
from figures.method import COMMAND, TASK, chosen, edges_of, layout, network, of, pairs
from figures.pictograms import METHODS, is_valid
from rsgg.metrics import jaccard_distance

TOP = 10


def shares(edits: Collection[object], n: int) -> np.ndarray:
    """The share of these lists of edits that hold a pair, [n, n], upper triangle and diagonal."""
    counts = np.zeros(n * n)
    for listed in edits:
        counts[np.asarray(listed, dtype=int)] += 1
    return (counts / max(1, len(edits))).reshape(n, n)


def agreement(edits: Sequence[Iterable[int]]) -> float:
    """The mean Jaccard index |A ∩ B| / |A ∪ B| of two lists of edits: 1 always the same, 0 nothing in common."""
    return 1 - jaccard_distance(edits)


def draw(results: Results) -> list[Drawn]:
    """Edits that many candidates, or many methods, agree on."""
    return [_candidates(results), _over_methods(results)]


# -- Candidates of one graph ---------------------------------------------------------------------------------------


def _candidates(results: Results) -> Drawn:
    (table, _), (traces, _) = (results.parquet(name, TASK.name) for name in ("candidates", "traces"))
    inputs = results.inputs(TASK.name)
    graphs = chosen(of(traces, "rsgg-ce", "faithful"), inputs)
    missing = [
        f"candidates on a {TASK.class_name(c)} graph of {TASK.label} ({COMMAND})" for c in (1, 0) if c not in graphs
    ]
    drawing, axes = plt.subplots(2, 3, figsize=(style.PAGE, 4.6))
    style.switch_off(axes)
    seen = []
    for row, c in zip(axes, (1, 0), strict=True):
        for axis, (whose, label) in zip(row, GENERATORS.items(), strict=True):
            own = of(table, *whose)
            if c in graphs and len(own):
                said = _edited_pairs(axis, inputs[graphs[c]], own[own.index == graphs[c]])
                axis.set_title(f"{label}, graph {graphs[c]} ({TASK.class_name(c)})\n{said}", fontsize=7)
                seen += [f"{label} on the {TASK.class_name(c)} graph {said}"]
    colours = ScalarMappable(Normalize(0, 1), plt.get_cmap(style.SCORES))
    drawing.colorbar(colours, ax=axes, fraction=0.02, pad=0.02, label="share of valid candidates that edit the pair")
    figure.heading(drawing, "Candidates for one graph", results)
    caption = f"{CAPTIONS['consensus_candidates']} Seen: {'; '.join(seen) or 'nothing is stored'}."
    return Drawn("consensus_candidates", drawing, caption, "Conclusion (several candidates)", tuple(missing))


def _edited_pairs(axis: Axes, adjacency: np.ndarray, candidates: pd.DataFrame) -> str:
    """Draw what the valid candidates edit; returns how many there are and how far they agree."""
    edits = list(candidates[candidates["found"]]["edits"])
    if not edits:
        return "no valid candidate"
    share, layers = shares(edits, len(adjacency)), []
    for kind, dashes in ((1, "solid"), (0, (0, (2, 1)))):
        edited = [(int(u), int(v)) for u, v in np.argwhere(share > 0) if adjacency[u, v] == kind]
        values = [float(share[pair]) for pair in edited]
        colours = {"edge_color": values, "edge_cmap": plt.get_cmap(style.SCORES), "edge_vmin": 0, "edge_vmax": 1}
        layers.append((edited, {**colours, "width": [1 + 2.5 * value for value in values], "style": dashes}))
    untouched = {"edge_color": "#BBBBBB", "width": 0.8}
    network(axis, layout(adjacency), (edges_of(adjacency), untouched), *layers)
    return f"{len(edits)} of {len(candidates)} valid, agreement {agreement(edits):.2f}"


# -- Methods on ASD ------------------------------------------------------------------------------------------------


def over_methods(ledgers: Mapping[str, pd.DataFrame], c: int) -> np.ndarray:
    """The share of a class's valid counterfactuals that edit a pair, the mean of the methods' shares, [n, n]."""
    maps = []
    for ledger in ledgers.values():
        rows = ledger[is_valid(ledger) & (ledger["predicted"] == c)]
        if len(rows):
            maps.append(shares(list(rows["edits"]), int(rows["n_nodes"].iloc[0])))
    return np.mean(maps, axis=0) if maps else np.zeros((1, 1))


def _over_methods(results: Results) -> Drawn:
    every = {style.look((method, "faithful")).label: results.ledger(ASD.name, method, "faithful") for method in METHODS}
    ledgers = {label: ledger for label, ledger in every.items() if len(ledger)}
    missing = tuple(f"{label} on {ASD.label}" for label in every if label not in ledgers)
    drawing, axes = plt.subplots(2, 2, figsize=(style.PAGE, 5.6), width_ratios=(1, 0.8))
    by_class = [over_methods(ledgers, c) for c in range(len(ASD.class_names))]
    most, seen = max(0.01, *(float(share.max()) for share in by_class)), []
    for (field, bars), (c, share) in zip(axes, enumerate(by_class), strict=True):
        _map(field, share, most, f"class {c}, {ASD.class_name(c)}")
        top = np.argsort(-share, axis=None, kind="stable")[:TOP]
        regions = [f"{_region(u)} – {_region(v)}" for u, v in pairs(top, len(share))]
        sns.barplot(x=share.flat[top], y=regions, color=style.BLUE, saturation=1, ax=bars)
        bars.tick_params(axis="y", labelsize=5.5)
        bars.set(xlim=(0, 1), xlabel="share that edit the pair")
        bars.set_title(f"class {c}: the {len(top)} pairs edited most", fontsize=7)
        seen.append(f"for {ASD.class_name(c)} graphs region pair {regions[0]}, by {share.flat[top[0]]:.0%}")
    labels = ", ".join(ledgers) or "none"
    figure.heading(drawing, f"Methods: {labels}", results)
    caption = f"Where the methods edit {ASD.label} graphs; nothing is stored."
    if ledgers:
        caption = CAPTIONS["consensus_asd"].format(methods=labels, task=ASD.label, seen="; ".join(seen))
    return Drawn("consensus_asd", drawing, caption, "", missing)


def _region(node: int) -> str:
    return ASD.node_names[node].replace("_", " ")


def _map(axis: Axes, share: np.ndarray, most: float, title: str) -> None:
    bar = {"fraction": 0.046, "pad": 0.03, "label": "share that edit the pair"}
    named = range(0, len(share), 20)
    sns.heatmap(
        np.maximum(share, share.T), ax=axis, cmap="rocket_r", vmin=0, vmax=most, square=True, rasterized=True,
        xticklabels=20, yticklabels=20, cbar_kws=bar,
    )  # fmt: skip
    axis.set_yticks([node + 0.5 for node in named], [_region(node) for node in named], fontsize=5.5)
    axis.set(xticklabels=[], xlabel="brain regions, in the order of the atlas")
    axis.set_title(title, fontsize=7)
    axis.tick_params(rotation=0)
    axis.grid(False)


if __name__ == "__main__":
    figure.script("consensus", draw)
