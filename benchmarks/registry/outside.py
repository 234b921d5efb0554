"""Methods and tasks from outside the project: `--methods my_module:MyExplainer`, `--data my_module:my_task`.

Nothing in the project is edited: what a user names joins the registry for this run. A name can also be one that an
installed package declares as an entry point (groups `rsgg.explainers` and `rsgg.tasks`). A stranger's code is imported
only when its name is typed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from importlib.metadata import entry_points
from typing import Any

from benchmarks.registry import methods, tasks
from benchmarks.registry import names as typed
from benchmarks.registry.methods import OWN, RED, Method
from benchmarks.registry.tasks import TaskEntry
from rsgg.errors import UsageError

EXPLAINERS, TASKS = "rsgg.explainers", "rsgg.tasks"
REMEMBERED = ("name", "variant", "explainer", "label", "colour", "marker", "revision")
REMEMBERED_OF_TASKS = ("name", "label", "class_names", "shared_nodes", "generated", "task")
MARKERS = ("*", "v", "^", "D", "P", "X")  # of strangers' rows, one after the other


def method(asked: str) -> Method | None:
    """The row of a class from outside, entered into the registry; None if this is no such name."""
    reference = _reference(asked, EXPLAINERS)
    if reference is None:
        return None
    known = next((entry for entry in methods.METHODS if entry.explainer == reference), None)
    if known is not None:
        return known
    found = typed.imported(reference)
    if not (isinstance(found, type) and callable(getattr(found, "explain", None))):
        raise UsageError(
            f"{reference} is no explainer class; subclass rsgg.Explainer (rsgg/templates/explainer.py shows how)."
        )
    name = _kebab(found.__name__) if reference == asked else asked
    label = str(getattr(found, "label", "") or found.__name__)
    marker = MARKERS[sum(entry.variant == OWN for entry in methods.METHODS) % len(MARKERS)]
    entry = Method(name, OWN, reference, label, RED, marker, revision=int(getattr(found, "revision", 1)))
    _check_new("method", name, [other.name for other in methods.METHODS])
    methods.METHODS.append(entry)
    return entry


def task(asked: str) -> TaskEntry | None:
    """The task of an `rsgg.Task` from outside, entered into the registry; None if this is no such name."""
    reference = _reference(asked, TASKS)
    if reference is None:
        return None
    known = next((entry for entry in tasks.TASKS if entry.task == reference), None)
    if known is not None:
        return known
    found = typed.imported(reference)
    found = found() if callable(found) else found
    if not all(hasattr(found, part) for part in ("name", "dataset", "oracle", "load")):
        raise UsageError(f"{reference} is no task; make it an rsgg.Task (rsgg/templates/task.py shows how).")
    _check_new("data set", found.name, list(tasks.tasks()))
    generated = is_dataclass(found.dataset) and any(part.name == "seed" for part in fields(found.dataset))
    entry = TaskEntry(
        found.name, found.label or found.name, class_names=tuple(found.class_names), shared_nodes=found.shared_nodes,
        generated=generated, task=reference,
    )  # fmt: skip
    tasks.TASKS.append(entry)
    return entry


def entries() -> dict[str, list[dict[str, Any]]]:
    """What has joined from outside, as plain data: a folder of results remembers it, so that figures know its look."""
    rows = [entry for entry in methods.METHODS if entry.variant == OWN]
    own = [entry for entry in tasks.TASKS if entry.task]
    return {
        "methods": [{name: getattr(entry, name) for name in REMEMBERED} for entry in rows],
        "tasks": [{name: getattr(entry, name) for name in REMEMBERED_OF_TASKS} for entry in own],
    }


def rejoin(remembered: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
    """Enter what a folder of results remembers; nothing is imported."""
    for about in remembered.get("methods", ()):
        if (about["name"], about["variant"]) not in methods.rows():
            methods.METHODS.append(Method(**about))
    for about in remembered.get("tasks", ()):
        if about["name"] not in tasks.tasks():
            tasks.TASKS.append(TaskEntry(**{**about, "class_names": tuple(about["class_names"])}))


def _reference(asked: str, group: str) -> str | None:
    """ "module:name" as it is; the name of an entry point as what it stands for; None for anything else."""
    if ":" in asked:
        return asked
    found = [point.value for point in entry_points(group=group) if point.name == asked]
    return found[0] if found else None


def _check_new(what: str, name: str, known: list[str]) -> None:
    if name in known:
        raise UsageError(f"There is a {what} called {name!r} already; give yours another name.")


def _kebab(name: str) -> str:
    """MyExplainer -> my-explainer."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", name).lower()
