"""What the local engine's writers put in place: the net effect of a log, small row groups, all together or nothing."""

import io
import json
import os
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as some
from skyband.arrays import TIME_MIN
from skyband.engines.reference import LocalEngine
from skyband.errors import EngineError
from skyband.queries.query import BAD as BAD_ROWS
from skyband.watermark import EventTimeProgress
from skyband_jobs import read_job
from skyband_jobs.formats.net_changes import last_changes
from skyband_jobs.job.progress import Progress, Totals
from skyband_jobs.local.atomic_outputs import _Aside, _Together
from skyband_jobs.local.run import _FileOrder
from skyband_jobs.local.run import run as run_locally
from skyband_jobs.local.sink import _Newest
from skyband_jobs.local.sink_parts import STATES_TOGETHER, write_table
from skyband_jobs.local.sink_writer import Writer
from skyband_jobs.programs.engines import engine_named
from skyband_jobs.running.bad_rows import BAD, LATE
from skyband_jobs.tables.model import Sink

LOG = pa.schema([("at", pa.timestamp("us", "UTC")), ("change", pa.string()), ("key", pa.int64())])


@given(some.lists(some.lists(some.integers(0, 5), max_size=6), min_size=1, max_size=8), some.integers(0, 4))
def test_a_log_that_is_cut_down_on_the_way_has_the_last_change_of_each_row(pieces, many):
    written, at, logs = [], 0, []
    for keys in pieces:
        times = pa.array(range(at, at + len(keys)), LOG.field("at").type)
        logs.append(pa.table([times, ["updated"] * len(keys), pa.array(keys, pa.int64())], schema=LOG))
        at += len(keys)
    writer = _Newest(SimpleNamespace(append=lambda rows, _: written.append(rows)), False, ("key",))
    writer._MANY = writer._limit = many
    for log in logs:
        writer.write(log)
        assert sum(map(len, writer._answers)) <= 2 * 6 + 2 * many + len(log), "it does not become ever longer"
    writer.commit()
    assert last_changes(written[0], ("key",)) == last_changes(pa.concat_tables(logs), ("key",))


@pytest.mark.parametrize("rows", [1, 2, 7, 64])
@pytest.mark.parametrize("size", [10, STATES_TOGETHER // 8, STATES_TOGETHER // 2, STATES_TOGETHER, 2 * STATES_TOGETHER])
def test_row_groups_of_states_have_as_many_as_fit(rows, size):
    if rows * size > 20 << 20:
        return
    out = io.BytesIO()
    write_table(pa.table({"group": range(rows), "state": [b"s" * size] * rows}), out, Sink("parquet"))
    layout = pq.ParquetFile(out).metadata
    groups = [layout.row_group(number).num_rows for number in range(layout.num_row_groups)]
    fit = max(STATES_TOGETHER // (size + 16), 1)
    assert sum(groups) == rows
    assert max(groups) <= max(STATES_TOGETHER // size, 1)
    assert all(group >= min(fit, rows) for group in groups[:-1])


class Noted(Writer):
    """A writer that remembers what became of it."""

    def __init__(self, name, did):
        self.name, self.did = name, did

    def write(self, answers):
        """Nothing is kept."""

    def commit(self):
        self.did.append((self.name, "commit"))

    def abandon(self):
        self.did.append((self.name, "abandon"))


@pytest.mark.parametrize(("bad", "late"), [(bad, late) for bad in range(3) for late in range(3)])
def test_nothing_is_committed_where_any_number_of_rows_differs(bad, late):
    """One row of each kind was counted; the answers come last."""
    did = []
    totals = Totals(rows_late=1, dropped={BAD_ROWS: 1})
    asides = [_Aside(name, Noted(name, did), False) for name in (BAD, LATE)]
    together = _Together(Noted("answers", did), asides, totals)
    for aside, rows in zip(asides, (bad, late), strict=True):
        if rows:
            aside.take(pa.record_batch({"row": range(rows)}))
    if (bad, late) == (1, 1):
        together.commit()
        assert did == [(BAD, "commit"), (LATE, "commit"), ("answers", "commit")]
        return
    with pytest.raises(EngineError):
        together.commit()
    assert did == []


@given(some.lists(some.lists(some.integers(0, 9), min_size=1, max_size=3), max_size=6))
def test_a_file_goes_back_if_all_its_first_rows_are_older_than_the_newest_before_it(files):
    """files: of each, the newest time in each of its batches."""
    order, newest, goes_back = _FileOrder(), TIME_MIN, []
    for number, batches in enumerate(files):
        expected = [batches[0] < newest, *[False] * (len(batches) - 1)]
        found = [order.goes_back(number, EventTimeProgress([time], time)) for time in batches]
        assert found == expected
        goes_back += found
        newest = max(newest, *batches)


@pytest.mark.parametrize("finish", [False, True])
@pytest.mark.parametrize("files", [1, 2, 3, 4])
def test_a_micro_batch_is_counted_where_it_has_rows(tmp_path, files, finish):
    """The last windows of a complete input are answered without one."""
    (tmp_path / "in").mkdir()
    for number in range(4):
        times = pa.array([number * 60_000_000], pa.timestamp("us", "UTC"))
        pq.write_table(pa.table({"ts": times, "who": ["ann"]}), tmp_path / "in" / f"{number}.parquet")
        os.utime(tmp_path / "in" / f"{number}.parquet", (1_000_000_000 + number,) * 2)
    job = {
        "source": {"format": "parquet", "path": "in", "stream": True, "finish": finish,
                   "options": {"maxFilesPerTrigger": files}},
        "query": {"kind": "distinct-count", "time": "ts", "item": "who", "windows": ["1 minute"], "every": "1 minute"},
        "sink": {"format": "parquet", "path": "out", "trigger": "available-now"},
    }  # fmt: skip
    lines = [f"{table} = {_inline(keys)}" for table, keys in job.items()]
    (tmp_path / "job.toml").write_text("\n".join(lines))
    read = read_job(tmp_path / "job.toml", (), "local")
    totals = run_locally(read, engine_named("local"), LocalEngine(), Progress(io.StringIO()))
    assert (totals.rows_in, totals.micro_batches) == (4, -(-4 // files))
    assert totals.answers == (4 if finish else 3)


def _inline(value):
    """A value as TOML on one line."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_inline(one)}" for key, one in value.items()) + " }"
    return json.dumps(value)
