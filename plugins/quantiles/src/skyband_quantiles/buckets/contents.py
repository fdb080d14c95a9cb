"""The contents of a history of histograms in canonical form, as in a state, using numpy only."""

from functools import cached_property
from typing import Any

import numpy as np
from attrs import frozen
from skyband.arrays import Array, Float64, Int64
from skyband.state_validation import StateReader

from skyband_quantiles import varints
from skyband_quantiles.rows_in_states import rows_from_state, rows_to_state
from skyband_quantiles.sketch_parameters import LONGEST

STEP = 1024
_SIGN = np.int64(0x7FFFFFFFFFFFFFFF)
_MOST_ROWS = 2.0**53
_WIDE = 64
"""Ids are looked up in a table if they span at most this many times their number."""


def keys_of(values: Float64) -> Int64:
    """int64[n], ascending with the values: their bits, inverted for negative ones except for the sign."""
    bits: Int64 = np.ascontiguousarray(values).view(np.int64)
    return bits ^ ((bits >> 63) & _SIGN)


def widest_shift(alpha: float) -> int:
    """The bits of a key that may be left out so that the middle of a bucket is within alpha of its values."""
    kept = 0
    while 2.0**-kept / (2 + 2.0**-kept) > alpha:
        kept += 1
    return 52 - kept


def raw_rows(epsilon: float) -> int:
    """The approximate number of latest rows that are kept raw."""
    return int(np.ceil(64 / epsilon))


@frozen(eq=False)
class Contents:
    """Places sorted by id, nodes by last row, raw rows by time and value."""

    phase: int
    """Rows since the last step."""
    shift: int
    ids: Int64
    least: Float64
    largest: Float64
    first: Int64
    last: Int64
    rows: Int64
    sizes: Int64
    """The number of entries of each node."""
    place: Int64
    count: Int64
    """int64[entries], by node and place."""
    above: Int64
    """int64[nodes, cuts]: rows above each cut, -1 if unknown."""
    fixed: int
    """The number of first nodes that were made by a union."""
    times: Int64
    values: Float64

    @property
    def retained(self) -> int:
        """The number of raw rows and entries."""
        return len(self.times) + len(self.place)

    @property
    def owner(self) -> Int64:
        """int64[entries]: the node of each."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    @cached_property
    def of_raw(self) -> Int64:
        """int64[raw]: the place of each raw row, any place if none has its id. There must be places."""
        ids, keys = self.ids, keys_of(self.values) >> self.shift
        span = int(ids[-1]) - int(ids[0]) + 1
        if span > _WIDE * len(ids):
            return np.minimum(np.searchsorted(ids, keys), len(ids) - 1)
        table = np.zeros(span, np.int64)
        table[ids - ids[0]] = np.arange(len(ids))
        return table[np.clip(keys - ids[0], 0, span - 1)]

    def to_arrays(self, cuts: tuple[float, ...]) -> dict[str, Array]:
        """The arrays of a state."""
        steps = np.diff(self.place, prepend=-1)
        starts = np.cumsum(self.sizes) - self.sizes
        steps[starts] = self.place[starts] + 1
        pairs = np.column_stack([steps - 1, self.count - 1]).ravel()
        return {
            "stand": np.array([self.phase, self.shift, self.fixed], np.int64),
            "ids": self.ids,
            "least": self.least,
            "largest": self.largest,
            "first": self.first,
            "last": self.last,
            "rows": self.rows,
            "sizes": self.sizes.astype(np.uint32),
            "entries": varints.to_bytes(pairs),
            "cuts": np.array(cuts if len(self.first) else [], np.float64),
            "above": self.above.ravel(),
            **rows_to_state(self.times, self.values),
        }

    @classmethod
    def from_arrays(cls, read: StateReader, latest: int | None, widest: int, most_raw: int, cuts: Any) -> "Contents":
        """The contents of a state, with -1 for the rows above cuts unknown to it. Raises SnapshotError."""
        phase, shift, fixed = read.column("stand", np.int64, 3, at_least=0).tolist()
        read.require(phase < STEP and shift <= widest, "stand", f"is {phase}, {shift}, where no history stands")
        ids = read.ascending("ids", strictly=True)
        least = read.column("least", np.float64, len(ids), at_least=-np.inf, at_most=np.inf)
        largest = read.column("largest", np.float64, len(ids), at_least=-np.inf, at_most=np.inf)
        alike = (keys_of(least) >> shift == ids) & (keys_of(largest) >> shift == ids) & (least <= largest)
        read.require(bool(alike.all()), "least", "must be values of their buckets")
        far = 2 * LONGEST
        last = read.ascending("last", at_least=-far, at_most=-far if latest is None else latest)
        first = read.column("first", np.int64, len(last), at_least=-far)
        read.require(bool((first <= last).all()), "first", "must be at most `last`")
        rows = read.column("rows", np.int64, len(last), at_least=1, at_most=2**53)
        read.require(float(rows.astype(np.float64).sum()) < _MOST_ROWS, "rows", "must be fewer than 2^53")
        sizes = read.column("sizes", np.uint32, len(last), at_least=1).astype(np.int64)
        place, count = _entries(read, sizes, rows, len(ids))
        read.require(fixed <= len(last), "stand", f"must be of at most {len(last)} nodes")
        times, values = rows_from_state(read, latest)
        read.require(len(times) < most_raw + STEP, "values", f"must be fewer than {most_raw + STEP}")
        above = _above(read, rows, cuts)
        contents = cls(
            phase, shift, ids, least, largest, first, last, rows, sizes, place, count, above, fixed, times, values
        )
        contents._check_raw(read)
        return contents

    def _check_raw(self, state: StateReader) -> None:
        if not len(self.last):
            state.require(len(self.ids) == 0, "ids", "must be none without nodes")
            return
        newer = len(self.times) > 0 and int(self.times[0]) >= int(self.last[-1])
        state.require(newer, "times", "must be no older than nodes")
        state.require(len(self.ids) > 0, "ids", "must be those of all rows")
        where, values = self.of_raw, self.values
        known = bool((self.ids[where] == keys_of(values) >> self.shift).all())
        inside = known and bool(((self.least[where] <= values) & (values <= self.largest[where])).all())
        state.require(inside, "ids", "must be those of all rows")


def _entries(read: StateReader, sizes: Int64, rows: Int64, places: int) -> tuple[Int64, Int64]:
    total = int(sizes.sum())
    read.require(total <= len(read.column("entries", np.uint8)), "sizes", "must add up to the entries")
    pairs = varints.from_bytes("entries", read.column("entries", np.uint8), 2 * total)
    steps, count = pairs[::2] + 1, pairs[1::2] + 1
    read.require(bool((steps <= places).all() and (steps > 0).all()), "entries", f"must be of {places} places")
    ends = np.cumsum(sizes)
    starts = ends - sizes
    along = np.cumsum(steps)
    place = along - np.repeat(along[starts] - steps[starts], sizes) - 1 if total else along
    read.require(int(place.max(initial=-1)) < places, "entries", f"must be of {places} places")
    few = bool((count > 0).all()) and float(count.astype(np.float64).sum()) < _MOST_ROWS
    read.require(few, "entries", "must be rows fewer than 2^53")
    if total:
        read.require(bool((np.add.reduceat(count, starts) == rows).all()), "rows", "must be those of the entries")
    return place, count


def _above(read: StateReader, rows: Int64, cuts: Any) -> Int64:
    """int64[nodes, cuts]: the rows above each cut, -1 if unknown to the state."""
    known = read.ascending("cuts", dtype=np.float64, strictly=True)
    stored = read.column("above", np.int64, len(rows) * len(known), at_least=-1).reshape(len(rows), len(known))
    read.require(bool((stored <= rows[:, None]).all()), "above", "must be at most the node's rows")
    above = np.full((len(rows), len(cuts)), -1)
    for place, cut in enumerate(cuts):
        where = np.flatnonzero(known == cut)
        if len(where):
            above[:, place] = stored[:, where[0]]
    return above


def without_nodes(times: Int64, values: Float64, phase: int, cuts: int) -> Contents:
    """Contents of raw rows only."""
    none, no_values = np.empty(0, np.int64), np.empty(0)
    above = np.empty((0, cuts), np.int64)
    return Contents(phase, 0, none, no_values, no_values, none, none, none, none, none, none, above, 0, times, values)
