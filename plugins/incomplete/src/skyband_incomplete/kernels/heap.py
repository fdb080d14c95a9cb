"""A heap of the best k objects of a sweep, with the place of each object."""

import numpy as np
from skyband.kernels.nested import nested_njit, shared_njit

from skyband_incomplete.eaa_arrays import OBJECT


@nested_njit(nogil=True)
def _worse(heap, slots, a, b):
    """Whether the heap's entry a ranks behind its entry b: score, then object."""
    if heap.score[a] != heap.score[b]:
        return heap.score[a] < heap.score[b]
    return slots.facts[heap.slot[a], OBJECT] > slots.facts[heap.slot[b], OBJECT]


@nested_njit(nogil=True)
def _swap(heap, slots, a, b):
    heap.score[a], heap.score[b] = heap.score[b], heap.score[a]
    heap.slot[a], heap.slot[b] = heap.slot[b], heap.slot[a]
    slots.place[heap.slot[a]] = a
    slots.place[heap.slot[b]] = b


@nested_njit(nogil=True)
def _sink(heap, slots, at, size):
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and _worse(heap, slots, child + 1, child):
            child += 1
        if not _worse(heap, slots, child, at):
            return
        _swap(heap, slots, child, at)
        at = child


@nested_njit(nogil=True)
def offer(slot, score, k, heap, slots):
    """Offer an object's score, which is not below an earlier one of this sweep."""
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


@shared_njit(nogil=True)
def drain(heap, slots, objects, scores):
    """Move the heap to objects and scores, best first; returns how many there are."""
    size = heap.size[0]
    root = np.int64(0)  # a literal would compile them twice
    for end in range(size - 1, -1, -1):
        objects[end], scores[end] = slots.facts[heap.slot[root], OBJECT], heap.score[root]
        _swap(heap, slots, root, end)
        _sink(heap, slots, root, end)
    heap.size[0] = 0
    return size
