"""RSGG-CE and what every graph counterfactual explainer shares: graphs, oracles, explainers, data, metrics.

    from rsgg import RSGGCE, PyGOracle
    oracle = PyGOracle(model)                                  # any PyG graph classifier
    explainer = RSGGCE(minimality=0.02).fit(training_graphs, oracle)
    for result in explainer.explain(graphs, oracle):
        print(result.added, result.removed, result.calls)

Graphs may be `rsgg.Graph`, NetworkX graphs or PyG `Data`.
"""

from rsgg.contract import check_explainer
from rsgg.data import ASD, Dataset, TreeCycles
from rsgg.errors import RSGGError
from rsgg.explainer import Candidate, Capabilities, Choice, Counterfactual, Explainer, Interval, hyper
from rsgg.graph import Graph, GraphBatch
from rsgg.metrics import evaluate
from rsgg.minimise import Minimised
from rsgg.oracles.oracle import ASDOracle, CountingOracle, Oracle, PyGOracle, TreeCyclesOracle
from rsgg.rsgg_ce.partial_order import ExistingThenMissing, Group, PartialOrder, Within
from rsgg.rsgg_ce.released import ReleasedRSGGCE
from rsgg.rsgg_ce.explainer import RSGGCE

__version__ = "0.1.0"

__all__ = [
    "ASD",
    "RSGGCE",
    "ASDOracle",
    "Candidate",
    "Capabilities",
    "Choice",
    "Counterfactual",
    "CountingOracle",
    "Dataset",
    "ExistingThenMissing",
    "Explainer",
    "Graph",
    "GraphBatch",
    "Group",
    "Interval",
    "Minimised",
    "Oracle",
    "PartialOrder",
    "PyGOracle",
    "RSGGError",
    "ReleasedRSGGCE",
    "TreeCycles",
    "TreeCyclesOracle",
    "Within",
    "check_explainer",
    "evaluate",
    "hyper",
]  # fmt: skip
