"""Check a stranger's explainer, task or oracle against its contract: ./reproduce.sh check my_module:MyExplainer"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.registry.names import imported
from rsgg.contract import ContractViolation, check_explainer, check_oracle, check_task
from rsgg.errors import UsageError
from rsgg.explainer import Explainer
from rsgg.oracles import Oracle
from rsgg.task import Task


def checked(what: str, oracle: str = "", data_dir: Path | None = None) -> Iterator[str]:
    """A line for each check that passed; the first that fails is an error with its sentence."""
    found = imported(what)
    own = imported(oracle) if oracle else None
    own = own() if isinstance(own, type) else own
    if not isinstance(found, type | Oracle | Task | Explainer) and callable(found):
        found = found()
    try:
        if isinstance(found, Explainer) or (isinstance(found, type) and issubclass(found, Explainer)):
            passed = check_explainer(found, oracle=own)
        elif isinstance(found, Oracle) or (isinstance(found, type) and issubclass(found, Oracle)):
            passed = check_oracle(found() if isinstance(found, type) else found)
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
