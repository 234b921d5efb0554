r"""Table 1 as the paper prints it, in LaTeX: metrics × methods, with what was computed below each printed line.

Marks are the paper's: † a learning-based explainer, ‡ a generative one, × no convergence, bold and underlined values
as printed, Correctness and Fidelity on a grey ground. The lines below are the released code as re-implemented here,
with the letter of its verdict, and the method as its own paper defines it, RSGG-CE by score function. One column of a
paper holds it. Needs \usepackage{booktabs, graphicx, multirow} and \usepackage[table]{xcolor}.
"""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.registry import methods, tasks
from benchmarks.registry.metrics import TABLE1, Metric
from benchmarks.results.paper import measured_on, paper_table
from benchmarks.results.reader import Results
from figures.tables.numbers import number, stored
from figures.tables.sheet import LETTERS, MEANING, SYMBOLS, tex

MARKS = {"meg": r"\dag", "cf2": r"\dag", "clear": r"\ddag", "g-countergan": r"\ddag", "rsgg-ce": r"\ddag"}

SHADED = ("correctness", "fidelity")
GROUND = r"\cellcolor[HTML]{EFEFEF}"
LINES = {"released": "released", "faithful": "own paper"}  # below each printed line
KEY = ("dataset", "method", "variant", "metric")
Ours = Mapping[tuple[str, ...], Mapping[str, str]]  # the lines of Table 1, by `KEY`


def latex(results: Results) -> str:
    """The table as a float of one column."""
    columns = " & ".join(rf"{tex(methods.label(name))} ${mark}$" for name, mark in MARKS.items())
    legend = ", ".join(f"{LETTERS[verdict]} {tex(MEANING.get(verdict, verdict))}" for verdict in SYMBOLS)
    caption = (
        r"Table 1 of the paper (\textit{printed}; bold: best, underlined: second best, as printed; $\times$: no "
        r"convergence; $\dag$: learning-based, $\ddag$: generative), the released code as re-implemented here, mean "
        rf"over its replicates, with a verdict ({legend}), and the method as its own paper defines it ($^\ast$ RSGG-CE "
        "by score function, a training that its paper does not describe)."
    )
    lines = [
        r"% Made by figures/tables/as_printed.py; needs \usepackage{booktabs, graphicx, multirow} and"
        r" \usepackage[table]{xcolor}.",
        r"\begin{table}", r"\centering", rf"\caption{{{caption}}}", r"\label{tab:table1-as-printed}",
        r"\resizebox{\linewidth}{!}{%", r"\begin{tabular}{@{}lll" + "c" * len(MARKS) + r"@{}}", r"\toprule",
        rf" & & & {columns} \\",
    ]  # fmt: skip
    ours = {tuple(line[part] for part in KEY): line for line in stored(results, "table1").to_dict("records")}
    for dataset in tasks.PAPER:
        lines.append(r"\midrule")
        block = [line for metric in TABLE1 for line in _metric(ours, dataset, metric)]
        side = rf"\multirow{{{len(block)}}}{{*}}{{\rotatebox{{90}}{{{tex(tasks.label(dataset))}}}}}"
        lines += [f"{side if i == 0 else ''} & {line}" for i, line in enumerate(block)]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}%", "}", r"\end{table}", ""])


def _metric(table: Ours, dataset: str, metric: Metric) -> list[str]:
    """The printed line of a metric and the lines below it."""
    arrow = r"$\uparrow$" if metric.higher_is_better else r"$\downarrow$"
    ground = GROUND if metric.name in SHADED else ""
    printed = [f"{ground}{_printed(dataset, name, metric.name)}" for name in MARKS]
    lines = [" & ".join([f"{ground}{tex(metric.label)} {arrow}", f"{ground}printed", *printed]) + r" \\"]
    for variant, words in LINES.items():
        ours = [_ours(table, dataset, name, variant, metric) for name in MARKS]
        lines.append(" & ".join(["", rf"\textcolor{{gray}}{{{words}}}", *ours]) + r" \\")
    return lines


def _printed(dataset: str, method: str, metric: str) -> str:
    cell = paper_table().loc[(dataset, method, metric)]
    text = cell["value"] or r"$\times$"
    return rf"\textbf{{{text}}}" if cell["bold"] else rf"\underline{{{text}}}" if cell["underlined"] else text


def _ours(table: Ours, dataset: str, method: str, variant: str, metric: Metric) -> str:
    """Our number below a printed one: as released the judged mean with its verdict, else what Table 1 shows."""
    where = measured_on(dataset, method) if variant == "released" else dataset
    line = table.get((where, method, variant, metric.name))
    if line is None:
        return "--"
    value = number((line["judged"] if variant == "released" else "") or line["mean"], metric.decimals)
    verdict = LETTERS.get(line["verdict"], "") if variant == "released" else ""
    own = r"$^\ast$" if (method, variant) == ("rsgg-ce", "faithful") else ""
    return rf"\textcolor{{gray}}{{{tex(value)}}}{verdict}{own}"
