"""The checks of queries, one module a group; each fixes their number in COUNT, so that none is lost."""

from functools import cache
from importlib import import_module
from importlib.util import find_spec

from skyband_specs.queries.check import QueryCheck

MODULES = ("schema", "oracle", "batches", "order", "left_out", "groups", "memory", "snapshot")
ON_SPARK = "skyband_spark"
"""If it is installed, `shards` is checked as planned by it; `spark` runs if that engine is requested."""


@cache
def query_checks(engine: str = "local") -> tuple[QueryCheck, ...]:
    """Every check of a query. Raises RuntimeError where checks are missing."""
    of_spark = ["shards", *(["spark"] if engine == "spark" else [])] if find_spec(ON_SPARK) else []
    return tuple(check for name in (*MODULES, *of_spark) for check in _of_module(name))


def _of_module(name: str) -> list[QueryCheck]:
    module = import_module(f"{__name__}.{name}")
    checks = [value for value in vars(module).values() if isinstance(value, QueryCheck)]
    if len(checks) != module.COUNT:
        raise RuntimeError(f"{module.__name__} has {len(checks)} checks, but COUNT = {module.COUNT}")
    return checks
