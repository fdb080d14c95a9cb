"""Rows that a query cannot use are put aside with the fault, and do not affect answers."""

import numpy as np
import pyarrow as pa
import pytest
from families import FAMILIES, events, family
from skyband.engines import local
from skyband.errors import ConfigError, InputError
from skyband.operator.bad_rows import without_bad_rows
from skyband.operator.row_encoding import encode
from skyband.queries import make_query

SECOND = 1_000_000
YEAR_9999 = 253_400_000_000 * SECOND
QUERY = {
    "kind": "distinct-count",
    "time": "ts",
    "item": "client",
    "by": "page",
    "windows": ["today in Asia/Tokyo"],
    "every": "1 hour",
    "source": "site",
    "sources": ["north", "south"],
    "bad_rows": "count",
}


def rows(*entries):
    """Rows of a time in seconds, a site and a client."""
    times, sites, clients = zip(*entries, strict=True)
    return pa.record_batch(
        {
            "ts": pa.array([None if time is None else time * SECOND for time in times], pa.timestamp("us", "UTC")),
            "site": sites,
            "client": clients,
            "page": ["home"] * len(times),
        }
    )


MIXED = rows(
    (1, "north", "a"),
    (2, "west", "b"),
    (YEAR_9999 // SECOND, "north", "c"),
    (None, "south", "d"),
    (2**42, "east", "e"),
    (5, "south", "f"),
    (6, "west", "g"),
)


def test_bad_rows_are_reported_in_order_of_arrival_with_their_fault():
    encoded = encode(make_query(QUERY), MIXED)
    assert encoded.bad.column("client").to_pylist() == ["b", "c", "e", "g"]
    assert encoded.bad.column("_field").to_pylist() == ["site", "ts", "ts", "site"]
    assert encoded.bad.column("_value").to_pylist()[::3] == ["west", "west"]
    reasons = encoded.bad.column("_reason").to_pylist()
    assert reasons[0] == reasons[3] == "is not in sources"
    assert "calendar is known" in reasons[1]
    assert "is out of range" in reasons[2]
    assert encoded.dropped == {"null time": 1, "bad": 4}
    assert encoded.progress.latest == [1 * SECOND, 5 * SECOND]


def test_bad_rows_do_not_affect_answers():
    with pytest.warns(UserWarning, match="4 rows could not be used and were left out"):
        answers = local.apply(MIXED, QUERY)
    good = MIXED.filter(pa.array([True, False, False, True, False, True, False]))
    assert answers.equals(local.apply(good, QUERY))
    assert answers.column("count").to_pylist() == [2.0]


def test_a_run_fails_by_default_and_names_the_first():
    with pytest.raises(InputError, match="ts, row 4: 4398046511104000000 is out of range"):
        local.apply(MIXED, {**QUERY, "bad_rows": "fail"})
    with pytest.raises(InputError, match="ts, row 4: 4398046511104000000 is out of range"):
        local.apply(MIXED, {key: value for key, value in QUERY.items() if key != "bad_rows"})


def test_a_batch_of_bad_rows_alone_is_empty():
    only = MIXED.take(pa.array([1, 2, 6]))
    encoded = encode(make_query(QUERY), only)
    assert (len(encoded.frame), encoded.dropped["bad"], encoded.progress.newest) == (0, 3, None)


def test_an_error_without_rows_stands_for_its_row_alone():
    batch = pa.record_batch({"n": [1, -2, 3, -4]})

    def refuses_negatives(query, batch):
        for row, value in enumerate(batch.column("n").to_pylist()):
            if value < 0:
                raise InputError("n", f"must not be negative (got {value})", row)
        return batch

    rest, bad = without_bad_rows(make_query(QUERY), batch, refuses_negatives)
    assert rest.column("n").to_pylist() == [1, 3]
    assert bad.column("n").to_pylist() == [-2, -4]
    assert bad.column("_reason").to_pylist() == ["must not be negative (got -2)", "must not be negative (got -4)"]


@pytest.mark.parametrize("kind", FAMILIES)
def test_faults_name_the_column_of_a_key_and_the_unchanged_value(kind):
    """Of several columns of a key the first; an error of another names it."""
    query, table = family(kind, by="place"), events(1, rows=3)
    firsts = {column.key: column for column in reversed(query.inputs())}
    for column in query.inputs():
        values = table.column(column.column).to_pylist()
        batch = table.set_column(
            table.schema.get_field_index(column.column), column.column, pa.array([values[0], None, values[2]])
        )

        named = column.key if firsts[column.key] == column else column.column

        def refuses_two(query, batch, named=named):
            if len(batch) > 1:
                raise InputError(named, "is not wanted", rows=np.array([1, 2]))
            return batch

        _, bad = without_bad_rows(query, batch.combine_chunks().to_batches()[0], refuses_two)
        assert bad.column("_field").to_pylist() == [column.column] * 2
        assert bad.column("_value").to_pylist() == [None, str(values[2])]


@pytest.mark.parametrize(
    "error", [InputError("n", "of another type"), InputError("n", "of none", rows=np.array([], int))]
)
def test_what_is_wrong_with_no_row_fails_all_the_same(error):
    def refuses_all(query, batch):
        raise error

    with pytest.raises(InputError, match="of "):
        without_bad_rows(make_query(QUERY), pa.record_batch({"n": [1]}), refuses_all)


def test_unsigned_integers_out_of_range_are_reported_by_row():
    batch = pa.record_batch({"n": pa.array([1, 2**63, 3], pa.uint64()), "client": ["a", "b", "c"]})
    query = {"kind": "distinct-count", "time": "n", "item": "client", "windows": ["2 rows"], "every": "1 rows"}
    with pytest.raises(InputError, match=r"n, row 1: must fit a signed 64-bit integer \(got 9223372036854775808\)"):
        encode(make_query(query), batch)
    assert encode(make_query({**query, "bad_rows": "count"}), batch).bad.column("client").to_pylist() == ["b"]


def test_a_checkpoint_is_resumed_when_bad_rows_become_allowed():
    before = local.LocalRun.start({**QUERY, "bad_rows": "fail"}, MIXED.schema)
    before.push(MIXED.slice(0, 1))
    after = local.LocalRun.start(QUERY, MIXED.schema)
    after.operator.restore(before.operator.snapshot())
    after.push(MIXED.slice(1))
    whole = local.LocalRun.start(QUERY, MIXED.schema)
    whole.push(MIXED)
    assert after.finish().equals(whole.finish())
    assert after.operator.take_metrics().dropped == {"null time": 1, "bad": 4}


def test_another_word_is_refused():
    with pytest.raises(ConfigError, match="bad_rows: must be one of fail, count"):
        make_query({**QUERY, "bad_rows": "skip"})
