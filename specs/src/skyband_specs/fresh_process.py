"""Runs a backend in a fresh process: nothing of this process leaks into it, and this one outlives it.

The child imports from the same places: the backend's class by its module's name or, if that cannot be imported (a test
file), from its file. It does not run a script for that: the script could start this check again.
"""

import hashlib
import importlib.util
import inspect
import os
import sys
from collections.abc import Mapping
from importlib import import_module
from types import ModuleType
from typing import Any

from attrs import frozen
from skyband import BackendInfo
from skyband.roles import Backend

from skyband_specs.batching import fed, visible
from skyband_specs.check import Make
from skyband_specs.driver import Case
from skyband_specs.drivers import driver_for
from skyband_specs.fork_server import Ended, run_in_fork, run_in_lasting_fork

HASH_SEEDS = ("1", "2")
PATIENCE = 600.0
"""Seconds after which a child without an answer has failed; compiling takes the longest."""

CHILD = "SKYBAND_SPECS_CHILD"
"""Set in the child's environment, so that it cannot have children itself."""


@frozen
class _Order:
    """The child's task, as plain data."""

    info: BackendInfo
    module: str
    file: str
    name: str
    parameters: Mapping[str, Any]
    task: str
    """module:function, called with the case and the argument; it returns text."""
    argument: Any
    path: tuple[str, ...]


def digest(make: Make, case: Case, seed: int) -> str:
    """SHA-256 of the answers and the snapshot after the role's seeded stream, fed in this process."""
    stream = case.driver.seeded(case, seed)
    answers, blob, retained = visible(case, fed(make, case, stream), stream, len(stream))
    return hashlib.sha256(repr((answers, retained)).encode() + blob).hexdigest()


def digest_in_fresh_process(case: Case, seed: int) -> str:
    """The same in a fresh process, with another PYTHONHASHSEED."""
    child = run_in_fresh_process(case, "skyband_specs.fresh_process:_digest", seed)
    if child.returncode:
        raise AssertionError(f"a fresh process failed: {last_words(child)}")
    return child.stdout.decode().strip()


def _digest(case: Case, seed: int) -> str:
    return digest(case.make, case, seed)


def run_in_fresh_process(case: Case, task: str, argument: Any, lasting: bool = False) -> Ended:
    """Run a task (`module:function`) on a case in a fresh process: its output, and how it ended.

    lasting: in a process that may have run others, which only ensures that a crash does not end this process.
    Raises subprocess.TimeoutExpired after PATIENCE seconds.
    """
    cls = case.factory
    if cls.__module__ == "__main__":
        raise AssertionError(f"{cls.__name__} is in a script, where a fresh process cannot find it: put it in a module")
    if os.environ.get(CHILD):
        raise AssertionError("a fresh process was asked to start another: importing the backend must run no checks")
    file = inspect.getfile(cls)
    parameters, path = dict(case.parameters), tuple(sys.path)
    order = _Order(case.info, cls.__module__, file, cls.__qualname__, parameters, task, argument, path)
    environment = {**os.environ, "PYTHONHASHSEED": other_hash_seed(), CHILD: "1"}
    run = run_in_lasting_fork if lasting else run_in_fork
    return run("skyband_specs.fresh_process:_obey", order, environment, PATIENCE)


def last_words(child: Ended) -> str:
    """The end of a child's stderr."""
    return child.stderr.decode(errors="replace").strip()[-400:]


def other_hash_seed() -> str:
    """A PYTHONHASHSEED other than this process's."""
    return next(seed for seed in HASH_SEEDS if seed != os.environ.get("PYTHONHASHSEED"))


def _obey(order: _Order) -> str:
    sys.path[:] = order.path
    driver = driver_for(order.info.role)
    case = Case(order.info, _class(order), driver, order.parameters)
    module, _, name = order.task.partition(":")
    answer: str = getattr(import_module(module), name)(case, order.argument)
    return answer


def _class(order: _Order) -> type[Backend]:
    module = _module(order)
    cls: type[Backend] = getattr(module, order.name)
    return cls


def _module(order: _Order) -> ModuleType:
    loaded = sys.modules.get(order.module)
    if loaded is not None and getattr(loaded, "__file__", order.file) != order.file:  # of an earlier task, a test file
        del sys.modules[order.module]
    try:
        return import_module(order.module)
    except ModuleNotFoundError:
        spec = importlib.util.spec_from_file_location(order.module, order.file)
        if spec is None or spec.loader is None:
            raise
    module = importlib.util.module_from_spec(spec)
    sys.modules[order.module] = module
    spec.loader.exec_module(module)
    return module
