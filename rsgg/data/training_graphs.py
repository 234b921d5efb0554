"""The training graphs of one fold as a data set of their own, for a nested search for hyper-parameters.

The paper's search chose hyper-parameters by the folds that Table 1 then reports (appendix). Here the test graphs of the
outer fold are not in the data set that the search is given, so nothing that is chosen can depend on them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from rsgg.data.dataset import Dataset, DatasetSpec
from rsgg.errors import DataError


@dataclass(frozen=True)
class TrainingGraphs:
    """The training graphs of fold `fold` of `folds` of the data set `base`; `seed` shuffled its folds."""

    base: DatasetSpec
    fold: int
    folds: int = 10
    seed: int = 0

    def __post_init__(self) -> None:
        if not hasattr(self.base, "load") or isinstance(self.base, type):
            raise DataError(f"{self.base!r} is no data set; give one that can be loaded, as TreeCycles() is.")
        if not isinstance(self.fold, int) or not isinstance(self.folds, int):
            raise DataError(f"Fold {self.fold!r} of {self.folds!r} was asked for; give whole numbers.")
        if not 0 <= self.fold < self.folds:
            raise DataError(f"There is no fold {self.fold}; of {self.folds} folds the last is {self.folds - 1}.")

    @property
    def name(self) -> str:
        return f"{self.base.name}-training"

    def parameters(self) -> dict[str, object]:
        base = {"name": self.base.name, "parameters": self.base.parameters()}
        return {"base": base, "fold": self.fold, "folds": self.folds, "seed": self.seed}

    def load(self, data_dir: Path | None = None) -> Dataset:
        """Load the whole data set and keep the training graphs, in their order."""
        whole = self.base.load(data_dir)
        train = whole.folds(self.folds, self.seed)[self.fold].train
        return replace(whole.select(train), name=self.name)
