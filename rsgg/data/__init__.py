"""Data sets: the two of the paper (Section 5 and appendix), public ones, nodes, and what any other one has to offer."""

from rsgg.data.asd import ASD
from rsgg.data.dataset import Dataset, DatasetSpec, Fold
from rsgg.data.molecules import Molecules
from rsgg.data.motifs import Motifs
from rsgg.data.nodes import GeneratedNodes, NodeDataset, NodesFromFiles
from rsgg.data.streams import TreeCyclesStream
from rsgg.data.training_graphs import TrainingGraphs
from rsgg.data.tree_cycles import TreeCycles
from rsgg.data.tu import TU

__all__ = [
    "ASD",
    "TU",
    "Dataset",
    "DatasetSpec",
    "Fold",
    "GeneratedNodes",
    "Molecules",
    "Motifs",
    "NodeDataset",
    "NodesFromFiles",
    "TrainingGraphs",
    "TreeCycles",
    "TreeCyclesStream",
]
