"""Verify stored results: are the files whole, and do their numbers follow from the edits they hold?

Every cell's checksum is computed again. For a sample of cells the data set is made anew from the cell's definition, the
stored edits are applied to the inputs, and the oracle is asked again: classes, labels, sizes, GED, membership in the
test fold and the bound GED ≥ GED* have to come out as stored. No explainer is run.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from benchmarks.catalogue import declared_dataset
from benchmarks.options import ROOT
from benchmarks.store import Damaged, Store, Stored
from rsgg.data.dataset import Dataset, DatasetSpec
from rsgg.errors import DataError
from rsgg.seeds import numpy_rng


@dataclass
class Findings:
    """What verification found: sentences, and whether anything is wrong."""

    sentences: list[str] = field(default_factory=list)
    wrong: bool = False

    def say(self, sentence: str, *, wrong: bool = False) -> None:
        self.sentences.append(sentence)
        self.wrong |= wrong


def verify(folders: Sequence[Path], *, sample: int, data_dir: Path | None = None) -> Findings:
    """Check all files of these folders and re-derive the metrics of `sample` cells of each."""
    findings = Findings()
    for folder in folders:
        name = folder.relative_to(ROOT) if folder.is_relative_to(ROOT) else folder
        whole = _check_files(folder, str(name), findings)
        if whole and sample:
            chosen = numpy_rng("verify", len(whole)).permutation(len(whole))[:sample]
            _check_metrics([whole[i] for i in sorted(chosen)], str(name), data_dir, findings)
    return findings


# -- Files -----------------------------------------------------------------------------------------------


def _check_files(folder: Path, name: str, findings: Findings) -> list[Stored]:
    whole, damaged = [], 0
    for path, _, stored in Store(folder).everything():
        if isinstance(stored, Damaged):
            damaged += 1
            findings.say(f"{name}/{path.relative_to(folder)} {stored}.", wrong=True)
        else:
            whole.append(stored)
    if not whole and not damaged:
        findings.say(f"{name} holds no cells.")
    elif not damaged:
        findings.say(f"{name}: {len(whole)} cells, all checksums match.")
    else:
        findings.say(f"{name}: {len(whole)} cells are whole, {damaged} are not; run the experiment again.", wrong=True)
    _check_manifest(folder, name, findings)
    return whole


def _check_manifest(folder: Path, name: str, findings: Findings) -> None:
    """The files that the folder's manifest names have the checksums that it gives."""
    try:
        files = json.loads((folder / "manifest.json").read_text(encoding="utf-8")).get("files", {})
    except FileNotFoundError:
        return
    except ValueError:
        findings.say(f"{name}/manifest.json cannot be read.", wrong=True)
        return
    changed = [file for file, entry in files.items() if _sha256(folder / file) != entry["sha256"]]
    for file in changed:
        findings.say(f"{name}/{file} is missing or differs from the manifest.", wrong=True)
    if files and not changed:
        findings.say(f"{name}: {len(files)} files match the manifest.")


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


# -- Metrics ---------------------------------------------------------------------------------------------


def _check_metrics(sample: Sequence[Stored], name: str, data_dir: Path | None, findings: Findings) -> None:
    rows, unchecked, without_data = 0, 0, dict[str, str]()
    for stored in sample:
        definition, ledger = stored.metadata["definition"], stored.ledger
        if stored.skipped:
            continue
        dataset = _dataset(declared_dataset(definition["dataset"]), data_dir)
        if isinstance(dataset, DataError):
            without_data[definition["dataset"]["name"]] = str(dataset)
            continue
        rows += len(ledger)
        unchecked += int((~ledger["simple"]).sum())
        for column, count in disagreements(ledger, dataset, definition).items():
            whose = f"{definition['dataset']['name']}, {definition['method']['name']}, fold {definition['fold']}"
            findings.say(f"{name}: {column} in {count} rows of {whose} does not follow from the edits.", wrong=True)
    for reason in without_data.values():
        findings.say(f"{name}: some cells could not be re-derived: {reason}")
    if rows and not findings.wrong:
        doubt = f" ({unchecked} rows with edges counted twice: class taken as stored)" if unchecked else ""
        findings.say(f"{name}: {rows} rows of {len(sample)} sampled cells derived again, all agree{doubt}.")


@lru_cache(maxsize=2)
def _dataset(spec: DatasetSpec, data_dir: Path | None) -> Dataset | DataError:
    try:
        return spec.load(data_dir)
    except DataError as error:
        return error


def disagreements(ledger: pd.DataFrame, dataset: Dataset, definition: dict[str, Any]) -> dict[str, int]:
    """How many rows of each column differ from what the data, the stored edits and the oracle give."""
    instance = torch.tensor(ledger["instance"].to_numpy())
    inputs = dataset.graphs.select(instance)
    edited, distance = _edited(inputs.adjacency, inputs.sizes, ledger["edits"])
    returned = inputs.candidates(edited, torch.arange(len(inputs)))
    test = dataset.folds(definition["folds"], definition["seed"])[definition["fold"]].test
    simple, found = ledger["simple"].to_numpy(), ledger["found"].to_numpy()
    flips = (ledger["predicted"] != ledger["predicted_cf"]).to_numpy()
    bound = ledger["optimum"].fillna(0).to_numpy()
    wrong = {
        "instance": ~np.isin(instance.numpy(), test.numpy()),
        "test_size": ledger["test_size"] != len(test),
        "label": ledger["label"] != dataset.labels[instance].numpy(),
        "predicted": ledger["predicted"] != dataset.oracle.predict(inputs).numpy(),
        "predicted_cf": simple & (ledger["predicted_cf"] != dataset.oracle.predict(returned).numpy()),
        "n_nodes": ledger["n_nodes"] != inputs.sizes.numpy(),
        "n_edges": ledger["n_edges"] != inputs.n_edges.numpy(),
        "ged": ledger["ged"] != distance,
        "found": ~found & (distance > 0),
        "optimum": simple & flips & (distance < bound),
    }
    return {column: int(np.sum(values)) for column, values in wrong.items() if np.any(values)}


def _edited(adjacency: Tensor, sizes: Tensor, edits: Sequence[Sequence[int]]) -> tuple[Tensor, np.ndarray]:
    """The returned graphs and their GED: pair u ≤ v is coded u·n + v, a self loop counts 1/2."""
    edited, distance = adjacency.clone(), np.zeros(len(adjacency))
    for i, (codes, n) in enumerate(zip(edits, sizes.tolist(), strict=True)):
        pairs = torch.tensor([divmod(int(code), n) for code in codes], dtype=torch.long).reshape(-1, 2)
        u, v = pairs.unbind(1)
        loop = u == v
        edited[i, u, v] = 1 - edited[i, u, v].clamp(max=1)
        edited[i, v, u] = edited[i, u, v]
        distance[i] = float((~loop).sum()) + float(loop.sum()) / 2
    return edited, distance
