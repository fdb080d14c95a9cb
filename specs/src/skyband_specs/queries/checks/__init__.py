"""The checks of queries, one module a group; each pins their number in COUNT, so that none goes missing."""

from functools import cache
from importlib import import_module

from skyband_specs.queries.check import QueryCheck

MODULES = ("schema", "batches", "order", "left_out", "groups", "memory", "shards", "snapshot")
ENGINES = ("spark",)
"""Modules of checks on an engine, which are run where it is asked for."""


@cache
def query_checks(engine: str = "local") -> tuple[QueryCheck, ...]:
    """Every check of a query. Raises RuntimeError where some went missing."""
    return tuple(check for name in (*MODULES, *(ENGINES if engine in ENGINES else ())) for check in _of_module(name))


def _of_module(name: str) -> list[QueryCheck]:
    module = import_module(f"{__name__}.{name}")
    checks = [value for value in vars(module).values() if isinstance(value, QueryCheck)]
    if len(checks) != module.COUNT:
        raise RuntimeError(f"{module.__name__} holds {len(checks)} checks and pins COUNT = {module.COUNT}")
    return checks
