"""Finds a job's engine by name: one that runs jobs itself, or one of this process, for which jobs read and write."""

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
