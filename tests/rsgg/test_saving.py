"""Saved explainers: what was saved comes back; whatever happens to the file ends in a sentence."""

from __future__ import annotations

import hashlib
import io
import json
import os
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from rsgg.baselines.controls import Empty
from rsgg.baselines.search import DCE, DDBS
from rsgg.compose import Minimised
from rsgg.errors import DataError, NotFittedError, UsageError
from rsgg.explainer import Explainer
from rsgg.oracles import TreeCyclesOracle
from rsgg.rsgg_ce import RSGGCE
from rsgg.rsgg_ce.partial_order import Within
from rsgg.saving import read_archive, write_archive, write_atomically
from tests.graphs import tree, unicyclic

GRAPHS = [tree(6, seed) if seed % 2 else unicyclic(6, 3, seed) for seed in range(8)]


@pytest.fixture
def fitted() -> DDBS:
    return DDBS(questions=50).fit(GRAPHS, TreeCyclesOracle())


def sealed(content: bytes) -> bytes:
    """These bytes with a checksum that is right."""
    return content + b"sha256:" + hashlib.sha256(content).hexdigest().encode()


def archive(**arrays: Any) -> bytes:
    """An archive whose checksum is right, with whatever is in it."""
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    with zipfile.ZipFile(buffer, "a") as file:
        file.comment = b"0" * 71
    return sealed(buffer.getvalue()[:-71])


# -- paths -----------------------------------------------------------------------------------------------


def test_two_names_with_a_dot_are_two_files(tmp_path: Path) -> None:
    for value in (0.1, 0.2):
        explainer = DDBS(removals=value).fit(GRAPHS, TreeCyclesOracle())
        assert explainer.save(tmp_path / f"l_{value}") == tmp_path / f"l_{value}.npz"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["l_0.1.npz", "l_0.2.npz"]
    for value in (0.1, 0.2):
        assert DDBS.load(tmp_path / f"l_{value}").removals == value
        assert DDBS.load(str(tmp_path / f"l_{value}.npz")).removals == value
    assert explainer.save(tmp_path / "named.npz").name == "named.npz"
    (tmp_path / "named.npz").rename(tmp_path / "renamed.model")
    assert DDBS.load(tmp_path / "renamed.model").removals == 0.2


def test_a_place_that_cannot_be_written_or_read_is_said(fitted: DDBS, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"m\.npz cannot be written because there is no folder .*missing; make it"):
        fitted.save(tmp_path / "missing" / "m")
    (tmp_path / "folder.npz").mkdir()
    with pytest.raises(UsageError, match=r"folder\.npz is a folder; give the name"):
        fitted.save(tmp_path / "folder.npz")
    assert [path.name for path in tmp_path.iterdir()] == ["folder.npz"], "no temporary file is left"
    with pytest.raises(UsageError, match=r"folder\.npz could not be read"):
        DDBS.load(tmp_path / "folder.npz")
    for name in ("nothing", "nothing.npz"):
        with pytest.raises(UsageError, match=r"^There is no file .*nothing\.npz; give the path that save returned\.$"):
            DDBS.load(tmp_path / name)
    for wrong in (None, 3, b"bytes", ""):
        for use in (fitted.save, DDBS.load):
            with pytest.raises(UsageError, match=r"is not the path of a file; give a string or a pathlib\.Path"):
                use(wrong)  # type: ignore[arg-type]


def test_only_what_is_fitted_can_be_saved(tmp_path: Path) -> None:
    for explainer in (RSGGCE(), Minimised(base=RSGGCE())):
        with pytest.raises(NotFittedError, match=r"^RSGGCE has to be fitted before it can be saved: call fit first\.$"):
            explainer.save(tmp_path / "m")
    assert Empty.load(Empty().save(tmp_path / "m")) == Empty(), "a method that learns nothing needs no fit"


def test_a_write_that_fails_leaves_the_old_file(fitted: DDBS, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = fitted.save(tmp_path / "m")
    before = path.read_bytes()

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UsageError, match=r"could not be written \(No space left on device\)"):
        DDBS().fit(GRAPHS, TreeCyclesOracle()).save(path)
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]


def test_temporary_names_cannot_be_foreseen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names: list[str] = []
    replace = Path.replace

    def noted(self: Path, target: Path) -> Path:
        names.append(self.name)
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", noted)
    for _ in range(20):
        write_atomically(tmp_path / "m", b"content")
    assert len(set(names)) == 20 and list(tmp_path.iterdir()) == [tmp_path / "m"]


# -- damage ----------------------------------------------------------------------------------------------


def test_every_flipped_byte_is_noticed(fitted: DDBS, tmp_path: Path) -> None:
    """Each byte of the file in turn, with a random change: never a foreign error, never a silent load."""
    path, rng = fitted.save(tmp_path / "m"), np.random.default_rng(0)
    whole = path.read_bytes()
    for position in range(len(whole)):
        damaged = bytearray(whole)
        damaged[position] ^= int(rng.integers(1, 256))
        path.write_bytes(damaged)
        for load in (DDBS.load, Minimised.load):
            with pytest.raises(DataError, match=r"is damaged: its checksum|is not a saved explainer, or its end"):
                load(path)
    path.write_bytes(whole)
    assert torch.equal(DDBS.load(path).difference_, fitted.difference_)


def test_a_file_that_is_cut_short_or_longer_is_noticed(fitted: DDBS, tmp_path: Path) -> None:
    path = fitted.save(tmp_path / "m")
    whole = path.read_bytes()
    for content in [whole[:length] for length in range(0, len(whole), 7)] + [whole + b"x", whole + whole]:
        if content == whole:
            continue
        path.write_bytes(content)
        if content == whole + whole:
            with pytest.raises(DataError, match="is damaged"):
                DDBS.load(path)
        else:
            with pytest.raises(DataError, match="is not a saved explainer, or its end is missing"):
                DDBS.load(path)


class Trap:
    """Unpickled, it would make a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


def test_foreign_and_pickled_files_are_refused_and_not_executed(tmp_path: Path) -> None:
    sprung = tmp_path / "sprung"
    trap = np.array([Trap(sprung)], dtype=object)
    header = json.dumps({"explainer": "DDBS", "hyperparameters": {}})
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=True, __header__=np.array(header), difference=trap)
    for content in (
        b"",
        b"hello",
        pickle.dumps(Trap(sprung)),
        buffer.getvalue(),
        archive(__header__=np.array(header), difference=trap),
        archive(__header__=trap),
        archive(something=np.arange(3)),
        archive(__header__=np.array("no JSON")),
        archive(__header__=np.array("[1, 2]")),
        archive(__header__=np.array("[" * 100_000)),
        sealed(b"no archive at all"),
        sealed(b""),
    ):
        (tmp_path / "m.npz").write_bytes(content)
        for load in (DDBS.load, Minimised.load):
            with pytest.raises(DataError, match=r"is not a saved explainer|does not hold a saved explainer"):
                load(tmp_path / "m")
        assert not sprung.exists()


def test_what_fits_no_explainer_is_said(fitted: DDBS, tmp_path: Path) -> None:
    def written(header: dict[str, Any], **arrays: np.ndarray) -> Path:
        return write_archive(tmp_path / "m", header, arrays)

    usual = {"explainer": "DDBS", "hyperparameters": fitted.hyperparameters()}
    for header, error, sentence in (
        ({"explainer": "DCE", "hyperparameters": {}}, UsageError, "holds a fitted DCE, not a DDBS; load it with that"),
        ({"hyperparameters": {}}, UsageError, "holds a fitted None, not a DDBS"),
        ({"explainer": "DDBS"}, DataError, "does not hold a saved explainer"),
        ({"explainer": "DDBS", "hyperparameters": {"old": 1}}, DataError, "saved by a DDBS that had 'old'; fit and"),
        ({"explainer": "DDBS", "hyperparameters": {"removals": 7}}, UsageError, "DDBS cannot use removals = 7; give"),
        (usual, DataError, "holds a DDBS whose learned values do not fit this version of it; fit and save it again"),
    ):
        with pytest.raises(error, match=sentence):
            DDBS.load(written(header))
    assert DDBS.load(written(usual, difference=fitted.difference_.numpy())).questions == 50
    with pytest.raises(UsageError, match="DDBS has no 'questoins'; load takes only its own hyper-parameters"):
        DDBS.load(fitted.save(tmp_path / "m"), questoins=3)


# -- what comes back -------------------------------------------------------------------------------------


def test_values_come_back_as_they_were(tmp_path: Path) -> None:
    of_numpy: dict[str, Any] = {"epochs": np.int64(7), "generator_lr": np.float64(0.25), "identities": np.bool_(True)}
    explainer = RSGGCE(generator="untrained", **of_numpy).fit(GRAPHS, TreeCyclesOracle())
    loaded = RSGGCE.load(explainer.save(tmp_path / "m"))
    assert loaded.hyperparameters() == explainer.hyperparameters() and loaded.generator_lr == 0.25
    header, arrays = read_archive(tmp_path / "m")
    assert header["explainer"] == "RSGGCE" and header["hyperparameters"]["epochs"] == 7
    with np.load(tmp_path / "m.npz", allow_pickle=False) as plain:  # an ordinary archive to NumPy
        assert set(plain.files) == {"__header__", *arrays}


def test_an_option_that_is_new_since_takes_its_default(fitted: DDBS, tmp_path: Path) -> None:
    """Adding an option with a default does not make saved explainers useless."""
    header, arrays = read_archive(fitted.save(tmp_path / "m"))
    del header["hyperparameters"]["ignorance"]
    loaded = DDBS.load(write_archive(tmp_path / "m", header, arrays))
    assert loaded.ignorance == 1.0 and loaded.questions == 50


def test_objects_are_given_again(tmp_path: Path) -> None:
    order = Within(torch.ones(6, 6, dtype=torch.bool))
    path = RSGGCE(generator="untrained", order=order).fit(GRAPHS, TreeCyclesOracle()).save(tmp_path / "m")
    with pytest.raises(UsageError, match=r"saved with order = Within; give it again with load\(order=…\)"):
        RSGGCE.load(path)
    assert RSGGCE.load(path, order=order).order is order
    minimised = Minimised.load(path, order=order)
    assert isinstance(minimised.base, RSGGCE) and minimised.base.order is order


def test_a_minimised_method_finds_its_base(tmp_path: Path) -> None:
    before: list[Explainer] = [Minimised(base=DCE()).fit(GRAPHS, TreeCyclesOracle())]
    path = before[0].save(tmp_path / "l_0.5")
    loaded = Minimised.load(tmp_path / "l_0.5")
    assert path.name == "l_0.5.npz" and isinstance(loaded.base, DCE) and loaded.fitted_
    results = (explainer.explain(GRAPHS, TreeCyclesOracle()) for explainer in (before[0], loaded))
    assert len({tuple(map(str, (r.edits for r in explained))) for explained in results}) == 1


def test_a_folder_is_no_place_to_save_to(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is a folder; give the name of a file in it"):
        Empty().save(tmp_path)
    assert not list(tmp_path.parent.glob(f"{tmp_path.name}.npz"))
