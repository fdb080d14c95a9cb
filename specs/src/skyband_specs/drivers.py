"""Finds the driver for the backends of a role, imported when needed."""

from functools import cache
from importlib import import_module
from types import ModuleType

from skyband.errors import ConfigError, PluginError, Problem
from skyband.registry import installed
from skyband.registry.module_import import cause

from skyband_specs.driver import Driver


@cache
def driver_for(role: str) -> Driver:
    """The driver of a role. Raises ConfigError or PluginError where there is none."""
    module = conformance_module(role, "driver")
    driver = getattr(module, "DRIVER", None)
    if not isinstance(driver, Driver) or driver.role != role:
        message = f"must be a Driver of the role {role!r} (got {driver!r})"
        raise PluginError(f"{installed().named(installed().role(role))}: {module.__name__}.DRIVER {message}")
    return driver


def conformance_module(role: str, name: str) -> ModuleType:
    """A module of the package with a role's conformance checks, as named by its plugin.

    Raises ConfigError where there is no such role or package, PluginError where the module does not load.
    """
    info = installed().role(role)
    package = info.conformance
    if package is None:
        message = "has no conformance checks: its plugin names a package in RoleInfo(conformance=…)"
        raise ConfigError(Problem("", f"{installed().named(info)} {message}"))
    try:
        return import_module(f"{package}.{name}")
    except (Exception, SystemExit) as error:  # importing a plugin's module may do anything
        raise PluginError(
            f"{installed().named(info)}: {package}.{name} could not be imported: {cause(error)}"
        ) from error
