"""A run reuses what the check of its job has opened, parsed and bound: each is done once."""

from collections import Counter
from contextlib import contextmanager
from cProfile import Profile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from skyband.operator import bind_backends
from skyband_jobs.files import columnar_files, source_files, where_and_select

STEPS = {
    "open": source_files.open_all_columns,
    "look at its files": columnar_files.schema_of,
    "parse its SQL": where_and_select.Shape.parse.__func__,
    "bind": bind_backends.bind,
}


@contextmanager
def steps_counted():
    """How often each step was taken in this thread."""
    names = {function.__code__: name for name, function in STEPS.items()}
    taken = Counter(dict.fromkeys(STEPS, 0))
    profile = Profile(builtins=False)  # counts in C: a function of Python would be called for every call of Spark's
    profile.enable()
    try:
        yield taken
    finally:
        profile.disable()
        taken.update({names[entry.code]: entry.callcount for entry in profile.getstats() if entry.code in names})


@pytest.fixture
def shaped(folder):
    """A job with `where` and `select`."""
    shape = "path = \"requests\"\nwhere = \"client <> 'client 0'\"\nselect = ['ts', 'client']"
    folder.job.write_text(folder.job.read_text().replace('path = "requests"', shape))
    return folder


@pytest.mark.parametrize("sets", [(), ("source.stream=true",)])
def test_a_local_run_takes_each_step_once(shaped, sets):
    with steps_counted() as taken:
        assert shaped.run(*sets).exit_code == 0
    assert set(taken.values()) == {1}, taken


def test_so_does_a_check_that_looks_at_rows(folder):
    query = '[query]\nkind = "top-k"\ntime = "ts"\nobject = "client"\nstream = "host"\nvalue = "n"\nk = 1\n'
    query += 'streams = ["a"]\naggregate = "max"\nwindow = "1 hour"\nevery = "1 hour"\nrepeats = "never"\n'
    for path in (folder.home / "requests").iterdir():
        rows = pq.read_table(path).append_column("host", pa.array(["a"] * 20))
        pq.write_table(rows.append_column("n", pa.array([0.5] * 20)), path)
    folder.job.write_text(f'[source]\nformat = "parquet"\npath = "requests"\n{query}[sink]\nformat = "console"\n')
    with steps_counted() as taken:
        checked = folder.call("check", folder.job, "--engine", "local")
    assert checked.exit_code == 0, checked.output
    assert "of the first 60" in checked.stderr, "its rows were looked at"
    assert set(taken.values()) == {1}, taken


@pytest.mark.spark
def test_a_run_on_spark_binds_its_query_once_though_it_finishes_in_two(session, shaped):
    sets = ["source.stream=true", "source.finish=true", "sink.trigger=available-now", "sink.checkpoint=checkpoint"]
    with steps_counted() as taken:
        ran = shaped.run(*sets, engine="spark")
    assert ran.exit_code == 0, ran.stderr
    assert set(taken.values()) == {1}, taken
