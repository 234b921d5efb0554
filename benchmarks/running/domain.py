"""The rules of the domain that a task's graphs are from: what a counterfactual has to keep to be possible."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from rsgg.constraints import Constraint
from rsgg.data.dataset import Dataset, Fold
from rsgg.data.molecules import smiles_by_name
from rsgg.errors import DataError
from rsgg.feasibility import Molecule, molecules_of, rules_of
from rsgg.molecule_edits import KnownMolecules
from rsgg.task import Problem


def rules_of_domain(problem: Problem, fold: Fold, data_dir: Path | None = None) -> tuple[Constraint, ...]:
    """Learnt from all graphs outside the fold, and from chemistry where the graphs are molecules."""
    return rules_of(problem.graphs.select(fold.outside), _molecules(problem.dataset, data_dir))


@lru_cache(maxsize=2)
def _molecules(dataset: Dataset, data_dir: Path | None) -> dict[str, Molecule] | None:
    """The molecules of a data set; None where its graphs are none, or RDKit is not there."""
    try:
        return molecules_of(dataset, data_dir)
    except DataError:
        return None


@lru_cache(maxsize=2)
def known_molecules(dataset: Dataset, data_dir: Path | None = None) -> KnownMolecules:
    """Which molecules the graphs of a data set are, for methods that change molecules."""
    return KnownMolecules(smiles_by_name(dataset, data_dir), dataset.feature_names)
