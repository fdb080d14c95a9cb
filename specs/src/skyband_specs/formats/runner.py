"""Runs every check of formats on one format, without pytest."""

import tempfile
from collections.abc import Iterable
from pathlib import Path

from skyband.errors import ConfigError, Problem
from skyband.registry import installed

from skyband_specs.check_results import Progress, report_of, result_of
from skyband_specs.formats.check import ADDS, SHOWS, FormatCheck
from skyband_specs.formats.checks import CHECKS
from skyband_specs.formats.trial import FormatSubject
from skyband_specs.report import NOT_APPLICABLE, Report, Result


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
    results = (_run(check, subject) for check in (CHECKS if checks is None else checks))
    return report_of(subject.name, results, progress)


def _run(check: FormatCheck, subject: FormatSubject) -> Result:
    lacking = [ability for ability in check.needs if ability not in (*subject.can, SHOWS, ADDS)]
    if lacking:
        return Result(check.name, check.group, NOT_APPLICABLE, f"{lacking[0]}: not an ability of the format")
    if ADDS in check.needs and not subject.adds:
        return Result(check.name, check.group, NOT_APPLICABLE, "the format only holds the newest answers")
    if SHOWS in check.needs and not subject.shows:
        return Result(check.name, check.group, NOT_APPLICABLE, "the format does not read, and its trial has no `rows`")
    with tempfile.TemporaryDirectory(prefix="skyband-") as folder:
        return result_of(check, lambda: check(subject, Path(folder)))
