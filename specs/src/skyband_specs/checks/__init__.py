"""The checks of a role: the common ones, written once over any driver, and those only that role has.

Each role's module pins the number of its checks in `COUNT`, so that a suite that shrank cannot stay green.
"""

from functools import cache
from importlib import import_module
from types import ModuleType

from skyband_specs.check import Check
from skyband_specs.drivers import driver_for

_COMMON = ("oracle", "determinism", "batch_split", "snapshot", "edges", "bad_input", "memory")


@cache
def checks_for(role: str) -> tuple[Check, ...]:
    """Every check of a role. Raises ConfigError for a role without driver, RuntimeError where some went missing."""
    driver_for(role)
    found = [check for name in _COMMON for check in _checks_in(import_module(f"{__name__}.common.{name}"))]
    found += _checks_in(import_module(f"{__name__}.{role.replace('-', '_')}"))
    names = [check.name for check in found]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise RuntimeError(f"two checks of {role} have one name: {', '.join(sorted(twice))}")
    return tuple(found)


def _checks_in(module: ModuleType) -> list[Check]:
    """The checks a module defines, in order; imported ones do not count."""
    found = [
        value
        for value in vars(module).values()
        if isinstance(value, Check) and value.body.__module__ == module.__name__
    ]
    if len(found) != module.COUNT:
        raise RuntimeError(f"{module.__name__} holds {len(found)} checks and pins COUNT = {module.COUNT}")
    return found
