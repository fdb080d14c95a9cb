"""Finds a job's engine by name: one that runs jobs itself, or one of this process, for which jobs read and write."""

from collections.abc import Collection, Mapping

import attrs
from skyband.engines.engine import InProcessEngine
from skyband.errors import PluginError
from skyband.registry import installed

from skyband_jobs.job.engine import JobEngine
from skyband_jobs.local.engine import LocalJobs


def engine_names() -> list[str]:
    """The installed engines that are usable."""
    return list(installed().engines.usable)


def engine_named(name: str) -> JobEngine:
    """Raises ConfigError for an unknown engine, PluginError for one that cannot run jobs."""
    engine = installed().load_engine(name)
    if isinstance(engine, JobEngine):
        return engine
    if isinstance(engine, InProcessEngine):
        return LocalJobs(engine)
    whose = installed().engines.named(name).distribution
    raise PluginError(f"engine/{name} of {whose} is neither a JobEngine nor an InProcessEngine: it cannot run jobs")


def own_tables(engine: JobEngine, usual: Collection[str]) -> Mapping[str, type]:
    """The tables that an engine adds to a job. Raises PluginError where one is not a class, or its name is usual."""
    for name, cls in engine.own_tables.items():
        if name in usual or not attrs.has(cls):
            message = "has a name that every job has" if name in usual else "must be an attrs class"
            raise PluginError(f"engine/{engine.name}: its table [{name}] {message}")
    return engine.own_tables


def own_tables_of_all(usual: Collection[str]) -> tuple[dict[str, type], list[str]]:
    """The tables of all installed engines, which are imported for it, and why an engine's are missing."""
    tables, problems = dict[str, type](), list[str]()
    for name in engine_names():
        try:
            tables = {**own_tables(engine_named(name), usual), **tables}
        except PluginError as error:
            problems.append(str(error))
    return tables, problems
