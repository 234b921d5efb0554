"""Check a stranger's explainer, task, oracle or PyG model against its contract.

./reproduce.sh check my_module:MyExplainer
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from torch.nn import Module

from benchmarks.registry.names import imported, made
from rsgg.contract import ContractViolation, check_explainer, check_oracle, check_task
from rsgg.errors import UsageError
from rsgg.explainer import Explainer
from rsgg.oracles import Oracle, PyGOracle
from rsgg.task import Task


def checked(what: str, oracle: str = "", data_dir: Path | None = None) -> Iterator[str]:
    """A line for each check that passed; the first that fails is an error with its sentence."""
    found, own = _made(what), _made(oracle) if oracle else None
    if own is not None and not isinstance(own, Oracle | Task):
        raise UsageError(f"{oracle} is no oracle or task; subclass rsgg.Oracle or make an rsgg.Task.")
    try:
        if isinstance(found, Explainer | type):
            passed = check_explainer(found, oracle=own)
        elif isinstance(found, Oracle):
            passed = check_oracle(found)
        elif isinstance(found, Task):
            passed = check_task(found, data_dir)
        else:
            raise UsageError(
                f"{what} is no explainer, oracle or task; subclass rsgg.Explainer or rsgg.Oracle, or make an rsgg.Task "
                "(rsgg/templates shows how)."
            )
    except ContractViolation as violation:
        raise UsageError(f"{what} does not keep its contract: {violation}") from violation
    yield from (f"passed: {line}" for line in passed)
    yield f"{what} keeps its contract: {len(passed)} checks passed."


def _made(reference: str) -> Any:
    """What a user named: an explainer class, an object, or what the class or function without arguments makes.

    A PyG model is an oracle.
    """
    found = imported(reference)
    if isinstance(found, Module):
        return PyGOracle(found)
    if isinstance(found, Oracle | Task | Explainer) or not callable(found):
        return found
    return found if isinstance(found, type) and issubclass(found, Explainer) else made(found, reference)
