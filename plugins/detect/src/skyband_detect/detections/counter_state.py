"""The state of a counter: its backend, and the last rows of keys that may fall below a bound."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import pyarrow as pa
from attrs import define, field
from skyband.arrays import Array
from skyband.errors import SnapshotError
from skyband.groups import state_arrays
from skyband.registry import Binding

from skyband_detect.detections.asks import Asks
from skyband_detect.detections.counters import Counter
from skyband_detect.detections.falling_keys import FallingKeys
from skyband_detect.detections.sequences.sequence import SequenceCounter
from skyband_detect.keyed_clock import FARTHEST
from skyband_detect.role import KeyCounter

_BACKEND, _FALLING = "backend", "falling"


@define(eq=False)
class CounterState:
    """The state of one counter. carry: the columns to carry, for keys that fall."""

    _counter: Counter
    _bindings: Mapping[str, Binding]
    _carry: Sequence[pa.Field]
    backend: Any = field(init=False)
    """A key-counter or a key-total, or what finds sequences."""
    falling: FallingKeys | None = field(init=False)

    def __attrs_post_init__(self) -> None:
        counter = self._counter
        self.falling = FallingKeys(counter.falls, self._carry) if counter.falls else None
        if counter.steps is not None:
            self.backend = SequenceCounter(counter.steps, counter.longest, self._key_counter)
        else:
            assert counter.role is not None
            self.backend = self._bindings[counter.role].create(**counter.parameters)

    def _key_counter(self, **parameters: Any) -> KeyCounter:
        return cast("KeyCounter", self._bindings["key-counter"].create(**parameters))

    def __len__(self) -> int:
        return len(self.backend)

    @property
    def nbytes(self) -> int:
        """Bytes of the backend."""
        return int(self.backend.nbytes)

    def advance(self, last: int) -> None:
        """Move to the last row, or beyond it to the last fall, which is then left behind."""
        if self.falling is None:
            self.backend.advance(last)
        else:
            self.falling.leave_behind(self.backend, last)

    def next_fall(self, asks: Asks) -> int | None:
        """The next moment at which a key falls if no row comes."""
        next_fall: int | None = None if self.falling is None else self.backend.next_fall(*asks.below)
        return next_fall

    def merge(self, other: "CounterState") -> None:
        """Add the keys of another shard, which has others."""
        self.backend.merge(other.backend)
        if self.falling is not None and other.falling is not None:
            self.falling.merge(other.falling)

    def dump_state(self) -> dict[str, Array]:
        """The state as flat arrays."""
        own = state_arrays.with_prefix(_BACKEND, self.backend.dump_state())
        rows = {} if self.falling is None else self.falling.dump_state()
        return own | state_arrays.with_prefix(_FALLING, rows)

    def load_state(self, arrays: Mapping[str, Array], last: int | None) -> None:
        """Load the result of `dump_state`; last: the time of the last row of all. Raises SnapshotError."""
        self.backend.load_state(state_arrays.without_prefix(_BACKEND, arrays))
        latest = -FARTHEST if last is None else last + self._counter.falls
        if self.backend.now is not None and self.backend.now > latest:
            raise SnapshotError(f"contradicts itself: a counter has reached {self.backend.now}, after the last row")
        if self.falling is not None:
            self.falling.load_state(state_arrays.without_prefix(_FALLING, arrays))
