"""Weights of trained networks are trained once and found again, wherever they are kept."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch

from rsgg.data.unseen import BA2Motifs
from rsgg.oracles.unseen import TrainedGIN
from rsgg.oracles.weights import VARIABLE, address, in_the_cache_alone, looked_for_in, trained_once


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RSGG_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv(VARIABLE, raising=False)
    return tmp_path / "cache"


def drawn() -> dict[str, torch.Tensor]:
    """Other weights at every call, so that training again is noticed."""
    return {"w": torch.rand(3, dtype=torch.float64), "n": torch.tensor(int(torch.randint(10**9, ())))}


def same(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> bool:
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) and a[name].dtype == b[name].dtype for name in a)


def test_what_was_trained_is_found_in_the_cache() -> None:
    first = trained_once("a", drawn)
    assert same(trained_once("a", drawn), first) and not same(trained_once("b", drawn), first)


def test_a_damaged_file_counts_as_none_and_is_written_again(empty_cache: Path) -> None:
    trained_once("a", drawn)
    path = empty_cache / "oracles" / "a.npz"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    second = trained_once("a", drawn)
    assert path.read_bytes() != content and same(trained_once("a", drawn), second)


def test_named_folders_come_before_the_cache_and_the_last_one_is_written(tmp_path: Path) -> None:
    reference, local = tmp_path / "reference", tmp_path / "local"
    with looked_for_in([reference]):
        published = trained_once("a", drawn)
    (tmp_path / "cache" / "oracles" / "a.npz").unlink()
    other = trained_once("a", drawn)  # trained here: the cache now holds other weights
    assert not same(other, published)
    with looked_for_in([reference, local]):
        assert same(trained_once("a", drawn), published)
        assert not (local / "a.npz").exists(), "the reference holds it: no second copy"
        fresh = trained_once("b", drawn)
        assert (local / "b.npz").is_file() and not (reference / "b.npz").exists()
    with looked_for_in([tmp_path / "another"]):
        assert same(trained_once("b", drawn), fresh), "found in the cache"
        assert (tmp_path / "another" / "b.npz").is_file(), "kept beside the results that it belongs to"


def test_what_belongs_to_no_result_is_in_the_cache_alone(tmp_path: Path) -> None:
    with looked_for_in([tmp_path / "ours"]):
        with in_the_cache_alone():
            copy = trained_once("a", drawn)
            assert VARIABLE not in os.environ and same(trained_once("a", drawn), copy)
        assert os.environ[VARIABLE] == str(tmp_path / "ours")
    assert (tmp_path / "cache" / "oracles" / "a.npz").is_file() and not (tmp_path / "ours").exists()
    with in_the_cache_alone():
        assert same(trained_once("a", drawn), copy)
    assert VARIABLE not in os.environ


def test_a_user_who_names_folders_is_heard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "mine"))
    with looked_for_in([tmp_path / "ours"]):
        trained_once("a", drawn)
        assert os.environ[VARIABLE] == str(tmp_path / "mine")
    assert (tmp_path / "mine" / "a.npz").is_file() and not (tmp_path / "ours").exists()
    assert os.environ[VARIABLE] == str(tmp_path / "mine")
    monkeypatch.delenv(VARIABLE)
    with looked_for_in([tmp_path / "ours"]):
        assert os.environ[VARIABLE] == str(tmp_path / "ours")
    assert VARIABLE not in os.environ


def test_a_folder_that_cannot_be_written_costs_no_result(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with looked_for_in([tmp_path / "file"]):
        first = trained_once("a", drawn)
        assert same(trained_once("a", drawn), first)


def test_an_address_depends_on_every_value_and_tensor() -> None:
    ones = torch.ones(2)
    addresses = [address([1], ones), address([2], ones), address([1], 2 * ones), address([1]), address([1], ones, ones)]
    assert len(set(addresses)) == len(addresses) and address([1], None, ones) == addresses[0]


def test_an_oracle_answers_by_the_weights_that_are_kept(tmp_path: Path) -> None:
    """Trained on another machine, the same recipe ends in other weights: what counts are those that are stored."""
    data = BA2Motifs(n_graphs=20).load()
    with looked_for_in([tmp_path / "oracles"]):
        trained = TrainedGIN(epochs=3).prepared(data).predict(data.graphs)
        (path,) = (tmp_path / "oracles").glob("*.npz")
        stored = trained_once(path.stem, drawn)
        (last_bias,) = [name for name in stored if name.endswith("convs.2.nn.lins.1.bias")]
        swayed = {**stored, last_bias: torch.tensor([1e6, -1e6])}
        path.unlink()
        (tmp_path / "cache" / "oracles" / path.name).unlink()
        trained_once(path.stem, lambda: swayed)
        assert TrainedGIN(epochs=3).prepared(data).predict(data.graphs).eq(0).all()
        path.unlink()
        (tmp_path / "cache" / "oracles" / path.name).unlink()
        assert torch.equal(TrainedGIN(epochs=3).prepared(data).predict(data.graphs), trained)
