"""What all figures share: which rows and tasks they show, what they say is missing, how they are saved and started."""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
import warnings
from importlib import import_module
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text
from PIL import Image

from benchmarks.registry import methods, tasks
from benchmarks.results.artefacts import sha256_of
from benchmarks.results.files import ROOT, StoreError
from benchmarks.results.reader import Results
from figures import figure, gallery, style


def table(*rows: tuple[str, str, str]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["dataset", "method", "variant"])


def test_shown_are_the_paper_s_data_sets_that_are_stored_and_a_user_s_own() -> None:
    stored = table(("mine", "a", "own"), ("asd", "cf2", "faithful"), ("tree-cycles-32", "meg", "released"))
    assert [task.name for task in figure.tasks_in(stored)] == ["asd", "mine"]
    assert [task.name for task in figure.tasks_in(table())] == list(tasks.PAPER)


def test_rows_are_the_registry_s_in_its_order_and_then_a_user_s_own() -> None:
    rows = figure.rows_in(table(("asd", "mine", "own"), ("asd", "cf2", "faithful")), leave_out=("identity",))
    drawn = [
        row
        for row, method in methods.rows().items()
        if row[0] != "identity" and not method.base and not method.unsupported("asd")
    ]
    assert rows == [*drawn, ("mine", "own")] and ("cf2-min", "faithful") not in rows
    assert style.look(("mine", "own")).label == "mine (own)" and style.look(("mine", "own")).colour == style.GREY


def test_absent_names_what_is_defined_and_not_stored() -> None:
    rows = [("meg", "released"), ("cf2", "faithful"), ("clear", "faithful"), ("mine", "own")]
    said = figure.absent(rows, {"tree-cycles": [("cf2", "faithful")], "asd": [("cf2", "faithful")]})
    assert said == ["Tree-Cycles: MEG, as released / CLEAR", "ASD: CLEAR"], "MEG as released is not defined on ASD"
    assert figure.absent(rows, {"tree-cycles": rows}) == ["ASD: nothing is stored"]


def test_several_files_are_named_by_their_folders(tmp_path: Path) -> None:
    assert figure.read_from([]) == "no file"
    assert figure.read_from([tmp_path / "a.csv"]) == str(tmp_path / "a.csv")
    assert figure.read_from([tmp_path / "a.csv", tmp_path / "b.csv"]) == str(tmp_path)


# -- Files ---------------------------------------------------------------------------------------------------


def drawn(_: Results) -> list[figure.Drawn]:
    return [figure.Drawn("one", plt.figure(figsize=(1, 1)), "A caption.", missing=("something",))]


def test_a_figure_is_saved_whole_and_entered_beside_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "figures.json").write_text('[{"name": "other"}]')
    entries = figure.saved("module", drawn, Results((tmp_path,)), tmp_path)
    figure.record(entries, tmp_path)
    other, own = json.loads((tmp_path / "figures.json").read_text(encoding="utf-8"))
    assert (
        other == {"name": "other"} and own["command"] == "python figures/module.py" and own["missing"] == ["something"]
    )
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert set(before) == {"figures.json", "one.pdf", "one.png"}
    figure.saved("module", drawn, Results((tmp_path,)), tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before, "no dates inside"

    def fails(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Figure, "savefig", fails)
    with pytest.raises(StoreError, match="No space left"):
        figure.saved("module", drawn, Results((tmp_path,)), tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before, "the old files stay whole"
    plt.close("all")


@pytest.mark.parametrize(
    ("row", "marked"),
    [
        (("cf2", "faithful"), "∇ uses the oracle's exact gradient"),
        (("meg", "faithful"), "ᵖ is told probabilities"),
        (("cf2", "released"), ""),
    ],
)
def test_the_caption_says_what_the_mark_of_a_row_means(tmp_path: Path, row: tuple[str, str], marked: str) -> None:
    def draw(results: Results) -> list[figure.Drawn]:
        drawing, axis = plt.subplots()
        style.row_names(axis, [row])
        return [figure.Drawn("rows", drawing, "Rows.")]

    (entry,) = figure.saved("module", draw, Results((tmp_path,)), tmp_path)
    assert entry.caption.startswith("Rows.") and marked in entry.caption
    assert marked or entry.caption == "Rows."


def test_a_legend_that_is_too_wide_gets_smaller_letters_and_nothing_is_cut() -> None:
    drawing, axes = style.column(["ab"], 2.5, 0.45)
    short, long = ([style.handle(words, "black", "-")] for words in ("short", "a name that is long, " * 4))
    style.legend_panel(axes["legend"], long)
    style.legend_panel(axes["a"], short)
    style.fit_legends(drawing)
    sizes = {}
    for panel in ("legend", "a"):
        legend = axes[panel].get_legend()
        assert legend is not None
        box = legend.get_window_extent()
        assert box.x0 >= 0 and box.x1 <= drawing.bbox.width
        sizes[panel] = float(legend.get_texts()[0].get_fontsize())
    assert sizes["legend"] < sizes["a"] == 6
    plt.close(drawing)


def test_rows_of_one_colour_have_markers_that_can_be_told_apart() -> None:
    """Circles, octagons and hexagons of three points look the same, as do tripods."""
    alike = {"h": "o", "H": "o", "8": "o", "1": "tripod", "2": "tripod", "3": "tripod", "4": "tripod"}
    seen: dict[tuple[str, str, bool], str] = {}
    for row, one in methods.rows().items():
        if not one.base and one.tasks is None:
            look = (one.colour, alike.get(one.marker, one.marker), one.as_released)
            assert look not in seen, f"{row} and {seen[look]} look the same"
            seen[look] = str(row)


def test_a_square_is_a_row_as_released() -> None:
    """Captions say so; a second meaning of the same mark would make them false."""
    for row, one in methods.rows().items():
        if not one.base:
            assert (one.marker == "s") <= one.as_released, row


def test_the_gallery_lists_every_module_that_draws() -> None:
    modules = {path.stem for path in (ROOT / "figures").glob("*.py") if "def draw(results" in path.read_text("utf-8")}
    assert modules == set(gallery.MODULES) and set(gallery.LONGEST_FIRST) < modules


def test_all_modules_are_drawn_in_the_order_of_the_gallery(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gallery, "MODULES", ("tradeoff", "budget"))
    monkeypatch.setattr(gallery, "LONGEST_FIRST", ("budget",))
    (tmp_path / "results").mkdir()
    entries = list(gallery.draw_all(Results((tmp_path / "results",)), tmp_path / "out", jobs=1))
    assert [entry.name for entry in entries] == ["tradeoff", "budget"]
    assert [entry["name"] for entry in figure.read_entries(tmp_path / "out")] == ["tradeoff", "budget"]


# -- As scripts ----------------------------------------------------------------------------------------------


def run(*arguments: str, **how: object) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=ROOT, check=False)


def test_a_folder_that_does_not_exist_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for further in ((), ("--beside-reference",)):
        line = ["tradeoff.py", "--results", str(tmp_path / "none"), "--out", str(tmp_path), *further]
        monkeypatch.setattr(sys, "argv", line)
        with pytest.raises(SystemExit) as ended:
            runpy.run_path(str(ROOT / "figures" / "tradeoff.py"), run_name="__main__")
        said = capsys.readouterr().err
        assert ended.value.code == 2 and "is no folder of results" in said
        assert "Traceback" not in said and not list(tmp_path.iterdir())


def test_a_user_s_rows_stand_beside_the_reference(tmp_path: Path) -> None:
    mine = {"dataset": "tree-cycles", "method": "mine", "variant": "own", "mean": 0.5, "ci_low": 0.4, "ci_high": 0.6}
    pd.DataFrame([{**mine, "metric": metric} for metric in ("ged", "correctness")]).to_csv(
        tmp_path / "table1.csv", index=False
    )
    done = run("figures/tradeoff.py", "--results", str(tmp_path), "--beside-reference")
    assert done.returncode == 0 and "missing" not in done.stderr, done.stderr
    (entry,) = figure.read_entries(tmp_path / "figures")
    assert entry["sources"] == ["results/reference/table1.csv", str(tmp_path / "table1.csv")]


def test_no_drawing_module_loads_torch_or_a_model() -> None:
    modules = ", ".join(f"figures.{name}" for name in ("gallery", *gallery.MODULES))
    heavy = (
        "sorted(m for m in sys.modules if m == 'torch' or m.startswith(('rsgg.baselines', 'rsgg.rsgg_ce', 'optuna')))"
    )
    done = run("-c", f"import sys, {modules}; print({heavy})")
    assert done.stdout.strip() == "[]", done.stdout + done.stderr


@pytest.mark.parametrize("module", gallery.MODULES)
def test_no_picture_for_a_paper_has_a_path_or_a_title_in_it(
    module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left: list[str] = []

    def looked_at(drawing: Figure, *_: object, **__: object) -> None:
        left.extend(text.get_text() for text in drawing.findobj(Text) if text.get_visible())
        assert not drawing.get_suptitle()

    monkeypatch.setattr(style, "save", looked_at)
    figure.saved(
        module, import_module(f"figures.{module}").draw, Results((tmp_path,)), tmp_path, figure.Edition(paper=True)
    )
    told = [
        words for words in left if any(sign in words.lower() for sign in ("from ", "no file", ".csv", "each method"))
    ]
    assert left and not told


@pytest.mark.parametrize("serif", [False, True])
def test_every_sign_of_a_row_has_a_letter(serif: bool) -> None:
    """A sign that the font lacks is drawn as a box, and matplotlib warns of it."""
    signs = "".join(sorted({sign for row in methods.rows() for sign in style.look(row).label}))
    style.use(serif=serif)
    drawing = plt.figure()
    drawing.text(0.1, 0.5, f"{signs} −→←↑↓≠𝔾𝔻Φ")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        drawing.draw_without_rendering()
        drawing.canvas.draw()
    plt.close(drawing)
    style.use()


def test_modules_are_what_they_say() -> None:
    for name in gallery.MODULES:
        assert import_module(f"figures.{name}").draw.__doc__, "the help of its script"


def test_lines_of_words_are_as_few_as_fit_and_of_one_length() -> None:
    picture = plt.figure(figsize=(3.4, 1))
    text = "Tree-Cycles, 28 nodes, one cycle of 3 to 7 nodes or two triangles; bars: standard errors."
    first, second = style.wrapped(picture, text, 6)
    assert f"{first} {second}" == text and abs(len(first) - len(second)) < 12


# -- Editions --------------------------------------------------------------------------------------------------------


def test_nothing_blank_lies_below_the_legend_of_a_paper_s_picture(tmp_path: Path) -> None:
    picture, axes = style.column(["ab"], 2.5, 0.6)
    style.legend_panel(axes["legend"], axes["a"].plot([0, 1], label="a row"))
    style.save(picture, tmp_path, "picture", trimmed=True)
    with Image.open(tmp_path / "picture.png") as image:
        inked = np.flatnonzero((np.asarray(image.convert("L")) < 250).any(axis=1))
        assert image.height - inked[-1] < 0.1 * 200, "a tenth of an inch"
    plt.close(picture)


def test_a_paper_gets_truetype_letters_no_words_above_and_provenance_in_the_metadata(tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text("a\n1\n", encoding="utf-8")

    def draw(results: Results) -> list[figure.Drawn]:
        results.table("table")
        picture, axis = plt.subplots(figsize=(2, 2))
        axis.plot([0, 1])
        figure.heading(picture, "Words above", results)
        return [figure.Drawn("picture", picture, "What it shows.", missing=("a row",))]

    for name, edition in (("report", figure.REPORT), ("paper", figure.Edition(paper=True))):
        figure.saved("module", draw, Results((tmp_path,)), tmp_path / name, edition)
    report, paper = ((tmp_path / name / "picture.pdf").read_bytes() for name in ("report", "paper"))
    for pdf in (report, paper):
        assert b"/FontFile2" in pdf and b"/Type3" not in pdf
        assert b"What it shows." in pdf and b"Words above" in pdf, "in the metadata"
        assert sha256_of(table).encode() in pdf and b"missing: a row" in pdf
    heights = [plt.imread(tmp_path / name / "picture.png") for name in ("report", "paper")]
    inked = [int(np.flatnonzero((image[..., :3] < 0.9).any((1, 2)))[0]) for image in heights]
    assert inked[0] < 25, "words at the upper edge"
    assert heights[1].shape[1] == heights[0].shape[1] == 400 and heights[1].shape[0] < heights[0].shape[0]
    for edge in (0, -1):
        blank = (heights[1] if edge == 0 else heights[1][::-1])[..., :3]
        assert int(np.flatnonzero((blank < 0.9).any((1, 2)))[0]) < 12, "trimmed where the words were, and below"
    red = [((image[..., 0] > 0.6) & (image[..., 1] < 0.5) & (image[..., 2] < 0.3)).sum() for image in heights]
    assert red[0] > 20 and red[1] == 0, "what is missing is written into the report's picture only"
