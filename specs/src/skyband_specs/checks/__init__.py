"""The checks of a role: the common ones, written once over any driver, and those only that role has.

Each module pins the number of its checks in `COUNT`, so that a suite that shrank cannot stay green. A package
names its modules, in order, in `MODULES`.
"""

from functools import cache
from importlib import import_module

from skyband_specs.check import Check
from skyband_specs.drivers import driver_for


@cache
def checks_for(role: str) -> tuple[Check, ...]:
    """Every check of a role. Raises ConfigError for a role without driver, RuntimeError where some went missing."""
    driver_for(role)
    found = [*_checks_in("common"), *_checks_in(role.replace("-", "_"))]
    names = [check.name for check in found]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise RuntimeError(f"two checks of {role} have one name: {', '.join(sorted(twice))}")
    return tuple(found)


def _checks_in(name: str) -> list[Check]:
    """The checks that a module or package of this one defines, in order; imported ones do not count."""
    module = import_module(f"{__name__}.{name}")
    if hasattr(module, "MODULES"):
        return [check for part in module.MODULES for check in _checks_in(f"{name}.{part}")]
    values = [value for value in vars(module).values() if isinstance(value, Check)]
    found = [check for check in values if check.body.__module__ == module.__name__]
    if len(found) != module.COUNT:
        raise RuntimeError(f"{module.__name__} holds {len(found)} checks and pins COUNT = {module.COUNT}")
    return found
