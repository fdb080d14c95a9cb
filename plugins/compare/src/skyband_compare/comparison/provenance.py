"""Records the origin of figures: the command, the versions, the machine and the day."""

import datetime
import os
import platform
import shlex
from collections.abc import Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from skyband.config.redaction import redact
from skyband.version import __version__

_LIBRARIES = ("numpy", "numba", "pyarrow")


def provenance(command: Sequence[str], distributions: Iterable[str]) -> dict[str, Any]:
    """The call, the day, installed versions and hardware, but nothing that identifies the machine or its user."""
    return {
        "command": shlex.join(["skyband", *map(redact, command)]),
        "date": datetime.datetime.now(datetime.UTC).isoformat(" ", "minutes").removesuffix("+00:00") + " UTC",
        "skyband": __version__,
        "distributions": {name: _version(name) for name in sorted(set(distributions))},
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "libraries": {name: _version(name) for name in _LIBRARIES},
        "machine": f"{_processor()}, {_cores()} cores, {platform.system()} {platform.machine()}",
    }


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "unknown"


def _cores() -> int:
    """The cores that this process may use: in a container, fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _processor() -> str:
    file = Path("/proc/cpuinfo")
    if file.exists():
        for line in file.read_text("utf-8", "replace").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.processor() or "unknown processor"
