"""Remembers that a query's kernels are on disk, so that its next job on this machine need not rehearse."""

import hashlib
import json
import os
import sys
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from skyband_jobs.tables.model import Job


def write(job: Job) -> None:
    """Record which compiled kernels and code files a rehearsal in this process has used.

    Nothing is recorded where no folder is writable, or the job has a function without a name in later processes.
    """
    path = _path(job)
    if path is None:
        return
    code, caches = _used()
    used = {"code": {str(file): _stamp(file) for file in code}, "kept": [str(file) for file in caches]}
    with suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with NamedTemporaryFile("w", dir=path.parent, delete=False) as file:
            json.dump(used, file)
        Path(file.name).replace(path)


def is_current(job: Job) -> bool:
    """Whether such a query was rehearsed here, and everything it used is unchanged."""
    path = _path(job)
    try:
        if path is None:
            return False
        used = json.loads(path.read_bytes())
        unchanged = all(_stamp(Path(file)) == stamp for file, stamp in used["code"].items())
        return unchanged and all(Path(file).exists() for file in used["kept"])
    except (OSError, ValueError, LookupError, TypeError, AttributeError):  # no record, or an invalid one
        return False


def _path(job: Job) -> Path | None:
    identity = repr((job.query, sorted((job.backends or {}).items())))
    if " at 0x" in identity:  # a function or object with an identity per process
        return None
    named = (identity, sys.version, version("numba"), version("numpy"), os.environ.get("NUMBA_CACHE_DIR"))
    try:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:  # there is no home
        return None
    return cache / "skyband" / f"rehearsed-{hashlib.sha256(repr(named).encode()).hexdigest()[:16]}.json"


def _used() -> tuple[list[Path], list[Path]]:
    """The code of all modules with kernels, and numba's cache files of the kernels that were called."""
    from numba.core.registry import CPUDispatcher

    code, caches = [], []
    for name, module in list(sys.modules.items()):
        kernels: list[Any] = [
            value
            for value in list(vars(module).values())
            if isinstance(value, CPUDispatcher) and value.py_func.__module__ == name
        ]
        if not kernels or name.partition(".")[0] == "numba":
            continue
        code.append(Path(str(module.__file__)))
        for kernel in kernels:
            if kernel.signatures and kernel.stats.cache_path:
                start = f"{Path(str(module.__file__)).stem}.{kernel.py_func.__qualname__}-"
                caches += sorted(Path(kernel.stats.cache_path).glob(f"{start}*.nbi"))
    return code, caches


def _stamp(file: Path) -> list[int]:
    status = file.stat()
    return [status.st_mtime_ns, status.st_size]
