"""The streams to bench a role on, from its conformance package."""

from typing import Any

from skyband.errors import ConfigError, Problem


def scenario(role: str) -> Any:
    """The Scenario of a role: SCENARIO in the module `scenarios` of its conformance package.

    Raises ConfigError if skyband-specs is not installed, or the package has none.
    """
    try:
        from skyband_specs.drivers import conformance_module
        from skyband_specs.scenario import Scenario
    except ModuleNotFoundError as error:
        message = "the streams are in another distribution: pip install skyband-specs; or use compare on your own job"
        raise ConfigError(Problem("", message)) from error
    module = getattr(conformance_module(role, "scenarios"), "SCENARIO", None)
    if not isinstance(module, Scenario):
        message = f"role {role}: the module `scenarios` of its conformance package must have SCENARIO, a Scenario"
        raise ConfigError(Problem("", f"{message} (got {module!r})"))
    return module
