"""The command line behind reproduce.sh. A new experiment is one line in here (see `experiment`).

Nothing heavy is imported before a command needs it: help, mistakes and `show` are answered at once. Bad arguments and
bad data get one sentence on stderr and exit code 2, never a traceback.
"""

from __future__ import annotations

import importlib.util
import inspect
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer
from typer.exceptions import TyperException

from benchmarks.registry import foreign_text
from benchmarks.registry.names import imported
from benchmarks.results.files import LOCAL, REFERENCE, ROOT, shown
from benchmarks.running import options
from benchmarks.running.options import RunOptions, available_cores
from benchmarks.running.signals import terminate_like_interrupt
from rsgg.errors import RSGGError, UsageError

app = typer.Typer(
    help="Reproduce the RSGG-CE paper: data, methods, tables and figures.\n\nExample: ./reproduce.sh table1 --smoke",
    add_completion=False,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
)


@app.callback()
def no_command(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())


# -- Experiments -----------------------------------------------------------------------------------------


def experiment(name: str, where: str, says: str, example: str, kind: type[RunOptions] = RunOptions) -> None:
    """Add the command that runs the experiment `where` ("module:Class"); its options are the fields of `kind`."""

    def run(**values: Any) -> None:
        raise typer.Exit(imported(where)().run(kind(**values)))

    hints, of_run = get_type_hints(kind), inspect.Parameter.KEYWORD_ONLY
    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(
                of.name, of_run, default=of.default, annotation=Annotated[hints[of.name], of.metadata["option"]]
            )
            for of in fields(kind)
            if of.name not in kind.unused
        ]
    )
    app.command(name, help=_help(says, example))(run)


def _help(says: str, example: str) -> str:
    return f"{says}\n\nExample: ./reproduce.sh {example}"


experiment(
    "table1", "benchmarks.table1:Table1", "Table 1: compute what is missing, print it beside the paper's.",
    "table1 --methods rsgg-ce", options.Table1Options,
)  # fmt: skip
experiment(
    "ablation", "benchmarks.ablation:Ablation", "The four ablations on Tree-Cycles.", "ablation --vary cycle_size",
    options.AblationOptions,
)  # fmt: skip
experiment(
    "runtime", "benchmarks.runtime:Runtime", "Inference runtime as graphs and data sets grow.",
    "runtime --vary n_nodes", options.RuntimeOptions,
)  # fmt: skip
experiment(
    "speed", "benchmarks.speed:Speed", "CPU seconds of every row of Table 1, beside one graph at a time.",
    "speed --methods cf2", options.SpeedOptions,
)  # fmt: skip
experiment(
    "convergence", "benchmarks.convergence:Convergence",
    "Both losses of RSGG-CE per epoch, with checks for mode collapse.", "convergence", options.ConvergenceOptions,
)  # fmt: skip
experiment(
    "variations", "benchmarks.variations:Variations", "A row with one thing changed at a time: what matters?",
    "variations --study training", options.VariationOptions,
)  # fmt: skip
experiment(
    "unseen", "benchmarks.unseen:Unseen", "Problems that no method was built on, or one of your own.",
    "unseen --methods rsgg-ce-certified",
)  # fmt: skip
experiment(
    "streams", "benchmarks.streams:Streams", "Graphs that come in snapshots: retrieval by DyGRACE beside its controls.",
    "streams --methods dygrace",
)  # fmt: skip
experiment(
    "nodes", "benchmarks.nodes:Nodes", "Counterfactuals for node classification, with ego networks as graphs.",
    "nodes --data tree-cycles-nodes,tree-grid", options.NodeOptions,
)  # fmt: skip
experiment(
    "table2", "benchmarks.table2:Table2", "Real data and learnt oracles: validity, plausibility, feasibility.",
    "table2 --data mutagenicity-gcn", options.Table2Options,
)  # fmt: skip
experiment(
    "robustness", "benchmarks.robustness:Robustness",
    "Oracles trained again, harmless edits, frozen pairs: what counterfactuals withstand.",
    "robustness --data mutag-gin", options.Table2Options,
)  # fmt: skip
experiment(
    "noise", "benchmarks.noise:NoiseCurves", "Noise in the graph: are the same edges ranked high?",
    "noise --data ba-2motifs-gin", options.Table2Options,
)  # fmt: skip
experiment(
    "fronts", "benchmarks.fronts:FrontQuality", "Sets of explanations: what MOO's fronts dominate.",
    "fronts --data mutag-gin", options.Table2Options,
)  # fmt: skip
experiment(
    "global", "benchmarks.global_summaries:GlobalSummaries", "A few graphs that explain a whole class: GCFExplainer.",
    "global --data aids-gcn", options.GlobalOptions,
)  # fmt: skip
experiment("hpo", "benchmarks.hpo:Hpo", "Search for hyper-parameters.", "hpo --method cf2", options.HpoOptions)
experiment(
    "traces", "benchmarks.traces:Traces", "RSGG-CE's sampler step by step, and what several candidates are worth.",
    "traces --folds 0", options.TraceOptions,
)  # fmt: skip


# -- Other commands --------------------------------------------------------------------------------------

IN_LOCAL = shown(LOCAL)  # help names folders as users do, not by where this clone lies
COMMITTED = sorted(path.stem for path in REFERENCE.glob("*.csv"))
DataDir = Annotated[
    Path | None, typer.Option(envvar="RSGG_DATA_DIR", help="Folder that holds the data sets; else they are downloaded.")
]
Folder = Annotated[
    Path | None, typer.Option(help="Folder of results.", show_default="local ones where complete, else the reference")
]
Beside = Annotated[
    bool, typer.Option("--beside-reference", help="Show the rows of the folder beside the committed ones.")
]


def command(says: str, example: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    return app.command(help=_help(says, example))


@command("Make the environment and fetch the data, so that everything else can start at once.", "setup")
def setup(data_dir: DataDir = None) -> None:
    from rsgg.data import ASD
    from rsgg.errors import DataError

    versions = ", ".join(f"{package} {metadata.version(package)}" for package in ("torch", "torch-geometric", "pandas"))
    print(f"Environment: Python {sys.version.split()[0]}, {versions}.")
    try:
        print(f"Data: Tree-Cycles is generated; ASD is there, {len(ASD().load(data_dir))} graphs, checksums match.")
    except DataError as error:
        print(f"Data: Tree-Cycles is generated. {error} Everything that does not need ASD runs.")
    print("Next: ./reproduce.sh show table1 for the committed results, ./reproduce.sh table1 --smoke for a first run.")


@command("Style, types and tests: ruff, mypy and pytest; fails when any of them does.", "test --long")
def test(
    long: Annotated[
        bool,
        typer.Option("--long", help="Then verify the reference and make bugs that tests have to find: about an hour."),
    ] = False,
) -> None:
    environment = dict(os.environ)
    if environment.get("RSGG_DATA_DIR"):
        environment["RSGG_DATA_DIR"] = str(Path(environment["RSGG_DATA_DIR"]).resolve())
    workers = str(available_cores())
    checks: list[tuple[str, ...]] = [
        ("ruff", "check", "."),
        ("ruff", "format", "--check", "."),
        ("mypy",),
        ("pytest", "-q", "-n", workers, "--dist", "worksteal"),
    ]
    if long:
        checks.append(("benchmarks.cli", "verify", "--sample", "1", "--out", str(REFERENCE)))
        environment["RSGG_LONG"] = "1"
        checks.append(("tests.mutation.run", "--jobs", workers))
    failed = []
    for check in checks:
        print(f"== {' '.join(check)}", flush=True)
        if subprocess.run([sys.executable, "-m", *check], cwd=ROOT, env=environment).returncode:
            failed.append(" ".join(check[:2]) if check[0] == "ruff" else check[0])
    print(f"Failed: {', '.join(failed)}." if failed else "All checks passed.")
    raise typer.Exit(1 if failed else 0)


@command("Does your explainer, task or oracle keep its contract? Says what passed.", "check my_module:MyExplainer")
def check(
    what: Annotated[str, typer.Argument(help="my_module:MyExplainer, my_module:my_task or my_module:MyOracle.")],
    oracle: Annotated[str, typer.Option(help="For an explainer that needs one of its own: my_module:MyOracle.")] = "",
    data_dir: DataDir = None,
) -> None:
    from benchmarks.check import checked

    for line in checked(what, oracle, data_dir):
        print(line)


@command("The appendix's statistics of the data sets, measured beside printed.", "datasets")
def datasets(
    data_dir: DataDir = None,
    out: Annotated[Path, typer.Option(help="Folder for datasets.csv.", show_default=IN_LOCAL)] = LOCAL,
) -> None:
    from benchmarks.datasets import run

    run(out, data_dir)


@app.command(
    "drug_target",
    help=_help("Drug-target pairs: MACDA's two agents beside looking at every joint action.", "drug_target --pairs 1"),
)
def drug_target(
    pairs: Annotated[int, typer.Option(min=1, help="Pairs of each length of targets.")] = 3,
    replicates: Annotated[int, typer.Option(min=1, help="How often each pair is explained, with other seeds.")] = 3,
    smoke: Annotated[bool, typer.Option("--smoke", help="The same path on little data, in under a minute.")] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Compute again what is stored already.")] = False,
    data_dir: DataDir = None,
    out: Annotated[Path | None, typer.Option(help="Folder for drug_target.csv.", show_default="results/local")] = None,
) -> None:
    from benchmarks.drug_target import run

    folder = out or LOCAL / ("smoke" if smoke else "")
    few = {"pairs": 1, "replicates": 1} if smoke else {"pairs": pairs, "replicates": replicates}
    run(folder, data_dir, **few, smoke=smoke, fresh=fresh)


@command("The paper's statements, checked on stored results; computes no cell.", "claims")
def claims(
    source: Annotated[
        Path | None,
        typer.Option(
            "--from", help="Folder of results.", show_default="results/local if complete, else results/reference"
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for claims.csv and claims.md.", show_default=IN_LOCAL)] = LOCAL,
) -> None:
    from benchmarks.claims import run

    run(source, out)


@command("Print a stored table at once: the committed reference, or yours with --out.", "show table1")
def show(
    what: Annotated[str, typer.Argument(help=f"Which table; committed are {', '.join(COMMITTED)}.")],
    out: Annotated[
        Path, typer.Option(help="Folder of results to show from.", show_default=shown(REFERENCE))
    ] = REFERENCE,
    everything: Annotated[bool, typer.Option("--all", help="All rows and columns, with reasons.")] = False,
) -> None:
    from figures.tables import show as show_stored

    show_stored(what, out, everything=everything)


@command("Draw every figure and table of the paper, and more, from stored results.", "figures")
def figures(
    results: Folder = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the figures.", show_default="figures, in the folder of results")
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, help="Worker processes.")] = available_cores(),
    beside_reference: Beside = False,
    paper: Annotated[
        bool, typer.Option("--paper", help="For a paper: no titles, no paths; provenance is in the PDF's metadata.")
    ] = False,
    serif: Annotated[bool, typer.Option("--serif", help="In the letters of a LaTeX article.")] = False,
) -> None:
    from benchmarks.results.reader import Results
    from figures.figure import Edition, figures_folder
    from figures.gallery import draw_all
    from figures.tables import write as write_tables

    stored = Results.of(results, beside_reference=beside_reference)
    folder = out or figures_folder(results, paper=paper)
    for entry in draw_all(stored, folder, jobs, Edition(paper, serif)):
        gaps = f" (missing: {'; '.join(entry.missing)})" if entry.missing else ""
        print(f"{entry.name}.pdf, .png{gaps}")
    tables = list(write_tables(stored.again(), folder))
    print(f"All of them, and {len(tables)} files of tables, are in {shown(folder)}.")
    if paper:
        print("Captions are in figures.json; they and what was read, with checksums, in the PDFs' metadata (pdfinfo).")
    elif out is None:  # else it is not these that the report shows
        print(f"Next: ./reproduce.sh report{f' --results {shown(results)}' if results else ''}.")


@command("All stored results on one web page that needs no network, with an explorer of single graphs.", "report")
def report(
    results: Folder = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for index.html.", show_default="results/local/report")
    ] = None,
    beside_reference: Beside = False,
) -> None:
    from figures.report import run

    print(run(results, out, beside_reference=beside_reference))


@command("The manual as a web site that needs no network.", "manual")
def manual() -> None:
    """Into build/manual, always: MkDocs empties the folder that it writes to."""
    if importlib.util.find_spec("mkdocs") is None:
        raise UsageError("MkDocs is not installed; give this command through ./reproduce.sh, whose environment has it.")
    page = ROOT / "build" / "manual" / "index.html"
    arguments = ["-m", "mkdocs", "build", "--strict", "--quiet", "--config-file", str(ROOT / "docs" / "mkdocs.yml")]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}  # about what comes after the pinned version
    if subprocess.run([sys.executable, *arguments], cwd=ROOT, env=environment).returncode:
        raise typer.Exit(1)
    print(f"The manual is written: open {shown(page)}.")
    print(f"To search in it, serve it: python3 -m http.server --bind 127.0.0.1 -d {shown(page.parent)}")


@command("Check counterfactuals from a file and enter them into the leaderboard.", "submit edits.csv --name Mine")
def submit(
    file: Annotated[Path, typer.Argument(help="CSV with the columns task, instance, added, removed.")],
    name: Annotated[str, typer.Option(help="What the row is to be called.")],
    data_dir: DataDir = None,
    out: Annotated[Path, typer.Option(help="Folder of the leaderboard.", show_default=IN_LOCAL)] = LOCAL,
) -> None:
    from benchmarks.submit import run

    for line in run(file, name, out, data_dir):
        print(line)


@command("Turn your results into a reference: compact the cells, render the tables from them.", "publish --out folder")
def publish(
    source: Annotated[Path, typer.Option("--from", help="Folder of results.", show_default=IN_LOCAL)] = LOCAL,
    out: Annotated[
        Path,
        typer.Option(help="Folder for the reference, e.g. results/reference.", show_default=f"{IN_LOCAL}/published"),
    ] = LOCAL / "published",
    data_dir: DataDir = None,
) -> None:
    from benchmarks.publish import publish as publish_stored

    print(publish_stored(source, out, data_dir))


@command("Check stored results: every file's checksum, tables made again, cells computed again.", "verify --sample 5")
def verify(
    sample: Annotated[int, typer.Option(min=0, help="Cells that are computed again and compared.")] = 0,
    derive: Annotated[int, typer.Option(min=0, help="Cells whose metrics are derived again from their edits.")] = 20,
    tables: Annotated[bool, typer.Option(help="Make the reference's tables again: most of the time.")] = True,
    seed: Annotated[int, typer.Option(help="Another seed chooses other cells.")] = 0,
    data_dir: DataDir = None,
    out: Annotated[
        Path, typer.Option(help="Folder of results to check besides the reference.", show_default=IN_LOCAL)
    ] = LOCAL,
) -> None:
    from benchmarks.verify import verify as verify_stored

    folders = dict.fromkeys((out, REFERENCE))
    say = partial(print, flush=True)  # it takes minutes, and somebody may read along through a pipe
    findings = verify_stored(
        list(folders), derive=derive, sample=sample, tables=tables, seed=seed, data_dir=data_dir, say=say
    )
    raise typer.Exit(1 if findings.wrong else 0)


# -- Entry -----------------------------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None, *, script: str = "") -> int:
    """Run a command line and return its exit code. With `script`, that command alone, as its own program."""
    group: Any = typer.main.get_command(app)
    command, program = group, "./reproduce.sh"
    if script:
        command, program = group.commands[script], f"python benchmarks/{script}.py"
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        with terminate_like_interrupt():
            code = command.main(given, prog_name=program, standalone_mode=False)
            sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except TyperException as error:
        context = getattr(error, "ctx", None)
        _complain(_sentence(error.format_message(), context.command_path if context else program))
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # whoever read our output has seen enough
        _silence_stdout()
        return 0
    except OSError as error:
        if error.filename is not None:  # no output of ours, but a path that somebody named
            _complain(f"{error.filename} cannot be used ({error.strerror}); check the path and its permissions.")
            return 2
        _silence_stdout()
        print(f"The output could not be written: {error.strerror}. Stored results are not touched.", file=sys.stderr)
    except RSGGError as error:
        _complain(str(error))
    return 2


def _complain(sentence: str) -> None:
    """Say on stderr what is wrong. What a file or an argument brings in must not steer the terminal or fill it."""
    print(foreign_text.sentence(sentence), file=sys.stderr)


def _silence_stdout() -> None:
    """What is still waiting to be written goes nowhere, so that Python does not try again when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def script(name: str) -> None:
    """What `python benchmarks/<name>.py` does."""
    sys.exit(main(script=name))


def _sentence(message: str, command: str) -> str:
    """What the option parser has to say, as one sentence that ends with where to look."""
    said = " ".join(message.split()).replace(". Did you mean", "; did you mean")
    return said if said.endswith("?") else f"{said.rstrip('.')}; see {command} --help."


if __name__ == "__main__":
    sys.exit(main())
