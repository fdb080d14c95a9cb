"""The objects that rank at or before a bar, among which an answer finds the best: it need not look at all others.

Each object that ranks at or before the bar is listed; one that is listed may have fallen behind it since. A front
without a bar lists all objects.
"""

import numpy as np
from skyband.kernels.nested import nested_njit, shared_njit
from skyband.kernels.selection import select

from skyband_incomplete.instance_arrays import HIGHEST, OBJECT, SPARE, USED
from skyband_incomplete.kernels.heap import drain, offer


@nested_njit(nogil=True)
def _is_behind(slot, bar_score, bar_object, slots, cells):
    """Whether an object ranks behind the bar: score, then object."""
    score = cells.score[slot]
    return score < bar_score or (score == bar_score and slots.facts[slot, OBJECT] > bar_object)


@shared_njit(nogil=True)
def enter(slot, slots, cells, front):
    """List an object that changed, if it ranks at or before the bar."""
    if not front.listed[slot] and not _is_behind(slot, front.bar_score[0], front.bar_object[0], slots, cells):
        front.slot[front.size[0]] = slot
        front.listed[slot] = True
        front.size[0] += 1


@nested_njit(nogil=True)
def _offer_listed(k, slots, cells, heap, front):
    """The best k of the front, in the heap; what has gone or fallen behind the bar is no longer listed."""
    heap.size[0] = 0
    bar_score, bar_object = front.bar_score[0], front.bar_object[0]
    least, kept = -np.inf, 0
    for place in range(front.size[0]):
        slot = front.slot[place]
        if not cells.entries[slot] or _is_behind(slot, bar_score, bar_object, slots, cells):
            front.listed[slot] = False
            continue
        front.slot[kept] = slot
        kept += 1
        score = cells.score[slot]
        if not score >= least:  # NaN is in no answer
            continue
        if heap.size[0] == k and score == least and slots.facts[slot, OBJECT] > slots.facts[heap.slot[0], OBJECT]:
            continue  # `offer` would find it too, but is a call
        offer(slot, score, k, heap, slots)
        if heap.size[0] == k:
            least = heap.score[0]
    front.size[0] = kept


@nested_njit(nogil=True)
def _list_all(cursor, cells, front):
    """List all objects, without a bar."""
    front.bar_score[0], front.bar_object[0] = -np.inf, HIGHEST
    listed = 0
    for slot in range(cursor[USED]):
        front.listed[slot] = cells.entries[slot] > 0
        front.slot[listed] = slot
        listed += front.listed[slot]
    front.size[0] = listed


@nested_njit(nogil=True)
def _raise_bar(k, slots, cells, front):
    """Have the bar at the last of the best k and the spare ones; those behind it stay listed for now. O(listed).

    All that are listed rank at or before the bar as it is: it must not fall to one that has fallen behind it.
    """
    listed, wanted = front.size[0], k + front.spare[0]
    if wanted >= listed:
        return
    scores, objects = np.empty(listed, np.float64), np.empty(listed, np.int64)
    for place in range(listed):
        slot = front.slot[place]
        scores[place], objects[place] = cells.score[slot], slots.facts[slot, OBJECT]
    select(scores, objects, wanted)
    front.bar_score[0], front.bar_object[0] = scores[wanted - 1], objects[wanted - 1]


@nested_njit(nogil=True)
def _balance(k, front):
    """Have more to spare where all objects were listed again before as many had been looked at; less where far more."""
    seen, most = front.answers[0] * (k + front.spare[0]), max(SPARE, front.size[0] // 4)
    if seen < front.size[0]:
        front.spare[0] = min(2 * front.spare[0], most)
    elif seen > 4 * front.size[0]:
        front.spare[0] = max(front.spare[0] // 2, SPARE)
    front.answers[0] = 0


@shared_njit(nogil=True)
def rank(k, cursor, slots, cells, heap, front, objects, scores):
    """Write the top k into objects and scores, best first; returns how many there are.

    O(listed + k log k). O(objects) where there is a bar and fewer than k are still listed: as many have gone or fallen
    behind it as were listed to spare. Twice as many are spared where that comes too soon again.
    """
    front.answers[0] += 1
    _offer_listed(k, slots, cells, heap, front)
    if heap.size[0] < k and front.bar_score[0] > -np.inf:
        _list_all(cursor, cells, front)
        _balance(k, front)
        _raise_bar(k, slots, cells, front)
        _offer_listed(k, slots, cells, heap, front)
    elif front.size[0] > 2 * (k + front.spare[0]):
        _raise_bar(k, slots, cells, front)
    return drain(heap, slots, objects, scores)
