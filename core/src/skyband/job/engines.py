"""The engines there are, by name."""

from skyband.errors import ConfigError, Problem, suggest
from skyband.job.engine import Engine
from skyband.job.local.engine import LocalEngine
from skyband.job.spark.engine import SparkEngine

ENGINES: dict[str, type[Engine]] = {engine.name: engine for engine in (SparkEngine, LocalEngine)}


def engine_named(name: str) -> Engine:
    """Raises ConfigError for an unknown one."""
    if name not in ENGINES:
        raise ConfigError(Problem("engine", f"unknown {name!r}; {suggest(name, ENGINES)}"))
    return ENGINES[name]()
