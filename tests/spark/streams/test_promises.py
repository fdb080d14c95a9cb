"""Rows that break a promise: Spark's workers warn about them, and about nothing else."""

import warnings

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from families import events, family
from skyband.cli.commands import group
from skyband.engines import local
from skyband.operator.bind_backends import bind
from skyband_spark.frames.sharded_plan import ShardedPlan
from skyband_spark.frames.worker import warn_of_broken_promises


def plan(**changes):
    asked, schema = family("top-k", **changes), events(1, rows=10).schema
    return ShardedPlan(asked, bind(asked, schema, {}), schema, 1, None)


def test_a_worker_warns_of_rows_that_break_a_promise():
    with pytest.warns(UserWarning, match=r'repeats = "never".*; the metric rows_repeated_report counts them$'):
        warn_of_broken_promises(plan(repeats="never"), {"repeated report": 3})


@pytest.mark.parametrize(
    ("repeats", "dropped"), [("latest", {"null value": 2}), ("never", {}), ("never", {"null value": 1})]
)
def test_a_worker_is_quiet_if_nothing_is_broken(repeats, dropped):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_broken_promises(plan(repeats=repeats), dropped)


JOB = """
[source]
format = "parquet"
path = "source.parquet"
[query]
kind = "top-k"
time = "ts"
object = "name"
stream = "origin"
value = "value"
streams = ["air", "water", "soil"]
k = 4
window = "1 minute"
every = "15 seconds"
repeats = "{repeats}"
[sink]
format = "console"
"""


@pytest.mark.parametrize("repeats", ["never", "latest"])
def test_check_looks_whether_the_first_rows_keep_a_promise(tmp_path, repeats):
    table = events(3, rows=300)
    pq.write_table(table, tmp_path / "source.parquet")
    (tmp_path / "job.toml").write_text(JOB.format(repeats=repeats))
    checked = CliRunner().invoke(group, ["check", str(tmp_path / "job.toml")])
    assert checked.exit_code == 0
    assert ": fine (top-k on parquet; its columns fit)" in checked.stderr
    if repeats == "latest":
        assert "warning" not in checked.stderr
        return
    with pytest.warns(UserWarning, match="repeats") as told:
        local.apply(table, family("top-k", repeats="never"))
    count = str(told[0].message).split()[0]
    assert f'warning: {count} of the first 300 rows break the promise repeats = "never"' in checked.stderr
