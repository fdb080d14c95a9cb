"""Which driver tries the backends of a role; imported when one is needed."""

from functools import cache
from importlib import import_module

from skyband.errors import ConfigError, Problem, suggest

from skyband_specs.driver import Driver

DRIVERS = {
    "sketch": "skyband_specs.drivers.sketch:SketchDriver",
    "window": "skyband_specs.drivers.window:WindowDriver",
    "matcher": "skyband_specs.drivers.matcher:MatcherDriver",
    "object-ranker": "skyband_specs.drivers.object_ranker:ObjectRankerDriver",
    "pair-ranker": "skyband_specs.drivers.pair_ranker:PairRankerDriver",
    "workload-ranker": "skyband_specs.drivers.workload_ranker:WorkloadRankerDriver",
}


@cache
def driver_for(role: str) -> Driver:
    """The driver of a role. Raises ConfigError where there is none."""
    if role not in DRIVERS:
        raise ConfigError(Problem("role", f"unknown {role!r}; {suggest(role, DRIVERS)}"))
    module, _, name = DRIVERS[role].partition(":")
    try:
        found = import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        raise ConfigError(Problem("role", f"{role} has no driver yet: {DRIVERS[role]} is not there")) from error
    driver: Driver = getattr(found, name)()
    return driver
