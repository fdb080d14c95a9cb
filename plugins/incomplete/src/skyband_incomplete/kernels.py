"""The compiled half of early aggregation: taking in reports, the sweep, and letting go of what it dooms.

A report is one row. An instance of an object stands for what is left of it once its older reports have expired: one
for each moment at which it reported. It has an interval: `current`, its score now, and `best`, the score it can reach
during its life. An instance is doomed once k other objects have a later instance with a current above its best.

Slots number the remembered objects. Sums run from the newest report to the oldest and from the first stream to the
last, always afresh, so that a score does not depend on the path that led to it.
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator"

from typing import NamedTuple

import numpy as np
from numba import njit
from skyband.arrays import Array, Float64, Int32, Int64

SUM, MIN, MAX = 0, 1, 2
HEAD, TAIL, USED, LOG_HEAD, LOG_TAIL, REPEATED, CHANGED, INSTANCES = range(8)
CURSOR = 8
OBJECT, LAST, NEWEST, IS_CHANGED = range(4)
FACTS = 4


class Rows(NamedTuple):
    """A batch: times, streams, objects and values of its reports."""

    time: Int64
    stream: Int32
    object: Int64
    value: Float64

    def part(self, start: int, stop: int) -> "Rows":
        """Rows start..stop, copied where they are read-only: the kernels are compiled for one kind of array."""
        return Rows(
            _writable(self.time[start:stop]),
            _writable(self.stream[start:stop]),
            _writable(self.object[start:stop]),
            _writable(self.value[start:stop]),
        )


def _writable(column: Array) -> Array:
    return column if column.flags.writeable else column.copy()


class Reports(NamedTuple):
    """The reports an answer may still need, oldest first, at cursor[HEAD]:cursor[TAIL].

    `previous`: where the object's report before this one is, -1 or below cursor[HEAD] if it is no longer there.
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

    `facts[slot]`: id, time of its last report, where in the reports its newest is (-1: let go), and whether it
    changed since its intervals were found; `changed` lists those, cursor[CHANGED] of them.
    `counts[slot, stream]`: its reports, under "never" since it is remembered, otherwise the valid ones.
    """

    facts: Array
    counts: Array
    table: Int32
    changed: Int32
    place: Int32


class Log(NamedTuple):
    """Every valid report, oldest first, where they must be counted (not under "never")."""

    time: Int64
    stream: Int32
    slot: Int32


class Rule(NamedTuple):
    """What the parameters come to. `reach`: the age, in the times' unit, at which a report is last valid on arrival.

    `chances[seen, stream]`: how likely an object seen in this set of streams appears in that one; a single row: for
    all sets alike; empty: it may.
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


class Heap(NamedTuple):
    """The best k objects of a sweep, the worst at the root; `size[0]` of them."""

    slot: Int32
    score: Float64
    size: Int64


@njit(cache=True, nogil=True)
def _spread(key, size):
    x = np.uint64(key)
    x = (x ^ (x >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    x ^= x >> np.uint64(33)
    return np.int64(x & np.uint64(size - 1))


@njit(cache=True, nogil=True)
def find(key, slots):
    """Where in the table `key` is, or would be."""
    size = len(slots.table)
    at = _spread(key, size)
    while slots.table[at] >= 0 and slots.facts[slots.table[at], OBJECT] != key:
        at = (at + 1) & (size - 1)
    return at


@njit(cache=True, nogil=True)
def _age(now, time):
    return np.uint64(now) - np.uint64(time)


@njit(cache=True, nogil=True)
def _expire_log(now, reach, cursor, slots, log):
    head = cursor[LOG_HEAD]
    while head < cursor[LOG_TAIL] and _age(now, log.time[head]) > reach:
        slots.counts[log.slot[head], log.stream[head]] -= 1
        head += 1
    cursor[LOG_HEAD] = head


@njit(cache=True, nogil=True, inline="always")
def _forget(slot, counts):
    for stream in range(counts.shape[1]):
        counts[slot, stream] = 0


@njit(cache=True, nogil=True, inline="always")
def _touch(slot, cursor, slots):
    if not slots.facts[slot, IS_CHANGED]:
        slots.facts[slot, IS_CHANGED] = 1
        slots.changed[cursor[CHANGED]] = slot
        cursor[CHANGED] += 1


@njit(cache=True, nogil=True)
def insert(rows, start, stop, rule, cursor, reports, slots, log):
    """Take in rows[start:stop]; the arrays must have room. O(1) a row."""
    for row in range(start, stop):
        now = rows.time[row]
        stream = rows.stream[row]
        if not rule.once:
            _expire_log(now, rule.reach, cursor, slots, log)
        at = find(rows.object[row], slots)
        slot = slots.table[at]
        if slot < 0:
            slot = np.int32(cursor[USED])
            cursor[USED] += 1
            slots.table[at] = slot
            slots.facts[slot, OBJECT] = rows.object[row]
            slots.facts[slot, NEWEST] = -1
            slots.facts[slot, IS_CHANGED] = 0
            _forget(slot, slots.counts)
        elif _age(now, slots.facts[slot, LAST]) > rule.reach:
            slots.facts[slot, NEWEST] = -1
            _forget(slot, slots.counts)
        if slots.counts[slot, stream] >= rule.most:
            cursor[REPEATED] += 1
            continue
        slots.counts[slot, stream] += 1
        if not rule.once:
            end = cursor[LOG_TAIL]
            log.time[end], log.stream[end], log.slot[end] = now, stream, slot
            cursor[LOG_TAIL] += 1
        end = cursor[TAIL]
        reports.time[end], reports.stream[end], reports.slot[end] = now, stream, slot
        reports.value[end] = rows.value[row] + 0.0
        reports.previous[end] = slots.facts[slot, NEWEST]
        slots.facts[slot, NEWEST] = end
        slots.facts[slot, LAST] = now
        cursor[TAIL] += 1
        _touch(slot, cursor, slots)


@njit(cache=True, nogil=True)
def touch_all(cursor, reports, slots):
    """Have every interval found anew."""
    for at in range(cursor[HEAD], cursor[TAIL]):
        _touch(reports.slot[at], cursor, slots)


@njit(cache=True, nogil=True, inline="always")
def _reach(total, fresh, reported, chance, once, most, upper, slack):
    """The most that an instance can come to have in a stream, of which it has `total` from `fresh` reports."""
    if fresh == most or (once and reported):
        return total
    room = (most - fresh) * upper
    return (total + (room if reported else room * chance)) * slack


@njit(cache=True, nogil=True, inline="always")
def _bounds(counts, fresh, rule, known, reachable):
    """From the values an instance has, float64[streams], those it can come to have."""
    seen = np.int64(0)
    chance = 1.0
    chances = rule.chances
    if len(chances):
        for stream in range(len(known)):
            seen |= np.int64(counts[stream] > 0) << stream
        seen &= len(chances) - 1
    for stream in range(len(known)):
        if len(chances):
            chance = chances[seen, stream]
        reported = counts[stream] > 0
        reachable[stream] = _reach(
            known[stream], fresh[stream], reported, chance, rule.once, rule.most, rule.upper, rule.slack
        )


@njit(cache=True, nogil=True, inline="always")
def _gather(last, first, reports, known, fresh):
    """Add an object's reports of one moment, the newest at `last`. Returns where its report before them is."""
    at = last
    while at >= first and reports.time[at] == reports.time[last]:
        known[reports.stream[at]] += reports.value[at]
        fresh[reports.stream[at]] += 1
        at = reports.previous[at]
    return at


@njit(cache=True, nogil=True, inline="always")
def _score(values, kind, weights, divisor):
    if kind == SUM:
        score = 0.0
        for stream in range(len(weights)):
            score += weights[stream] * values[stream]
        return score / divisor
    score = values[0]
    for stream in range(1, len(weights)):
        score = min(score, values[stream]) if kind == MIN else max(score, values[stream])
    return score


@njit(cache=True, nogil=True)
def intervals(rule, cursor, reports, slots):
    """The intervals of the objects that changed; those of others stay. O(their reports · streams)."""
    known, reachable = np.empty(len(rule.weights)), np.empty(len(rule.weights))
    fresh = np.empty(len(rule.weights), np.int64)
    first = cursor[HEAD]
    for turn in range(cursor[CHANGED]):
        slot = slots.changed[turn]
        slots.facts[slot, IS_CHANGED] = 0
        known[:] = 0.0
        fresh[:] = 0
        at = slots.facts[slot, NEWEST]
        while at >= first:
            before = _gather(at, first, reports, known, fresh)
            _bounds(slots.counts[slot], fresh, rule, known, reachable)
            current = _score(known, rule.kind, rule.weights, rule.divisor)
            best = _score(reachable, rule.kind, rule.weights, rule.divisor)
            while at != before:
                reports.current[at], reports.best[at] = current, best
                at = reports.previous[at]
    cursor[CHANGED] = 0


@njit(cache=True, nogil=True)
def vectors(rule, cursor, reports, slots, which, known, reachable):
    """The values behind `intervals` for a score that is not compiled: float64[n, streams] each.

    Row i of them belongs to report which[i]. Returns n.
    """
    fresh = np.empty(len(rule.weights), np.int64)
    first = cursor[HEAD]
    found = 0
    for turn in range(cursor[CHANGED]):
        slot = slots.changed[turn]
        slots.facts[slot, IS_CHANGED] = 0
        fresh[:] = 0
        total = np.zeros(len(rule.weights))
        at = slots.facts[slot, NEWEST]
        while at >= first:
            before = _gather(at, first, reports, total, fresh)
            while at != before:
                known[found] = total
                _bounds(slots.counts[slot], fresh, rule, total, reachable[found])
                which[found] = at
                found += 1
                at = reports.previous[at]
    cursor[CHANGED] = 0
    return found


@njit(cache=True, nogil=True)
def _worse(heap, slots, a, b):
    """Whether the heap's entry a ranks behind its entry b: score, then object."""
    if heap.score[a] != heap.score[b]:
        return heap.score[a] < heap.score[b]
    return slots.facts[heap.slot[a], OBJECT] > slots.facts[heap.slot[b], OBJECT]


@njit(cache=True, nogil=True)
def _swap(heap, slots, a, b):
    heap.score[a], heap.score[b] = heap.score[b], heap.score[a]
    heap.slot[a], heap.slot[b] = heap.slot[b], heap.slot[a]
    slots.place[heap.slot[a]] = a
    slots.place[heap.slot[b]] = b


@njit(cache=True, nogil=True)
def _sink(heap, slots, at, size):
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and _worse(heap, slots, child + 1, child):
            child += 1
        if not _worse(heap, slots, child, at):
            return
        _swap(heap, slots, child, at)
        at = child


@njit(cache=True, nogil=True)
def _offer(slot, score, k, heap, slots):
    """An object's score, higher than or equal to what it was before in this sweep."""
    size = heap.size[0]
    at = slots.place[slot]
    if at >= size or heap.slot[at] != slot:
        if size < k:
            at = size
            heap.slot[at], heap.score[at] = slot, score
            slots.place[slot] = at
            heap.size[0] += 1
            while at > 0 and _worse(heap, slots, at, (at - 1) // 2):
                _swap(heap, slots, at, (at - 1) // 2)
                at = (at - 1) // 2
            return
        at = 0
        if score == heap.score[0] and slots.facts[slot, OBJECT] > slots.facts[heap.slot[0], OBJECT]:
            return
        heap.slot[0] = slot
        slots.place[slot] = 0
    heap.score[at] = score
    _sink(heap, slots, at, size)


@njit(cache=True, nogil=True)
def rank(rule, cursor, reports, slots, heap):
    """One pass from the newest report to the oldest: which instances live on, and the top k. O(reports · log k).

    The k-th best current among later moments dooms every instance whose best is below it. An object's own later
    instances never count against it, for their current is at most its best. Returns how many reports are doomed.
    """
    heap.size[0] = 0
    first, last, k = cursor[HEAD], cursor[TAIL] - 1, rule.k
    time, _, slot_of, _, previous, current, best, alive = reports
    doomed, instances = 0, 0
    floor = lowest = -np.inf
    for at in range(last, first - 1, -1):
        if at == last or time[at] != time[at + 1]:
            floor = lowest
        alive[at] = best[at] >= floor
        doomed += not alive[at]
        # An instance is counted at the oldest of its reports.
        instances += alive[at] and (previous[at] < first or time[previous[at]] != time[at])
        # Below the lowest of k, an object is not among them: its score there would be at most this one.
        if current[at] >= lowest:
            _offer(slot_of[at], current[at], k, heap, slots)
            if heap.size[0] == k:
                lowest = heap.score[0]
    cursor[INSTANCES] = instances
    return doomed


@njit(cache=True, nogil=True)
def compact(cursor, reports, slots):
    """Let go of the reports older than the oldest live instance of their object, and of the expired. O(reports)."""
    end = 0
    for at in range(cursor[HEAD], cursor[TAIL]):
        slot = reports.slot[at]
        # Where the newest report has moved to is below `at`; where it was, it is not.
        newest = slots.facts[slot, NEWEST]
        before = newest if newest < at else -1
        if before < 0 and not reports.alive[at]:
            if newest == at:
                slots.facts[slot, NEWEST] = -1
            continue
        slots.facts[slot, NEWEST] = end
        reports.previous[end] = before
        reports.time[end], reports.stream[end] = reports.time[at], reports.stream[at]
        reports.slot[end], reports.value[end] = slot, reports.value[at]
        reports.current[end], reports.best[end] = reports.current[at], reports.best[at]
        end += 1
    cursor[HEAD], cursor[TAIL] = 0, end


@njit(cache=True, nogil=True)
def expire(first, cursor, reports, slots):
    """Pass over the reports before the time `first`."""
    head = cursor[HEAD]
    while head < cursor[TAIL] and reports.time[head] < first:
        if slots.facts[reports.slot[head], NEWEST] == head:
            slots.facts[reports.slot[head], NEWEST] = -1
        head += 1
    cursor[HEAD] = head


@njit(cache=True, nogil=True)
def drain(heap, slots, objects, scores):
    """Empty the heap into objects and scores, best first. Returns how many there are."""
    size = heap.size[0]
    for end in range(size - 1, -1, -1):
        objects[end], scores[end] = slots.facts[heap.slot[0], OBJECT], heap.score[0]
        _swap(heap, slots, 0, end)
        _sink(heap, slots, 0, end)
    heap.size[0] = 0
    return size


@njit(cache=True, nogil=True)
def sweep(first, thrift, rule, cursor, reports, slots, heap):
    """A whole sweep over the reports since `first`. `thrift`: let go once this part of them, or all, is doomed."""
    expire(first, cursor, reports, slots)
    intervals(rule, cursor, reports, slots)
    doomed = rank(rule, cursor, reports, slots, heap)
    if doomed >= thrift * (cursor[TAIL] - cursor[HEAD]):
        compact(cursor, reports, slots)


@njit(cache=True, nogil=True)
def replay(rows, stops, firsts, thrift, rule, cursor, reports, slots, log, heap, offsets, objects, scores):
    """Take in rows, sweeping after stops[i] of them over the reports since firsts[i]; answer i goes to offsets[i:]."""
    start = 0
    for turn in range(len(firsts)):
        insert(rows, start, stops[turn], rule, cursor, reports, slots, log)
        start = stops[turn]
        sweep(firsts[turn], thrift, rule, cursor, reports, slots, heap)
        begin = offsets[turn]
        offsets[turn + 1] = begin + drain(heap, slots, objects[begin:], scores[begin:])
    insert(rows, start, len(rows.time), rule, cursor, reports, slots, log)


@njit(cache=True, nogil=True)
def gather_slots(first, cursor, reports, slots, log, kept):
    """Move the slots of objects with a report since `first` to `kept`, whose table is empty, and renumber."""
    moved = np.full(cursor[USED], -1, np.int32)
    used = 0
    for slot in range(cursor[USED]):
        if slots.facts[slot, LAST] < first:
            continue
        kept.facts[used, :] = slots.facts[slot, :]
        kept.counts[used, :] = slots.counts[slot, :]
        kept.table[find(slots.facts[slot, OBJECT], kept)] = used
        moved[slot] = used
        used += 1
    cursor[USED] = used
    for at in range(cursor[HEAD], cursor[TAIL]):
        reports.slot[at] = moved[reports.slot[at]]
    for at in range(cursor[LOG_HEAD], cursor[LOG_TAIL]):
        log.slot[at] = moved[log.slot[at]]
    changed = 0
    for turn in range(cursor[CHANGED]):
        if moved[slots.changed[turn]] >= 0:
            kept.changed[changed] = moved[slots.changed[turn]]
            changed += 1
    cursor[CHANGED] = changed


@njit(cache=True, nogil=True)
def forget(first, cursor, slots, log):
    """Pass over the log's reports before the time `first`, which no longer count."""
    head = cursor[LOG_HEAD]
    while head < cursor[LOG_TAIL] and log.time[head] < first:
        slots.counts[log.slot[head], log.stream[head]] -= 1
        head += 1
    cursor[LOG_HEAD] = head


@njit(cache=True, nogil=True)
def enroll(cursor, reports, slots):
    """Enter the slots into the empty table, and link the reports."""
    for slot in range(cursor[USED]):
        slots.table[find(slots.facts[slot, OBJECT], slots)] = slot
        slots.facts[slot, NEWEST] = -1
    for at in range(cursor[HEAD], cursor[TAIL]):
        slot = reports.slot[at]
        reports.previous[at] = slots.facts[slot, NEWEST]
        slots.facts[slot, NEWEST] = at
    touch_all(cursor, reports, slots)
