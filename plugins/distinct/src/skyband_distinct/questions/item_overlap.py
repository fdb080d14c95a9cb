"""What the windows of two states have in common, each number with a stated error."""

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
    """Of the items of two windows: how many are in either, in both, in one alone, and what share is in both.

    Each is an Estimate; each of its intervals holds the true number with probability 1 − 3 · delta at least, with the
    delta of the backend. method: "exact"; "sample", where the hashes that both states keep were laid beside each other;
    or "inclusion and exclusion", |A| + |B| − |A ∪ B|, whose error is that of the union even where little is in both.
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

    Of the two ways to compute it, by a sample of both and by their counts, the one with the narrower interval for the
    intersection is taken, where both are possible.
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
    """What the windows of two states have in common, each since its own moment."""
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
    mine, theirs = (
        _between(union.count - other.count, union.low - other.high, union.high - other.low, one.count, one.high)
        for one, other in ((left, right), (right, left))
    )
    return Overlap(left, right, union, both, mine, theirs, _share(both, union), "inclusion and exclusion")


def _by_samples(
    left: Estimate, right: Estimate, union: Estimate, pairs: Sequence[tuple[Sample, Sample]], delta: float
) -> Overlap:
    """From samples under one hash each, cut to what both hold: they are of the union then, and tell whose each is."""
    exact = all(sample.share == 1.0 for pair in pairs for sample in pair)
    counts = np.zeros(4)
    for pair in pairs[:1] if exact else pairs:
        counts += _counted(*pair)
    total, both, mine, theirs = counts.tolist()
    if exact:
        whole, common, one, other = (Estimate(number, number, number) for number in (total, both, mine, theirs))
        return Overlap(left, right, whole, common, one, other, _proportion(both, total, 0.0), "exact")
    deviations = -NormalDist().inv_cdf(delta / 2)
    shares = [_proportion(number, total, deviations) for number in (both, mine, theirs)]
    common, one, other = (_part(share, union) for share in shares)
    return Overlap(left, right, union, common, one, other, shares[0], "sample")


def _part(share: Estimate, whole: Estimate) -> Estimate:
    return Estimate(share.count * whole.count, share.low * whole.low, share.high * whole.high)


def _counted(left: Sample, right: Sample) -> tuple[int, int, int, int]:
    """Of the hashes below the smaller share: those in either, in both, in the left alone, in the right alone."""
    share = min(left.share, right.share)
    mine, theirs = (_below(sample, share) for sample in (left, right))
    both = len(np.intersect1d(mine, theirs, assume_unique=True))
    return len(mine) + len(theirs) - both, both, len(mine) - both, len(theirs) - both


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
    count = max(min(count, most), low)  # a window's count may be less than what is surely in it alone
    return Estimate(count, low, max(min(high, highest), count))


def _share(part: Estimate, whole: Estimate) -> Estimate:
    if not whole.count:
        return Estimate(0.0, 0.0, 0.0)
    count = part.count / whole.count
    return Estimate(count, min(part.low / whole.high, count), min(part.high / max(whole.low, 1.0), 1.0))
