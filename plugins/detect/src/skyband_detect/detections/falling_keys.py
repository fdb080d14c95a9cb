"""The keys of a counter that fall below bounds, with the last row of each: no row comes when a key falls."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from skyband.arrays import TIME_MIN, Array, Int64, UInt64
from skyband.columns.rows import Rows
from skyband.columns.rows_behind_answers import RankedRows, carried
from skyband.groups import state_arrays

from skyband_detect.detections.asks import Asks
from skyband_detect.role import Falls, KeyCounter


class FallenKeys(NamedTuple):
    """Keys that fell below the bound of a rule."""

    rules: Int64
    """int64[f]: the places of the rules."""
    times: Int64
    keys: UInt64
    value: Int64
    """int64[f], uint64[f], int64[f]: the moment, the key, and the rows that remain."""
    columns: Sequence[pa.Array]
    """Of the last row of each key: the key as JSON, then the columns to carry."""

    def filter(self, stays: Array) -> "FallenKeys":
        """Those of bool[f]."""
        columns = [column.filter(pa.array(stays)) for column in self.columns]
        return FallenKeys(self.rules[stays], self.times[stays], self.keys[stays], self.value[stays], columns)


def joined_falls(pieces: Sequence[FallenKeys]) -> FallenKeys | None:
    """The falls of several counters; None if there are none."""
    pieces = [piece for piece in pieces if len(piece.rules)]
    if not pieces:
        return None
    rules, times, keys, value, columns = zip(*pieces, strict=True)
    joined = [pa.concat_arrays(parts) for parts in zip(*columns, strict=True)]
    each = np.concatenate(rules), np.concatenate(times), np.concatenate(keys), np.concatenate(value)
    return FallenKeys(*each, joined)


class FallingKeys:
    """The last row of each key of a counter, and which keys fall below the bounds of its rules. Rows: O(n log n).

    longest: the longest window of these rules. fields: the columns to carry.
    """

    def __init__(self, longest: int, fields: Sequence[pa.Field]) -> None:
        self._longest = longest
        self._latest: int | None = None
        """The last moment at which a key fell, if the counter has yet to pass it."""
        self._rows = RankedRows([pa.field("key", pa.string()), *fields], "latest")

    def update(
        self,
        counter: KeyCounter,
        asks: Asks,
        falls: Falls,
        times: Int64,
        keys: UInt64,
        until: int,
        columns_of: Callable[[Int64], list[pa.Array]],
    ) -> FallenKeys:
        """Add rows, and return which keys have fallen, up to a moment: `falls`, and those that no row of a key shows.

        columns_of: the key as JSON and the columns to carry of rows at these places.
        """
        behind, last = _rows_behind(times, keys, falls)
        places = np.unique(np.concatenate([behind[behind >= 0], last]))
        if len(places):
            columns = {carried(number): column for number, column in enumerate(columns_of(places))}
            rows = Rows(times[places], {"object": keys[places].view(np.int64), **columns})
            self._rows.update(rows.times, rows, np.zeros(len(places)))
        later = counter.falls(until, *asks.below)
        both = Falls(*(np.concatenate(parts) for parts in zip(falls, later, strict=True)))
        self._latest = int(both.times[-1]) if len(both.times) else None
        behind_falls = self._rows.lookup(
            np.arange(len(both.keys)),
            both.keys.view(np.int64),
            np.zeros(len(both.keys)),
            np.full(len(both.keys), TIME_MIN),
            both.times + 1,
        )
        return FallenKeys(asks.falling[both.asks], both.times, both.keys, both.value, behind_falls)

    def leave_behind(self, counter: KeyCounter, last: int) -> None:
        """Pass the last fall, and forget the rows of keys that cannot fall after the last row of all."""
        counter.advance(max(moment for moment in (last, self._latest, counter.now) if moment is not None))
        self._rows.forget(last - self._longest + 1)

    def merge(self, other: "FallingKeys") -> None:
        """Add the rows of another shard's keys."""
        self._rows.merge(other._rows)

    def dump_state(self) -> dict[str, Array]:
        """The last rows as flat arrays."""
        return state_arrays.frame_to_array("rows", self._rows.frame())

    def load_state(self, arrays: dict[str, Array]) -> None:
        """Load the result of `dump_state`."""
        self._rows.load_state(state_arrays.frame_from_array("rows", arrays, self._rows.frame()))


def _rows_behind(times: Int64, keys: UInt64, falls: Falls) -> tuple[Int64, Int64]:
    """int64[f]: for each fall the last row of its key up to then, -1 if none of these; and the last row of each key."""
    count = len(times)
    of, when = np.concatenate([keys, falls.keys]), np.concatenate([times, falls.times])
    is_fall = np.arange(len(of)) >= count
    order = np.lexsort((is_fall, when, of))
    rows = np.maximum.accumulate(np.where(is_fall[order], -1, np.arange(len(order)))) if len(order) else order
    before = np.where(rows >= 0, order[rows], -1)
    before[(before >= 0) & (of[before] != of[order])] = -1
    behind = np.empty(len(of), np.int64)
    behind[order] = before
    own = order[~is_fall[order]]
    last = own[np.append(keys[own][1:] != keys[own][:-1], True)[: len(own)]]
    return behind[count:], np.sort(last)
