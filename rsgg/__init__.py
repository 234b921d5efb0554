"""RSGG-CE and what every graph counterfactual explainer shares: graphs, oracles, explainers, data, metrics.

    import rsgg
    print(rsgg.explain(model, graph).in_words())               # any PyG graph classifier, no training

    from rsgg import PyGOracle, TaughtRSGGCE
    oracle = PyGOracle(model)
    explainer = TaughtRSGGCE(certify=True).fit(training_graphs, oracle)  # once for many graphs
    for result in explainer.explain(graphs, oracle):
        print(result.added, result.removed, result.calls)

Graphs may be `rsgg.Graph`, NetworkX graphs or PyG `Data`. Names are imported when they are first used, so that
`import rsgg.statistics` loads neither torch nor any model.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rsgg.compose import BestOf, FirstOf, Minimised
    from rsgg.contract import (
        ContractViolation,
        check_explainer,
        check_global_explainer,
        check_oracle,
        check_task,
    )
    from rsgg.counterfactual import Candidate, Counterfactual
    from rsgg.data import ASD, TU, Dataset, Molecules, Motifs, TreeCycles
    from rsgg.errors import RSGGError
    from rsgg.explainer import Capabilities, Explainer
    from rsgg.global_explainer import GlobalExplainer, GlobalResult
    from rsgg.graph import Graph, GraphBatch
    from rsgg.hyperparameters import Choice, Interval, hyper
    from rsgg.metrics import evaluate
    from rsgg.oracles import (
        ASDOracle,
        CallableOracle,
        CountingOracle,
        FrozenGCN,
        Oracle,
        PyGOracle,
        TrainedGNN,
        TreeCyclesOracle,
    )
    from rsgg.quick import UntaughtSearch, explain
    from rsgg.rsgg_ce import RSGGCE, LiteralRSGGCE, RankedRSGGCE, ReleasedRSGGCE, TaughtRSGGCE
    from rsgg.rsgg_ce.partial_order import ExistingThenMissing, Group, PartialOrder, Within
    from rsgg.sparse import SparseGraph
    from rsgg.task import Problem, Task

__version__ = "1.1.0"

__all__ = [
    "ASD",
    "RSGGCE",
    "TU",
    "ASDOracle",
    "BestOf",
    "CallableOracle",
    "Candidate",
    "Capabilities",
    "Choice",
    "ContractViolation",
    "Counterfactual",
    "CountingOracle",
    "Dataset",
    "ExistingThenMissing",
    "Explainer",
    "FirstOf",
    "FrozenGCN",
    "GlobalExplainer",
    "GlobalResult",
    "Graph",
    "GraphBatch",
    "Group",
    "Interval",
    "LiteralRSGGCE",
    "Minimised",
    "Molecules",
    "Motifs",
    "Oracle",
    "PartialOrder",
    "Problem",
    "PyGOracle",
    "RSGGError",
    "RankedRSGGCE",
    "ReleasedRSGGCE",
    "SparseGraph",
    "Task",
    "TaughtRSGGCE",
    "TrainedGNN",
    "TreeCycles",
    "TreeCyclesOracle",
    "UntaughtSearch",
    "Within",
    "check_explainer",
    "check_global_explainer",
    "check_oracle",
    "check_task",
    "evaluate",
    "explain",
    "hyper",
]

_MODULES = {
    "rsgg.compose": ("BestOf", "FirstOf", "Minimised"),
    "rsgg.contract": (
        "ContractViolation",
        "check_explainer",
        "check_global_explainer",
        "check_oracle",
        "check_task",
    ),
    "rsgg.counterfactual": ("Candidate", "Counterfactual"),
    "rsgg.data": ("ASD", "TU", "Dataset", "Molecules", "Motifs", "TreeCycles"),
    "rsgg.errors": ("RSGGError",),
    "rsgg.explainer": ("Capabilities", "Explainer"),
    "rsgg.global_explainer": ("GlobalExplainer", "GlobalResult"),
    "rsgg.graph": ("Graph", "GraphBatch"),
    "rsgg.hyperparameters": ("Choice", "Interval", "hyper"),
    "rsgg.metrics": ("evaluate",),
    "rsgg.oracles": (
        "ASDOracle",
        "CallableOracle",
        "CountingOracle",
        "FrozenGCN",
        "Oracle",
        "PyGOracle",
        "TrainedGNN",
        "TreeCyclesOracle",
    ),
    "rsgg.quick": ("UntaughtSearch", "explain"),
    "rsgg.rsgg_ce": ("RSGGCE", "LiteralRSGGCE", "RankedRSGGCE", "ReleasedRSGGCE", "TaughtRSGGCE"),
    "rsgg.rsgg_ce.partial_order": ("ExistingThenMissing", "Group", "PartialOrder", "Within"),
    "rsgg.sparse": ("SparseGraph",),
    "rsgg.task": ("Problem", "Task"),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> object:
    """Import a public name when it is first used (PEP 562)."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'rsgg' has no attribute {name!r}")
    value = getattr(import_module(_MODULE_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
