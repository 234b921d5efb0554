"""Oracles: the black boxes Φ whose decisions are explained."""

from rsgg.oracles.oracle import ASDOracle, CountingOracle, Oracle, PyGOracle, TreeCyclesOracle

__all__ = ["ASDOracle", "CountingOracle", "Oracle", "PyGOracle", "TreeCyclesOracle"]
