"""A sequence by key: the rows of its steps, the counters of steps that count, and the times of steps."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from skyband.arrays import TIME_MIN, Array, Int64, UInt64
from skyband.errors import SnapshotError
from skyband.groups import state_arrays
from skyband.state_validation import StateReader

from skyband_detect.detections.rule_checks import EACH
from skyband_detect.detections.sequences.step_times import Completed, StepTimes
from skyband_detect.detections.sequences.steps import Step, Steps
from skyband_detect.keyed_clock import FARTHEST
from skyband_detect.newest.rings import row_order
from skyband_detect.role import Bounds, KeyCounter

_NONE = np.empty(0, np.int64)


class SequenceCounter:
    """Finds the rows that complete a sequence, for several windows. It has the methods of a key-counter that it needs.

    longest: the longest window, in microseconds. counter_of: makes a key-counter of these parameters.
    """

    def __init__(self, steps: Steps, longest: int, counter_of: Callable[..., KeyCounter]) -> None:
        self._steps, self._longest = steps, longest
        self._times = StepTimes(len(steps.steps), steps.any_order)
        self._counters = {
            place: counter_of(**counter_parameters(step))
            for place, step in enumerate(steps.steps)
            if step.window is not None
        }
        self.now: int | None = None

    def update(
        self, times: Int64, keys: UInt64, inside: Sequence[Int64], values: Sequence[UInt64 | None], bounds: Bounds
    ) -> Completed:
        """Add rows, by time, and return those that complete the sequence.

        times, keys: int64[n], uint64[n] of all rows. inside: of each step, the rows in it; values: the hashes of its
        values, if it counts these.
        """
        rows, steps = [], []
        for place, (own, items) in enumerate(zip(inside, values, strict=True)):
            reached = own
            if place in self._counters and len(own):
                step = self._steps.steps[place]
                reached = own[self._counters[place].update(times[own], keys[own], items, **_limits(step)).rows]
            rows.append(reached)
            steps.append(np.full(len(reached), place))
        all_rows, all_steps = np.concatenate(rows), np.concatenate(steps)
        order = np.argsort(all_rows, kind="stable")
        order = order[row_order(times[all_rows[order]], keys[all_rows[order]], None)]
        all_rows = all_rows[order]
        entries = times[all_rows], keys[all_rows], all_steps[order]
        complete = self._times.update(*entries, bounds.windows, bounds.each, self._longest)
        return complete._replace(rows=all_rows[complete.rows])

    def advance(self, now: int) -> None:
        """Move `now` forward, to the last row."""
        self.now = now
        for counter in self._counters.values():
            counter.advance(now)

    def merge(self, other: "SequenceCounter") -> None:
        """Add the keys of another shard, which has others."""
        for place, counter in self._counters.items():
            counter.merge(other._counters[place])
        self.now = max((now for now in (self.now, other.now) if now is not None), default=None)
        (keys, times), (others, their_times) = (one._times.entries(self._since) for one in (self, other))
        self._times.load(np.concatenate([keys, others]), np.concatenate([times, their_times]))

    @property
    def _since(self) -> int:
        """The first time that a later window may reach."""
        return TIME_MIN + 1 if self.now is None else self.now - self._longest + 1

    def __len__(self) -> int:
        return int((self._times.entries(self._since)[1] > TIME_MIN).sum()) + sum(map(len, self._counters.values()))

    @property
    def nbytes(self) -> int:
        """Bytes of the tables."""
        return self._times.nbytes + sum(counter.nbytes for counter in self._counters.values())

    def dump_state(self) -> dict[str, Array]:
        """The state as flat arrays."""
        keys, times = self._times.entries(self._since)
        arrays = {"now": np.array([] if self.now is None else [self.now], np.int64), "keys": keys}
        arrays["times"] = times.reshape(-1)
        for place, counter in self._counters.items():
            arrays |= state_arrays.with_prefix(f"step.{place}", counter.dump_state())
        return arrays

    def load_state(self, arrays: Mapping[str, Array]) -> None:
        """Load the result of `dump_state`. Raises SnapshotError if it is impossible."""
        state, count = StateReader(arrays), len(self._steps.steps)
        self.now = state.optional("now")
        state.require(self.now is None or abs(self.now) <= FARTHEST, "now", "must be from -2**62 to 2**62")
        keys = state.ascending("keys", dtype=np.uint64, strictly=True)
        flat = state.column("times", np.int64, len(keys) * count)
        times = flat.reshape(-1, count)
        latest = -FARTHEST if self.now is None else self.now
        fine = (times == TIME_MIN) | ((times >= self._since) & (times <= latest))
        state.require(bool(fine.all()), "times", f"must be from {self._since} to {latest}, or of no step")
        state.require(bool((times.max(axis=1, initial=TIME_MIN) > TIME_MIN).all()), "times", "must be of some step")
        if not self._steps.any_order:
            state.require(bool((times[:, 1:] <= times[:, :-1]).all()), "times", "must be descending for each key")
        self._times.load(keys, times)
        for place, counter in self._counters.items():
            counter.load_state(state_arrays.without_prefix(f"step.{place}", arrays))
            if counter.now is not None and (self.now is None or counter.now > self.now):
                raise SnapshotError(f"contradicts itself: a step has reached {counter.now}, after the last row")


def counter_parameters(step: Step) -> dict[str, Any]:
    """The parameters of a step's key-counter."""
    assert step.window is not None
    measure = step.measure.partition(" ")[0]
    return {"measure": measure, "longest": step.window.length, "most": step.at_least}


def _limits(step: Step) -> dict[str, Any]:
    assert step.window is not None
    limits = {"windows": [step.window.length], "at_least": [step.at_least], "each": [step.tell == EACH]}
    return {name: np.array(values) for name, values in limits.items()}
