"""Collects the matches of one set in any order, and those of a batch one after the other, in compiled code."""

import numpy as np
from skyband.kernels.nested import nested_njit

MATCH = np.dtype([("earlier", np.int64), ("similarity", np.float64)])
"""The number of an earlier set, and how similar it is."""

_FEW = 48


@nested_njit
def with_room(matches, count):
    """The array, doubled if it has no room for one more match than `count`."""
    if count < len(matches):
        return matches
    larger = np.empty(2 * len(matches), matches.dtype)
    for i in range(count):
        larger[i] = matches[i]
    return larger


@nested_njit
def arrange(matches, count, most):
    """Sort the first `count` matches in the contract's order; returns how many to report.

    most: 0 for all, by number; else how many, the most similar first, on a tie the earlier.
    """
    if count > _FEW:
        for start in range(count // 2 - 1, -1, -1):
            _sink(matches, start, count, most)
        for stop in range(count - 1, 0, -1):
            _swap(matches, 0, stop)
            _sink(matches, 0, stop, most)
    else:
        for i in range(1, count):
            j = i
            while j > 0 and _precedes(matches[j], matches[j - 1], most):
                _swap(matches, j, j - 1)
                j -= 1
    return min(count, most) if most else count


@nested_njit
def append_matches(answers, used, matches, count):
    """Append one set's matches to a batch's answers, `used` of them filled."""
    while used + count > len(answers):
        answers = with_room(answers, len(answers))
    for i in range(count):
        answers[used + i] = matches[i]
    return answers


@nested_njit
def _precedes(left, right, most):
    if most and left.similarity != right.similarity:
        return left.similarity > right.similarity
    return left.earlier < right.earlier


@nested_njit
def _sink(matches, place, stop, most):
    """Move a match down the heap of `matches[:stop]`, whose top is the last in order, to its place."""
    while 2 * place + 1 < stop:
        child = 2 * place + 1
        if child + 1 < stop and _precedes(matches[child], matches[child + 1], most):
            child += 1
        if not _precedes(matches[place], matches[child], most):
            return
        _swap(matches, place, child)
        place = child


@nested_njit
def _swap(matches, i, j):
    earlier, score = matches[i].earlier, matches[i].similarity
    matches[i].earlier, matches[i].similarity = matches[j].earlier, matches[j].similarity
    matches[j].earlier, matches[j].similarity = earlier, score
