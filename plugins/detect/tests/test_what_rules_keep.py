"""`skyband check` says what each rule of detections keeps of a key, and how many keys the first rows have."""

import json
from datetime import datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest
import skyband
from pyarrow import parquet
from skyband.queries import make_query
from skyband.queries.presentation import presentation_of

RULES = [
    {"name": "failed", "where": "NOT ok", "key": ["user"], "window": "10 minutes", "at_least": 3},
    {"name": "failed much", "where": "NOT ok", "key": ["user"], "window": "1 hour", "at_least": 9},
    {"name": "all", "window": "1 minute", "at_least": 4},
    {"name": "many", "key": ["address"], "measure": "distinct user", "window": "1 hour", "at_least": 3},
    {"name": "new", "key": ["user", "address"], "measure": "unseen", "window": "30 days",
     "after": "2026-01-01T00:00:00Z"},
    {"name": "out", "key": ["user"], "measure": "sum bytes", "window": "1 hour", "at_least": 100},
    {"name": "silent", "key": ["address"], "below": 1, "window": "5 minutes", "where": "ok"},
    {"name": "guessed", "key": ["user"], "measure": "sequence", "window": "1 hour",
     "steps": [{"where": "NOT ok", "at_least": 3, "window": "5 minutes"}, "address = 'c'"]},
    {"name": "never", "where": "user = 'zoe'", "window": "1 minute", "at_least": 1},
]  # fmt: skip
LINES = [
    'rules "failed", "failed much": at most 96 bytes a key, 2 keys among the first 6 rows',
    'rule "all": at most 56 bytes a key, 1 key among the first 6 rows',
    'rule "many": at most 80 bytes a key, 2 keys among the first 6 rows',
    'rule "new": at most 16 bytes a key, 4 keys among the first 6 rows',
    'rule "out": 16 bytes a value of its window, 2 keys among the first 6 rows',
    'rule "silent": at most 32 bytes a key and its last row, 1 key among the first 6 rows',
    'rule "guessed": at most 72 bytes a key, 3 keys among the first 6 rows',
    'rule "never": at most 32 bytes a key, 0 keys among the first 6 rows',
]


@pytest.fixture
def rows():
    columns = {
        "user": ["ann", "bob", "ann", None, "cy", "ann"],
        "address": ["a", "a", "c", "c", "c", "a"],
        "ok": [False, False, False, False, True, None],
        "bytes": [1, None, 2, 3, 4, 5],
    }
    times = [datetime(2026, 1, 1) + timedelta(seconds=second) for second in range(6)]
    return pa.table({"ts": pa.array(times, pa.timestamp("us")), **columns})


def test_check_says_it(rows, tmp_path):
    from click.testing import CliRunner
    from skyband.cli.commands import group

    parquet.write_table(rows, tmp_path / "logins.parquet")
    (tmp_path / "rules.json").write_text(json.dumps(RULES), "utf-8")
    job = tmp_path / "job.toml"
    query = '[query]\nkind = "detections"\ntime = "ts"\ndetections = "rules.json"\n'
    sink = '[sink]\nformat = "parquet"\npath = "alerts"\n'
    job.write_text(f'[source]\nformat = "parquet"\npath = "logins.parquet"\n\n{query}\n{sink}', "utf-8")
    ended = CliRunner().invoke(group, ["check", str(job), "--engine", "local"])
    assert ended.exit_code == 0, ended.output
    assert [line.removeprefix(f"{job}: ") for line in ended.output.splitlines() if "among" in line] == LINES


def test_nothing_is_said_of_no_rows():
    query = make_query({"kind": "detections", "time": "ts", "detections": RULES})
    assert presentation_of(query).state_of_parts(lambda: None) == []


@pytest.mark.parametrize(("measure", "nbytes"), [("rows", 56), ("distinct", 96), ("unseen", 16)])
def test_a_full_counter_keeps_as_much_as_is_said(measure, nbytes):
    """1,000 keys with many rows each: at_least 4 keeps 5 times or values of a key, and no more."""
    most = {} if measure == "unseen" else {"most": 4}
    counter = skyband.create("key-counter", measure=measure, longest=10**9, **most)
    times = np.arange(20_000)
    values = {"values": times.astype(np.uint64)} if measure == "distinct" else {}
    bounds = {"windows": [10**9]} | ({} if measure == "unseen" else {"at_least": [4]})
    counter.update(times, (times % 1_000).astype(np.uint64), **values, **bounds)
    kept = len(counter.snapshot())
    assert 1_000 * nbytes <= kept <= 1_000 * nbytes + 3_000
