"""Objects of several columns, and columns of an object's latest row, compared with looking them up in the source."""

from collections import defaultdict

import numpy as np
import pyarrow as pa
import pytest
from families import events, family
from in_process_shards import on_shards, rows_of
from skyband.engines.local import LocalRun, apply
from skyband.errors import ConfigError

TOTALS = {"rows": {"total": "rows", "weight": None, "unit": 1.0}, "sum": {}}
TOTALS["distinct"] = {**TOTALS["rows"], "total": "distinct", "value": "value"}
FAR = {"delay": "0 seconds", "k": None, "share": 1e-9}


def rows(seed, count=400):
    """Rows with distinct times, and a column that joins `name` and `place`."""
    table = events(seed, count).sort_by("ts")
    times = np.asarray(table["ts"].cast(pa.int64())) + np.arange(count)
    names, places = table["name"].to_pylist(), table["place"].to_pylist()
    joined = pa.array([f"{name}|{place}" for name, place in zip(names, places, strict=True)])
    notes = pa.array([None if number % 3 == 0 else number for number in range(count)])
    table = table.set_column(0, "ts", pa.array(times, table.schema.field("ts").type))
    return table.append_column("both", joined).append_column("note", notes)


@pytest.mark.parametrize("windows", [{}, {"windows": ["today", "30 seconds"], "every": "30 seconds"}])
@pytest.mark.parametrize("total", TOTALS)
def test_objects_of_two_columns_carry_columns_of_their_latest_row(total, windows):
    table = rows(1)
    asked = {**TOTALS[total], **windows, **FAR}
    found = apply(table, family("heavy-hitters", object=["name", "place"], carry=["number", "note", "words"], **asked))
    plain = apply(table, family("heavy-hitters", object="both", **asked))
    assert found.column_names == [
        *("at", "window", "rank", "name", "place", "total", "share", "low", "high", "number", "note", "words")
    ]
    totals = {(row["at"], row["window"], row["object"]): row["total"] for row in plain.to_pylist()}
    mine = defaultdict(list)
    for row in table.to_pylist():
        mine[row["both"]].append(row)
    assert len(found) == len(totals) > 300
    last = defaultdict(list)
    for row in found.to_pylist():
        both = f"{row['name']}|{row['place']}"
        assert row["total"] == totals[row["at"], row["window"], both]
        latest = [one for one in mine[both] if one["ts"] < row["at"]][-1]
        assert all(row[name] == latest[name] for name in ("number", "note", "words"))
        last[row["at"], row["window"]].append(row["total"])
    assert all(ranked == sorted(ranked, reverse=True) for ranked in last.values())


@pytest.mark.parametrize("keys", [{}, {"windows": ["90 rows"], "every": "30 rows", "delay": "0 seconds"}])
def test_shards_restored_states_and_order_do_not_change_the_answers(keys):
    """Many rows have equal times, and some are equal except for what they carry."""
    table = events(2, 600)
    asked = family("heavy-hitters", object=["name", "side"], carry=["number", "place", "words"], **keys)
    whole = apply(table, asked)
    turned = table.take(pa.array(np.random.default_rng(3).permutation(len(table))))
    assert rows_of(apply(turned, asked)) == rows_of(whole)
    assert rows_of(in_batches(table.sort_by("ts") if keys else table, asked)) == rows_of(whole)
    if not keys:
        assert rows_of(on_shards(table, asked, 3, 5)[0]) == rows_of(whole)
    assert len(whole) > 50


def in_batches(table, asked):
    """The answers with 70 rows at a time, where the state is saved and restored after each batch."""
    run, pieces = LocalRun.start(asked, table.schema), []
    for batch in table.combine_chunks().to_batches(max_chunksize=70):
        pieces.append(run.push(batch))
        again = LocalRun.start(asked, table.schema)
        again.operator.restore(run.operator.snapshot())
        assert again.operator.snapshot() == run.operator.snapshot()
        run.operator = again.operator
    return pa.Table.from_batches([*pieces, run.finish()])


@pytest.mark.parametrize("backend", ["misra-gries", "k-skb"])
def test_every_ranker_carries_columns(backend):
    table, asked = rows(4), family("heavy-hitters", object=["name", "place"], carry="number")
    found = apply(table, asked, {"total-ranker": backend})
    assert found.equals(apply(table, asked))


def test_no_rows_have_no_answers_and_null_objects_are_dropped():
    table = rows(5, 80)
    asked = family("heavy-hitters", object=["name", "place"], carry="number")
    assert len(apply(table.slice(0, 0), asked)) == 0
    names = pa.array([None if place % 2 else name for place, name in enumerate(table["name"].to_pylist())])
    holed = table.set_column(table.column_names.index("name"), "name", names)
    assert apply(holed, asked).equals(apply(holed.filter(names.is_valid()), asked))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"carry": "share"}, r"carry: 'share' is also the name of another column of the answers"),
        (
            {"object": ["name", "place"], "carry": "name"},
            r"carry: 'name' is also the name of another column of the answers",
        ),
        ({"object": ["name", "total"]}, r"object: 'total' is also the name of another column of the answers"),
    ],
)
def test_names_that_would_occur_twice_are_refused(changes, said):
    with pytest.raises(ConfigError, match=said):
        family("heavy-hitters", **changes)
