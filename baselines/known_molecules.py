"""What methods share that change molecules rather than graphs: each graph is looked up as the molecule that it is."""

from __future__ import annotations

import json
from abc import abstractmethod
from dataclasses import dataclass, field

import torch
from torch import Tensor

from rsgg.counterfactual import Candidate
from rsgg.data.molecules import load_rdkit
from rsgg.explainer import Explainer
from rsgg.graph import Graph, GraphBatch
from rsgg.molecule_edits import KnownMolecules
from rsgg.oracles.counting import CountingOracle


@dataclass(frozen=True, eq=False)
class Instance:
    """A graph to explain as a molecule.

    `columns` tells which column of X stands for an element, `like` is the batch that the graph came in, and all
    questions about it are charged to `owner`.
    """

    graph: Graph
    smiles: str
    class_: int
    columns: dict[str, int]
    like: GraphBatch
    owner: int


@dataclass(kw_only=True)
class MoleculeExplainer(Explainer):
    """Explains graphs one by one as molecules; a graph whose molecule is not known is a failure."""

    molecules: KnownMolecules | None = field(
        default=None, metadata={"doc": "which molecules the graphs are; it is given with the data"}
    )

    @abstractmethod
    def _of_molecule(self, instance: Instance, oracle: CountingOracle, k: int, seed: int) -> list[Candidate]:
        """The k candidates of one graph, whose questions are all the first one's."""

    def _explain(
        self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, k: int, seed: int
    ) -> list[Candidate]:
        known = self.molecules
        columns = {} if known is None else {element: column for column, element in enumerate(known.elements)}
        results: list[Candidate] = []
        with load_rdkit()[1]():  # RDKit prints a line for every text or edit that makes no molecule
            for i, (graph, class_) in enumerate(zip(graphs, classes.tolist(), strict=True)):
                smiles = None if known is None else known.smiles.get(graph.name)
                if smiles is None or graphs.features is None:
                    results += [Candidate(None, "it is not known which molecule the graph is")] * k
                    continue
                instance = Instance(graph, smiles, class_, columns, graphs, i * k)
                results += self._of_molecule(instance, oracle, k, seed)
        return results

    def _state(self) -> dict[str, Tensor]:
        if self.molecules is None:
            return {}
        text = json.dumps([dict(self.molecules.smiles), self.molecules.elements])
        return {"molecules": torch.tensor(list(text.encode()), dtype=torch.uint8)}

    def _restore(self, state: dict[str, Tensor]) -> None:
        if "molecules" in state:
            smiles, elements = json.loads(bytes(state["molecules"].tolist()))
            self.molecules = KnownMolecules(smiles, tuple(elements))
