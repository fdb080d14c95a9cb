"""Uncertain tuples of several coordinates: the samples of a window, and the probability that two tuples are near."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from skyband.arrays import Array, Float64, Int64
from skyband.config.literals import literal
from skyband.config.parameters import checked, choice
from skyband.queries.composite_ids import COLUMNS, one_or_more
from skyband.state_validation import StateReader

from skyband_uncertain.joint_samples_kernels import joint_probabilities, scale_for
from skyband_uncertain.uncertain_tuples import Samples

EUCLIDEAN, MAXIMUM, GREAT_CIRCLE = "euclidean", "maximum", "great-circle"
MOST_COORDINATES = 3


def coordinates_parameter(*, help: str) -> Any:
    """A field of a query for a column of values, or one column for each of two or three coordinates."""
    return checked(type=COLUMNS, check=_check, converter=one_or_more, help=help)


def _check(value: Any) -> str | None:
    names = value if isinstance(value, tuple) else (value,)
    if not names or not all(isinstance(name, str) and name for name in names):
        return f"must be a column name or a list of them, one for each coordinate (got {literal(value)})"
    if len(set(names)) < len(names):
        return "names a column twice"
    if len(names) <= MOST_COORDINATES:
        return None
    message = f"must be at most {MOST_COORDINATES} columns, one for each coordinate (got {len(names)})"
    return f"{message}: join by the {MOST_COORDINATES} most selective, and carry the others to filter the answers"


def distance_parameter(*further: str, help: str = "") -> Any:
    """The key `distance` for tuples of several coordinates; further: more choices, and their help."""
    return choice(
        EUCLIDEAN, MAXIMUM, *further, default=EUCLIDEAN, kw_only=True,
        help='for several columns of values, "euclidean": the square root of the sum of the squared differences; '
        f'"maximum": the largest difference{help}',
    )  # fmt: skip


class JointSamples:
    """The samples of a window's tuples, with all their coordinates, by position in the stream.

    Matchers compare the first coordinate, and the tuples that they find are compared by all coordinates here. The
    probability in one coordinate is never below that in all, even rounded, so no match is missed. O(s²) per pair.
    """

    def __init__(self, coordinates: int, epsilon: float, distance: str) -> None:
        self._limits = (epsilon, scale_for(epsilon), distance == EUCLIDEAN)
        self._start = 0
        self._cuts: Int64 = np.zeros(1, np.int64)
        self._points: Float64 = np.empty((coordinates, 0))
        self._weights: Float64 = np.empty(0)

    def append(self, samples: Samples) -> None:
        """Append the next tuples."""
        points, weights = in_order(samples)
        self._cuts = np.concatenate([self._cuts, samples.offsets[1:] + self._cuts[-1]])
        self._points = np.concatenate([self._points, points], axis=1)
        self._weights = np.concatenate([self._weights, weights])

    def probabilities(self, samples: Samples, probes: Int64, positions: Int64) -> Float64:
        """float64[r]: the probability that each numbered tuple of `samples` is near the one held at each position."""
        points, weights = in_order(samples)
        window = (positions - self._start, self._cuts, self._points, self._weights)
        joint: Float64 = joint_probabilities(probes, samples.offsets, points, weights, *window, *self._limits)
        return joint

    def evict(self, start: int) -> None:
        """Drop the tuples before position `start`."""
        gone = start - self._start
        begin = self._cuts[gone]
        self._cuts = self._cuts[gone:] - begin
        self._points, self._weights = self._points[:, begin:].copy(), self._weights[begin:].copy()
        self._start = start

    def dump_state(self) -> dict[str, Array]:
        """The samples of the tuples held."""
        points = {f"values.{number}": points.copy() for number, points in enumerate(self._points)}
        return {"offsets": self._cuts.copy(), "probabilities": self._weights.copy(), **points}

    def load_state(self, arrays: Mapping[str, Array], start: int, end: int) -> None:
        """Restore the output of `dump_state` for these positions. Raises SnapshotError on anything else."""
        state = StateReader(arrays)
        weights = state.column("probabilities", np.float64, at_least=0, at_most=1)
        cuts = state.offsets("offsets", None, len(weights))
        state.require(len(cuts) == end - start + 1, "offsets", f"must belong to the {end - start} tuples of the window")
        most = np.finfo(np.float64).max
        names = [f"values.{number}" for number in range(len(self._points))]
        points = [state.column(name, np.float64, len(weights), at_least=-most, at_most=most) for name in names]
        self._points, self._weights = in_order(Samples(cuts, points[0], weights, tuple(points[1:])))
        self._start, self._cuts = start, cuts.copy()


def in_order(samples: Samples) -> tuple[Float64, Float64]:
    """float64[d, m] and float64[m]: coordinates and probabilities, in the matchers' order for each tuple.

    They are ordered by the first coordinate, then by probability, then by the other coordinates.
    """
    owners = np.repeat(np.arange(len(samples.offsets) - 1), np.diff(samples.offsets))
    order = np.lexsort((*samples.further[::-1], samples.probabilities, samples.values, owners))
    return samples.points().take(order, axis=1), samples.probabilities[order]
