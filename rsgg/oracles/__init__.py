"""Oracles: the black boxes Φ whose decisions are explained."""

from rsgg.oracles.asd import ASDOracle
from rsgg.oracles.counting import CountingOracle
from rsgg.oracles.gnn import FrozenGCN, TrainedGNN
from rsgg.oracles.nodes import FrozenNodeGCN, NodeGCN
from rsgg.oracles.oracle import Oracle, WrappedOracle
from rsgg.oracles.pyg import CallableOracle, PyGOracle
from rsgg.oracles.tree_cycles import TreeCyclesOracle

__all__ = [
    "ASDOracle",
    "CallableOracle",
    "CountingOracle",
    "FrozenGCN",
    "FrozenNodeGCN",
    "NodeGCN",
    "Oracle",
    "PyGOracle",
    "TrainedGNN",
    "TreeCyclesOracle",
    "WrappedOracle",
]
