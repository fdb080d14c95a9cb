"""Runs every check of a role on one backend, without pytest."""

import warnings
from collections.abc import Iterable, Mapping
from functools import cache, partial
from itertools import islice
from typing import Any

from attrs import frozen
from skyband import BackendInfo, ConfigError, PluginError, Problem
from skyband.config.parameters import parameters_of
from skyband.registry import installed, load_class
from skyband.registry.module_import import cause
from skyband.roles import Backend

from skyband_specs.check import Check
from skyband_specs.check_results import Progress, report_of, result_of
from skyband_specs.checks import checks_for
from skyband_specs.driver import Case, Driver
from skyband_specs.drivers import driver_for
from skyband_specs.report import FAILED, NOT_APPLICABLE, PASSED, Report, Result

MOST_CASES = 20
"""The most parameter sets that a plugin may add for one backend."""


@frozen(eq=False)
class Subject:
    """A backend to try: its plugin's description and its class, with the parameter sets to try."""

    info: BackendInfo
    factory: type[Backend]
    cases: tuple[Case, ...]

    def run(self, check: Check) -> Result:
        """Try one check, unless the backend's declarations exclude it."""
        if self.info.guarantee not in check.guarantees:
            message = f"guarantee: for {' and '.join(check.guarantees)} backends; this one is {self.info.guarantee}"
            return self._result(check, NOT_APPLICABLE, message)
        if check.tries is not None and getattr(type(self.cases[0].driver), check.tries) is getattr(Driver, check.tries):
            return self._result(check, NOT_APPLICABLE, f"{check.tries}: the driver of {self.info.role} has none")
        for need in check.needs:
            if need in self.info.lacks:
                return self._lacking(check, need)
        failure = _failure(check, self.cases)
        return self._result(check, PASSED) if failure is None else failure

    def _lacking(self, check: Check, capability: str) -> Result:
        reason = self.info.lacks[capability]
        if _works(self, capability):
            message = f"declares to lack {capability} ({reason}), but it works: every check of it passes"
            return self._result(check, FAILED, message)
        return self._result(check, NOT_APPLICABLE, f"{capability}: {reason}")

    def _result(self, check: Check, outcome: str, reason: str = "") -> Result:
        return Result(check.name, check.group, outcome, reason)


def subject(
    info: BackendInfo, factory: type[Backend], parameters: Mapping[str, Any] | None = None, long: bool = False
) -> Subject:
    """A backend, installed or not, with its role's and its plugin's parameter sets, or with the one given.

    long: try everything, whatever it costs, not a sample.
    Raises ConfigError where the backend requires a parameter that no set has.
    """
    driver = driver_for(info.role)
    sets = _parameter_sets(info, factory, driver) if parameters is None else [parameters]
    cases = (Case(info, factory, driver, values, place == 0, long) for place, values in enumerate(sets))
    return Subject(info, factory, tuple(cases))


def _parameter_sets(info: BackendInfo, factory: type[Backend], driver: Driver) -> list[Mapping[str, Any]]:
    """The role's sets, without parameters that the backend does not have, and its plugin's, without duplicates."""
    by_name = {parameter.name: parameter for parameter in parameters_of(factory)}
    own = [{name: value for name, value in values.items() if name in by_name} for values in driver.cases(info)]
    unique = {repr(sorted(values.items())): values for values in [*own, *_plugin_cases(info)]}
    required = {name for name, parameter in by_name.items() if parameter.required}
    complete = [values for values in unique.values() if required <= values.keys()]
    if not complete:
        message = f"required by {info.key}, but no parameter set has it: add one with the hook skyband_cases"
        raise ConfigError(*(Problem(name, message) for name in sorted(required)))
    return complete


def verify(
    role: str,
    name: str,
    parameters: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    distribution: str | None = None,
    long: bool = False,
) -> Report:
    """Run every check on an installed backend; `progress` is called with each result.

    long: try all streams rather than a sample, and longer ones: minutes instead of seconds.
    Raises ConfigError or PluginError where there is no such backend.
    """
    info = installed().bind(role, name, distribution).info
    return verify_subject(subject(info, load_class(info), parameters, long), progress)


def verify_subject(backend: Subject, progress: Progress | None = None, checks: Iterable[Check] | None = None) -> Report:
    """Run every check (or those given) on a backend, installed or not."""
    tried = checks_for(backend.info.role) if checks is None else checks
    return report_of(backend.info.key, map(backend.run, tried), progress)


def _plugin_cases(info: BackendInfo) -> list[Mapping[str, Any]]:
    """The parameter sets that installed plugins add for this backend.

    Raises PluginError where the backend's own plugin fails; failures of others are warnings.
    """
    cases: list[Mapping[str, Any]] = []
    for plugin in installed().plugins:
        if plugin.manager is None:
            continue
        try:
            answers = plugin.manager.hook.skyband_cases(role=info.role, name=info.name)
            cases.extend(dict(values) for answer in answers for values in islice(answer, MOST_CASES))
        except Exception as error:  # a plugin may raise anything; we report it
            message = f"{plugin.distribution}: skyband_cases failed: {cause(error)}"
            if info.key in (entry.key for entry in plugin.backends):
                raise PluginError(message) from error
            warnings.warn(f"{message}; its parameter sets are left out", stacklevel=2)
    return cases


def _failure(check: Check, cases: Iterable[Case]) -> Result | None:
    for case in list(cases)[: 1 if check.once else None]:
        result = result_of(check, partial(check, case.make, case), str(case))
        if result.outcome == FAILED:
            return result
    return None


@cache
def _works(backend: Subject, capability: str) -> bool:
    """Whether a capability that is declared lacking works after all: every check that needs it passes."""
    needing = [check for check in checks_for(backend.info.role) if capability in check.needs]
    return all(_failure(check, backend.cases) is None for check in needing)
