"""Variations of a row: the same method on the same graphs with one thing changed at a time. Which of them matter?

    ./reproduce.sh variations                  # all studies
    ./reproduce.sh variations --study training

- `training`: RSGG-CE's training has much that is not in the paper (the list is at the top of
  `rsgg.rsgg_ce.explainer`). Each part is left out in turn, on Tree-Cycles; `rsgg.rsgg_ce.left_out` says what stands in
  its place. The training was worked out on replicates 0 and 1, so it is taken apart on another one (11).
- `meg-asd`: MEG finds few counterfactuals on ASD. Is it the few episodes, the horizon, the few steps of Adam, or that
  it may choose among 512 of 6670 node pairs only? Does the slope of the reward matter (told classes only, it has
  none)? Does play that learns find more than play at random? On the first four folds, since long searches take long.
- `price-released`, `price-defined`: CF-GNNExplainer pays β for every edge that it deletes. Does β reach the mask? As
  released and as its paper defines it, on the given Tree-Cycles with its published weights.
- `boundaries`, `boundaries-six`: RCExplainer trains on linear decision boundaries that it mines. Do they say more than
  the logits do? On Mutagenicity, which has two classes, and on ENZYMES, which has six; both oracles have linear heads.
  Also without the term for what is kept (as GNNX-Bench runs it), and with a network that is not trained at all.

`variations.csv` has a line per study, variation and metric: the mean, and the difference from the row as it is, over
the folds that all variations of the study have; `folds` says how many. When a variation *matters* is said in
`benchmarks.registry.rules`. Folds of one replicate share training graphs, so p values are somewhat too small.
`boundaries.csv` says, for each fold of the row as it is in studies of RCExplainer, how many boundaries were mined and
how many of them differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from benchmarks.registry import methods
from benchmarks.registry.methods import Method, Options, Row
from benchmarks.registry.names import names, unknown
from benchmarks.registry.rules import SURE, VARIED_METRICS
from benchmarks.results.artefacts import Artefacts
from benchmarks.results.cell import Cell
from benchmarks.results.ledger import Stored, curves
from benchmarks.results.summary import accounted
from benchmarks.running.experiment import Experiment, Finished
from benchmarks.running.options import VariationOptions
from benchmarks.running.plan import cells_for
from rsgg.statistics import holm

AS_IT_IS = "as it is"
METRICS = ("correctness", "ged", "ged_on_success", "explain_calls")
COLUMNS = (
    "study", "variation", "instead", "metric", "mean", "difference", "ci_low", "ci_high", "p", "p_holm", "matters",
    "folds",
)  # fmt: skip
BOUNDARIES = ("study", "dataset", "seed", "fold", "regions", "mined", "distinct")


@dataclass(frozen=True)
class Study:
    """A row on a task, and what is changed: for each variation what it means and the options that make it.

    `explainer` is a class that takes these options, where the row's own does not; `name` is that of its cells, where
    `<row>-varied` is that of another study.
    """

    row: Row
    task: str
    replicates: tuple[str, ...]
    folds: str
    variations: Mapping[str, tuple[str, Options]]
    explainer: str = ""
    name: str = ""

    def methods(self) -> dict[str, Method]:
        """The row as it is, then with each variation; under a name that no row of a table has."""
        row = methods.rows()[self.row].for_task(self.task)
        name, explainer = self.name or f"{row.name}-varied", self.explainer or row.explainer
        named = replace(row, name=name, variant="control", explainer=explainer)
        varied = {name: named.with_options(options) for name, (_, options) in self.variations.items()}
        return {AS_IT_IS: named, **varied}


def studies() -> dict[str, Study]:
    from rsgg.rsgg_ce.left_out import PARTS  # late: it loads torch

    without = {f"without {name}": (part.instead, {"without": name}) for name, part in PARTS.items()}
    meg: dict[str, tuple[str, Options]] = {
        "classes only": ("a reward of 0 or 1, which has no slope", {"reward": "class"}),
        "random play": ("ε stays 1: nothing that was learnt is used", {"decay": 1.0}),
        "ten times the episodes": ("800 episodes, ε decays accordingly", {"episodes": 800, "decay": 0.995}),
        "longer episodes": ("64 steps instead of 16", {"horizon": 64}),
        "all pairs": ("all 6670 node pairs are candidates", {"max_actions": 6670}),
        "a step of Adam per step of play": ("eight times the updates", {"interval": 1}),
    }
    prices: dict[str, tuple[str, Options]] = {
        f"β = {beta:g}": ("instead of 0.5", {"beta": beta}) for beta in (0.0, 0.1, 1.0, 5.0)
    }
    logic: dict[str, tuple[str, Options]] = {
        "differences of logits": ("no boundary is mined", {"logic": "logits"}),
        "confidence": ("log-probabilities of the class: RCExp-NoLDB", {"logic": "confidence"}),
        "λ = 0": ("only what is left out counts, as in GNNX-Bench", {"same": 0.0}),
        "untrained": ("the network as it is initialised", {"epochs": 1, "lr": 1e-12}),
    }
    return {
        "training": Study(
            ("rsgg-ce", "faithful"), "tree-cycles", ("11",), "0-9", without,
            "rsgg.rsgg_ce.left_out:RSGGCEWithout",
        ),
        "meg-asd": Study(("meg", "faithful"), "asd", ("0",), "0-3", meg),
        "price-released": Study(
            ("cf-gnn-explainer", "released"), "tree-cycles-lucic", ("0",), "0-9", prices,
            name="cf-gnn-explainer-released-varied",
        ),
        "price-defined": Study(("cf-gnn-explainer", "faithful"), "tree-cycles-lucic", ("0",), "0-9", prices),
        "boundaries": Study(("rcexplainer", "faithful"), "mutagenicity-gcn", ("0",), "0-4", logic),
        "boundaries-six": Study(("rcexplainer", "faithful"), "enzymes-gin", ("0",), "0-4", logic),
    }  # fmt: skip


def chosen(options: VariationOptions) -> dict[str, Study]:
    known = studies()
    asked = names(options.study) or list(known)
    for name in asked:
        if name not in known:
            raise unknown("study", name, list(known))
    return {name: known[name] for name in asked}


def cells_of(study: Study, options: VariationOptions) -> dict[Cell, str]:
    """The cells of a study, each with the name of its variation; fold by fold, so that early ones compare."""
    folds = options.folds or (None if options.smoke else [study.folds])
    seeds = options.seeds or list(study.replicates[: 1 if options.smoke else None])
    row, task = [":".join(study.row)], [study.task]
    whole = cells_for(replace(options, methods=row, datasets=task, seeds=seeds, folds=folds))
    varied = {name: method.tiny() if options.smoke else method for name, method in study.methods().items()}
    cells: dict[Cell, str] = {}
    for cell in whole:
        for name, method in varied.items():  # made small, some are alike: then the first name is right
            cells.setdefault(replace(cell, method=method), name)
    return cells


def table(title: str, study: Study, ledger: pd.DataFrame, variation_of: Mapping[str, str]) -> pd.DataFrame:
    """`COLUMNS` of one study. `variation_of` maps the keys of its cells to names of variations."""
    own = ledger[ledger["cell"].isin(variation_of)]
    if own.empty:
        return pd.DataFrame(columns=list(COLUMNS))
    own = accounted(own)
    folds = own.assign(variation=own["cell"].map(variation_of)).groupby(["variation", "seed", "fold"])[list(METRICS)]
    by_variation = on_shared_folds({str(name): rows.droplevel(0) for name, rows in folds.mean().groupby(level=0)})
    whole = by_variation.get(AS_IT_IS, pd.DataFrame(columns=list(METRICS)))
    instead = {AS_IT_IS: "", **{name: text for name, (text, _) in study.variations.items()}}
    lines = [
        {"study": title, "variation": name, "instead": instead[name], "metric": metric}
        | difference(by_variation[name][metric], whole[metric])
        for name in instead
        if name in by_variation
        for metric in METRICS
    ]
    return judged(pd.DataFrame(lines, columns=list(COLUMNS)))


def on_shared_folds(by_variation: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Only the folds, by replicate and number, that all variations have: means over others would not compare."""
    shared = set.intersection(*(set(rows.index) for rows in by_variation.values()))
    return {name: rows[[fold in shared for fold in rows.index]] for name, rows in by_variation.items()}


def difference(own: pd.Series, whole: pd.Series) -> dict[str, float]:
    """Mean over folds, and the paired difference d from the row as it is: d̄ ± t_{.975, n-1} · s / √n over n folds."""
    apart = (own - whole).dropna().astype(float)
    mean, n, spread = float(apart.mean()), len(apart), float(apart.std())
    line = {"mean": float(own.mean()), "difference": mean, "folds": float(own.notna().sum())}
    if n < 2:
        return line
    half = float(stats.t.ppf(0.975, n - 1)) * spread / np.sqrt(n)
    p = float(stats.ttest_1samp(apart, 0).pvalue) if spread else float(mean == 0)
    return {**line, "ci_low": mean - half, "ci_high": mean + half, "p": p}


def judged(lines: pd.DataFrame) -> pd.DataFrame:
    """Which differences are sure, by the rule in `benchmarks.registry.rules`."""
    lines = lines.astype({"p_holm": float, "matters": object})
    about = lines["metric"].isin(VARIED_METRICS) & (lines["variation"] != AS_IT_IS) & lines["p"].notna()
    lines.loc[about, "p_holm"] = holm(lines.loc[about, "p"])
    lines.loc[about, "matters"] = np.where(lines.loc[about, "p_holm"] < SURE, "yes", "no")
    return lines


def is_counted(cell: Cell) -> bool:
    """Is this a cell whose boundaries are counted, so that what was seen of its training has to be kept?"""
    return cell.method.name == "rcexplainer-varied" and not cell.method.options


def boundaries(title: str, history: pd.DataFrame) -> pd.DataFrame:
    """`BOUNDARIES` of one study: what was mined in each of these fits, from their training curves; empty if nothing."""
    if history.empty or "distinct" not in history:
        return pd.DataFrame(columns=list(BOUNDARIES))
    last = history.dropna(subset=["distinct"]).groupby(["dataset", "seed", "fold"], as_index=False).last()
    return last.assign(study=title)[list(BOUNDARIES)].astype(dict.fromkeys(BOUNDARIES[2:], int))


class Variations(Experiment):
    """The studies that are asked for, side by side."""

    name = "variations"
    shows = ("variations",)
    pages = ("variations.md",)

    def plan(self, options: Any) -> list[Cell]:
        return [cell for study in chosen(options).values() for cell in cells_of(study, options)]

    def tables(self, done: Finished, files: Artefacts, options: Any) -> None:
        studies = {title: cells_of(study, options) for title, study in chosen(options).items()}
        tables = [
            table(title, chosen(options)[title], done.ledger, {cell.key: name for cell, name in cells.items()})
            for title, cells in studies.items()
            if not done.ledger.empty
        ]
        files.csv("variations.csv", pd.concat(tables) if tables else pd.DataFrame(columns=list(COLUMNS)))
        mined = [boundaries(title, curves(_as_they_are(cells, done.stored))) for title, cells in studies.items()]
        files.csv("boundaries.csv", pd.concat([pd.DataFrame(columns=list(BOUNDARIES)), *mined]))


def _as_they_are(cells: Mapping[Cell, str], stored: Mapping[str, Stored]) -> list[Stored]:
    """What is stored of the cells in which nothing is changed."""
    return [stored[cell.key] for cell, name in cells.items() if name == AS_IT_IS and cell.key in stored]


if __name__ == "__main__":
    from benchmarks.cli import script

    script("variations")
