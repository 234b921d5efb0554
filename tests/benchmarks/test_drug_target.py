"""The experiment on drug-target pairs: its lines, and that what is stored is not computed again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks import cli, drug_target
from benchmarks.results.artefacts import check
from rsgg.baselines.macda import Game
from rsgg.data.drug_targets import DrugTargets
from rsgg.data.molecules import Molecules
from rsgg.oracles import affinity
from tests.rsgg.test_drug_targets import SMILES

pytest.importorskip("rdkit")


def test_a_run_has_a_line_per_pair_and_method_and_goes_on_where_it_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Molecules, "table", lambda self, data_dir=None: (SMILES, np.zeros(len(SMILES))))
    monkeypatch.setattr(affinity, "STEPS", 20)
    monkeypatch.setattr(drug_target, "SMOKE_DATA", DrugTargets(n_drugs=20, lengths=(20, 30), per_length=1))
    arguments = ["drug_target", "--smoke", "--out", str(tmp_path)]
    assert cli.main(arguments) == 0
    table = pd.read_csv(tmp_path / "drug_target.csv")
    assert list(table.columns) == list(drug_target.COLUMNS) and not check(tmp_path, complete=False)[1]
    assert set(table["residues"]) == {20, 30} and len(table) == 2 * 7
    for _, own in table.groupby("pair"):
        lines = own.set_index("method")
        best = lines.loc["enumeration"]
        assert best["rank"] == 1 and best["share"] == 1 and best["tried"] == best["joint_actions"]
        assert best["evaluations"] == (best["drug_edits"] + 1) * (best["residue_edits"] + 1)
        assert (own["reward"] <= best["reward"] + 1e-9).all() and (own["rank"] >= 1).all()
        assert lines.loc["random", "tried"] == lines.loc["macda", "tried"] <= 400
        parts = own["joint"] + 0.05 * own["drug_similarity"] + 0.01 * own["target_similarity"]
        assert np.allclose(own["reward"], parts, atol=1e-5)
    monkeypatch.setattr(Game, "__post_init__", lambda self: pytest.fail("computed again"))
    before = (tmp_path / "drug_target.csv").read_bytes()
    assert cli.main(arguments) == 0 and (tmp_path / "drug_target.csv").read_bytes() == before
    assert "drug_target.csv" in capsys.readouterr().out
