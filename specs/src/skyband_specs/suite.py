"""The conformance suite under pytest: a test for each check of a backend, `{role/name}:{check}`, and its docstring.

In a plugin's own tests, a file of two lines tries every backend of the distribution:

    DISTRIBUTION = "skyband-mine"
    from skyband_specs.suite import *

Anywhere: `pytest --pyargs skyband_specs.suite --backend sketch/mine`. Without either, everything installed is tried.
`--conformance-long` adds all streams and longer ones, which takes minutes a backend.
"""

import pytest
from skyband.registry import Listed, installed, load_class
from skyband.registry.info import BackendInfo

from skyband_specs.check import Check
from skyband_specs.checks import checks_for
from skyband_specs.documentation import documentation_problems
from skyband_specs.pytest_plugin import RESULTS
from skyband_specs.report import FAILED, NOT_APPLICABLE
from skyband_specs.runner import Subject, subject

__all__ = ["pytest_generate_tests", "test_conformance", "test_documentation"]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make one test of each backend and check, and one of each backend's docstring."""
    if metafunc.function not in (test_conformance, test_documentation):
        return
    entries = _backends_of(metafunc.config.getoption("--backend"), getattr(metafunc.module, "DISTRIBUTION", None))
    if metafunc.function is test_documentation:
        metafunc.parametrize("entry", entries, ids=[entry.info.key for entry in entries])
        return
    pairs = [(entry, check) for entry in entries for check in checks_for(entry.info.role)]
    ids = [f"{entry.info.key}:{check.name}" for entry, check in pairs]
    metafunc.parametrize(("entry", "check"), pairs, ids=ids)


def test_conformance(entry: Listed[BackendInfo], check: Check, request: pytest.FixtureRequest) -> None:
    """The backend passes the check, or declares that it cannot."""
    if entry.problem is not None:
        pytest.fail(f"{entry.info.key} is not usable: {entry.problem}", pytrace=False)
    result = _subject(entry, request.config.getoption("--conformance-long")).run(check)
    request.config.stash[RESULTS].append((entry.info.key, result))
    if result.outcome == FAILED:
        pytest.fail("\n\n".join(filter(None, [result.reason, result.snippet])), pytrace=False)
    if result.outcome == NOT_APPLICABLE:
        pytest.skip(f"not applicable: {result.reason}")


def test_documentation(entry: Listed[BackendInfo]) -> None:
    """The docstring has its sections, the parameters of the class, and an example that runs."""
    if entry.problem is not None:
        pytest.fail(f"{entry.info.key} is not usable: {entry.problem}", pytrace=False)
    problems = documentation_problems(load_class(entry.info))
    if problems:
        message = "\n".join(problems)
        pytest.fail(f"the docstring of {entry.info.factory} {message}", pytrace=False)


def _backends_of(names: list[str], distribution: str | None) -> list[Listed[BackendInfo]]:
    """The requested installed backends. Raises UsageError where one is missing."""
    entries = [entry for entry in installed().listing() if distribution in (None, entry.distribution)]
    if distribution is not None and not entries:
        raise pytest.UsageError(f"DISTRIBUTION = {distribution!r}: {_why_missing(distribution)}")
    keys = {entry.info.key for entry in installed().listing()}
    unknown = [key for key in names if key not in keys]
    if unknown:
        raise pytest.UsageError(f"--backend {unknown[0]}: not installed; known: {', '.join(sorted(keys)) or 'none'}")
    return [entry for entry in entries if not names or entry.info.key in names]


def _why_missing(distribution: str) -> str:
    for plugin in installed().plugins:
        if plugin.distribution == distribution:
            return plugin.problem or "it brings no backend"
    return "this plugin is not installed"


def _subject(entry: Listed[BackendInfo], long: bool) -> Subject:
    """The backend to try, created once, so that its checks share cached results."""
    place = (entry.info.key, entry.distribution)
    if place not in _SUBJECTS:
        _SUBJECTS[place] = subject(entry.info, load_class(entry.info), long=long)
    return _SUBJECTS[place]


_SUBJECTS: dict[tuple[str, str], Subject] = {}
