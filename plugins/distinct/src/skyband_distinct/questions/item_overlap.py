"""Compares the items of two states in any window; each number has a stated error."""

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pyarrow as pa
from attrs import define
from skyband.states.question import Question
from skyband.states.state import State

from skyband_distinct.questions.counting import ESTIMATE, Estimate
from skyband_distinct.sketch_reader import Sample


class Overlap(NamedTuple):
    """Compares the items of two windows: the union, the intersection, the differences and the Jaccard similarity.

    Each is an Estimate, whose interval contains the true number with probability at least 1 − 3 · delta, with the
    delta of the backend. method: "exact"; "sample", from the hashes that the states keep; or "inclusion and exclusion",
    |A| + |B| − |A ∪ B|, whose error is that of the union even if the intersection is small.
    """

    left: Estimate
    right: Estimate
    union: Estimate
    intersection: Estimate
    left_only: Estimate
    right_only: Estimate
    jaccard: Estimate
    method: str


@define
class CompareItems(Question):
    """Union, intersection, differences and Jaccard similarity of the items of two states in any window.

    They are computed from samples or from counts. If both are possible, the method with the narrower interval for the
    intersection is used.
    """

    name: ClassVar[str] = "overlap"
    result: ClassVar[pa.DataType] = pa.struct(
        [(name, pa.string() if name == "method" else ESTIMATE) for name in Overlap._fields]
    )
    of_pairs: ClassVar[bool] = True
    returns: ClassVar[str] = (
        "Overlap\n    left, right, union, intersection, left_only, right_only and jaccard, an Estimate each; and method"
    )
    exports: ClassVar[tuple[str, ...]] = ("Overlap",)

    def answer(self, states: Sequence[State], since: Sequence[int]) -> Overlap:
        return overlap_of(states, since)


def overlap_of(pair: Sequence[State], since: Sequence[int]) -> Overlap:
    """Compares the windows of two states, each since its own moment."""
    counts = [Estimate(*state.reader.estimate(moment)) for state, moment in zip(pair, since, strict=True)]
    union = Estimate(*type(pair[0].reader).union([state.reader for state in pair], since))
    left, right = counts
    ways = [_by_counts(left, right, union)]
    samples = [state.reader.samples(moment) for state, moment in zip(pair, since, strict=True)]
    if all(samples):
        delta = float(pair[0].parameters.get("delta", 0.05))
        ways.insert(0, _by_samples(left, right, union, list(zip(*samples, strict=True)), delta))
    return min(ways, key=lambda way: way.intersection.high - way.intersection.low)


def _by_counts(left: Estimate, right: Estimate, union: Estimate) -> Overlap:
    both = _between(
        left.count + right.count - union.count, left.low + right.low - union.high, left.high + right.high - union.low,
        min(left.count, right.count), min(left.high, right.high),
    )  # fmt: skip
    left_only, right_only = (
        _between(union.count - other.count, union.low - other.high, union.high - other.low, side.count, side.high)
        for side, other in ((left, right), (right, left))
    )
    return Overlap(left, right, union, both, left_only, right_only, _share(both, union), "inclusion and exclusion")


def _by_samples(
    left: Estimate, right: Estimate, union: Estimate, pairs: Sequence[tuple[Sample, Sample]], delta: float
) -> Overlap:
    """Compares pairs of samples with the same hash function, both cut to the smaller share."""
    exact = all(sample.share == 1.0 for pair in pairs for sample in pair)
    counts = np.zeros(4)
    for pair in pairs[:1] if exact else pairs:
        counts += _counted(*pair)
    total, both, *either = counts.tolist()
    if exact:
        parts = (Estimate(number, number, number) for number in (total, both, *either))
        whole, common, left_only, right_only = parts
        return Overlap(left, right, whole, common, left_only, right_only, _proportion(both, total, 0.0), "exact")
    deviations = -NormalDist().inv_cdf(delta / 2)
    shares = [_proportion(number, total, deviations) for number in (both, *either)]
    common, left_only, right_only = (_part(share, union) for share in shares)
    return Overlap(left, right, union, common, left_only, right_only, shares[0], "sample")


def _part(share: Estimate, whole: Estimate) -> Estimate:
    return Estimate(share.count * whole.count, share.low * whole.low, share.high * whole.high)


def _counted(left: Sample, right: Sample) -> tuple[int, int, int, int]:
    """The number of hashes below the smaller share in either, in both, only in the left, and only in the right."""
    share = min(left.share, right.share)
    first, second = (_below(sample, share) for sample in (left, right))
    both = len(np.intersect1d(first, second, assume_unique=True))
    return len(first) + len(second) - both, both, len(first) - both, len(second) - both


def _below(sample: Sample, share: float) -> Any:
    if sample.share <= share:
        return sample.hashes
    return sample.hashes[: np.searchsorted(sample.hashes, np.uint64(min(share * 2.0**64 - 1, 2.0**64 - 2048)))]


def _proportion(number: float, total: float, deviations: float) -> Estimate:
    """A proportion and Wilson's interval around it (Wilson 1927)."""
    if not total:
        return Estimate(0.0, 0.0, 0.0 if deviations == 0 else 1.0)
    share, square = number / total, deviations**2
    middle = (share + square / (2 * total)) / (1 + square / total)
    half = deviations * math.sqrt(share * (1 - share) / total + square / (4 * total**2)) / (1 + square / total)
    return Estimate(share, max(0.0, middle - half), min(1.0, middle + half))


def _between(count: float, low: float, high: float, most: float, highest: float) -> Estimate:
    low = max(low, 0.0)
    count = max(min(count, most), low)  # a window's count may be below the lower bound
    return Estimate(count, low, max(min(high, highest), count))


def _share(part: Estimate, whole: Estimate) -> Estimate:
    if not whole.count:
        return Estimate(0.0, 0.0, 0.0)
    count = part.count / whole.count
    return Estimate(count, min(part.low / whole.high, count), min(part.high / max(whole.low, 1.0), 1.0))
