"""Assembles the results of executors into answers: the result extractor of the thesis, chapter 7."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from skyband.arrays import Float64, Int64
from skyband.roles import Answers

from skyband_workload.scheduler import Moments


class Found(NamedTuple):
    """The answers to some moments: the size of each, and the objects and scores one after the other."""

    sizes: Int64
    objects: Int64
    scores: Float64


def joined(parts: Sequence[Found]) -> Found:
    """Several results one after the other."""
    return parts[0] if len(parts) == 1 else Found(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def interleaved(parts: Sequence[Found], place: Sequence[Int64]) -> Found:
    """The results of single queries in a common order: answer i of part p belongs at place[p][i]."""
    answers = joined(parts)
    order = np.argsort(np.concatenate(place))
    sizes = answers.sizes[order]
    begins = (np.cumsum(answers.sizes) - answers.sizes)[order]
    source = np.repeat(begins - (np.cumsum(sizes) - sizes), sizes) + np.arange(sizes.sum())
    return Found(sizes, answers.objects[source], answers.scores[source])


def answers(moments: Sequence[Moments], results: Sequence[Found]) -> Answers:
    """The answers of consecutive parts of the stream."""
    whole = joined(results)
    query = np.concatenate([stretch.query for stretch in moments])
    at = np.concatenate([stretch.at for stretch in moments])
    offsets = np.zeros(len(at) + 1, np.int64)
    np.cumsum(whole.sizes, out=offsets[1:])
    return Answers(query, at, offsets, whole.objects, whole.scores)
