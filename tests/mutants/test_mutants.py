"""The checks see: every broken backend is caught by those it names, and every check catches at least one."""

from importlib import import_module
from pathlib import Path

import pytest
from mutants import large
from skyband.registry import installed
from skyband_specs.checks import checks_for
from skyband_specs.report import FAILED
from skyband_specs.runner import subject, verify_subject

CHECKED = [name for name, info in installed().roles.items() if info.conformance]
MODULES = {role: role.replace("-", "_") for role in CHECKED}
HERE = Path(__file__).parent
ROLES = {role: import_module(f"mutants.{name}") for role, name in MODULES.items() if (HERE / f"{name}.py").exists()}
REFERENCES = [(info, cls) for module in ROLES.values() for info, cls in module.REFERENCES]
OF_ROLE = {role: [*module.MUTANTS, *large.MUTANTS.get(role, [])] for role, module in ROLES.items()}
MUTANTS = [(info, cls, name) for found in OF_ROLE.values() for info, cls, names in found for name in names]
LONG = {"key-counter", "key-total", "pair-ranker", "quantile-sketch", "set-matcher", "total-ranker", "vector-matcher"}
"""Roles whose definitions in plain Python take half a minute for all checks."""


def test_every_role_has_mutants():
    assert ROLES.keys() == set(CHECKED)


@pytest.mark.parametrize(
    ("info", "cls"),
    [
        pytest.param(info, cls, marks=pytest.mark.slow if info.role in LONG else (), id=f"{info.role}-{cls.__name__}")
        for info, cls in REFERENCES
    ],
)
def test_reference_passes_every_check(info, cls):
    """Those after a role's first are there for some mutants: they pass what is to catch those."""
    checks = [check for check in checks_for(info.role) if check.group != "scale"]  # a definition would take minutes
    if cls is not ROLES[info.role].REFERENCES[0][1]:
        named = {name for _, mutant, names in OF_ROLE[info.role] if issubclass(mutant, cls) for name in names}
        checks = [check for check in checks if check.name in named]
    assert checks
    report = verify_subject(subject(info, cls), checks=checks)
    assert report.ok, report.text()


@pytest.mark.parametrize(
    ("info", "cls", "name"), MUTANTS, ids=[f"{info.role}-{cls.__name__}-{name}" for info, cls, name in MUTANTS]
)
def test_mutant_is_caught(info, cls, name):
    check = next(check for check in checks_for(info.role) if check.name == name)
    result = subject(info, cls).run(check)
    assert result.outcome == FAILED, f"{cls.__name__} ({cls.__doc__}) came through {name}: {result}"


@pytest.mark.parametrize("role", ROLES)
def test_every_check_catches_a_mutant(role):
    caught_by = {name for _, _, names in OF_ROLE[role] for name in names}
    assert caught_by == {check.name for check in checks_for(role)}
