"""The arrays of early aggregation: their contents, creation and growth.

A report is one row of the input. Slots are the numbers of the remembered objects.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from skyband.arrays import Array, Float64, Int32, Int64
from skyband.roles import ObjectRanker

from skyband_incomplete.score_kernels import BY_MAX, BY_MIN, BY_SUM

LATEST, LARGEST, SMALLEST, MEAN = range(4)
"""The codes of `REDUCTIONS`, in order."""

HEAD, TAIL, USED, LOG_HEAD, LOG_TAIL, REPEATED, CHANGED, INSTANCES, LIVE = range(9)
CURSOR = 9
"""Indices of the cursor, int64[CURSOR]: the used ranges of the arrays, and counts."""

OBJECT, LAST, NEWEST, IS_CHANGED = range(4)
FACTS = 4
"""Columns of `Slots.facts`."""

SPARE = 64
"""The spare objects beyond the best k at a new bar."""

LEAST = 64
"""The least room of an array: an operator may have one ranker for each of many groups."""

LOWEST, HIGHEST = -(2**63), 2**63 - 1
_OLDEST = 2**64 - 1


class Rows(NamedTuple):
    """The times, streams, objects and values of a batch of reports."""

    time: Int64
    stream: Int32
    object: Int64
    value: Float64

    def part(self, start: int, stop: int) -> "Rows":
        """Rows start..stop, copied if they are read-only: the kernels are compiled for one kind of array."""
        return Rows(
            _writable(self.time[start:stop]),
            _writable(self.stream[start:stop]),
            _writable(self.object[start:stop]),
            _writable(self.value[start:stop]),
        )


def _writable(column: Array) -> Array:
    return column if column.flags.writeable else column.copy()


class Reports(NamedTuple):
    """The reports that an answer may still need, oldest first, at cursor[HEAD]:cursor[TAIL].

    `previous`: the place of the object's report before this one, -1 or below cursor[HEAD] if it was dropped.
    """

    time: Int64
    stream: Int32
    slot: Int32
    value: Float64
    previous: Int32
    current: Float64
    best: Float64
    alive: Array


class Slots(NamedTuple):
    """The remembered objects.

    `facts[slot]`: id, time of its last report, the place of its newest report (-1: dropped), and whether it changed
    since its intervals were computed; `changed` lists the cursor[CHANGED] changed slots. `counts[slot, stream]`: the
    number of its reports, for "never" since it is remembered, otherwise the valid ones.
    """

    facts: Array
    counts: Array
    table: Int32
    changed: Int32
    place: Int32


class Log(NamedTuple):
    """Every valid report, oldest first, to count them (not for "never")."""

    time: Int64
    stream: Int32
    slot: Int32


class Rule(NamedTuple):
    """The compiled parameters. `reach`: the largest age, in the times' unit, of a valid report on arrival.

    `chances[seen, stream]`: the probability that an object seen in this set of streams appears in that one; a single
    row: for all sets; empty: it may.
    `limit`: a call takes in rows until the window holds more reports than this.
    """

    k: int
    reach: np.uint64
    once: bool
    most: int
    upper: float
    slack: float
    kind: int
    weights: Float64
    divisor: float
    chances: Float64
    limit: int


class Heap(NamedTuple):
    """The best k objects of a sweep, with the worst at the root; `size[0]` of them."""

    slot: Int32
    score: Float64
    size: Int64


def rule_of(ranker: ObjectRanker) -> Rule:
    """The rule for a ranker's parameters."""
    aggregate, most = ranker.aggregate, ranker.occurrences
    kind, divisor, weights = BY_SUM, 1.0, np.ones(ranker.streams)
    if aggregate == "mean":
        divisor = float(ranker.streams)
    elif aggregate in ("min", "max"):
        kind = BY_MIN if aggregate == "min" else BY_MAX
    elif isinstance(aggregate, Sequence) and not isinstance(aggregate, str):
        weights = np.array(aggregate, np.float64)
    return Rule(
        k=min(ranker.k, HIGHEST),
        reach=np.uint64(min(ranker.window - (ranker.by == "rows"), _OLDEST)),
        once=ranker.repeats == "never",
        most=most,
        upper=ranker.upper,
        slack=1.0 if most == 1 else 1.0 + 4 * most * float(np.finfo(np.float64).eps),
        kind=kind,
        weights=weights,
        divisor=divisor,
        chances=np.empty((0, 0)),
        limit=HIGHEST,
    )


def new_reports(room: int) -> Reports:
    """An empty array, with room for reports."""
    kinds: tuple[Any, ...] = (
        np.int64,
        np.int32,
        np.int32,
        np.float64,
        np.int32,
        np.float64,
        np.float64,
        np.bool_,
    )
    return Reports(*(np.zeros(room, kind) for kind in kinds))


def new_slots(room: int, streams: int) -> Slots:
    """Empty slots, with room for objects that fill at most half of the table."""
    return Slots(
        facts=np.zeros((room, FACTS), np.int64),
        counts=np.zeros((room, streams), np.int32),
        table=np.full(1 << (2 * room - 1).bit_length(), -1, np.int32),
        changed=np.zeros(room, np.int32),
        place=np.zeros(room, np.int32),
    )


def new_log(room: int) -> Log:
    """An empty array, with room for reports."""
    return Log(np.zeros(room, np.int64), np.zeros(room, np.int32), np.zeros(room, np.int32))


def new_heap(k: int, objects: int) -> Heap:
    """An empty heap for the best k of `objects` objects."""
    room = min(k, objects)
    return Heap(np.zeros(room, np.int32), np.zeros(room), np.zeros(1, np.int64))


def longer(column: Array, length: int) -> Array:
    """A copy with this length."""
    extended = np.zeros(length, column.dtype)
    extended[: len(column)] = column
    return extended
