"""The pytest plugin of the checks: `--backend`, `--conformance-long`, and a summary line for each backend."""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from skyband_specs.report import Result


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--backend ROLE/NAME` and `--conformance-long`."""
    group = parser.getgroup("skyband")
    group.addoption(
        "--conformance-long",
        action="store_true",
        help="try every tiny stream with every parameter set, more seeds and larger streams: minutes a backend",
    )
    group.addoption(
        "--backend",
        action="append",
        default=[],
        metavar="ROLE/NAME",
        help="try only this backend with the conformance checks of skyband_specs.suite (repeatable)",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Start an empty list of results."""
    config.stash[RESULTS] = []


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Report how many checks each backend passed, so that a suite that shrank shows."""
    results = config.stash[RESULTS]
    if not results:
        return
    from skyband_specs.report import Report

    terminalreporter.section("conformance")
    for backend in dict.fromkeys(key for key, _ in results):
        report = Report(backend, tuple(result for key, result in results if key == backend))
        terminalreporter.line(f"{backend}: {report.summary()}")


RESULTS = pytest.StashKey[list[tuple[str, "Result"]]]()
"""(backend, result) for every check that ran."""
