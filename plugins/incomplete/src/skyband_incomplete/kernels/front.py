"""The objects that rank at or before a bar, among which an answer finds the best: it need not look at all others.

Each object that ranks at or before the bar is listed; one that is listed may have fallen behind it since. A front
without a bar lists all objects.
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator"

import numpy as np
from skyband.kernels.nested import nested_njit, shared_njit

from skyband_incomplete.instance_arrays import HIGHEST, OBJECT, SPARE, USED
from skyband_incomplete.kernels.heap import drain, offer


@nested_njit(nogil=True)
def _is_behind(slot, score, object_, slots, cells):
    """Whether an object ranks behind another's score and id."""
    own = cells.score[slot]
    return own < score or (own == score and slots.facts[slot, OBJECT] > object_)


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
    """List the best k and the spare ones only, with the bar at the last of them. O(listed), by quickselect."""
    listed, wanted = front.slot, k + front.spare[0]
    low, high = np.int64(0), front.size[0] - 1
    if wanted > high:
        return
    while low < high:
        middle = listed[(low + high) // 2]
        score, object_ = cells.score[middle], slots.facts[middle, OBJECT]
        left, right = low, high
        while left <= right:
            while _is_behind(middle, cells.score[listed[left]], slots.facts[listed[left], OBJECT], slots, cells):
                left += 1
            while _is_behind(listed[right], score, object_, slots, cells):
                right -= 1
            if left <= right:
                listed[left], listed[right] = listed[right], listed[left]
                left += 1
                right -= 1
        if wanted - 1 <= right:
            high = right
        elif wanted - 1 >= left:
            low = left
        else:
            break
    last = listed[wanted - 1]
    front.bar_score[0], front.bar_object[0] = cells.score[last], slots.facts[last, OBJECT]
    for place in range(wanted, front.size[0]):
        front.listed[listed[place]] = False
    front.size[0] = wanted


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

    O(listed + k log k). O(objects) where fewer than k are still listed: then there are fewer, or as many have gone or
    fallen behind the bar as were listed to spare. Twice as many are spared where that comes too soon again.
    """
    front.answers[0] += 1
    if front.size[0] > 2 * (k + front.spare[0]):
        _raise_bar(k, slots, cells, front)
    _offer_listed(k, slots, cells, heap, front)
    if heap.size[0] < k:
        _list_all(cursor, cells, front)
        _balance(k, front)
        _raise_bar(k, slots, cells, front)
        _offer_listed(k, slots, cells, heap, front)
    return drain(heap, slots, objects, scores)
