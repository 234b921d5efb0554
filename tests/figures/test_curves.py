"""Curves: what is drawn are the stored numbers; what is not stored is named, and nothing stops for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from benchmarks.results.reader import Results
from figures import ablation, convergence, figure, runtime, style


@pytest.fixture(autouse=True)
def _drawing() -> object:
    style.use()
    yield
    plt.close("all")


def panel(drawing: Figure, label: str) -> Axes:
    return next(axis for axis in drawing.axes if axis.get_label() == label)


def points(axis: Axes, label: str) -> list[tuple[float, float]]:
    """What an axis draws under a label, of error bars the line."""
    handles, labels = axis.get_legend_handles_labels()
    handle: Any = handles[labels.index(label)]
    line = handle.lines[0] if hasattr(handle, "lines") else handle
    return list(zip(map(float, line.get_xdata()), map(float, line.get_ydata()), strict=True))


# -- Ablations -----------------------------------------------------------------------------------------------------


def ablation_table() -> pd.DataFrame:
    """RSGG-CE at two of the eleven cycle sizes, as released ten folds but one, and the prediction."""
    rows = [
        (value, *row, metric, mean, 0.1, folds)
        for row, folds in ((("rsgg-ce", "faithful"), 10), (("rsgg-ce", "released"), 9))
        for value, ged, correct in ((3, 4.5, 0.8), (28, 2.5, 0.9))
        for metric, mean in (("ged", ged), ("correctness", correct))
    ]
    rows += [
        (value, "uniform-sampler", how, metric, mean, 0.0, 0)
        for value in (3, 28)
        for how, metric, mean in (("closed form", "correctness", 0.85), ("monte carlo", "ged", 40.0))
    ]
    table = pd.DataFrame(rows, columns=["value", "method", "variant", "metric", "mean", "se", "folds"])
    return table.assign(ci_low=table["mean"] - 0.1, ci_high=table["mean"] + 0.1)


def test_ablation_draws_the_stored_means_and_says_what_is_missing(tmp_path: Path) -> None:
    ablation_table().to_csv(tmp_path / "ablation_cycle_size.csv", index=False)
    drawn = {one.name: one for one in ablation.draw(Results.of(tmp_path))}
    varied = ("cycle_size", "n_cycles", "n_nodes", "n_instances")
    assert set(drawn) == {f"ablation_{vary}{end}" for vary in varied for end in ("", "_generator")}
    one, generator = drawn["ablation_cycle_size"], drawn["ablation_cycle_size_generator"]
    assert points(panel(one.figure, "a"), "RSGG-CE, by score function") == [(3, 4.5), (28, 2.5)]
    assert points(panel(one.figure, "b"), "RSGG-CE, as released") == [(3, 0.8), (28, 0.9)]
    assert points(panel(generator.figure, "b"), ablation.PREDICTED) == [(3, 0.85), (28, 0.85)]
    assert ablation.PREDICTED not in panel(one.figure, "b").get_legend_handles_labels()[1]
    assert "CF² ∇" not in panel(one.figure, "a").get_legend_handles_labels()[1]
    absent = next(gap for gap in one.missing if gap.startswith("CF² ∇ / CF², as released / "))
    assert absent.endswith(" at 3, 5, 8, 10, 12, 15, 18, 20, 23, 25, 28")
    assert "folds: fewer than ten at 2 of 55 points" in one.missing
    assert (
        "RSGG-CE, by score function: from 3 to 28, Correctness goes from 0.80 to 0.90 and GED from 4.5 to 2.5."
        in one.caption
    )
    assert "up to 0.05 away" in generator.caption and "the trend is" not in generator.caption, "two are no trend"
    assert one.sources == (str(tmp_path / "ablation_cycle_size.csv"),)
    assert "ablation --vary n_nodes" in drawn["ablation_n_nodes"].missing[0]


def test_a_row_that_lacks_nothing_is_not_named() -> None:
    table = ablation_table()
    said = ablation.gaps(table, [3, 28])
    assert (
        not {"RSGG-CE, by score function", "RSGG-CE, as released"} & set(said[0].removesuffix(" at 3, 28").split(" / "))
        and len(said) == 2
    )
    assert ablation.gaps(table.iloc[:0], [3]) == ["all curves at 3"]


def test_tick_labels_leave_each_other_room() -> None:
    for values in ((28, 32, 48, 64, 128, 256, 512), (100, 250, 500, 1000, 2000, 4000, 8000), (3, 4, 8, 28)):
        _, axis = plt.subplots()
        style.value_ticks(axis, values)
        assert list(axis.get_xticks()) == list(values)
        labels = [text.get_text() for text in axis.get_xticklabels()]
        assert labels[0] == str(values[0]) and labels[-1] == str(values[-1])
        assert axis.get_xscale() == ("log" if values[-1] / values[0] >= 10 else "linear")
    assert labels == ["3", "", "8", "28"], "3 and 4 are too near each other"


# -- Runtime -------------------------------------------------------------------------------------------------------


def runtime_tables(folder: Path) -> None:
    """Times that grow as n and are flat in the number of instances; CF² as released at two points only."""
    lines = []
    for vary, values in (("n_nodes", (32, 64, 512)), ("n_instances", (100, 1000, 8000))):
        for method, variant in runtime.ROWS:
            for value in values[:2] if (method, variant) == ("cf2", "released") else values:
                seconds = value * 1e-3 if vary == "n_nodes" else 0.5
                for quantity, median in (("inference_seconds", seconds), ("fit_seconds", 3.0), ("memory_mb", 50.0)):
                    about = {"vary": vary, "value": value, "method": method, "variant": variant, "note": ""}
                    spread = {"median": median, "low": 0.9 * median, "high": 1.2 * median}
                    lines.append({**about, **spread, "graphs": 60 if value == 512 else 500, "quantity": quantity})
    lines[0]["note"] = "something else kept 1.0 cores busy meanwhile"
    pd.DataFrame(lines).to_csv(folder / "runtime.csv", index=False)
    growth = {"vary": "n_nodes", "method": "rsgg-ce", "variant": "faithful", "quantity": "inference_seconds"}
    fitted = {"exponent": 1.5, "ci_low": 1.2, "ci_high": 1.8}
    pd.DataFrame([{**growth, **fitted}]).to_csv(folder / "runtime_growth.csv", index=False)


def test_runtime_is_drawn_with_the_paper_s_slopes_and_the_fitted_exponents(tmp_path: Path) -> None:
    runtime_tables(tmp_path)
    inference, fit_and_memory = runtime.draw(Results.of(tmp_path))
    nodes, instances = (panel(inference.figure, vary) for vary in ("n_nodes", "n_instances"))
    assert points(nodes, "RSGG-CE, by score function") == [(32, 0.032), (64, 0.064), (512, 0.512)]
    slopes = []
    for axis, label in ((nodes, "slope 1"), (instances, "slope 0")):
        (x0, y0), (x1, y1) = points(axis, label)
        slopes.append(np.log(y1 / y0) / np.log(x1 / x0))
    assert np.allclose(slopes, [1, 0]) and nodes.get_yscale() == nodes.get_xscale() == "log"
    drawn = panel(inference.figure, "legend").get_legend()
    legend = [text.get_text() for text in drawn.get_texts()] if drawn else []
    assert "RSGG-CE, by score function: $n^{1.50}$ [1.20, 1.80]" in legend
    assert "exponent 1.50 in n (95 % interval 1.20 to 1.80), more than “linear”" in inference.caption
    assert "CF², as released against nodes n at 512" in inference.missing
    assert "At 1 points other work" in inference.caption
    assert points(panel(fit_and_memory.figure, "fn"), "RSGG-CE, by score function") == [(512, 3.0)], (
        "60 graphs are a line of their own"
    )


# -- Convergence ---------------------------------------------------------------------------------------------------


def test_without_ledgers_the_stored_means_of_losses_are_drawn(tmp_path: Path) -> None:
    about = {"dataset": "tree-cycles", "method": "rsgg-ce", "variant": "faithful", "class": 1, "seeds": 4}
    curve = [
        {**about, "epoch": epoch, "metric": metric, "mean": mean, "se": 0.05}
        for metric, mean in (("discriminator_loss", 0.6), ("generator_loss", 0.4))
        for epoch in (2, 7)
    ]
    pd.DataFrame(curve).to_csv(tmp_path / "convergence.csv", index=False)
    check = {**about, "check": "discriminator_decreases", "limit": -0.51}
    pd.DataFrame([{**check, "passed": passed} for passed in ("yes", "no", "no")]).to_csv(
        tmp_path / "convergence_checks.csv", index=False
    )
    losses, samples = convergence.draw(Results.of(tmp_path))
    tree, cyclic = losses.figure.axes[:2]
    assert points(cyclic, "loss of 𝔻") == [(2, 0.6), (7, 0.6)] and points(cyclic, "loss of 𝔾") == [(2, 0.4), (7, 0.4)]
    assert len(tree.lines) == 1, "nothing is stored of that class: only the line at ln 2"
    assert "𝔻's loss keeps falling in 1 of 3" in losses.caption
    assert losses.missing == ("Tree-Cycles, RSGG-CE, as released",)
    assert "Tree-Cycles, RSGG-CE, by score function" in samples.missing and "ASD: nothing is stored" in samples.missing


def test_every_fit_is_a_thin_line_below_their_median(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    history = pd.DataFrame(
        {"fold": fold, "class": 0, "epoch": epoch, "discriminator_loss": loss, "generator_loss": 2 * loss}
        for fold, loss in enumerate((0.1, 0.2, 0.9))
        for epoch in (0, 1, 2)
    )
    monkeypatch.setattr(
        Results, "training", lambda self, dataset, method, variant: history if variant == "faithful" else history[:0]
    )
    about = {"dataset": "tree-cycles", "method": "rsgg-ce", "variant": "faithful", "class": 0, "seeds": 3, "se": 0.1}
    pd.DataFrame([{**about, "epoch": 1, "metric": "discriminator_loss", "mean": 0.4}]).to_csv(
        tmp_path / "convergence.csv", index=False
    )
    losses, _ = convergence.draw(Results.of(tmp_path))
    axis = losses.figure.axes[0]
    assert points(axis, "loss of 𝔻") == [(0, 0.2), (1, 0.2), (2, 0.2)] and points(axis, "loss of 𝔾")[0] == (0, 0.4)
    thin = sorted(float(np.asarray(line.get_ydata())[0]) for line in axis.lines if line.get_linewidth() < 0.5)
    assert np.allclose(thin, [0.1, 0.2, 0.2, 0.4, 0.9, 1.8])


def test_the_dashed_median_lies_on_the_solid_one() -> None:
    """As released both losses of a class are often the same: then dashes are seen on a line, not a line alone."""
    _, axis = plt.subplots()
    for dashes, colour in (("--", "orange"), ("-", "blue")):
        convergence._curve(axis, pd.DataFrame({0: [0.7, 0.7], 1: [0.7, 0.7]}), colour, dashes)
    medians = {line.get_linestyle(): line.get_zorder() for line in axis.lines if line.get_linewidth() > 1}
    assert medians["--"] > medians["-"] > max(line.get_zorder() for line in axis.lines if line.get_linewidth() < 1)


def test_where_two_curves_coincide_the_filled_mark_is_seen_in_the_hollow_one() -> None:
    released, defined = (style.curve(("cf2", variant)) for variant in ("released", "faithful"))
    assert released["markerfacecolor"] == "white" and defined["markerfacecolor"] == defined["color"]
    assert defined["zorder"] > released["zorder"] and defined["markersize"] < released["markersize"]


def test_losses_fill_their_own_panel_and_a_logarithm_is_said() -> None:
    drawing, axes = plt.subplots(1, 2)
    for axis, top in zip(axes, (0.6, 90.0), strict=True):
        axis.plot([0, 1], [0.1, top])
        convergence._scale(axis)
        assert top < axis.get_ylim()[1] < 1.3 * top, "no panel is scaled to another one's losses"
    assert [axis.get_yscale() for axis in axes] == ["linear", "symlog"]
    assert [axis.get_title(loc="right") for axis in axes] == ["", "symlog"]
    assert 0 <= axes[1].get_yticks().max() <= axes[1].get_ylim()[1]
    plt.close(drawing)


def test_marks_at_nothing_are_seen_whole_and_legends_have_no_bars(tmp_path: Path) -> None:
    about = {"value": 28, "method": "cf2", "variant": "faithful", "se": 0.1, "folds": 10}
    rows = [{**about, "metric": metric, "mean": mean} for metric, mean in (("ged", 0.0), ("correctness", 0.0))]
    rows += [{**row, "value": 3, "mean": 1.0} for row in rows]
    pd.DataFrame(rows).assign(ci_low=0.0, ci_high=0.2).to_csv(tmp_path / "ablation_cycle_size.csv", index=False)
    drawn = next(one for one in ablation.draw(Results.of(tmp_path)) if one.name == "ablation_cycle_size")
    (curve,) = [
        line
        for line in drawn.figure.axes[0].lines
        if len(np.asarray(line.get_xdata())) == 2 and line.get_marker() == "o"
    ]
    assert not curve.get_clip_on()
    legend = next(legend for axis in drawn.figure.axes if (legend := axis.get_legend()))
    assert [text.get_text() for text in legend.get_texts()] == ["CF² ∇"]
    assert not any(isinstance(one, LineCollection) for one in legend.findobj())
    plt.close("all")


# -- Nothing stored ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("module", [ablation, runtime, convergence])
def test_without_results_a_figure_says_so(module: object, tmp_path: Path) -> None:
    for one in module.draw(Results.of(tmp_path)):  # type: ignore[attr-defined]
        assert any(".csv, which ./reproduce.sh" in gap for gap in one.missing)
        figure.note_missing(one.figure, one.missing)
        one.figure.canvas.draw()
        box = one.figure.texts[-1].get_window_extent()
        assert box.x0 >= 0 and box.x1 <= one.figure.bbox.width, "what is missing is told inside the picture"
