"""Spark passes the checks of engines: its answers are those of the reference, also after a stream has stopped."""

import pytest
from skyband_specs.engines import CHECKS, verify_engine
from skyband_specs.engines.cases import BY, some_cases
from skyband_specs.engines.spark_trial import SparkTrial

pytestmark = pytest.mark.spark


@pytest.mark.slow
def test_the_installed_engine_is_verified(session):
    report = verify_engine("spark")
    assert report.ok, report.text()
    assert {result.outcome for result in report.results} == {"passed", "not applicable"}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a_batch_is_answered_as_by_the_reference", "a_stream_that_stops_goes_on"])
def test_groups_are_answered_as_by_the_reference(session, name):
    """One query, in seconds; all of them above."""
    (check,) = [check for check in CHECKS if check.name == name]
    check(SparkTrial(), some_cases(BY)[0])
