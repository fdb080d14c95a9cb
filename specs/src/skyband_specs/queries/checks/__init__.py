"""The checks of queries, one module a group; each pins their number in COUNT, so that none goes missing."""

from functools import cache
from importlib import import_module
from importlib.util import find_spec

from skyband_specs.queries.check import QueryCheck

MODULES = ("schema", "oracle", "batches", "order", "left_out", "groups", "memory", "snapshot")
ON_SPARK = "skyband_spark"
"""Where it is installed, `shards` is checked as it plans them; `spark` is run where that engine is asked for."""


@cache
def query_checks(engine: str = "local") -> tuple[QueryCheck, ...]:
    """Every check of a query. Raises RuntimeError where some went missing."""
    of_spark = ["shards", *(["spark"] if engine == "spark" else [])] if find_spec(ON_SPARK) else []
    return tuple(check for name in (*MODULES, *of_spark) for check in _of_module(name))


def _of_module(name: str) -> list[QueryCheck]:
    module = import_module(f"{__name__}.{name}")
    checks = [value for value in vars(module).values() if isinstance(value, QueryCheck)]
    if len(checks) != module.COUNT:
        raise RuntimeError(f"{module.__name__} holds {len(checks)} checks and pins COUNT = {module.COUNT}")
    return checks
