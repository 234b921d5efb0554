"""The worked example runs as it stands, with fewer epochs."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from PIL import Image

ROOT = Path(__file__).parent.parent.parent
EXAMPLE = ROOT / "docs" / "examples" / "ba_2motifs.py"


def test_ba_2motifs_is_learnt_explained_and_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As a program, with nothing but what it imports itself; in this process, where its libraries are loaded."""
    picture = tmp_path / "explained.png"
    monkeypatch.setattr(sys, "argv", [str(EXAMPLE), "60", str(picture)])
    with torch.random.fork_rng(), plt.rc_context({"backend": "Agg"}):
        runpy.run_path(str(EXAMPLE), run_name="__main__")
        plt.close("all")
    accuracy, *sentences = capsys.readouterr().out.splitlines()
    # Chance is .5; a short training ends between .88 and 1 by seed, and rounding differs between kinds of CPU.
    assert float(accuracy.rsplit(" ", 1)[1]) > 0.75
    assert len(sentences) == 10 and all(re.match(r"(Remove|Add) the edges? \d+–\d+", words) for words in sentences)
    red, green, blue = np.asarray(Image.open(picture).convert("RGB")).astype(int).transpose(2, 0, 1)
    for panel in (np.s_[:, i * 320 : (i + 1) * 320] for i in range(5)):  # five columns of two graphs each
        assert ((red[panel] < 100) & (green[panel] < 100) & (blue[panel] < 100)).sum() > 500  # names, circles, titles
        assert ((abs(red[panel] - green[panel]) > 100) & (blue[panel] < 80)).sum() > 30  # red or green edges


def test_it_is_short() -> None:
    """Imports and the model apart, what a reader has to read are some 25 lines."""
    lines = [line for line in EXAMPLE.read_text(encoding="utf-8").splitlines() if line.strip()]
    start = next(i for i, line in enumerate(lines) if line.startswith("epochs"))
    assert len(lines) - start <= 25
