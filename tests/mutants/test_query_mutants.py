"""The checks of queries see: every broken query is caught by those it names, and every check catches at least one."""

import pytest
from mutants import query_values
from mutants.query import MUTANTS, REFERENCE
from skyband_specs.queries import query_subject, verify_query_subject
from skyband_specs.queries.checks import query_checks
from skyband_specs.report import FAILED

CHECKS = {check.name: check for check in query_checks()}
CAUGHT = [(cls, examples, name) for cls, examples, names in [*MUTANTS, *query_values.MUTANTS] for name in names]


def test_the_reference_passes_every_check():
    report = verify_query_subject(query_subject(*REFERENCE))
    assert report.counts() == {"passed": len(CHECKS), "not applicable": 0, "failed": 0}, report.text()


@pytest.mark.parametrize(("cls", "examples", "name"), CAUGHT, ids=[f"{cls.__name__}-{name}" for cls, _, name in CAUGHT])
def test_mutant_is_caught(cls, examples, name):
    result = query_subject(cls, examples).run(CHECKS[name])
    assert result.outcome == FAILED, f"{cls.__name__} came through {name}: {result}"


def test_every_check_catches_a_mutant():
    assert {name for _, _, name in CAUGHT} == CHECKS.keys()
