"""The checks of engines see: every broken engine is caught by those it names, and every check catches at least one."""

import pytest
from mutants.engine import MUTANTS
from skyband_specs.engines import CHECKS, EngineSubject, verify_engine_subject
from skyband_specs.report import FAILED

NAMED = {check.name: check for check in CHECKS}
CAUGHT = [(engine, name) for engine, names in MUTANTS for name in names]


@pytest.mark.slow
def test_the_reference_passes_every_check():
    report = verify_engine_subject(EngineSubject("engine/local", "skyband.engines.reference:LocalEngine"))
    assert report.counts() == {"passed": len(CHECKS), "not applicable": 0, "failed": 0}, report.text()


@pytest.mark.parametrize(("engine", "name"), CAUGHT, ids=[f"{engine.__name__}-{name}" for engine, name in CAUGHT])
def test_mutant_is_caught(engine, name):
    subject = EngineSubject("engine/mutant", f"mutants.engine:{engine.__name__}")
    (result,) = verify_engine_subject(subject, checks=[NAMED[name]]).results
    assert result.outcome == FAILED, f"{engine.__name__} came through {name}"


def test_every_check_catches_a_mutant():
    assert {name for _, name in CAUGHT} == NAMED.keys()
