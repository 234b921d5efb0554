"""One look for every figure: sizes, fonts and colours (colour-blind safe, Okabe-Ito), and how a figure is saved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

COLUMN, PAGE = 3.4, 7.0  # widths of a column and of a page, in inches
BLUE, ORANGE, GREEN, RED, SKY, PINK, GREY = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7", "#777777"

STYLE: dict[Any, Any] = {
    "font.size": 8,
    "axes.titlesize": 9,
    "axes.labelsize": 8,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.linewidth": 0.4,
    "grid.alpha": 0.5,
    "figure.constrained_layout.use": True,
    "svg.hashsalt": "rsgg",
}


def use() -> None:
    """Draw without a screen, in this style."""
    mpl.use("Agg")
    mpl.rcParams.update(STYLE)


def save(figure: Figure, folder: Path, name: str) -> list[Path]:
    """As vector PDF and as PNG, without dates inside, so that the same results give the same files."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{name}.pdf", folder / f"{name}.png"]
    figure.savefig(paths[0], metadata={"CreationDate": None})
    figure.savefig(paths[1], dpi=200, metadata={"Software": None})
    return paths
