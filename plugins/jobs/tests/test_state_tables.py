"""Tables of states: as of each of their moments, in folders, and anywhere in a file."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from skyband import create, states
from skyband.engines import local
from skyband.errors import InputError
from skyband.states.coverage import Coverage
from skyband.states.state import encode_state
from skyband_jobs.files import asking_a_table
from skyband_jobs.files.states_table import ROWS_AT_ONCE, StatesTable
from state_streams import EVERY, GROUPS, START, WINDOW, by_moment, counting, items, stream, table


@pytest.fixture
def written(tmp_path):
    def write(answers, name="states"):
        (tmp_path / name).mkdir()
        for part, start in enumerate(range(0, len(answers), 17)):
            pq.write_table(answers.slice(start, 17), tmp_path / name / f"{part:03}.parquet", row_group_size=6)
        return str(tmp_path / name)

    return write


@pytest.mark.parametrize("seed", range(3))
def test_a_table_of_changes_is_as_good_as_one_of_all_states(seed, written):
    """At each of its moments, and at those of `every` between them; rows are at moments, before and after them."""
    rows = stream(seed)
    changed = local.apply(table(rows), counting(emit="changed-state"), {"sketch": "exact"})
    every = by_moment(local.apply(table(rows), counting(), {"sketch": "exact"}))
    newest = by_moment(changed)
    for at in every:
        came = {group for time, group, _ in rows if at - EVERY <= time < at}
        assert set(newest.get(at, {})) == came, "a group has a state where it had a row since the moment before"
    path = written(changed)
    first, last = min(newest), max(newest)
    assert StatesTable(path).as_of(None)[0] == last
    lengths = ("1 microsecond", "20 seconds", "20000001 microseconds", "1 minute")
    for at in range(first, last + 1, EVERY):
        there = sorted({group for time, group, _ in rows if at - WINDOW <= time < at})
        moment, held = StatesTable(path).as_of(at)
        assert (moment, sorted(state.group["g"] for state in held)) == (at, there)
        answers = asking_a_table.ask(path, lengths, str(at), by=["g"], united=True)
        found = {(row.group.get("g"), row.window): row.numbers["count"] for row in answers.rows}
        for text in lengths:
            since = at - int(states.since_or_last.parse(text).length)
            for group in there:
                assert found[group, text] == len(items(rows, [group], since, at))
            assert found[None, text] == len(items(rows, GROUPS, since, at))
    for at in (first - 1, last + 1):
        with pytest.raises(InputError, match="there is no state at"):
            StatesTable(path).as_of(at)


def test_a_table_of_all_states_has_its_moments_only(written):
    rows = stream(1)
    path = written(local.apply(table(rows), counting(), {"sketch": "exact"}))
    moments = sorted(by_moment(local.apply(table(rows), counting(), {"sketch": "exact"})))
    for at in moments:
        assert len(StatesTable(path).as_of(at)[1]) == len({g for time, g, _ in rows if at - WINDOW <= time < at})
        with pytest.raises(InputError, match="the nearest are at"):
            StatesTable(path).as_of(at + 1)


def test_groups_may_stand_in_folders_as_spark_writes_them(tmp_path):
    """One with a blank in it, one without a value; what stands above the table is no group of it."""
    names = {"a": "a%20b", "b": "__HIVE_DEFAULT_PARTITION__", "c": "c"}
    rows = stream(2)
    answers = local.apply(table(rows), counting(), {"sketch": "exact"})
    folder = tmp_path / "run=5" / "states"
    for group, name in names.items():
        own = answers.filter(pa.array([value == group for value in answers["g"].to_pylist()]))
        (folder / f"g={name}").mkdir(parents=True)
        pq.write_table(own.drop_columns(["g"]), folder / f"g={name}" / "part.parquet")
    (at,) = answers["at"][-1:].cast(pa.int64()).to_pylist()
    asked = asking_a_table.ask(str(folder), ["20 seconds"], str(at))
    counts = {row.group["g"]: row.numbers["count"] for row in asked.rows}
    assert asked.by == ("g",)
    there = {group: len(items(rows, [group], at - EVERY, at)) for group in by_moment(answers)[at]}
    assert counts == {{"a": "a b", "b": None, "c": "c"}[group]: count for group, count in there.items()}


def test_files_of_a_table_with_different_columns_are_named(written):
    path = written(local.apply(table(stream(1)), counting(), {"sketch": "exact"}))
    pq.write_table(pa.table({"at": [1], "h": ["a"]}), f"{path}/other.parquet")
    with pytest.raises(InputError, match=r"other.parquet' has the columns at, h, but .*000.parquet' has .*must be"):
        StatesTable(path)


@pytest.mark.parametrize("size", [1, ROWS_AT_ONCE - 1, ROWS_AT_ONCE, ROWS_AT_ONCE + 1, 3 * ROWS_AT_ONCE])
def test_a_state_is_found_anywhere_in_a_row_group(size, tmp_path):
    """Each by itself, in row groups of so many: the first, the last, those at the borders of what is read at once."""
    moments = [START + place * EVERY for place in range(2 * ROWS_AT_ONCE + 3)]
    blobs = {}
    for at in moments:
        sketch = create("sketch", "exact")
        sketch.update(np.array([at - 1]), np.array([at], np.uint64))
        blobs[at] = encode_state("sketch", "exact", {}, sketch.dump_state(), Coverage(at, at - EVERY))
    columns = {"at": pa.array(moments, pa.timestamp("us", "UTC")), "state": list(blobs.values())}
    pq.write_table(pa.table(columns), tmp_path / "states.parquet", row_group_size=size)
    held = StatesTable(str(tmp_path))
    for at, blob in blobs.items():
        moment, (state,) = held.as_of(at)
        assert (moment, state.blob) == (at, blob)


def test_if_groups_have_states_of_different_lengths_a_table_answers_over_what_all_cover(written):
    rows = stream(2)
    short, long = (
        by_moment(local.apply(table(rows), counting(windows=[length]), {"sketch": "exact"}))
        for length in ("1 minute", "100 seconds")
    )
    at = next(at for at in list(short)[5:] if {"a", "b"} <= short[at].keys())
    for number, pair in enumerate(([short[at]["a"], long[at]["b"]], [long[at]["a"], short[at]["b"]])):
        columns = {"at": pa.array([at] * 2, pa.timestamp("us", "UTC")), "g": ["a", "b"], "state": pair}
        answers = asking_a_table.ask(written(pa.table(columns), f"states {number}"), by=["g"], united=True)
        assert {(row.group.get("g"), row.window, row.numbers["count"]) for row in answers.rows} == {
            (group, "1 minute", len(items(rows, group or "ab", at - WINDOW, at))) for group in ("a", "b", None)
        }
