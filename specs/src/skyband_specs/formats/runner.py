"""Runs every check of formats on one format, without pytest."""

import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from skyband.errors import ConfigError, Problem
from skyband.registry import installed
from skyband.registry.module_import import cause

from skyband_specs.formats.check import ADDS, SHOWS, FormatCheck
from skyband_specs.formats.checks import CHECKS
from skyband_specs.formats.trial import FormatSubject
from skyband_specs.report import FAILED, NOT_APPLICABLE, PASSED, Report, Result

Progress = Callable[[Result], None]


def verify_format(name: str, progress: Progress | None = None, distribution: str | None = None) -> Report:
    """Run every check on an installed format; `progress` is called with each result.

    Raises ConfigError or PluginError where there is no such format, or its plugin has no trial.
    """
    info = installed().formats.named(name, distribution).info
    if info.trial is None:
        message = f"format/{name} has no trial: its plugin names a class in FormatInfo(trial=…)"
        raise ConfigError(Problem("format", message))
    return verify_format_subject(FormatSubject(info.key, info.factory, info.trial, tuple(info.can)), progress)


def verify_format_subject(
    subject: FormatSubject, progress: Progress | None = None, checks: Iterable[FormatCheck] | None = None
) -> Report:
    """Run every check (or those given) on a format, installed or not."""
    results = []
    for check in CHECKS if checks is None else checks:
        results.append(_run(check, subject))
        if progress is not None:
            progress(results[-1])
    return Report(subject.name, tuple(results))


def _run(check: FormatCheck, subject: FormatSubject) -> Result:
    lacking = [ability for ability in check.needs if ability not in (*subject.can, SHOWS, ADDS)]
    if lacking:
        return Result(check.name, check.group, NOT_APPLICABLE, f"{lacking[0]}: not an ability of the format")
    if ADDS in check.needs and not subject.adds:
        return Result(check.name, check.group, NOT_APPLICABLE, "the format only holds the newest answers")
    if SHOWS in check.needs and not subject.shows:
        return Result(check.name, check.group, NOT_APPLICABLE, "the format does not read, and its trial has no `rows`")
    with tempfile.TemporaryDirectory(prefix="skyband-") as folder:
        try:
            check(subject, Path(folder))
        except AssertionError as error:
            return Result(check.name, check.group, FAILED, str(error))
        except (Exception, SystemExit) as error:  # anything a format raises is a failure to report
            return Result(check.name, check.group, FAILED, cause(error))
    return Result(check.name, check.group, PASSED)
