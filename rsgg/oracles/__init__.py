"""Oracles: the black boxes Φ whose decisions are explained."""

from rsgg.oracles.asd import ASDOracle
from rsgg.oracles.oracle import CountingOracle, Oracle, WrappedOracle
from rsgg.oracles.pyg import CallableOracle, PyGOracle
from rsgg.oracles.tree_cycles import TreeCyclesOracle

__all__ = [
    "ASDOracle",
    "CallableOracle",
    "CountingOracle",
    "Oracle",
    "PyGOracle",
    "TreeCyclesOracle",
    "WrappedOracle",
]
