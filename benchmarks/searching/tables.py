"""What searches for hyper-parameters found, beside the paper's tables (appendix, one table per method).

    hpo_<method>.csv       the data: a row per trial, and the winner and the registry's values on unseen graphs
    hyperparameters.csv    every searched hyper-parameter: its space, the paper's best value, ours, importance
    hpo_summary.csv        a row per study: what the search promised and what the winner then did on unseen graphs
    tuning.csv             a row per method and data set: what was tried by hand and searched, and on which graphs

The last three are computed from the first alone (`render`), so they can be made again from what is committed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import Field, fields
from pathlib import Path
from typing import Any

import optuna
import pandas as pd

from benchmarks.registry import methods
from benchmarks.registry.methods import Method
from benchmarks.results.artefacts import Artefacts
from benchmarks.results.files import read_csv
from benchmarks.results.paper import of_paper
from benchmarks.results.searches import NOT_SEARCHED, STUDY, best, tuning, with_revisions
from benchmarks.searching.space import distribution, exactly
from rsgg.hyperparameters import Choice, Interval

MEASURED = ["revision", "number", "state", "value", "ged", "folds"]
LAST = ["seconds", "started", "reason"]

TOP = 0.25  # importance is about reaching this share of the trials
LEAST = 8  # complete trials, below which nothing is said about importance


# -- The data --------------------------------------------------------------------------------------------


def merged(path: Path, rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """The rows of `path`, those of the studies in `rows` replaced by them. All is text: nothing is rounded."""
    new = pd.DataFrame([{name: _text(value) for name, value in row.items()} for row in rows])
    old = read(path)
    if len(old) and len(new):
        studies = {tuple(row) for row in new[STUDY].to_numpy()}
        old = old[[tuple(row) not in studies for row in old[STUDY].to_numpy()]]
    every = pd.concat((old, new), ignore_index=True).fillna("")
    values = [name for name in every.columns if name not in (*STUDY, *MEASURED, *LAST)]
    return every[[*STUDY, *MEASURED, *values, *LAST]].sort_values(STUDY, kind="stable", ignore_index=True)


def stored(folder: Path) -> list[Path]:
    """The files of trials in a folder, one per method."""
    return [path for path in sorted(folder.glob("hpo_*.csv")) if path.name != "hpo_summary.csv"]


def read(path: Path) -> pd.DataFrame:
    """The trials of a file, as text, with the revisions of the methods that were searched."""
    return with_revisions(_raw(path))


def _raw(path: Path) -> pd.DataFrame:
    return read_csv(path, dtype=str, keep_default_na=False) if path.is_file() else pd.DataFrame()


def _text(value: Any) -> str:
    return "" if value is None else str(value)


# -- The tables ------------------------------------------------------------------------------------------


def render(files: Artefacts) -> None:
    """Write hyperparameters.csv, hpo_summary.csv and tuning.csv from the hpo_<method>.csv of the folder.

    Files of trials without revisions get them.
    """
    paths = stored(files.folder)
    for path in paths:
        if "revision" not in _raw(path):
            files.text(path.name, merged(path, []).to_csv(index=False))
    trials = pd.concat(map(read, paths), ignore_index=True).fillna("") if paths else pd.DataFrame(columns=STUDY)
    summary = pd.DataFrame([_summary(key, study) for key, study in _grouped(trials, STUDY)])
    chosen = pd.DataFrame([row for key, group in _grouped(trials, HEAD) for row in _hyperparameters(key, group)])
    files.text("hpo_summary.csv", summary.to_csv(index=False))
    files.text("hyperparameters.csv", chosen.to_csv(index=False))
    files.text("tuning.csv", tuning(trials).to_csv(index=False))


HEAD = ["method", "variant", "dataset", "space"]


def _grouped(table: pd.DataFrame, by: list[str]) -> Iterator[tuple[dict[str, str], pd.DataFrame]]:
    for key, group in table.groupby(by, sort=True):
        yield dict(zip(by, key, strict=True)), group


def _summary(key: dict[str, str], study: pd.DataFrame) -> dict[str, Any]:
    """A line of hpo_summary.csv: what a search promised to gain over the registry's values, and what was kept of it.

    `…_value` was measured where trials were, `…_correctness` on graphs that chose nothing. Gains are compared, not
    values, since a method that explains one class only scores the share of that class among the graphs it is given.
    `outcomes` counts the different values of complete trials: where it is 1, nothing that was searched mattered.
    """
    count, complete = study["state"].value_counts(), study[study["state"] == "complete"]
    won = best(study)
    tested = {kind: study[study["state"] == kind] for kind in ("winner", "default", "default, seen")}
    number = {
        (kind, column): float(rows[column].iloc[0]) if len(rows) and rows[column].iloc[0] else math.nan
        for kind, rows in tested.items()
        for column in ("value", "ged")
    }
    found = math.nan if won is None else float(won["value"])
    usual = number["default, seen", "value"]
    promised, kept = found - usual, number["winner", "value"] - number["default", "value"]
    states = {state: int(count.get(state, 0)) for state in ("complete", "pruned", "failed")}
    measured = {
        f"{kind}_{name}": number[kind, column]
        for kind in ("winner", "default")
        for name, column in (("correctness", "value"), ("ged", "ged"))
    }
    return {
        **key, "revision": study["revision"].iloc[0],
        "trials": sum(states.values()), **states, "outcomes": complete["value"].nunique(), "best_value": found,
        "default_value": usual, **measured,
        "promised": promised, "kept": kept, "optimism": promised - kept,
    }  # fmt: skip


def _hyperparameters(key: dict[str, str], trials: pd.DataFrame) -> Iterator[dict[str, str]]:
    """A row per hyper-parameter that was searched, then those that the paper searched and we did not."""
    method = methods.choose([f"{key['method']}:{key['variant']}"])[0].for_task(key["dataset"])
    explainer = method.load()
    spaces = explainer.search_space(beyond=key["space"] == "beyond")
    importance = _mean_importance(trials, spaces)
    from_paper = key["method"] in _methods_of_the_paper()
    for option in fields(explainer):
        if option.name in spaces:
            space, about = spaces[option.name], option.metadata
            yield {
                **key,
                "hyperparameter": option.name,
                "symbol": about["symbol"],
                "search_space": shown_space(space),
                "paper": shown(space, about["paper"]) if from_paper and not about.get("beyond") else "",
                "nested": _chosen(trials, "nested", option.name, space),
                "paper_protocol": _chosen(trials, "paper", option.name, space),
                "importance": f"{importance[option.name]:.2f}" if option.name in importance else "",
                "note": _note(method, option, space, from_paper=from_paper),
            }
    for symbol, line in NOT_SEARCHED.get((key["method"], key["variant"]), {}).items():
        row = dict.fromkeys(("hyperparameter", "nested", "paper_protocol", "importance"), "")
        yield {**key, **row, "symbol": symbol, **line}


def _methods_of_the_paper() -> set[str]:
    return set(of_paper("hyperparameters", dtype=str)["method"])


def _chosen(trials: pd.DataFrame, protocol: str, name: str, space: Choice | Interval) -> str:
    """The winners' values, one per outer fold, or one where they agree."""
    found = []
    for _, study in _grouped(trials[trials["protocol"] == protocol], ["outer_fold"]):
        won = best(study)
        if won is not None:
            found.append(shown(space, won[name]))
    return found[0] if len(set(found)) == 1 else " / ".join(found)


def _note(method: Method, option: Field[Any], space: Choice | Interval, *, from_paper: bool) -> str:
    value, doc = getattr(method.build(), option.name), option.metadata["doc"]
    parts = [doc] if doc else []
    if option.metadata.get("beyond"):
        parts.append("not in the paper; the space is ours")
    elif not from_paper:
        parts.append("the paper gives no space; this one is ours")
    return "; ".join([*parts, f"{_number(value)} in Table 1"])


def shown(space: Choice | Interval, value: Any) -> str:
    """A value as people write it: 500 and not 500.0, .0001 as 1e-4."""
    return _number(exactly(space, _parsed(space, value)))


def _parsed(space: Choice | Interval, text: Any) -> Any:
    if isinstance(space, Choice):
        for value in space.values:
            if str(value) == str(text):
                return value
    return float(text)


def _number(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if value and abs(value) < 0.02:
        digits, power = f"{value:.2e}".split("e")
        return f"{digits.rstrip('0').rstrip('.')}e{int(power)}"
    return f"{value:.4g}"


def shown_space(space: Choice | Interval) -> str:
    """{1, 2, ..., 10} where values are many and equally spaced, [low, high] for an interval."""
    if isinstance(space, Interval):
        return f"[{_number(space.low)}, {_number(space.high)}]{' (log)' if space.log else ''}"
    values = [_number(value) for value in space.values]
    if len(values) > 5 and not isinstance(distribution(space), optuna.distributions.CategoricalDistribution):
        values = [*values[:2], "...", values[-1]]
    return f"{{{', '.join(values)}}}"


# -- Importance ------------------------------------------------------------------------------------------


def _mean_importance(trials: pd.DataFrame, spaces: dict[str, Choice | Interval]) -> dict[str, float]:
    """The mean over the nested studies, which say more about unseen graphs; else that of the paper's protocol."""
    for protocol in ("nested", "paper"):
        studies = [study for _, study in _grouped(trials[trials["protocol"] == protocol], ["outer_fold"])]
        found = [one for one in (importance(study, spaces) for study in studies) if one]
        if found:
            return {name: sum(one[name] for one in found) / len(found) for name in spaces}
    return {}


def importance(study: pd.DataFrame, spaces: dict[str, Choice | Interval]) -> dict[str, float]:
    """PED-ANOVA over the complete trials, adding up to 1; empty where there are too few or all are equal."""
    complete = study[study["state"] == "complete"]
    if len(complete) < LEAST or complete["value"].astype(float).nunique() == 1:
        return {}
    kinds = {name: distribution(space) for name, space in spaces.items()}
    again = optuna.create_study(direction="maximize")
    for _, row in complete.iterrows():
        values = {name: _parsed(space, row[name]) for name, space in spaces.items()}
        again.add_trial(optuna.create_trial(params=values, distributions=kinds, value=float(row["value"])))
    evaluator = optuna.importance.PedAnovaImportanceEvaluator(target_quantile=TOP)
    found = optuna.importance.get_param_importances(again, evaluator=evaluator)
    return {name: float(share) for name, share in found.items()}
