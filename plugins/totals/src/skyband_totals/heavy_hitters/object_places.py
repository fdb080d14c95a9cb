"""Finds the objects of some answers in other answers of the same windows. Loads no compiled code."""

import numpy as np
import pyarrow as pa
from skyband.arrays import Float64, Int64

from skyband_totals.top import Tops


def answer_of(answers: Tops) -> Int64:
    """int64[n]: the number of the answer of each object."""
    return np.repeat(np.arange(len(answers)), np.diff(answers.offsets))


def numbered(*answers: Tops) -> tuple[Int64, list[Int64]]:
    """All objects, ascending, and for each of `answers` int64[n]: (answer, object) as answer · objects + place.

    Equal numbers mean the same object in the same answer. O(n + objects log objects).
    """
    encoded = pa.array(np.concatenate([tops.objects for tops in answers])).dictionary_encode()
    objects = encoded.dictionary.to_numpy()
    order = np.argsort(objects)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    objects, codes = objects[order], rank[encoded.indices.to_numpy()]
    ends = np.cumsum([len(tops.objects) for tops in answers])[:-1]
    parts = zip(answers, np.split(codes, ends), strict=True)
    return objects, [answer_of(tops) * max(len(objects), 1) + part for tops, part in parts]


def places_of(numbers: Int64, others: Int64) -> Int64:
    """int64[n]: the place of each number among `others`, which are distinct; -1 if it is missing. O(n log n)."""
    order = np.argsort(others, kind="stable")  # fast if they are sorted, as they mostly are
    places = np.append(order, -1)[np.searchsorted(others, numbers, sorter=order)]
    return np.where(np.append(others, -1)[places] == numbers, places, -1)


def either(numbers: Int64, others: Int64) -> Int64:
    """The distinct numbers of both, ascending. O(n log n), O(n) if both are sorted."""
    both = np.sort(np.concatenate([numbers, others]), kind="stable")
    return both[np.append(True, both[1:] != both[:-1])[: len(both)]]


def picked(column: Float64, places: Int64) -> Float64:
    """float64[n]: the values at these places, 0 at place -1."""
    return np.where(places >= 0, np.append(column, 0.0)[places], 0.0)
