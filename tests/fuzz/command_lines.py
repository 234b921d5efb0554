"""Command lines that nobody should type, made from a seed: wrong values, wrong files, wrong folders, in every mixture.

`world` fills a folder with things that are not what a command expects; `lines` puts commands, options and values
together. None of these lines computes a cell (experiments are only planned, `--dry-run`) or writes outside that folder.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from benchmarks.results.files import REFERENCE

DIGITS = "9" * 5000
NUMBERS = ("0", "-1", "1.5", "1e9", DIGITS, "-" + DIGITS, "0-99999999999", "99999999999", "NaN", "inf", "", "½", "٣")
WORDS = ("", " ", ",", ":", "a:b:c", "json:", ":x", "..", "\x1b[31m", "x" * 5000, "ü", "rsgg-ce", "empty", "asd")
EXPERIMENTS = (
    "table1", "ablation", "runtime", "convergence", "variations", "unseen", "streams", "nodes", "table2", "robustness",
    "noise", "fronts",
    "traces",
)  # fmt: skip
TABLES = (
    "table1.csv", "ablation_cycle_size.csv", "claims.csv", "findings.csv", "convergence.csv", "runtime.csv",
    "datasets.csv", "hpo_cf2.csv", "verdicts.csv", "candidates.csv",
)  # fmt: skip
CONTENTS = (
    b"", b"\n\n", b"\x00" * 100, bytes(range(256)) * 4, b"a,b\n1,2,3\n", b'"open', b"mean\nx\n", b"\xff\xfe,\n1", b"{}",
    b"[]", b"null", b'{"files": 3}', b'{"files": {"a": 1}}', b'{"outside": 7}', b'{"experiments": [1]}', b"[" * 3000,
    b"dataset,method,variant,metric,mean\ntree-cycles,cf2,released,ged,x\n",
)  # fmt: skip


def world(folder: Path) -> list[Path]:
    """Things in a folder that are not folders of results, or are damaged ones."""
    loop, deep = folder / "loop", folder / "dangling"
    loop.symlink_to(loop)
    deep.symlink_to(folder / "nowhere")
    (folder / "file").write_bytes(b"no folder")
    (folder / "empty").mkdir()
    made = [loop, deep, folder / "file", folder / "empty", folder / ("n" * 300), folder / "missing", Path("/dev/null")]
    made += [loop / "below", folder / "file" / "below", Path("/proc/self/mem")]
    for i, content in enumerate(CONTENTS):
        damaged = folder / f"damaged{i}"
        (damaged / "figures").mkdir(parents=True)
        for name in ("manifest.json", "figures/figures.json", TABLES[i % len(TABLES)], "table1.csv"):
            (damaged / name).write_bytes(content)
        made.append(damaged)
    for i, table in enumerate(TABLES):  # whole tables of which a column, a line or some bytes are gone
        source, cut = REFERENCE / table, folder / f"cut{i}"
        if source.is_file():
            cut.mkdir()
            lines = source.read_text(encoding="utf-8").splitlines()
            (cut / table).write_text("\n".join(line.partition(",")[2] for line in lines[:20]), encoding="utf-8")
            made.append(cut)
    links = folder / "links"
    links.mkdir()
    for name in ("table1.csv", "manifest.json"):
        (links / name).symlink_to(links / name)
    folders = folder / "folders"
    for name in ("table1.csv", "manifest.json", "figures/figures.json"):
        (folders / name).mkdir(parents=True)
    return [*made, links, folders]


def lines(seed: int, count: int, places: list[Path]) -> Iterator[list[str]]:
    """So many command lines; the same for the same seed."""
    draw = random.Random(seed)
    for _ in range(count):
        kind = draw.random()
        if kind < 0.5:
            yield [draw.choice(EXPERIMENTS), "--dry-run", *_options(draw, places)]
        elif kind < 0.62:
            yield ["hpo", "--dry-run", *_options(draw, places), *_some(draw, SEARCH, places)]
        elif kind < 0.95:
            name, required, optional = draw.choice(OTHERS)
            yield [name, *_filled(draw, required, places), *_some(draw, optional, places)]
        else:
            yield [*(_word(draw) for _ in range(draw.randrange(4))), "--dry-run"]  # a word may be an experiment


def _options(draw: random.Random, places: list[Path]) -> list[str]:
    return _some(draw, COMMON, places)


COMMON = {
    "--methods": "word", "--datasets": "word", "--folds": "number", "--seeds": "number", "--jobs": "number",
    "--device": "device", "--cell-seconds": "number", "--graph-seconds": "number", "--out": "place",
    "--data-dir": "place", "--vary": "word", "--study": "word", "--tu": "place", "--model": "word", "--dask": "address",
}  # fmt: skip
SEARCH = {"--storage": "storage", "--trials": "number", "--inner": "number", "--protocol": "word"}
OTHERS: tuple[tuple[str, tuple[str, ...], dict[str, str]], ...] = (
    ("show", ("table",), {"--out": "place"}),
    ("show", ("table",), {"--out": "place", "--all": ""}),
    ("claims", ("--from", "place", "--out", "place"), {}),
    ("report", ("--results", "place", "--out", "place"), {}),
    ("publish", ("--from", "place", "--out", "place"), {}),
    ("submit", ("place", "--out", "place"), {"--name": "word", "--data-dir": "place"}),
    ("verify", ("--out", "place"), {"--sample": "number", "--derive": "number", "--seed": "number"}),  # not yours
    ("check", ("word",), {"--oracle": "word", "--data-dir": "place"}),
)
DEVICES = (
    "hpu",
    "cuda:99",
    "meta",
    "cpu:7",
    "xla",
    "cpu:" + DIGITS,
    "privateuseone",
    "mps",
    "",
    "CPU",
    "cuda:-1",
    "mkldnn",
)
ADDRESSES = ("", "tcp://", "host:port", "tcp://127.0.0.1:" + DIGITS, "tls://127.0.0.1:1")
SECRET = "pa55word"
STORAGES = (
    f"postgresql+psycopg//u:{SECRET}@h/x", f"postgresql+psycopg://u@h/x?password={SECRET}", f"mysql://u:{SECRET}@h:port/x",
    f"sqlite://u:{SECRET}@/x", f"u:{SECRET}@h", f"sqlite:////no/where/x.db?password={SECRET}", "sqlite://", "x", "://",
    f"nosuch+driver://u:{SECRET}@h/x",
)  # fmt: skip


def _some(draw: random.Random, options: dict[str, str], places: list[Path]) -> list[str]:
    chosen = draw.sample(sorted(options), min(len(options), draw.randrange(4)))
    return [part for name in chosen for part in (name, *_filled(draw, (options[name],), places))]


def _filled(draw: random.Random, kinds: tuple[str, ...], places: list[Path]) -> list[str]:
    made = {
        "word": lambda: _word(draw), "number": lambda: draw.choice(NUMBERS), "device": lambda: draw.choice(DEVICES),
        "place": lambda: str(draw.choice(places)), "address": lambda: draw.choice(ADDRESSES),
        "storage": lambda: draw.choice(STORAGES), "table": lambda: draw.choice((*TABLES, *WORDS)).removesuffix(".csv"),
    }  # fmt: skip
    return [made[kind]() if kind in made else kind for kind in kinds if kind]


def _word(draw: random.Random) -> str:
    return draw.choice((*WORDS, *NUMBERS[:5], *EXPERIMENTS))
