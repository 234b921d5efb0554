"""Where results come from: versions, commit and machine. No host name, no user, no path."""

from __future__ import annotations

import os
import platform
import subprocess
from contextlib import suppress
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from benchmarks.results.files import ROOT

PACKAGES = ("torch", "torch-geometric", "numpy", "scipy", "networkx", "pandas", "pyarrow", "joblib")


@cache
def provenance() -> dict[str, Any]:
    """What a stored result says about how it was made."""
    versions = {}
    for package in PACKAGES:
        with suppress(metadata.PackageNotFoundError):
            versions[package] = metadata.version(package)
    return {
        "python": platform.python_version(),
        "versions": versions,
        "commit": _commit(),
        "machine": {"system": platform.system(), "cpu": _cpu_model(), "cores": os.cpu_count()},
    }


def _commit() -> str:
    """The commit of the code, with "-dirty" where files differ from it."""
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=40", "--exclude", "*"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return answer.stdout.strip() or "unknown"


def _cpu_model() -> str:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
