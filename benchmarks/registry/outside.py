"""Methods and tasks from outside the project: `--methods my_module:MyExplainer`, `--data my_module:my_task`.

Nothing in the project is edited: what a user names joins the registry for this run (`methods.choose`, `tasks.choose`).
A folder of results remembers what has joined as plain data, so that tables and figures know what it is called and how
it is drawn without importing a user's code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.registry import methods, tasks
from benchmarks.registry.methods import OWN, Method
from benchmarks.registry.tasks import TaskEntry
from rsgg.errors import UsageError

REMEMBERED = ("name", "variant", "explainer", "label", "colour", "marker", "white_box", "revision")
REMEMBERED_OF_TASKS = ("name", "label", "class_names", "shared_nodes", "generated", "task", "declared")


def entries() -> dict[str, list[dict[str, Any]]]:
    """What has joined from outside, as plain data."""
    rows = [entry for entry in methods.METHODS if entry.variant == OWN]
    own = [entry for entry in tasks.TASKS if entry.task]
    return {
        "methods": [{name: getattr(entry, name) for name in REMEMBERED} for entry in rows],
        "tasks": [{name: getattr(entry, name) for name in REMEMBERED_OF_TASKS} for entry in own],
    }


def merged(
    remembered: Mapping[str, Sequence[Mapping[str, Any]]], joined: Mapping[str, Sequence[Mapping[str, Any]]]
) -> dict[str, list[Mapping[str, Any]]]:
    """What a folder remembers with what has joined now; of one name, the latter."""
    whole = {}
    for kind in ("methods", "tasks"):
        by_name = {about["name"]: about for about in (*remembered.get(kind, ()), *joined.get(kind, ()))}
        whole[kind] = list(by_name.values())
    return whole


def rejoin(remembered: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
    """Enter what a folder of results remembers; nothing is imported."""
    try:
        for about in remembered.get("methods", ()):
            if (about["name"], about["variant"]) not in methods.rows():
                methods.METHODS.append(Method(**about))
        for about in remembered.get("tasks", ()):
            if about["name"] not in tasks.tasks():
                tasks.TASKS.append(TaskEntry(**{**about, "class_names": tuple(about["class_names"])}))
    except (TypeError, KeyError) as error:
        raise UsageError(
            f"The manifest remembers a method or task that cannot be read ({error}); remove it, or restore it."
        ) from error
