import re

import pytest
from numba import njit
from skyband import BackendInfo
from skyband.registry import Registry
from skyband.registry.discovery import Plugin
from skyband_specs import suite
from skyband_specs.checks import checks_for

pytest_plugins = ["pytester"]

CHECKS = len(checks_for("sketch"))
NOT_FOR_EXACT = 5


@pytest.fixture
def plugins(monkeypatch, toy, request):
    """Two installed distributions, one with a correct sketch and one with a sketch that cannot be imported."""
    module = toy.__module__
    good = BackendInfo("sketch", "toy", f"{module}:Toy", "the definition", "exact", "none")
    broken = BackendInfo("sketch", "broken", "skyband_no_such_module:X", "not there", "exact", "none")
    found = [
        Plugin("skyband-toy", "1", "toy", "toy", (good,)),
        Plugin("skyband-broken", "1", "broken", "broken", (broken,)),
        Plugin("skyband-failed", "1", "failed", "failed", problem="could not be imported: ImportError: x"),
    ]
    monkeypatch.setattr(suite, "installed", lambda: Registry(found))
    monkeypatch.setattr(suite, "_SUBJECTS", {})


@pytest.fixture(scope="module")
def numba_loaded():
    """All that numba imports when it first compiles: pytester forgets what is imported within, and twice it fails."""
    njit(lambda: 0)()


@pytest.fixture
def run(plugins, pytester, numba_loaded):
    def run_suite(*options, distribution=None):
        head = f"DISTRIBUTION = {distribution!r}\n" if distribution else ""
        pytester.makepyfile(head + "from skyband_specs.suite import *")
        return pytester.runpytest_inprocess("-q", *options)

    return run_suite


def test_one_test_a_check_named_after_backend_and_check(run):
    result = run("--backend", "sketch/toy", "--collect-only")
    ids = [line for line in result.outlines if "::test_conformance[" in line]
    assert len(ids) == CHECKS
    assert re.search(r"::test_conformance\[sketch/toy:tiny_streams_equal_the_oracle\]$", ids[0])


def test_counts_are_shown_at_the_end(run):
    result = run(distribution="skyband-toy")
    passed = CHECKS - NOT_FOR_EXACT
    result.assert_outcomes(passed=passed + 1, skipped=NOT_FOR_EXACT)  # one more than the checks: its docstring
    result.stdout.fnmatch_lines([f"sketch/toy: {passed} passed, {NOT_FOR_EXACT} not applicable (guarantee), 0 failed"])


def test_without_a_choice_all_that_is_installed_is_tried(run):
    result = run("--collect-only")
    assert sum("sketch/toy:" in line for line in result.outlines) == CHECKS
    assert sum("sketch/broken:" in line for line in result.outlines) == CHECKS


def test_a_backend_that_cannot_be_imported_fails_each_check(run):
    result = run("--backend", "sketch/broken")
    result.assert_outcomes(failed=CHECKS + 1)
    result.stdout.fnmatch_lines(["*skyband_no_such_module:X could not be imported*"])


def test_an_unknown_backend_is_named_with_the_known_ones(run):
    result = run("--backend", "sketch/mine")
    result.stdout.fnmatch_lines(["*--backend sketch/mine: not installed; known: sketch/broken, sketch/toy*"])
    assert result.ret != 0


@pytest.mark.parametrize(
    ("distribution", "why"),
    [("skyband-gone", "this plugin is not installed"), ("skyband-failed", "could not be imported: ImportError: x")],
)
def test_a_distribution_without_backends_says_why(run, distribution, why):
    result = run(distribution=distribution)
    result.stdout.fnmatch_lines([f"*DISTRIBUTION = '{distribution}': {why}*"])
    assert result.ret != 0
