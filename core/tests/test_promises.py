"""Rows that break a promise: Spark's workers warn of them, and of nothing else."""

import warnings

import pytest
from families import events, family
from skyband.engines.spark.plan import ShardedPlan
from skyband.engines.spark.worker import warn_of_broken_promises
from skyband.operator.binding import bind


def plan(**changes):
    asked, schema = family("top-k", **changes), events(1, rows=10).schema
    return ShardedPlan(asked, bind(asked, schema, {}), schema, 1, None)


def test_a_worker_warns_of_rows_that_break_a_promise():
    with pytest.warns(UserWarning, match=r'repeats = "never".*; the metric rows_repeated_report counts them$'):
        warn_of_broken_promises(plan(repeats="never"), {"repeated report": 3})


@pytest.mark.parametrize(
    ("repeats", "dropped"), [("latest", {"null value": 2}), ("never", {}), ("never", {"null value": 1})]
)
def test_a_worker_is_quiet_where_none_is_broken(repeats, dropped):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_broken_promises(plan(repeats=repeats), dropped)
