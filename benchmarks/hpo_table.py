"""What searches for hyper-parameters found, beside the paper's tables (appendix, one table per method).

    hpo_<method>.csv       the data: a row per trial, and the winner and the catalogue's values on unseen graphs
    hyperparameters.csv    (and .md) every searched hyper-parameter: its space, the paper's best value, ours, importance
    hpo_summary.csv        a row per study: what the search promised and what the winner then did on unseen graphs

The last two are computed from the first alone (`render`), so they can be made again from what is committed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import Field, fields
from pathlib import Path
from typing import Any

import optuna
import pandas as pd
from rich import box
from rich.table import Table

from benchmarks.catalogue import Method, choose_methods
from benchmarks.options import RESULTS
from benchmarks.searches import distribution, exactly
from benchmarks.store import write_text
from rsgg.explainer import Choice, Interval

STUDY = ["method", "variant", "dataset", "protocol", "space", "outer_fold"]  # what tells studies apart
MEASURED = ["number", "state", "value", "ged", "folds"]
LAST = ["seconds", "started", "reason"]
TIMES = ["seconds", "started"]  # what may differ between two runs of the same study

TOP = 0.25  # importance is about reaching this share of the trials
LEAST = 8  # complete trials, below which nothing is said about importance

NOT_SEARCHED: dict[tuple[str, str], dict[str, tuple[str, str, str]]] = {
    ("cf2", "faithful"): {
        "batch size ratio": ("{0.1, 0.15, 0.2}", "0.2", "no meaning here: each graph is optimised by itself")
    },
    ("cf2", "released"): {
        "α": ("{0.5, 0.6, ..., 1.0}", "0.7", "cannot matter: the term that it weighs has no gradient"),
        "λ": ("{20, 100, 500, 1000}", "20", "cannot matter: the released code does not read it"),
        "γ": ("{0.1, 0.2, ..., 1.0}", "0.9", "cannot matter: the term that it is in has no gradient"),
    },
    ("clear", "faithful"): {
        "α": ("{0, 0.2, ..., 1}", "0.4", "no meaning here: the objective has three weights, λ_sim, λ_kl and λ_cfe"),
        "batch size ratio": ("{0.1, 0.15, 0.2}", "0.15", "no meaning here: training is full batch, as in the original"),
    },
    ("clear", "released"): {
        "α": ("{0, 0.2, ..., 1}", "0.4", "cannot matter: the weights enter a printed value only"),
    },
    ("rsgg-ce", "faithful"): {
        "T": ("{50, 100, ..., 500}", "500", "held at 500: a commented-out line of the paper's source, not its table")
    },
    ("rsgg-ce", "released"): {
        "T": ("{50, 100, ..., 500}", "500", "held at 500: a commented-out line of the paper's source, not its table")
    },
}
"""What the paper searched and this search does not, with the paper's space, its best value and the reason."""

ABOUT = f"""\
*Ours, nested*: the values with the highest mean Correctness over inner folds of the training graphs of the outer fold
(several outer folds: / between them). *Ours, paper's protocol*: the same over the test folds themselves, which is how
the paper's search chose; what it promises is therefore optimistic (hpo_summary.csv). Of equal ones the one with the
smaller GED is taken, then the earlier. The first trial of every search tries the paper's best values, the second the
catalogue's where the space holds all of them, so that ours are no worse than these for want of luck. *Importance*:
PED-ANOVA, the share of each hyper-parameter in reaching the best {TOP:.0%} of the complete trials; empty below {LEAST}
of them, or where all had the same Correctness.
"""


# -- The data --------------------------------------------------------------------------------------------


def merged(path: Path, rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """The rows of `path`, those of the studies in `rows` replaced by them. All is text: nothing is rounded."""
    new = pd.DataFrame([{name: _text(value) for name, value in row.items()} for row in rows])
    old = read(path)
    if len(old):
        studies = {tuple(row) for row in new[STUDY].to_numpy()}
        old = old[[tuple(row) not in studies for row in old[STUDY].to_numpy()]]
    every = pd.concat((old, new), ignore_index=True).fillna("")
    values = [name for name in every.columns if name not in (*STUDY, *MEASURED, *LAST)]
    return every[[*STUDY, *MEASURED, *values, *LAST]].sort_values(STUDY, kind="stable", ignore_index=True)


def write(path: Path, table: pd.DataFrame) -> None:
    write_text(path, table.to_csv(index=False))


def read(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, dtype=str, keep_default_na=False) if path.is_file() else pd.DataFrame()


def _text(value: Any) -> str:
    return "" if value is None else str(value)


# -- The tables ------------------------------------------------------------------------------------------


def render(out: Path) -> Table:
    """Write hyperparameters.csv, hyperparameters.md and hpo_summary.csv from the hpo_<method>.csv of this folder."""
    files = [path for path in sorted(out.glob("hpo_*.csv")) if path.name != "hpo_summary.csv"]
    trials = pd.concat(map(read, files), ignore_index=True).fillna("") if files else pd.DataFrame(columns=STUDY)
    summary = pd.DataFrame([_summary(key, study) for key, study in _grouped(trials, STUDY)])
    chosen = pd.DataFrame([row for key, group in _grouped(trials, HEAD) for row in _hyperparameters(key, group)])
    write(out / "hpo_summary.csv", summary)
    write(out / "hyperparameters.csv", chosen)
    write_text(out / "hyperparameters.md", _markdown(chosen, summary))
    return _on_terminal(summary)


HEAD = ["method", "variant", "dataset", "space"]


def _grouped(table: pd.DataFrame, by: list[str]) -> Iterator[tuple[dict[str, str], pd.DataFrame]]:
    for key, group in table.groupby(by, sort=True):
        yield dict(zip(by, key, strict=True)), group


def best(study: pd.DataFrame) -> pd.Series | None:
    """The row of the trial that won: highest Correctness, then smallest GED, then first."""
    complete = study[study["state"] == "complete"]
    if complete.empty:
        return None
    order = pd.DataFrame({name: complete[name].astype(float) for name in ("value", "ged", "number")})
    return complete.loc[order.sort_values(["value", "ged", "number"], ascending=[False, True, True]).index[0]]


def _summary(key: dict[str, str], study: pd.DataFrame) -> dict[str, Any]:
    """A line of hpo_summary.csv: what a search promised to gain over the catalogue's values, and what was kept of it.

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
        **key, "trials": sum(states.values()), **states, "outcomes": complete["value"].nunique(), "best_value": found,
        "default_value": usual, **measured,
        "promised": promised, "kept": kept, "optimism": promised - kept,
    }  # fmt: skip


def _hyperparameters(key: dict[str, str], trials: pd.DataFrame) -> Iterator[dict[str, str]]:
    """A row per hyper-parameter that was searched, then those that the paper searched and we did not."""
    method = choose_methods([f"{key['method']}:{key['variant']}"])[0].for_dataset(key["dataset"])
    spaces = method.explainer.search_space(beyond=key["space"] == "beyond")
    importance = _mean_importance(trials, spaces)
    from_paper = key["method"] in _methods_of_the_paper()
    for option in fields(method.explainer):
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
    for symbol, (searched, paper, reason) in NOT_SEARCHED.get((key["method"], key["variant"]), {}).items():
        row = dict.fromkeys(("hyperparameter", "nested", "paper_protocol", "importance"), "")
        yield {**key, **row, "symbol": symbol, "search_space": searched, "paper": paper, "note": reason}


def _methods_of_the_paper() -> set[str]:
    return set(pd.read_csv(RESULTS / "paper" / "hyperparameters.csv", dtype=str)["method"])


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


# -- To read ---------------------------------------------------------------------------------------------


def _markdown(chosen: pd.DataFrame, summary: pd.DataFrame) -> str:
    titles = {
        "symbol": "hyper-parameter",
        "search_space": "search space",
        "paper": "paper's best",
        "nested": "ours, nested",
        "paper_protocol": "ours, paper's protocol",
        "importance": "importance",
        "note": "note",
    }
    parts = ["# Hyper-parameters\n", ABOUT]
    if len(chosen):
        for key, group in _grouped(chosen, HEAD):
            beyond = ", beyond the paper" if key["space"] == "beyond" else ""
            parts.append(f"## {key['method']} ({key['variant']}{beyond}) on {key['dataset']}\n")
            parts.append(_pipes(group[list(titles)].rename(columns=titles)))
    if len(summary):
        parts += ["## What the searches promised and what came of it\n", _pipes(_short(summary))]
    return "\n".join(parts)


def _pipes(table: pd.DataFrame) -> str:
    lines = [list(table.columns), ["---"] * table.shape[1], *table.to_numpy().tolist()]
    return "".join(f"| {' | '.join(str(cell) for cell in line)} |\n" for line in lines)


def _short(summary: pd.DataFrame) -> pd.DataFrame:
    """The summary with three decimals, for people."""
    decimals = [
        name
        for name in summary.columns
        if name.endswith(("value", "correctness", "ged", "promised", "kept", "optimism"))
    ]
    text = {name: [f"{x:.3f}" if pd.notna(x) else "" for x in summary[name].astype(float)] for name in decimals}
    return summary.assign(**text).rename(columns=lambda name: name if name in STUDY else name.replace("_", " "))


def _on_terminal(summary: pd.DataFrame) -> Table:
    table = Table(box=box.SIMPLE_HEAD, title="Searches for hyper-parameters")
    short = _short(summary).drop(columns=STUDY, errors="ignore")
    table.add_column("search")
    for name in short.columns:
        table.add_column(name, justify="right")
    for (_, row), measured in zip(summary.iterrows(), short.to_numpy().tolist(), strict=True):
        beyond = ", beyond" if row["space"] == "beyond" else ""
        title = f"{row['dataset']}, {row['method']} ({row['variant']}{beyond}), {row['protocol']} {row['outer_fold']}"
        table.add_row(title, *map(str, measured))
    return table
