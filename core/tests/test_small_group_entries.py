"""Entries of small groups, compared with a dictionary, while groups are added, grow, shrink and leave."""

from copy import deepcopy

import numpy as np
import pyarrow as pa
import pytest
from skyband.columns.rows import Rows
from skyband.engines import local
from skyband.groups.small_groups import entries as entries_of_groups
from skyband.groups.small_groups import limits
from skyband.groups.small_groups.entries import SmallGroupEntries
from skyband.groups.small_groups.host import SmallGroupAnswers
from skyband.groups.small_groups.per_row import SmallGroupsPerRow
from skyband.queries import make_query

KEPT = {"time": np.int64, "value": np.float64, "tokens": pa.large_list(pa.int64()), "text": pa.string()}
SECOND = 1_000_000


def columns(rng, count):
    """Numbers may be read-only, as those of Arrow are."""
    numbers = {"time": rng.integers(0, 99, count), "value": rng.random(count)}
    for column in numbers.values():
        column.flags.writeable = rng.random() < 0.5
    return numbers | {
        "tokens": pa.array([rng.integers(0, 9, rng.integers(0, 3)).tolist() for _ in range(count)], KEPT["tokens"]),
        "text": pa.array([f"text {one}" for one in rng.integers(0, 999, count)], KEPT["text"]),
    }


def plain(part):
    return {
        name: column.tolist() if isinstance(column, np.ndarray) else column.to_pylist() for name, column in part.items()
    }


def expect(entries, wanted, numbers):
    assert entries.key.tolist() == sorted(wanted)
    for key, part in wanted.items():
        assert plain(entries.part(key)) == part
        for name in entries.numbers:
            assert entries.number(name, np.array([key], np.uint64)).tolist() == [numbers[key]]


@pytest.mark.parametrize("numbered", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_entries_are_those_of_a_dictionary_after_every_step(seed, numbered, monkeypatch):
    monkeypatch.setattr(entries_of_groups, "_LEAST", 5)
    rng = np.random.default_rng([41, seed])
    names = ["seen"] if numbered else []
    entries, wanted, numbers = SmallGroupEntries(KEPT, names), {}, {}
    states = []  # earlier states must not change when the entries do
    for step in range(120):
        keys = np.sort(rng.choice(14, rng.integers(0, 6), replace=False)).astype(np.uint64) * np.uint64(2**60)
        if rng.random() < 0.3:
            keys = entries.key.copy()  # all that there are: their arrays are then kept as they are
        if rng.random() < 0.2:
            entries.remove(keys)
            for key in keys.tolist():
                wanted.pop(key, None), numbers.pop(key, None)
        elif rng.random() < 0.15:
            other, new = SmallGroupEntries(KEPT, names), np.setdiff1d(keys, entries.key)
            sizes = rng.integers(1, 4, len(keys))
            theirs = columns(rng, int(sizes.sum()))
            other.put(keys, sizes, theirs, {"seen": sizes * 7} if numbered else None)
            entries.absorb(other, new)
            wanted |= {key: plain(other.part(key)) for key in new.tolist()}
            numbers |= {key: int(size) * 7 for key, size in zip(keys.tolist(), sizes, strict=True) if key in new}
        else:
            sizes = rng.integers(0, 5, len(keys))
            put = columns(rng, int(sizes.sum()))
            entries.put(keys, sizes, put, {"seen": sizes + step} if numbered else None)
            for place, (key, stop) in enumerate(zip(keys.tolist(), np.cumsum(sizes).tolist(), strict=True)):
                part = {name: column[stop - sizes[place] : stop] for name, column in put.items()}
                wanted[key], numbers[key] = plain(part), int(sizes[place]) + step
                if not numbered and not sizes[place]:
                    del wanted[key], numbers[key]
        entries._check()
        expect(entries, wanted, numbers)
        if step % 20 > 15:
            states.append((state := entries.dump_state(), deepcopy(state)))
        if step % 20 == 19:
            again = SmallGroupEntries(KEPT, names)
            again.load_state(states[-1][0], 99)
            again._check()
            expect(again, wanted, numbers)
            np.testing.assert_equal(again.dump_state(), entries.dump_state())
            entries = again
    for state, as_it_was in states:
        np.testing.assert_equal(state, as_it_was)


def test_entries_that_are_written_again_and_again_take_little_room():
    """At most twice the numbers in use, plus a page."""
    entries, keys = SmallGroupEntries({"time": np.int64}), np.arange(3, dtype=np.uint64)
    entries.put(keys, np.full(3, 100), {"time": np.arange(300)})
    for step in range(400):
        entries.put(keys[step % 3 :][:1], np.array([100]), {"time": np.full(100, step)})
        assert len(entries.columns["time"]) <= 2 * 2 * 300 + 2 * 5000
    assert plain(entries.part(399 % 3)) == {"time": [399] * 100}


def test_returned_sizes_do_not_change_later():
    entries, keys = SmallGroupEntries({"time": np.int64}), np.arange(3, dtype=np.uint64)
    entries.put(keys, np.array([2, 1, 3]), {"time": np.arange(6)})
    entries.in_order()
    size, _ = entries.parts(keys)
    entries.put(keys[1:2], np.array([4]), {"time": np.arange(4)})
    assert (size.tolist(), entries.parts(keys)[0].tolist()) == ([2, 1, 3], [2, 4, 3])


class RowsOfGroups(SmallGroupsPerRow):
    """Notes the rows of each group as it is given them."""

    def __init__(self):
        super().__init__(SmallGroupEntries({"time": np.int64}))
        self.told = {}

    def take(self, keys, starts, stops, rows):
        for key, start, stop in zip(keys.tolist(), starts.tolist(), stops.tolist(), strict=True):
            self.told.setdefault(key, []).extend(rows["number"][start:stop].tolist())
        return SmallGroupAnswers(None, keys, keys[:0], ())

    def load_state(self, arrays):
        raise NotImplementedError


def test_waiting_rows_of_a_group_keep_their_order_of_arrival():
    """However often some are added before they are answered."""
    rng = np.random.default_rng(44)
    for _ in range(20):
        groups, number, expected = RowsOfGroups(), 0, {}
        for _ in range(12):
            keys = np.sort(rng.integers(0, 4, rng.integers(0, 9))).astype(np.uint64)
            numbers = np.arange(number, number + len(keys))
            number += len(keys)
            groups.add(keys, Rows(np.zeros(len(keys), np.int64), {"number": numbers}))
            for key, one in zip(keys.tolist(), numbers.tolist(), strict=True):
                expected.setdefault(key, []).append(one)
            if rng.random() < 0.2:
                groups.advance(0)
        groups.advance(0)
        assert groups.told == expected


def ties(seed):
    """Sets and scores of a few kinds, several rows a time, so that equal ones are everywhere."""
    rng = np.random.default_rng([42, seed])
    rows = 120
    return pa.table(
        {
            "ts": pa.array(np.sort(rng.integers(0, 40, rows)) * SECOND, pa.timestamp("us", "UTC")),
            "group": rng.integers(0, 3, rows),
            "id": np.arange(rows),
            "words": [[["a", "b"], ["a", "c"], ["a", "b", "c"]][i] for i in rng.integers(0, 3, rows)],
            "score": rng.integers(0, 2, rows) / 2,
            "stream": [["x", "y"][i] for i in rng.integers(0, 2, rows)],
        }
    )


@pytest.mark.parametrize("matches", [1, 2, 3])
@pytest.mark.parametrize("most", [0, 3, 512])
def test_earlier_ones_of_equal_matches_win_in_groups_of_every_size(matches, most, monkeypatch):
    monkeypatch.setattr(limits, "MOST_ENTRIES", most)
    table = ties(matches)
    keys = {"kind": "near-duplicates", "time": "ts", "id": "id", "tokens": "words", "threshold": 0.3, "by": ["group"]}
    found = local.apply(table, make_query({**keys, "window": "20 seconds", "matches": matches})).to_pylist()
    told = {}
    for row in found:
        told.setdefault(row["id"], []).append((row["match"], row["similarity"]))
    rows = table.to_pylist()
    for new in rows:
        alike = []
        for old in rows[: new["id"]]:
            if old["group"] == new["group"] and (new["ts"] - old["ts"]).total_seconds() < 20:
                one, other = set(new["words"]), set(old["words"])
                score = len(one & other) / len(one | other)
                alike += [(-score, old["id"])] * (score >= 0.3)
        assert told.get(new["id"], []) == [(number, -score) for score, number in sorted(alike)[:matches]]


WORKLOAD = [{"name": "q", "window": "9 seconds", "slide": "3 seconds", "k": 4}]
AGAIN = {"window": "9 seconds", "every": "3 seconds"}
HEAVY = {"kind": "heavy-hitters", "windows": ["9 seconds"], "every": "3 seconds", "k": 1}
TIED = [
    {"kind": "top-k-workload", "object": "id", "score": "score", "queries": WORKLOAD},
    HEAVY | {"object": "stream"},
    HEAVY | {"object": "score", "total": "distinct", "value": "stream"},
    {"kind": "top-k-pairs", "id": "id", "tokens": "words", "similarity": "jaccard", "k": 4} | AGAIN,
    {"kind": "top-k", "object": "id", "stream": "stream", "value": "score", "streams": ["x", "y"], "k": 3} | AGAIN,
]


@pytest.mark.parametrize("keys", TIED, ids=["workload", "rows", "distinct", "pairs", "top-k"])
def test_ties_break_the_same_way_in_groups_of_every_size_and_for_any_order(keys, monkeypatch):
    table, query = ties(7), make_query({"time": "ts", "by": ["group"], **keys})
    rng = np.random.default_rng(43)
    shuffled = table.take(pa.array(np.lexsort((rng.random(len(table)), table["ts"].cast(pa.int64()).to_numpy()))))
    found = []
    for most in (512, 4, 0):
        monkeypatch.setattr(limits, "MOST_ENTRIES", most)
        found += [sorted(map(str, local.apply(rows, query).to_pylist())) for rows in (table, shuffled)]
    assert len(found[0]) > 40
    assert all(other == found[0] for other in found)
