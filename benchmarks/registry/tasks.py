"""Every task: a data set and the oracle whose decisions are explained, declared once with its public names.

A task is identified by its name, as it stands in the column `dataset` of every file. `options` and `oracle_options` are
values that differ from the defaults of the classes; they are part of the address of a result.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.registry import ablations
from benchmarks.registry import names as typed
from benchmarks.registry.foreign_text import one_line
from rsgg.errors import UsageError

if TYPE_CHECKING:
    from rsgg.task import Problem, Task

Options = Mapping[str, Any]
FOLDS = 10
SMOKE_TRAIN, SMOKE_TEST = 40, 12  # graphs per fold, of tasks that draw some
UNSEEN_DATA, UNSEEN_ORACLES = "rsgg.data.unseen", "rsgg.oracles.unseen"
BUDGET = 2000  # questions that an explainer may ask about a graph, on tasks with learnt oracles
TRAINING = "-training"  # ends the name of a task that is the training graphs of another


@dataclass(frozen=True)
class TaskEntry:
    """A data set × an oracle.

    Args:
        name: how files call it.
        label: its one public name; `about` is what a panel's title adds, e.g. "28 nodes".
        dataset, oracle: the classes, as "module:Class"; for a user's task, `task` names an `rsgg.Task` instead, and
            `declared` is what that task says its results depend on (`Task.parameters`).
        options, oracle_options: what differs from their defaults.
        class_names: the oracle's classes.
        shared_nodes: nodes are the same things in every graph; node_names: what these are called.
        generated: a replicate draws new graphs (the data set has an option `seed`).
        smoke: options of a smoke run.
        renames: the task of which this is the same graphs with nodes renamed at random; run for methods that depend on
            how nodes are numbered, and shown in columns beside that task.
        rows: the only rows ("meg:released") that are run here; None: all.
        training_of: (fold, folds, seed): only the training graphs of this fold, for a search inside them.
        folds: how many folds it is cut into; max_train, max_test, budget: how it is measured (see `rsgg.Task`).
    """

    name: str
    label: str
    dataset: str = ""
    oracle: str = ""
    options: Options = field(default_factory=dict, hash=False)
    oracle_options: Options = field(default_factory=dict, hash=False)
    about: str = ""
    class_names: tuple[str, ...] = ()
    shared_nodes: bool = False
    node_names: tuple[str, ...] = ()
    generated: bool = False
    smoke: Options = field(default_factory=dict, hash=False)
    renames: str = ""
    rows: tuple[str, ...] | None = None
    in_table1: bool = True
    training_of: tuple[int, int, int] | None = None
    task: str = ""
    declared: Options = field(default_factory=dict, hash=False)
    folds: int = FOLDS
    max_train: int | None = None
    max_test: int | None = None
    budget: int | None = None

    @property
    def title(self) -> str:
        """For the head of a panel: "Tree-Cycles (28 nodes)"."""
        return f"{self.label} ({self.about})" if self.about else self.label

    def definition(self) -> dict[str, Any]:
        """What a result depends on, as declared; what is at its default is left out."""
        parts = {
            "options": dict(self.options),
            "oracle": dict(self.oracle_options),
            "training_of": self.training_of,
            "declared": dict(self.declared),
            **self._limits,
        }
        return {"name": self.name, **{name: value for name, value in parts.items() if value}}

    def replicate(self, seed: int) -> TaskEntry:
        """This task in another replicate: generated data are generated anew, given data stay what they are."""
        options = {name: value for name, value in self.options.items() if name != "seed"}
        return replace(self, options={**options, "seed": seed} if seed else options) if self.generated else self

    def varied(self, options: Options) -> TaskEntry:
        return replace(self, options={**self.options, **options})

    @property
    def _limits(self) -> dict[str, int | None]:
        return {"max_train": self.max_train, "max_test": self.max_test, "budget": self.budget}

    def measured_by(self, limits: Options) -> TaskEntry:
        """This task with other limits, of those that are given."""
        return replace(self, **{limit: limits[limit] for limit in self._limits if limit in limits})

    def small(self) -> TaskEntry:
        """The task of a smoke run."""
        few = {"max_train": SMOKE_TRAIN, "max_test": SMOKE_TEST} if self.max_test else {}
        return self.varied(self.smoke).measured_by(few)

    def training_graphs(self, fold: int, folds: int, seed: int = 0) -> TaskEntry:
        """The training graphs of one fold as a task of their own: what a nested search may look at."""
        return replace(self, name=f"{self.name}{TRAINING}", training_of=(fold, folds, seed))

    def class_name(self, c: int) -> str:
        return self.class_names[c] if c < len(self.class_names) else f"class {c}"

    # -- what needs the classes ------------------------------------------------------------------------

    def build(self) -> Task:
        """The task itself, with its data set (not loaded yet) and its oracle."""
        from rsgg.data.training_graphs import TrainingGraphs
        from rsgg.task import Task

        if self.task:
            task: Task = typed.imported(self.task)
            task = typed.made(task, self.task) if callable(task) else task
            task = replace(task, **{name: limit for name, limit in self._limits.items() if limit})
        else:
            data, oracle = typed.imported(self.dataset), _made_oracle(self.oracle, self.oracle_options)
            task = Task(
                self.name, data(), oracle, self.label, self.class_names, self.shared_nodes,
                **self._limits,
            )  # fmt: skip
        if self.options:
            task = replace(task, dataset=replace(task.dataset, **self.options))  # type: ignore[type-var]
        if self.training_of:
            fold, folds, seed = self.training_of
            task = replace(task, name=self.name, dataset=TrainingGraphs(task.dataset, fold, folds, seed))
        return task

    def load(self, data_dir: Path | None = None) -> Problem:
        return self.build().load(data_dir)


def _made_oracle(reference: str, options: Options) -> Any:
    """The oracle that "module:name" names: a class of ours, a PyG model, or a function that makes one of them."""
    from torch.nn import Module  # late: names and looks do not need it

    from rsgg.oracles import Oracle, PyGOracle

    found = typed.imported(reference)
    if isinstance(found, type) and issubclass(found, Oracle):
        return found(**options)
    if not isinstance(found, Module | Oracle):
        found = typed.made(found, reference) if callable(found) else found
    if isinstance(found, Module):
        return PyGOracle(found)
    if not isinstance(found, Oracle):
        raise UsageError(f"{reference} is neither a PyG model nor an oracle; name a torch.nn.Module or an rsgg.Oracle.")
    return found


TREE_CYCLES = TaskEntry(
    "tree-cycles", "Tree-Cycles", "rsgg.data:TreeCycles", "rsgg.oracles:TreeCyclesOracle",
    about="28 nodes", class_names=("tree", "cyclic"), generated=True, smoke={"n_graphs": 60},
)  # fmt: skip
PAIRED_REGIONS = """
Precentral Frontal_Sup Frontal_Sup_Orb Frontal_Mid Frontal_Mid_Orb Frontal_Inf_Oper Frontal_Inf_Tri Frontal_Inf_Orb
Rolandic_Oper Supp_Motor_Area Olfactory Frontal_Sup_Medial Frontal_Med_Orb Rectus Insula Cingulum_Ant Cingulum_Mid
Cingulum_Post Hippocampus ParaHippocampal Amygdala Calcarine Cuneus Lingual Occipital_Sup Occipital_Mid Occipital_Inf
Fusiform Postcentral Parietal_Sup Parietal_Inf SupraMarginal Angular Precuneus Paracentral_Lobule Caudate Putamen
Pallidum Thalamus Heschl Temporal_Sup Temporal_Pole_Sup Temporal_Mid Temporal_Pole_Mid Temporal_Inf Cerebelum_Crus1
Cerebelum_Crus2 Cerebelum_3 Cerebelum_4_5 Cerebelum_6 Cerebelum_7b Cerebelum_8 Cerebelum_9 Cerebelum_10
"""
VERMIS = ("1_2", "3", "4_5", "6", "7", "8", "9", "10")
BRAIN_REGIONS = (
    *(f"{region}_{side}" for region in PAIRED_REGIONS.split() for side in "LR"),
    *(f"Vermis_{part}" for part in VERMIS),
)
"""The 116 regions of the AAL atlas in its order, each but the vermis left and right. The files of ASD name none: that
their nodes are in this order is the convention of the atlas, by which the networks were made."""

ASD = TaskEntry(
    "asd", "ASD", "rsgg.data:ASD", "rsgg.oracles:ASDOracle", about="116 brain regions",
    class_names=("typically developed", "autistic"), shared_nodes=True, node_names=BRAIN_REGIONS,
)  # fmt: skip

HOUSES = ("base node", "middle of a house", "bottom of a house", "roof of a house")
COMMUNITIES = tuple(f"{role}, community {c}" for c in (1, 2) for role in HOUSES)
BA_SHAPES = TaskEntry(
    "ba-shapes", "BA-Shapes", "rsgg.data.nodes:NodesFromFiles", "rsgg.oracles.nodes:NodeGCN",
    oracle_options={"n_classes": 4}, about="nodes", class_names=HOUSES, smoke={"n_train": 60, "n_test": 10},
    in_table1=False,
)  # fmt: skip
BA_COMMUNITY = replace(
    BA_SHAPES, name="ba-community", label="BA-Community", oracle_options={"n_classes": 8}, class_names=COMMUNITIES,
    options={"name": "ba-community", "most_nodes": 360},  # smaller ones are no base nodes of either community
)  # fmt: skip
TREES = {"tree-cycles-nodes": ("Tree-Cycles, nodes", "cycle"), "tree-grid": ("Tree-Grid", "grid")}
GIVEN_NODES = [
    BA_SHAPES,
    BA_COMMUNITY,
    *(
        replace(
            BA_SHAPES, name=name, label=label, options={"name": name}, oracle_options={},
            class_names=("node of the tree", f"node of a {motif}"),
        )
        for name, (label, motif) in TREES.items()
    ),
]  # fmt: skip
FROZEN = "rsgg.oracles.nodes:FrozenNodeGCN"
ALL_NODES: Options = {"hops": 4, "most_nodes": 700}  # CF-GNNExplainer's computation graphs, and all of its test nodes
LUCIC = [  # the weights that CF-GNNExplainer was published with; its own graph is known of BA-Shapes only
    replace(
        BA_SHAPES, name="ba-shapes-lucic", label="BA-Shapes of CF-GNNExplainer", oracle=FROZEN,
        options={"name": "ba-shapes-lucic", **ALL_NODES},
    ),
    *(
        replace(
            given, name=f"{given.name.removesuffix('-nodes')}-lucic", oracle=FROZEN,
            label=f"{given.label.partition(',')[0]}, weights of CF-GNNExplainer",
            options={**given.options, **ALL_NODES}, oracle_options={"model": model},
        )
        for given, model in zip(GIVEN_NODES[2:], ("syn4", "syn5"), strict=True)
    ),
]  # fmt: skip
RANDOM_EDGES: dict[str, Options] = {"tree-grid-lucic": {"edges_per_random_edge": 10}}  # by the mean degree they print
LUCIC_DRAWN = [
    replace(
        given, name=f"{given.name}-generated", label=f"{given.label}, generated", generated=True,
        dataset="rsgg.data.nodes:GeneratedNodes", options={**given.options, **RANDOM_EDGES.get(given.name, {})},
    )
    for given in LUCIC[1:]
]  # fmt: skip
NODE_TASKS = [
    *GIVEN_NODES,
    *LUCIC,
    *LUCIC_DRAWN,
    *(
        replace(
            given, name=f"{given.name}-generated", label=f"{given.label}, generated", generated=True,
            dataset="rsgg.data.nodes:GeneratedNodes",
        )
        for given in GIVEN_NODES
    ),
]  # fmt: skip

STREAM = TaskEntry(
    "tree-cycles-stream", "Tree-Cycles, stream", "rsgg.data:TreeCyclesStream", "rsgg.oracles:TreeCyclesOracle",
    about="28 nodes", class_names=("tree", "cyclic"), generated=True, in_table1=False, folds=4,
)  # fmt: skip
STREAMS = (  # a fold is a snapshot
    STREAM,
    replace(STREAM, name="tree-cycles-drift", label="Tree-Cycles, cycles that grow", options={"drift": 5}),
)

TASKS: list[TaskEntry] = [
    TREE_CYCLES,
    replace(
        TREE_CYCLES, name="tree-cycles-relabelled", label="Tree-Cycles, nodes renamed at random", about="",
        options={"order": "random"}, renames="tree-cycles",
    ),
    replace(
        TREE_CYCLES, name="tree-cycles-32", label="Tree-Cycles, 32 nodes", about="", options={"n_nodes": 32},
        rows=("meg:released",),
    ),
    ASD,
    replace(TREE_CYCLES, name=ablations.TASK, label="Tree-Cycles, ablations", about="", in_table1=False),
    # Problems that no method was built on (`./reproduce.sh unseen`).
    TaskEntry(
        "unseen-ba-2motifs", "BA-2motifs, GIN", f"{UNSEEN_DATA}:BA2Motifs", f"{UNSEEN_ORACLES}:TrainedGIN",
        about="25 nodes", class_names=("cycle", "house"), generated=True, smoke={"n_graphs": 60}, in_table1=False,
    ),
    TaskEntry(
        "unseen-colours", "Colours, GIN", f"{UNSEEN_DATA}:Colours", f"{UNSEEN_ORACLES}:TrainedGIN",
        oracle_options={"n_classes": 3, "pool": "add"}, about="10 to 40 nodes",
        class_names=("mostly red", "mostly green", "mostly blue"),
        generated=True, smoke={"n_graphs": 60}, in_table1=False,
    ),
    TaskEntry(
        "unseen-brain", "Brain networks, linear rule", f"{UNSEEN_DATA}:BrainNetworks", f"{UNSEEN_ORACLES}:LinearRule",
        about="190 nodes", class_names=("below the limit", "above the limit"), shared_nodes=True, generated=True,
        smoke={"n_graphs": 20, "n_nodes": 40, "n_edges": 120}, in_table1=False,
    ),
    TaskEntry(
        "unseen-triangles", "Triangles at a given size", f"{UNSEEN_DATA}:Triangles",
        f"{UNSEEN_ORACLES}:TriangleAtGivenSize", about="20 nodes", class_names=("no triangle", "with a triangle"),
        generated=True, smoke={"n_graphs": 60}, in_table1=False,
    ),
    # Graphs that come one snapshot after the other (`./reproduce.sh streams`).
    *STREAMS,
    *NODE_TASKS,
]  # fmt: skip


# -- Public data with learnt oracles -----------------------------------------------------------------------


def _learnt(
    name: str, label: str, dataset: str, options: Options, oracle: str, oracle_options: Options, *class_names: str
) -> TaskEntry:
    """Five folds, of which at most 60 graphs are explained after learning from at most 400, drawn by seed.

    An explainer may ask 2000 times about a graph. Graphs of more than 120 nodes are left out. The oracle is published,
    or trained on all graphs outside the fold.
    """
    oracle_options = {**oracle_options, **({"n_classes": len(class_names)} if len(class_names) != 2 else {})}
    return TaskEntry(
        name, label, f"rsgg.data:{dataset}", f"rsgg.oracles:{oracle}", options, oracle_options, class_names=class_names,
        generated=dataset == "Motifs", in_table1=False, folds=5, max_train=400, max_test=60, budget=BUDGET,
    )  # fmt: skip


def _tu(data: str, **options: Any) -> dict[str, Any]:
    return {"name": data, "max_nodes": 120, **options}


ENZYME_CLASSES = ("oxidoreductase", "transferase", "hydrolase", "lyase", "isomerase", "ligase")  # EC 1 to 6
LEARNT = [
    _learnt("aids-gcn", "AIDS", "TU", _tu("AIDS", rare=50), "FrozenGCN", {}, "active", "inactive"),
    _learnt(
        "mutagenicity-gcn", "Mutagenicity", "TU", _tu("Mutagenicity", rare=50), "FrozenGCN", {"data": "Mutagenicity"},
        "mutagenic", "not mutagenic",
    ),
    _learnt(
        "nci1-gcn", "NCI1", "TU", _tu("NCI1", rare=50), "FrozenGCN", {"data": "NCI1"}, "inactive", "active"
    ),
    _learnt(
        "proteins-gcn", "PROTEINS", "TU", _tu("PROTEINS"), "FrozenGCN", {"data": "PROTEINS"}, "enzyme", "no enzyme"
    ),
    _learnt("mutag-gin", "MUTAG, GIN", "TU", {}, "TrainedGNN", {}, "not mutagenic", "mutagenic"),
    _learnt("mutag-gcn", "MUTAG, GCN", "TU", {}, "TrainedGNN", {"architecture": "gcn"}, "not mutagenic", "mutagenic"),
    _learnt("enzymes-gin", "ENZYMES", "TU", _tu("ENZYMES"), "TrainedGNN", {}, *ENZYME_CLASSES),
    _learnt("bbbp-gin", "BBBP", "Molecules", {"max_nodes": 120}, "TrainedGNN", {}, "kept out", "passes"),
    _learnt(
        "clintox-gin", "ClinTox", "Molecules", {"name": "ClinTox", "max_nodes": 120}, "TrainedGNN", {},
        "not toxic", "toxic",
    ),
    _learnt("ba-2motifs-gin", "BA-2motifs", "Motifs", {}, "TrainedGNN", {}, "cycle motif", "house motif"),
    _learnt(
        "triangle-house-gin", "Triangle-House", "Motifs", {"family": "Triangle-House"}, "TrainedGNN", {},
        "triangle motif", "house motif",
    ),
]  # fmt: skip
TASKS += LEARNT


def from_folder(folder: Path, model: str = "") -> TaskEntry:
    """The task of a folder in TU format with a PyG model ("module:name"), or with a GIN that is trained in each fold.

    It is entered into the registry for this run and measured like the tasks with learnt oracles.
    """
    from rsgg.data.tu import TU, found_in  # late: it loads torch, which names and looks do not need

    # That of os: `Path.resolve` raises where there is no such place.
    path, called = found_in(Path(os.path.realpath(os.path.expanduser(folder))))
    name, label = f"{called.lower()}-{model.partition(':')[2] or 'gin'}", f"{called}, {model or 'GIN'}"
    known = tasks().get(name)
    if known is not None and (known.options.get("folder"), known.label) == (str(path), label):
        return known
    if known is not None:
        raise UsageError(
            f"The task {name!r} is part of the benchmark: run it with --data {name}, or rename your files "
            f"{called}_A.txt, …"
        )
    data = TU(called, folder=str(path))
    n_classes = int(data.load().labels.max()) + 1
    if n_classes < 2 and not model:
        raise UsageError(f"All graphs of {called} have the same label; give --model, as no GIN can be trained on them.")
    typed.check_new("data set", name, list(tasks()))
    names = tuple(f"class {c}" for c in range(n_classes))
    entry = _learnt(
        name, label, "TU", {"name": called, "folder": str(path), "max_nodes": 120}, "TrainedGNN", {}, *names
    )
    declared = {"dataset": data.parameters()}
    if model:
        oracle = _made_oracle(model, {})
        entry = replace(entry, oracle=model, oracle_options={}, class_names=())
        declared["oracle"] = oracle.parameters()
    entry = replace(entry, declared=declared)
    TASKS.append(entry)
    LEARNT.append(entry)
    return entry


PAPER = ("tree-cycles", "asd")  # the data sets of the paper
UNSEEN = tuple(entry.name for entry in TASKS if entry.dataset.startswith(UNSEEN_DATA))
ENTRY_POINTS = "rsgg.tasks"  # the group in which installed packages offer tasks


def tasks() -> dict[str, TaskEntry]:
    """All tasks by name, in the order of the registry."""
    return {task.name: task for task in TASKS}


def task(name: str) -> TaskEntry:
    """The task of this name; of one that this version does not know, a bare entry that can be shown but not run."""
    return tasks().get(name) or TaskEntry(name, name)


def of_paper() -> tuple[TaskEntry, ...]:
    return tuple(task(name) for name in PAPER)


def label(name: str) -> str:
    return task(name).label


def choose(asked: Sequence[str] | None = None, *, smoke: bool = False) -> tuple[TaskEntry, ...]:
    """The tasks of these names, in the order of the registry; small ones for a smoke run. All of Table 1 by default."""
    wanted = [_named(name) for name in typed.names(asked)] or [entry.name for entry in TASKS if entry.in_table1]
    return tuple(entry.small() if smoke else entry for entry in TASKS if entry.name in wanted)


def _named(asked: str) -> str:
    if asked in tasks():
        return asked
    joined = _join(asked)
    if joined is None:
        raise typed.unknown("data set", asked, [entry.name for entry in TASKS if entry.in_table1])
    return joined.name


# -- Tasks from outside the project ------------------------------------------------------------------------


def _join(asked: str) -> TaskEntry | None:
    """The entry of a user's `rsgg.Task`, `my_module:my_task` or an entry point, entered into the registry for this run.

    The user's module is imported here and nowhere else. None if this is no such name.
    """
    reference = typed.reference(asked, ENTRY_POINTS)
    if reference is None:
        return None
    known = next((entry for entry in TASKS if entry.task == reference), None)
    if known is not None:
        return known
    from rsgg.task import Task  # late: it loads torch, which names and looks do not need

    found = typed.imported(reference)
    found = typed.made(found, reference) if callable(found) else found
    if not isinstance(found, Task):
        raise UsageError(f"{reference} is no task; make it an rsgg.Task (rsgg/templates/task.py shows how).")
    typed.check_new("data set", found.name, list(tasks()))
    generated = is_dataclass(found.dataset) and any(part.name == "seed" for part in fields(found.dataset))
    entry = TaskEntry(
        found.name, one_line(found.label or found.name), class_names=tuple(map(one_line, found.class_names)),
        shared_nodes=found.shared_nodes, generated=generated, task=reference, declared=found.parameters(),
    )  # fmt: skip
    TASKS.append(entry)
    return entry
