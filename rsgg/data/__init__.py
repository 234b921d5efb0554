"""Data sets: the two of the paper (Section 5 and appendix) and what any other one has to offer."""

from rsgg.data.asd import ASD
from rsgg.data.dataset import Dataset, DatasetSpec, Fold
from rsgg.data.training_graphs import TrainingGraphs
from rsgg.data.tree_cycles import TreeCycles

__all__ = ["ASD", "Dataset", "DatasetSpec", "Fold", "TrainingGraphs", "TreeCycles"]
