"""One side of a join of uncertain tuples: its window, its matcher, and the ids and columns of their tuples."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

import numpy as np
import pyarrow as pa
from skyband.arrays import Array, Float64, Int64
from skyband.groups import state_arrays
from skyband.queries.pair_columns import RowsOfPairs
from skyband.registry import Binding
from skyband.roles import Matcher
from skyband.state_validation import StateReader

from skyband_uncertain.joint_samples import JointSamples
from skyband_uncertain.tuple_windows import window_of
from skyband_uncertain.uncertain_tuples import Samples

if TYPE_CHECKING:
    from skyband_uncertain.uncertain_join.query import UncertainJoin


class JoinSide:
    """One side of a join: its window, its matcher, and the required columns of their tuples."""

    def __init__(self, query: "UncertainJoin", bindings: Mapping[str, Binding], answers: pa.Schema) -> None:
        parameters = query.backend_parameters("window")
        delta, distance = query.change
        self.window = window_of(
            query.size, query.window, delta, query.alpha, bindings, parameters, query.coordinates, distance
        )
        self.matcher = cast(Matcher, bindings["matcher"].create(**query.backend_parameters("matcher")))
        self.points = JointSamples(query.coordinates, *query.nearness) if query.coordinates > 1 else None
        """The samples with all coordinates, if there are several; the matcher has the first."""
        self.existence: Float64 = np.empty(0)
        self.ids = RowsOfPairs(query.id, query.carry, answers)

    def append(
        self, times: Int64, samples: Samples, columns: list[pa.Array], existence: Float64 | None = None
    ) -> tuple[Int64, Int64]:
        """Take in tuples; returns the window's start and end before each of them and after the last.

        existence: of the samples in their original order, if that has changed.

        Tuples that they push out are kept until `evict`, for earlier probes.
        """
        start, end = self.window.start, self.window.end
        existence = samples.existence() if existence is None else existence
        starts = self.window.append(times, samples, existence)
        self.matcher.append(samples.offsets, samples.values, samples.probabilities)
        if self.points is not None:
            self.points.append(samples)
        self.existence = np.concatenate([self.existence, existence])
        ends = np.arange(end, self.window.end + 1)
        self.ids.update(ends[:-1], columns)
        return np.concatenate([[start], starts]), ends

    def matches(self, samples: Samples, starts: Int64, ends: Int64, beta: float) -> tuple[Int64, Int64, Float64]:
        """The probe, the position and the probability of each match by eq. 26."""
        probes, positions, near = self.matcher.match_all(
            samples.offsets, samples.values, samples.probabilities, starts, ends
        )
        if self.points is not None:
            near = self.points.probabilities(samples, probes, positions)
        base = self.matcher.start
        present = self.window.presence_among(self.existence, positions - base, ends[probes] - base)
        both = present * near
        likely = (both >= beta) & (both > 0.0)
        return probes[likely], positions[likely], both[likely]

    def evict(self, now: int) -> None:
        """Drop the tuples that the window has dropped at `now`."""
        self.window.advance(now)
        gone = self.window.start - self.matcher.start
        self.matcher.evict(self.window.start)
        if self.points is not None:
            self.points.evict(self.window.start)
        self.existence = self.existence[gone:].copy()
        self.ids.forget(self.window.start)

    def dump_state(self) -> dict[str, Array]:
        backends = state_arrays.with_prefix("window", self.window.dump_state()) | state_arrays.with_prefix(
            "matcher", self.matcher.dump_state()
        )
        points = {} if self.points is None else state_arrays.with_prefix("points", self.points.dump_state())
        ids = state_arrays.frame_to_array("ids", self.ids.frame())
        return {"existence": self.existence, **backends, **points, **ids}

    def load_state(self, arrays: Mapping[str, Array]) -> None:
        self.window.load_state(state_arrays.without_prefix("window", arrays))
        self.matcher.load_state(state_arrays.without_prefix("matcher", arrays))
        state, ids = StateReader(arrays), state_arrays.frame_from_array("ids", arrays, self.ids.frame())
        self.existence = state.column("existence", np.float64, len(self.window), at_least=0, at_most=1).copy()
        bounds = (self.window.start, self.window.end)
        state.require((self.matcher.start, self.matcher.end) == bounds, "matcher.bounds", f"must be {bounds}")
        if self.points is not None:
            self.points.load_state(state_arrays.without_prefix("points", arrays), *bounds)
        state.require(len(ids) == len(self.window), "ids", f"must be of the {len(self.window)} tuples of the window")
        self.ids.load_state(ids, self.window.end)
