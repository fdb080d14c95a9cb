"""The formats pass the conformance checks."""

import pytest
from skyband.registry import installed
from skyband_jobs.formats import formats
from skyband_lakes.libraries import DELTA, ICEBERG, SQL
from skyband_specs.formats import CHECKS, FormatSubject, verify_format_subject

LIBRARIES = {"delta": DELTA, "iceberg": ICEBERG, "sql": SQL}


SLOW = ("iceberg", "a_writer_killed_while_it_changes_a_table_of_the_newest")
CASES = [
    pytest.param(name, check, id=f"{name}-{check.name}", marks=[pytest.mark.slow] * ((name, check.name) == SLOW))
    for name in LIBRARIES
    for check in CHECKS
]


@pytest.mark.parametrize(("format", "check"), CASES)
def test_conformance(format, check):
    lacking = LIBRARIES[format].missing()
    if lacking is not None:
        pytest.skip(f"{format} {lacking}")
    info = installed().formats.named(format).info
    report = verify_format_subject(FormatSubject(info.key, info.factory, info.trial, info.can), checks=[check])
    assert report.ok, report.text()


def test_documented_functions_are_importable_from_core():
    from skyband_jobs.formats import kafka_sink
    from skyband_lakes.kafka import sink

    assert kafka_sink is sink.kafka_sink
    assert formats.names_of_formats("writes") == ("delta", "iceberg", "kafka", "sql")
