"""Runs every check of engines on one engine, without pytest."""

from collections.abc import Iterable
from functools import partial

from skyband.errors import ConfigError, Problem
from skyband.registry import installed

from skyband_specs.check_results import Progress, report_of, result_of
from skyband_specs.engines.cases import SORTS, cases, some_cases
from skyband_specs.engines.check import ANSWERS, KILLS, EngineCheck
from skyband_specs.engines.checks import CHECKS
from skyband_specs.engines.trial import EngineSubject, EngineTrial
from skyband_specs.report import NOT_APPLICABLE, PASSED, Report, Result

_KILLED = 2
"""Queries of each sort to kill, each in its own processes."""


def verify_engine(name: str, progress: Progress | None = None, distribution: str | None = None) -> Report:
    """Run every check on an installed engine; `progress` is called with each result.

    Raises ConfigError or PluginError where there is no such engine, or no trial for it.
    """
    installed().load_engine(name, distribution)
    info = installed().engines.named(name, distribution).info
    return verify_engine_subject(EngineSubject(info.key, info.factory, info.trial), progress)


def verify_engine_subject(
    subject: EngineSubject, progress: Progress | None = None, checks: Iterable[EngineCheck] | None = None
) -> Report:
    """Run every check (or those given) on an engine, installed or not.

    Raises ConfigError where no query family is installed to try it on.
    """
    if not any(map(cases, SORTS)):
        message = "no query is installed to try the engine on: pip install skyband-distinct"
        raise ConfigError(Problem("engine", message))
    trial = subject.trials()
    results = (_run(check, trial) for check in (CHECKS if checks is None else checks))
    return report_of(subject.name, results, progress)


def _run(check: EngineCheck, trial: EngineTrial) -> Result:
    if not check.says_something_of(trial):
        return Result(check.name, check.group, NOT_APPLICABLE, "another process: the engine does not run in this one")
    choose = cases if check.group == ANSWERS and trial.most is None else some_cases
    most = _KILLED if check.group == KILLS else trial.most
    tried = [case for sort in check.sorts for case in choose(sort)[:most]]
    if not tried:
        return Result(check.name, check.group, NOT_APPLICABLE, f"no query {' or '.join(check.sorts)} is installed")
    for case in tried:
        result = result_of(check, partial(check, trial, case), case.name)
        if result.outcome != PASSED:
            return result
    return Result(check.name, check.group, PASSED)
