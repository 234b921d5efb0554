"""The rows of the table of global summaries: methods that explain a class by a few graphs, and their controls.

They are declared like the rows of other tables (`benchmarks.registry.methods.Method`), in a list of their own, as they
explain no single graph. α of GCFExplainer is what its authors chose for each data set; rows with another α have
the other two values.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.registry import names as typed
from benchmarks.registry.methods import BROWN, GREY, NAVY, Method, Row

WANTED = {"aids-gcn": 0, "mutagenicity-gcn": 1, "nci1-gcn": 0, "proteins-gcn": 0}
"""The tasks, each with the class that is wanted: the one that GCFExplainer's data call 1."""
BEST_ALPHA = {"aids-gcn": 0.5, "mutagenicity-gcn": 1.0, "nci1-gcn": 0.0, "proteins-gcn": 1.0}  # its Table 5
GCF = "rsgg.baselines.gcfexplainer:GCFExplainer"
CONTROLS = "rsgg.baselines.global_controls"
CHOSEN = {task: {"alpha": alpha} for task, alpha in BEST_ALPHA.items() if alpha != 0.5}
WITHOUT_CHANCE = ("real-graphs",)  # rows of which one replicate is all there is


def _left_out(name: str, label: str, option: str, marker: str) -> Method:
    """GCFExplainer without one of its parts."""
    return Method(
        f"gcfexplainer-{name}", "control", GCF, f"GCFExplainer, {label}", BROWN, marker, {option: False}, CHOSEN,
        seconds_per_fold=60,
    )  # fmt: skip


def _with_alpha(name: str, alpha: float, marker: str) -> Method:
    """GCFExplainer with an α that is not the chosen one."""
    others = tuple(task for task, best in BEST_ALPHA.items() if best != alpha)
    options = {} if alpha == 0.5 else {"alpha": alpha}
    return Method(
        f"gcfexplainer-alpha-{name}", "control", GCF, f"GCFExplainer, α = {alpha:g}", BROWN, marker, options,
        tasks=others, limit="elsewhere that is the chosen α", seconds_per_fold=60,
    )  # fmt: skip


METHODS: list[Method] = [
    Method("gcfexplainer", "faithful", GCF, "GCFExplainer", BROWN, on=CHOSEN, seconds_per_fold=60),
    _left_out("no-reinforcement", "no reinforcement", "reinforced", "s"),
    _left_out("no-importance", "no importance", "weighted", "D"),
    _left_out("uniform-teleport", "uniform teleport", "dynamic", "^"),
    _with_alpha("0", 0.0, "v"),
    _with_alpha("half", 0.5, "<"),
    _with_alpha("1", 1.0, ">"),
    Method(
        "rsgg-ce-certified-greedy", "beyond", f"{CONTROLS}:InstanceCounterfactuals",
        "RSGG-CE, taught and certified, chosen greedily", NAVY, "D", seconds_per_fold=60,
    ),
    Method(
        "real-graphs", "control", f"{CONTROLS}:RealGraphs", "Real graphs, chosen greedily", GREY, "o",
        seconds_per_fold=30,
    ),
    Method(
        "random-real-graphs", "control", f"{CONTROLS}:RandomRealGraphs", "Real graphs at random", GREY, "x",
        seconds_per_fold=20,
    ),
]  # fmt: skip


def rows() -> dict[Row, Method]:
    """All rows, by name and variant."""
    return {method.row: method for method in METHODS}


def choose(asked: Sequence[str] | None = None) -> tuple[Method, ...]:
    """The rows of these names (`gcfexplainer`, or `gcfexplainer:faithful`), all unless some are asked for."""
    wanted = typed.names(asked)
    for name in wanted:
        if name not in {known for method in METHODS for known in (method.name, method.title)}:
            raise typed.unknown("global method", name, [method.name for method in METHODS])
    return tuple(method for method in METHODS if not wanted or {method.name, method.title} & set(wanted))


def chosen_tasks(asked: Sequence[str] | None = None) -> tuple[str, ...]:
    """The names of the tasks that are asked for, all unless some are."""
    wanted = typed.names(asked)
    for name in wanted:
        if name not in WANTED:
            raise typed.unknown("data set", name, list(WANTED))
    return tuple(name for name in WANTED if not wanted or name in wanted)
