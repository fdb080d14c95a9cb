"""Compiled code that answers windows by places: each holds the values from `first` up to, not including, `stop`.

In all of it first is int64[w, q], ascending for each window, and stop int64[q], ascending: the windows of q questions.
Answers are [w, q]; a place of -1 means that the window is empty. So an answer depends on the values inside alone.
"""

from typing import Any

import numpy as np
import skyband.kernels.numba_compiler_patches  # noqa: F401 - lets numba compile without a writable cache
from numba import njit


@njit(cache=True)
def places_of(owners: Any, times: Any, of: Any, at: Any, windows: Any, before: bool) -> Any:
    """The windows of questions: int64[w, q] and int64[q].

    owners, times: int64[n], rows in order of these two; of, at: int64[q], the owner and the time of each question, in
    the same order; windows: int64[w]. A window is (at - window, at], or with `before` [at - window, at).

    O(w · (n + q)).
    """
    questions = len(of)
    first, stop = np.empty((len(windows), questions), np.int64), np.empty(questions, np.int64)
    place = 0
    for question in range(questions):
        end = at[question] + (0 if before else 1)
        while place < len(owners) and (
            owners[place] < of[question] or (owners[place] == of[question] and times[place] < end)
        ):
            place += 1
        stop[question] = place
    for window in range(len(windows)):
        place = 0
        for question in range(questions):
            oldest = at[question] - windows[window] + (0 if before else 1)
            while place < stop[question] and (owners[place] != of[question] or times[place] < oldest):
                place += 1
            first[window, question] = place
    return first, stop


@njit(cache=True)
def places_of_largest(keys: Any, first: Any, stop: Any) -> Any:
    """int64[w, q]: the place of the largest key, of several the last.

    keys: int64[n] or float64[n]. A place is kept until a later key is at least as large, so kept keys descend, and the
    largest of any window is the first one kept inside. O(n + w · q · log n).
    """
    answers = np.empty(first.shape, np.int64)
    stack = np.empty(len(keys), np.int64)
    size, place = 0, 0
    for question in range(len(stop)):
        while place < stop[question]:
            while size and keys[stack[size - 1]] <= keys[place]:
                size -= 1
            stack[size] = place
            size += 1
            place += 1
        for window in range(len(first)):
            low, high = 0, size
            while low < high:
                middle = (low + high) >> 1
                if stack[middle] < first[window, question]:
                    low = middle + 1
                else:
                    high = middle
            answers[window, question] = stack[low] if low < size else -1
    return answers


@njit(cache=True)
def numbers_of_distinct(codes: Any, different: int, first: Any, stop: Any) -> Any:
    """int64[w, q]: how many different codes there are. codes: int64[n], below `different`. O(w · (n + q))."""
    answers = np.empty(first.shape, np.int64)
    inside = np.zeros(different, np.int64)
    for window in range(len(first)):
        inside[:] = 0
        begin, end, distinct = 0, 0, 0
        for question in range(len(stop)):
            while end < stop[question]:
                distinct += inside[codes[end]] == 0
                inside[codes[end]] += 1
                end += 1
            while begin < first[window, question]:
                inside[codes[begin]] -= 1
                distinct -= inside[codes[begin]] == 0
                begin += 1
            answers[window, question] = distinct
    return answers


@njit(cache=True)
def places_of_ranks(ascending: Any, top: int, bottom: int, first: Any, stop: Any) -> Any:
    """int64[w, q]: the place of the value of rank max(1, ceil(n · top / bottom)) of the n in a window.

    ascending: int64[n], the places of all values in their order. A tree over ranks counts those inside (Fenwick 1994).
    O(w · (n + q) · log n).
    """
    size = len(ascending)
    answers = np.empty(first.shape, np.int64)
    ranks = np.empty(size, np.int64)
    for number in range(size):
        ranks[ascending[number]] = number + 1
    highest = 1
    while highest * 2 <= size:
        highest *= 2
    tree = np.zeros(size + 1, np.int64)
    for window in range(len(first)):
        tree[:] = 0
        begin, end = 0, 0
        for question in range(len(stop)):
            while end < stop[question]:
                _count(tree, ranks[end], 1)
                end += 1
            while begin < first[window, question]:
                _count(tree, ranks[begin], -1)
                begin += 1
            inside = end - begin
            if inside == 0:
                answers[window, question] = -1
                continue
            # n · top may exceed 64 bits, so whole multiples of `bottom` are taken out of n first.
            rank = inside // bottom * top - (-(inside % bottom * top) // bottom) if top else 1
            rank = max(1, rank)
            place, step = 0, highest
            while step:
                if place + step <= size and tree[place + step] < rank:
                    place += step
                    rank -= tree[place]
                step >>= 1
            answers[window, question] = ascending[place]
    return answers


@njit(cache=True)
def _count(tree: Any, place: int, by: int) -> None:
    while place < len(tree):
        tree[place] += by
        place += place & -place


@njit(cache=True)
def places_before(times: Any, first: Any, stop: Any, at: Any) -> Any:
    """int64[w, q]: the last place with a time before that of the question. O(w · q · log n)."""
    answers = np.empty(first.shape, np.int64)
    for question in range(len(stop)):
        for window in range(len(first)):
            low, high = first[window, question], stop[question]
            while low < high:
                middle = (low + high) >> 1
                if times[middle] < at[question]:
                    low = middle + 1
                else:
                    high = middle
            answers[window, question] = low - 1 if low > first[window, question] else -1
    return answers


@njit(cache=True)
def moments_of(times: Any, first: Any, stop: Any) -> Any:
    """int64[n]: a number for each run of values of one time, ascending; windows never part a run. O(n + w · q).

    A run ends where the time changes, and where a window begins or ends, as the next group's values do.
    """
    begins = np.zeros(len(times) + 1, np.bool_)
    for question in range(len(stop)):
        begins[stop[question]] = True
        for window in range(len(first)):
            begins[first[window, question]] = True
    runs = np.empty(len(times), np.int64)
    run = 0
    for place in range(len(times)):
        run += place > 0 and (begins[place] or times[place] != times[place - 1])
        runs[place] = run
    return runs
