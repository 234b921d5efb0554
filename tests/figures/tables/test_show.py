"""`show`: readable at 80 columns, quick, whole numbers, and a sentence where there is nothing to show."""

from __future__ import annotations

import os
import pydoc
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from rich.console import Console

from benchmarks.results.files import REFERENCE, ROOT
from figures import tables
from rsgg.errors import UsageError


@pytest.fixture
def at_80(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


@pytest.mark.usefixtures("at_80")
@pytest.mark.parametrize("name", [n for n in tables.names(REFERENCE) if not n.startswith("convergence")])
def test_no_line_is_longer_than_the_terminal(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    tables.show(name, REFERENCE)
    text = capsys.readouterr().out
    assert text and all(len(line) <= 80 for line in text.splitlines())
    assert f"results/reference/{name}.csv" in " ".join(text.split())


@pytest.mark.usefixtures("at_80")
def test_table1_is_short_and_has_the_papers_methods(capsys: pytest.CaptureFixture[str]) -> None:
    tables.show("table1", REFERENCE)
    text = capsys.readouterr().out
    assert len(text.splitlines()) <= 60
    assert "16 of 20 fits of replicate 0 collapse" in " ".join(text.split())
    means = pd.read_csv(REFERENCE / "table1.csv").set_index(["dataset", "method", "variant", "metric"])["mean"]
    tree_cycles, _, asd = text.partition("ASD (116 brain regions)")
    for part, dataset in ((tree_cycles, "tree-cycles"), (asd, "asd")):
        for variant, label in (("released", "RSGG-CE, as released"), ("faithful", "RSGG-CE, by score function")):
            (line,) = re.findall(rf"^{re.escape(label)} [ †¹]*\d.* / [\d,]+$", part, flags=re.M)
            for metric in ("correctness", "ged"):
                assert f" {means[dataset, 'rsgg-ce', variant, metric]:.3f} " in line
            explain, fit = (means[dataset, "rsgg-ce", variant, f"{what}_calls"] for what in ("explain", "fit"))
            assert line.endswith(f" {explain:,.1f} / {fit:,.0f}")
    assert text.endswith("\nAll of it: ./reproduce.sh show table1 --all.\n") and "lies inside" not in text


@pytest.mark.usefixtures("at_80")
@pytest.mark.parametrize("name", ["unseen", "streams", "global", "global_printed", "speed", "table2_kinds"])
def test_lines_have_a_title_public_names_and_numbers_beside_them(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    tables.show(name, REFERENCE)
    shown = capsys.readouterr().out.partition("\nFrom results/reference")[0]
    assert not shown.startswith(f"{name}\n")
    for code in ("unseen-ba-2motifs", "tree-cycles-stream", "aids-gcn", "gcfexplainer", "explain_calls"):
        assert code not in shown
    rows = [line for line in shown.splitlines()[1:] if line.startswith(("RSGG-CE, taught", "GCFExplainer"))]
    assert rows and all(re.search(r"\d|finds|greedily|GCFExplainer,", line) for line in rows)


def test_a_table_without_lines_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "boundaries.csv").write_text("study,dataset,seed,fold,regions,mined,distinct\n", encoding="utf-8")
    tables.show("boundaries", tmp_path)
    assert "No line is stored" in capsys.readouterr().out


def test_what_is_left_out_can_be_had_by_a_command_for_the_same_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = "".join(f"{i},{i}\n" for i in range(50))
    (tmp_path / "my_table.csv").write_text(f"a,b\n{rows}", encoding="utf-8")
    tables.show("my_table", tmp_path)
    assert f"All of it: ./reproduce.sh show my_table --all --out {tmp_path}." in capsys.readouterr().out
    tables.show("my_table", tmp_path, everything=True)
    assert "All of it" not in capsys.readouterr().out


@pytest.mark.usefixtures("at_80")
def test_all_shows_every_row_and_the_reasons(capsys: pytest.CaptureFixture[str]) -> None:
    tables.show("table1", REFERENCE, everything=True)
    text = capsys.readouterr().out
    assert "Random order + minimiser" in text and "lies inside our 95 % prediction interval" in " ".join(text.split())
    assert all(len(line) <= 80 for line in text.splitlines())


def test_a_wrong_name_is_a_sentence_with_what_there_is(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text("a,b\n1,2\n")
    with pytest.raises(UsageError, match=r"no stored table 'tabel1'.* there are: mine\.$"):
        tables.show("tabel1", tmp_path)
    with pytest.raises(UsageError, match=r"holds no verdicts yet; \./reproduce\.sh table1 computes it"):
        tables.show("verdicts", tmp_path)
    with pytest.raises(UsageError, match=r"\./reproduce\.sh ablation computes it"):
        tables.show("ablation_n_nodes", tmp_path)
    with pytest.raises(UsageError, match="no folder of results"):
        tables.show("table1", tmp_path / "nowhere")


def test_a_pager_is_used_only_where_a_terminal_is_too_low(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pages: list[str] = []
    monkeypatch.setattr(pydoc, "pager", pages.append)
    (tmp_path / "mine.csv").write_text("a,b\n" + "1,2\n" * 30)
    tables.show("mine", tmp_path)
    assert not pages, "standard output is no terminal"
    monkeypatch.setattr(tables, "terminal", lambda: Console(force_terminal=True, width=80, height=20))
    tables.show("mine", tmp_path)
    assert len(pages) == 1 and pages[0].count("\n") > 30


def test_nothing_heavy_is_imported() -> None:
    """Neither torch nor a model, nor what takes half a second to load."""
    program = (
        "import sys; from pathlib import Path; from figures import tables; "
        f"tables.show('table1', Path({str(REFERENCE)!r})); "
        "print(sorted({'torch', 'matplotlib', 'optuna', 'scipy.stats', 'networkx', 'rsgg.explainer'} & {*sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, env={**os.environ})
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]"
