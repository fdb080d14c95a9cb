"""Rows by group and time equal those of one sorted frame, column by column."""

import numpy as np
import pyarrow as pa
import pytest
from skyband.columns import keyed_frames
from skyband.columns.grouped_rows import GroupedRows
from skyband.operator.waiting_rows import WaitingRows


def frames(rng, counts, groups=5, moments=40):
    """Frames with every kind of column, each row with a unique number."""
    made, first = [], 0
    for count in counts:
        own = rng.integers(0, groups, count)
        words = pa.array([f"group {number}" for number in own], pa.string())
        made.append(
            pa.RecordBatch.from_pydict(
                {
                    "time": np.sort(rng.integers(0, moments, count)),
                    "group": (own * 7919 + 3).astype(np.uint64),
                    "tie": rng.integers(0, 2, count),
                    "number": np.arange(first, first + count),
                    "name": pa.array([f"object {number % 3}" for number in own]).dictionary_encode(),
                    "terms": pa.array(
                        [[number] * (number % 3) for number in range(first, first + count)], pa.large_list(pa.int64())
                    ),
                    "by.0": words.dictionary_encode() if count % 2 else words,
                    "by.1": own * 10,
                }
            )
        )
        first += count
    return made


def by_hand(given, ties):
    rows = [row for frame in given for row in frame.to_pylist()]
    return sorted(rows, key=lambda row: (row["group"], row["time"], *(row[name] for name in ties)))


@pytest.mark.parametrize("groups", [1, 5])
@pytest.mark.parametrize("ties", [(), ("tie",), ("tie", "number")])
@pytest.mark.parametrize("counts", [[1], [7], [30, 1, 45], [9000, 9001, 40]])
def test_all_columns_stand_in_one_order(counts, ties, groups):
    rng = np.random.default_rng([*counts, len(ties)])
    made = frames(rng, counts, groups)
    given = [made[place] for place in rng.permutation(len(counts))]
    grouped, wanted = GroupedRows(given, ties), by_hand(given, ties)
    assert grouped.rows.times.tolist() == [row["time"] for row in wanted]
    for name in ("tie", "number", "name", "terms"):
        column = grouped.rows[name]
        assert column.tolist() == [row[name] for row in wanted], name
        assert isinstance(column, np.ndarray) == (name in ("tie", "number"))
    assert {*grouped.rows.names} == {"tie", "number", "name", "terms"}
    assert grouped.keys.tolist() == sorted({row["group"] for row in wanted})
    for key, (start, stop) in zip(grouped.keys.tolist(), grouped.spans.tolist(), strict=True):
        assert [place for place, row in enumerate(wanted) if row["group"] == key] == [*range(start, stop)]


def test_the_first_row_of_a_group_names_it():
    given = frames(np.random.default_rng(4), [40, 41])
    grouped, wanted = GroupedRows(given), by_hand(given, ())
    chosen = np.arange(len(grouped.keys)) % 2 == 0
    words, tens = grouped.names(2, chosen)
    firsts = [wanted[start] for start, _ in grouped.spans[chosen].tolist()]
    assert words.to_pylist() == [row["by.0"] for row in firsts]
    assert (words.type, tens.to_pylist()) == (pa.string(), [row["by.1"] for row in firsts])


@pytest.mark.parametrize("ties", [(), ("tie",)])
def test_some_groups_are_as_they_were_among_all(ties):
    given = frames(np.random.default_rng(5), [60, 3])
    chosen = np.array([False, True, True, False, True])
    some = GroupedRows(given, ties).of_groups(chosen)
    wanted = [row for row in by_hand(given, ties) if row["group"] in some.keys]
    assert some.keys.tolist() == GroupedRows(given).keys[chosen].tolist()
    assert some.rows["number"].tolist() == [row["number"] for row in wanted]


def test_numbers_next_to_nulls_do_not_change():
    numbers = pa.array([2**63 - 1, None, 5])
    frame = pa.RecordBatch.from_pydict({"time": [3, 2, 1], "group": np.zeros(3, np.uint64), "number": numbers})
    assert GroupedRows([frame]).rows["number"].to_pylist() == [5, None, 2**63 - 1]


def test_rows_that_stand_in_order_are_not_copied():
    frame = pa.RecordBatch.from_pydict({"time": np.arange(9), "group": np.zeros(9, np.uint64), "number": np.arange(9)})
    assert np.shares_memory(GroupedRows([frame]).rows["number"], frame.column("number").to_numpy())


@pytest.mark.parametrize("until", [0, 1, 17, 39, 40, None])
@pytest.mark.parametrize("count", [1, 3, 64, 65, 130])
def test_rows_wait_in_order_of_arrival_in_few_frames(count, until):
    given = frames(np.random.default_rng(count), sizes(count))
    waiting = WaitingRows()
    for frame in given:
        waiting.add(frame)
    ready = [row for frame in waiting.release(until) for row in frame.to_pylist()]
    rows = [row for frame in given for row in frame.to_pylist()]
    assert ready == [row for row in rows if until is None or row["time"] < until]
    later = [row for row in rows if until is not None and row["time"] >= until]
    assert len(waiting) == len(later)
    assert len(waiting._frames) <= 64
    kept = waiting.dump_state()
    assert (kept is None) == (not later)
    if later:
        assert keyed_frames.from_bytes(kept).to_pylist() == later


def sizes(count):
    return np.random.default_rng(count).integers(1, 12, count).tolist()
