"""Libraries from an extra of a distribution, imported when they are first needed."""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from skyband.errors import EngineError


def missing(library: str, extra: str, distribution: str = "skyband") -> str | None:
    """What to install, where a library is missing; else None."""
    return None if find_spec(library) is not None else f"needs {library}: pip install '{distribution}[{extra}]'"


def imported(library: str, extra: str, distribution: str = "skyband") -> Any:
    """Import a library. Raises EngineError that says what to install, where it is missing."""
    lacking = missing(library, extra, distribution)
    if lacking is not None:
        raise EngineError(f"{extra} {lacking}")
    return import_module(library)
