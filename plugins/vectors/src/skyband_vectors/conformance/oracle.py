"""Finds the matches of each arriving vector by comparing it with all before it, in plain Python, lane by lane."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from skyband.arrays import Float64
from skyband.roles.sharding import BOTH, BUILD, PROBE

Match = tuple[int, float]
"""The number of the earlier vector, and the similarity."""

Vector = Sequence[float]


def inner(x: Vector, y: Vector) -> float:
    """x · y in eight lanes."""
    whole = len(x) - len(x) % 8
    lanes = [0.0] * 8
    for i in range(whole):
        lanes[i % 8] += x[i] * y[i]
    total = ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]))
    for i in range(whole, len(x)):
        total += x[i] * y[i]
    return total


def similarity(kind: str, x: Vector, y: Vector) -> float:
    """The similarity of two vectors."""
    product = inner(x, y)
    if kind == "dot":
        return product
    if kind == "cosine":
        return min(1.0, product / math.sqrt(inner(x, x) * inner(y, y)))
    return 0.0 - math.sqrt(max(0.0, (inner(x, x) + inner(y, y)) - 2.0 * product))


def matches(
    parameters: Mapping[str, Any],
    times: Sequence[int],
    vectors: Sequence[Vector],
    sides: Sequence[int] | None = None,
    parts: Sequence[int] | None = None,
) -> list[list[Match]]:
    """The matches of each vector: by number, or the k most similar, the earlier first on a tie.

    times: the vectors' own, or the row numbers 0, 1, 2, … for windows in rows.
    """
    kind, window, limit = parameters.get("similarity", "cosine"), parameters["window"], parameters.get("threshold")
    most, first = parameters.get("matches", "all"), parameters.get("keep", "all") == "first"
    two, by_rows = parameters.get("sides", 1) == 2, parameters.get("by", "time") == "rows"
    answers: list[list[Match]] = []
    earlier: list[int] = []
    for new, vector in enumerate(vectors):
        earlier = [old for old in earlier if times[old] >= times[new] + by_rows - window]
        own = []
        for old in earlier if _does(parts, new, PROBE) else []:
            if not (two and sides is not None and sides[old] == sides[new]):
                value = similarity(kind, vector, vectors[old])
                if limit is None or value >= limit:
                    own.append((old, value))
        if _does(parts, new, BUILD) and not (first and own):
            earlier.append(new)
        if most != "all":
            own = sorted(own, key=lambda match: (-match[1], match[0]))[:most]
        answers.append(own)
    return answers


def _does(parts: Sequence[int] | None, row: int, what: int) -> bool:
    return bool((BOTH if parts is None else parts[row]) & what)


def similarities(kind: str, x: Float64, others: Float64) -> Float64:
    """The similarities of a vector and each of others, float64[n, d]: the same sums, many at once."""
    product = _inner(x, others)
    if kind == "dot":
        return product
    square, squares = _inner(x, x[np.newaxis])[0], _inner_of_each(others)
    if kind == "cosine":
        return np.minimum(1.0, product / np.sqrt(square * squares))
    return 0.0 - np.sqrt(np.maximum(0.0, (square + squares) - 2.0 * product))


def _inner_of_each(vectors: Float64) -> Float64:
    return _sums(vectors * vectors)


def _inner(x: Float64, others: Float64) -> Float64:
    return _sums(x * others)


def _sums(products: Float64) -> Float64:
    whole = products.shape[1] - products.shape[1] % 8
    lanes = np.zeros((8, len(products)))
    for i in range(whole):
        lanes[i % 8] += products[:, i]
    total: Float64 = ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]))
    for i in range(whole, products.shape[1]):
        total = total + products[:, i]
    return total
