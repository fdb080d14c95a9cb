"""A log of changes and their net effect: applied at once or row by row, in parts or whole, a table is the same."""

from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from skyband.engines import local
from skyband.errors import ConfigError
from skyband_jobs.formats import NetChanges
from skyband_jobs.formats.net_changes import last_changes, without_change

KEY = ("host", "rank")
SCHEMA = pa.schema(
    [
        ("host", pa.string()),
        ("at", pa.timestamp("us", "UTC")),
        ("change", pa.string()),
        ("rank", pa.int64()),
        ("share", pa.float64()),
    ]
)
a_change = st.tuples(
    st.sampled_from(["a", "", None]),
    st.sampled_from(["entered", "updated", "left", "emptied"]),
    st.sampled_from([1, 2, None]),
    st.sampled_from([0.5, float("inf"), None]),
)
logs = st.lists(st.dictionaries(st.tuples(st.sampled_from(["a", "", None]), st.sampled_from([1, 2, None])), a_change))


def log_of(moments):
    """Each key changes at most once at a moment, as in an answer's log."""
    rows = [
        {"host": host, "at": datetime.fromtimestamp(at, UTC), "change": change, "rank": rank, "share": share}
        for at, of_keys in enumerate(moments)
        for (host, rank), (_, change, _, share) in of_keys.items()
    ]
    return pa.Table.from_pylist(rows, SCHEMA)


def applied(log, table=None):
    table = dict(table or {})
    for row in log.to_pylist():
        key = tuple(row[name] for name in KEY)
        table.pop(key, None)
        if row.pop("change") in ("entered", "updated"):
            table[key] = row
    return table


def at_once(log, table=None):
    table, changes = dict(table or {}), NetChanges.of(log, KEY)
    assert changes.rows.schema == without_change(log.schema) and changes.gone.column_names == [*KEY]
    keys = [tuple(row.values()) for part in (changes.gone, changes.rows.select(KEY)) for row in part.to_pylist()]
    assert len(keys) == len(set(keys)) == len(changes)
    for key in keys:
        table.pop(key, None)
    return table | {tuple(row[name] for name in KEY): row for row in changes.rows.to_pylist()}


@given(logs, st.integers(0, 30))
def test_what_is_left_of_a_log_makes_the_table_that_all_of_it_makes(moments, cut):
    log = log_of(moments)
    assert at_once(log) == applied(log)
    rows = log.to_pylist()
    last = {tuple(row[name] for name in KEY): place for place, row in enumerate(rows)}
    assert last_changes(log, KEY).to_pylist() == [rows[place] for place in sorted(last.values())]
    assert at_once(log.slice(cut), at_once(log.slice(0, cut))) == applied(log)
    assert at_once(last_changes(log, KEY)) == applied(log)
    backwards = pa.concat_tables([log_of([{}] * at + [keys]) for at, keys in enumerate(moments)][::-1] or [log])
    assert at_once(backwards) == applied(log), "the moments say the order"


VISITS = pa.table({"ts": pa.array([1, 2], pa.timestamp("s")), "who": ["ann", "bob"], "host": ["a", "b"]})
QUERY = {
    "kind": "distinct-count",
    "time": "ts",
    "item": "who",
    "by": "host",
    "windows": ["10 seconds"],
    "every": "10 seconds",
    "answers": "current",
}


@given(logs, logs)
def test_rows_of_keys_that_changes_do_not_name_are_kept(moments, before):
    log, rows = log_of(moments), log_of(before).drop_columns("change")
    changed = {tuple(row[name] for name in KEY) for row in log.to_pylist()}
    table = rows.set_column(0, "host", rows["host"].cast(pa.large_string()))  # as some readers of files have it
    others = NetChanges.of(log, KEY).others(table).to_pylist()
    assert others == [row for row in rows.to_pylist() if tuple(row[name] for name in KEY) not in changed]


def test_a_program_can_tell_that_a_sink_has_the_newest_answers():
    with pytest.raises(
        ConfigError, match=r"answers: \"current\" is for jobs.*open_sink\(…, key=\['host', 'window'\]\)"
    ):
        local.apply(VISITS, QUERY)


@pytest.mark.parametrize("values", [["a", "b"], [b"a", b"b"], [0.5, 1.5], [True, False], [1, 2**40]])
def test_keys_are_distinguished_by_value_not_by_hash(values, monkeypatch):
    """As where two of 10^10 keys have one hash."""
    from skyband.columns import hashing

    monkeypatch.setattr(hashing, "hash_columns", lambda columns, seed=0: np.zeros(len(columns[0]), np.uint64))
    hosts = pa.array([*values, None])
    log = pa.table({"host": hosts, "at": pa.array([1] * 3, pa.timestamp("us", "UTC")), "change": ["entered"] * 3})
    assert len(last_changes(log, ("host",))) == 3
    changes = NetChanges.of(log.slice(0, 1), ("host",))
    assert changes.others(pa.table({"host": hosts})).to_pylist() == [{"host": values[1]}, {"host": None}]


def test_zero_has_no_sign_in_a_key():
    at = pa.array([1, 2], pa.timestamp("us", "UTC"))
    log = pa.table({"host": [0.0, -0.0], "at": at, "change": ["entered", "updated"], "rank": [1, 2]})
    assert last_changes(log, ("host",))["rank"].to_pylist() == [2]
