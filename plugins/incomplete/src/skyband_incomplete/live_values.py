"""Keeps the values that can still count, for objects that may report any number of times."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from attrs import define, field
from skyband.arrays import Array, Float64, Int32, Int64
from skyband.roles import ObjectRanker
from skyband.roles.object_ranker import REDUCTIONS

from skyband_incomplete.aggregates import finite
from skyband_incomplete.eaa_arrays import (
    CURSOR,
    HIGHEST,
    LEAST,
    LIVE,
    OBJECT,
    SPARE,
    TAIL,
    USED,
    Heap,
    Rows,
    Rule,
    Slots,
    longer,
    new_heap,
    new_slots,
)
from skyband_incomplete.kernels import live_values as kernels


class Entries(NamedTuple):
    """Values in order of arrival, at cursor[HEAD]:cursor[TAIL]; `alive`: those that can still count.

    `older`, `newer`: the places of the neighbours in the same cell (object and stream), or -1.
    """

    time: Int64
    stream: Int32
    slot: Int32
    value: Float64
    older: Int32
    newer: Int32
    alive: Array


class Cells(NamedTuple):
    """The places of the oldest and newest entry of each object and stream, or -1; the number of live entries of each
    object, and its score at the last answer.
    """

    oldest: Int32
    newest: Int32
    entries: Int32
    score: Float64


class Contenders(NamedTuple):
    """The `size[0]` objects that rank at or before the bar: in `slot`, and `listed` by slot.

    `spare[0]`: how many beyond the best k are listed when the bar is set; `answers[0]`: answers since then.
    """

    slot: Int32
    listed: Array
    size: Int64
    bar_score: Float64
    bar_object: Int64
    spare: Int64
    answers: Int64


def _new_entries(room: int) -> Entries:
    kinds: tuple[Any, ...] = (np.int64, np.int32, np.int32, np.float64, np.int32, np.int32, np.bool_)
    return Entries(*(np.zeros(room, kind) for kind in kinds))


def _new_cells(room: int, streams: int) -> Cells:
    nowhere = np.full((room, streams), -1, np.int32)
    return Cells(nowhere, nowhere.copy(), np.zeros(room, np.int32), np.zeros(room))


def _new_top(room: int, spare: Int64) -> Contenders:
    """Contenders without a bar."""
    return Contenders(
        slot=np.zeros(room, np.int32),
        listed=np.zeros(room, np.bool_),
        size=np.zeros(1, np.int64),
        bar_score=np.full(1, -np.inf),
        bar_object=np.full(1, HIGHEST),
        spare=spare,
        answers=np.zeros(1, np.int64),
    )


@define(eq=False)
class LiveValues:
    """The live values per object and stream: for "latest" one; for "largest" and "smallest" those that no later one
    reaches, as each becomes the largest (smallest) once those before it have expired; for "mean" all.

    Nothing more can be dropped: an object's score may fall whenever it reports again, so no score is a permanent bound
    and no object dominates another.
    """

    _ranker: ObjectRanker
    _rule: Rule
    _reduction: int = field(init=False)
    _cursor: Int64 = field(init=False)
    _entries: Entries = field(init=False)
    _slots: Slots = field(init=False)
    _cells: Cells = field(init=False)
    _heap: Heap = field(init=False)
    _top: Contenders = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._reduction = REDUCTIONS.index(str(self._ranker.repeats))
        self._cursor = np.zeros(CURSOR, np.int64)
        self._entries = _new_entries(LEAST)
        self._make_slots(LEAST, np.full(1, SPARE))

    def _make_slots(self, room: int, spare: Int64) -> None:
        self._slots, self._cells = new_slots(room, 0), _new_cells(room, self._ranker.streams)
        self._heap = new_heap(self._ranker.k, room)
        self._top = _new_top(room, spare)

    @property
    def _parts(self) -> tuple[Int64, Entries, Slots, Cells]:
        return self._cursor, self._entries, self._slots, self._cells

    @property
    def objects(self) -> int:
        """The number of objects that there is room for."""
        return len(self._slots.place)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays, including spare room."""
        parts = (self._entries, self._slots, self._cells, self._heap, self._top, (self._cursor,))
        return int(sum(array.nbytes for part in parts for array in part))

    @property
    def live(self) -> int:
        """The number of live entries; some may have expired since the last answer."""
        return int(self._cursor[LIVE])

    def retained(self, first: int) -> int:
        """The number of live entries since the time `first`."""
        kernels.expire(first, *self._parts)
        return self.live

    def make_room(self, rows: int, first: int) -> None:
        """Make room for `rows` rows; all before `first` have expired. Arrays grow, or shrink, to twice the need.

        Expired objects are removed when there are many, as answers scan those too.
        """
        if self._cursor[TAIL] + rows > len(self._entries.time):
            kernels.expire(first, *self._parts)
            kernels.compact(self._cursor, self._entries, self._cells)
            needed = 2 * (int(self._cursor[TAIL]) + rows)
            if needed > len(self._entries.time):
                self._entries = Entries(*(longer(column, needed) for column in self._entries))
            elif 4 * needed < len(self._entries.time):
                columns: list[Any] = [column[:needed].copy() for column in self._entries]
                self._entries = Entries(*columns)
        if self._cursor[USED] + rows > self.objects or self._cursor[USED] > 1.25 * self.live + LEAST:
            kernels.expire(first, *self._parts)
            slots, cells = self._slots, self._cells
            used = int((cells.entries[: self._cursor[USED]] > 0).sum())
            self._make_slots(max(LEAST, 2 * (used + rows)), self._top.spare)
            kernels.gather_slots(self._cursor, self._entries, slots, cells, self._slots, self._cells)

    def replay(self, rows: Rows, stops: Int64, firsts: Int64, offsets: Int64, objects: Int64, scores: Float64) -> None:
        """Take in rows, and answer after stops[i] of them over those since firsts[i], at offsets[i:]."""
        rule = self._rule
        if not callable(self._ranker.aggregate):
            heaps = (self._heap, self._top)
            kernels.replay(rows, stops, firsts, self._reduction, rule, *self._parts, *heaps, offsets, objects, scores)
            return
        start = 0
        for turn, (stop, first) in enumerate(zip(stops.tolist(), firsts.tolist(), strict=True)):
            kernels.add(rows, start, stop, self._reduction, *self._parts)
            kernels.expire(first, *self._parts)
            changed = self._score_called()
            begin = offsets[turn]
            part = (self._slots, self._cells, self._heap, self._top, objects[begin:], scores[begin:])
            offsets[turn + 1] = begin + kernels.rank_changed(changed, rule.k, self._cursor, *part)
            start = stop
        kernels.add(rows, start, len(rows.time), self._reduction, *self._parts)

    def _score_called(self) -> Int32:
        """Score the changed objects with the user's function; returns their slots."""
        function: Any = self._ranker.aggregate
        score = finite(function)
        slots, values = kernels.changed_values(self._reduction, *self._parts)
        self._cells.score[slots] = [score(row) for row in values]
        return slots

    def state(self, first: int) -> Mapping[str, Array]:
        """The entries since `first`, in order of arrival."""
        kernels.expire(first, *self._parts)
        kernels.compact(self._cursor, self._entries, self._cells)
        tail, entries = int(self._cursor[TAIL]), self._entries
        return {
            "times": entries.time[:tail].copy(),
            "streams": entries.stream[:tail].copy(),
            "objects": self._slots.facts[entries.slot[:tail], OBJECT],
            "values": entries.value[:tail].copy(),
        }

    def load(self, rows: Rows, first: int) -> None:
        """Restore the entries of a state; no entry of a cell makes another superfluous."""
        rows = rows.part(0, len(rows.time))
        self.make_room(len(rows.time), first)
        kernels.add(rows, 0, len(rows.time), self._reduction, *self._parts)
