"""The streams to bench a role on, from its conformance package."""

from typing import Any

from skyband.errors import ConfigError, PluginError, Problem


def scenario(role: str) -> Any:
    """The Scenario of a role: SCENARIO in the module `scenarios` of its conformance package.

    Raises ConfigError if skyband-specs is not installed, or the package has none: backends that a query names in keys
    answer different questions, so that there is nothing to compare.
    """
    try:
        from skyband_specs.drivers import conformance_module
        from skyband_specs.scenario import Scenario
    except ModuleNotFoundError as error:
        message = "the streams are in another distribution: pip install skyband-specs; or use compare on your own job"
        raise ConfigError(Problem("", message)) from error
    try:
        module = getattr(conformance_module(role, "scenarios"), "SCENARIO", None)
    except PluginError as error:
        cause = error.__cause__
        if not isinstance(cause, ModuleNotFoundError) or not str(cause.name).endswith(".scenarios"):
            raise
        message = f"role {role} has no streams to bench: its conformance package has no module `scenarios`"
        raise ConfigError(Problem("", message)) from error
    if not isinstance(module, Scenario):
        message = f"role {role}: the module `scenarios` of its conformance package must have SCENARIO, a Scenario"
        raise ConfigError(Problem("", f"{message} (got {module!r})"))
    return module
