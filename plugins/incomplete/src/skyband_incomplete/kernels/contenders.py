"""Maintains the objects that rank at or before a bar: an answer searches only these for the best.

Each object that ranks at or before the bar is listed; a listed object may have fallen behind it since. Without a
bar, all objects are listed.
"""

import numpy as np
from skyband.kernels.nested import nested_njit, shared_njit
from skyband.kernels.selection import select

from skyband_incomplete.eaa_arrays import HIGHEST, OBJECT, SPARE, USED
from skyband_incomplete.kernels.heap import drain, offer


@nested_njit(nogil=True)
def _is_behind(slot, bar_score, bar_object, slots, cells):
    """Whether an object ranks behind the bar: score, then object."""
    score = cells.score[slot]
    return score < bar_score or (score == bar_score and slots.facts[slot, OBJECT] > bar_object)


@shared_njit(nogil=True)
def enter(slot, slots, cells, top):
    """List an object that changed, if it ranks at or before the bar."""
    if not top.listed[slot] and not _is_behind(slot, top.bar_score[0], top.bar_object[0], slots, cells):
        top.slot[top.size[0]] = slot
        top.listed[slot] = True
        top.size[0] += 1


@nested_njit(nogil=True)
def _offer_listed(k, slots, cells, heap, top):
    """Put the best k of the listed objects in the heap; unlist objects that expired or fell behind the bar."""
    heap.size[0] = 0
    bar_score, bar_object = top.bar_score[0], top.bar_object[0]
    least, count = -np.inf, 0
    for place in range(top.size[0]):
        slot = top.slot[place]
        if not cells.entries[slot] or _is_behind(slot, bar_score, bar_object, slots, cells):
            top.listed[slot] = False
            continue
        top.slot[count] = slot
        count += 1
        score = cells.score[slot]
        if not score >= least:  # NaN is never in an answer
            continue
        if heap.size[0] == k and score == least and slots.facts[slot, OBJECT] > slots.facts[heap.slot[0], OBJECT]:
            continue  # `offer` checks this too, but costs a call
        offer(slot, score, k, heap, slots)
        if heap.size[0] == k:
            least = heap.score[0]
    top.size[0] = count


@nested_njit(nogil=True)
def _list_all(cursor, cells, top):
    """List all objects, without a bar."""
    top.bar_score[0], top.bar_object[0] = -np.inf, HIGHEST
    count = 0
    for slot in range(cursor[USED]):
        top.listed[slot] = cells.entries[slot] > 0
        top.slot[count] = slot
        count += top.listed[slot]
    top.size[0] = count


@nested_njit(nogil=True)
def _raise_bar(k, slots, cells, top):
    """Set the bar at the last of the best k and the spare objects; those behind it stay listed for now. O(listed).

    All listed objects rank at or before the old bar: the new one must not be below it.
    """
    count, last = top.size[0], k + top.spare[0]
    if last >= count:
        return
    scores, objects = np.empty(count, np.float64), np.empty(count, np.int64)
    for place in range(count):
        slot = top.slot[place]
        scores[place], objects[place] = cells.score[slot], slots.facts[slot, OBJECT]
    select(scores, objects, last)
    top.bar_score[0], top.bar_object[0] = scores[last - 1], objects[last - 1]


@nested_njit(nogil=True)
def _balance(k, top):
    """Adapt the spare: more if all objects were listed again before as many had been scanned, less if far more."""
    scanned, most = top.answers[0] * (k + top.spare[0]), max(SPARE, top.size[0] // 4)
    if scanned < top.size[0]:
        top.spare[0] = min(2 * top.spare[0], most)
    elif scanned > 4 * top.size[0]:
        top.spare[0] = max(top.spare[0] // 2, SPARE)
    top.answers[0] = 0


@shared_njit(nogil=True)
def rank(k, cursor, slots, cells, heap, top, objects, scores):
    """Write the top k into objects and scores, best first; returns how many there are.

    O(listed + k log k). O(objects) if there is a bar and fewer than k are still listed, because the spare ones have
    expired or fallen behind it. The spare doubles if that happens again too soon.
    """
    top.answers[0] += 1
    _offer_listed(k, slots, cells, heap, top)
    if heap.size[0] < k and top.bar_score[0] > -np.inf:
        _list_all(cursor, cells, top)
        _balance(k, top)
        _raise_bar(k, slots, cells, top)
        _offer_listed(k, slots, cells, heap, top)
    elif top.size[0] > 2 * (k + top.spare[0]):
        _raise_bar(k, slots, cells, top)
    return drain(heap, slots, objects, scores)
