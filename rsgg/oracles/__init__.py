"""Oracles: the black boxes Φ whose decisions are explained."""

from rsgg.oracles.asd import ASDOracle
from rsgg.oracles.oracle import CountingOracle, Oracle, WrappedOracle
from rsgg.oracles.pyg import PyGOracle
from rsgg.oracles.tree_cycles import TreeCyclesOracle

__all__ = ["ASDOracle", "CountingOracle", "Oracle", "PyGOracle", "TreeCyclesOracle", "WrappedOracle"]
