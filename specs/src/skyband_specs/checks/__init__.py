"""The checks of a role: the common ones, written once for any driver, and those of that role.

Each module fixes the number of its checks in `COUNT`, so that a suite that shrank cannot stay green. A package lists
its modules, in order, in `MODULES`.
"""

from functools import cache
from importlib import import_module

from skyband.errors import PluginError
from skyband.registry import installed

from skyband_specs.check import Check
from skyband_specs.drivers import conformance_module, driver_for


@cache
def checks_for(role: str) -> tuple[Check, ...]:
    """Every check of a role. Raises ConfigError for a role without a driver, RuntimeError where checks are missing."""
    driver_for(role)
    checks = [*_of_module(f"{__name__}.common"), *_of_role(role)]
    names = [check.name for check in checks]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise RuntimeError(f"two checks of {role} have the same name: {', '.join(sorted(twice))}")
    return tuple(checks)


def _of_role(role: str) -> list[Check]:
    module = conformance_module(role, "checks")
    try:
        return _of_module(module.__name__)
    except (AttributeError, RuntimeError) as error:
        message = (
            f"{installed().named(installed().role(role))}: {module.__name__} must set COUNT to the number of its checks"
        )
        raise PluginError(f"{message} ({error})") from error


def _of_module(name: str) -> list[Check]:
    """The checks defined in a module or package, in order; imported ones do not count."""
    module = import_module(name)
    if hasattr(module, "MODULES"):
        return [check for part in module.MODULES for check in _of_module(f"{name}.{part}")]
    values = [value for value in vars(module).values() if isinstance(value, Check)]
    checks = [check for check in values if check.body.__module__ == module.__name__]
    if len(checks) != module.COUNT:
        raise RuntimeError(f"{module.__name__} has {len(checks)} checks, but COUNT = {module.COUNT}")
    return checks
