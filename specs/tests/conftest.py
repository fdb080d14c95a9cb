"""A correct sketch that is not installed, for the framework's own tests to try things on."""

import ctypes
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
import pytest
from attrs import define, field
from skyband import BackendInfo
from skyband.arrays import Array, Int64, UInt64
from skyband.roles import Sketch
from skyband_specs.runner import subject


@define(eq=False)
class Toy(Sketch):
    """The latest time of each key.

    Parameters
    ----------
    None.

    Complexity
    ----------
    Update O(1) a row; estimate O(keys).

    References
    ----------
    The definition.

    Examples
    --------
    >>> len(Toy())
    0
    """

    name: ClassVar[str] = "toy"

    _last: dict[int, int] = field(factory=dict, init=False)

    def _update(self, times: Int64, keys: UInt64) -> None:
        for time, key in zip(times.tolist(), keys.tolist(), strict=True):
            self._last[key] = max(time, self._last.get(key, time))

    def estimate(self, since: int) -> float:
        return float(sum(time >= since for time in self._last.values()))

    def forget(self, before: int) -> None:
        self._last = {key: time for key, time in self._last.items() if time >= before}

    def _merge(self, other: Self) -> None:
        self._update(np.array([*other._last.values()], np.int64), np.array([*other._last], np.uint64))

    def __len__(self) -> int:
        return len(self._last)

    @property
    def nbytes(self) -> int:
        return 16 * len(self._last)

    def _state(self) -> dict[str, Array]:
        now = [] if self._now is None else [self._now]
        pairs = sorted(self._last.items())
        keys, last = (np.array([pair[side] for pair in pairs], kind) for side, kind in enumerate((np.uint64, np.int64)))
        return {"keys": keys, "last": last, "now": np.array(now, np.int64)}

    def _load(self, state: Mapping[str, Array]) -> None:
        self._last = dict(zip(state["keys"].tolist(), state["last"].tolist(), strict=True))
        self._now = int(state["now"][0]) if len(state["now"]) else None


class Trusting(Toy):
    """Its state has a number that must be 7; a child that is given another has `harm` done to it when asked."""

    number = 7

    def _state(self) -> dict[str, Array]:
        return {**super()._state(), "number": np.array([self.number])}

    def _load(self, state: Any) -> None:
        self.number = int(state["number"][0])
        super()._load(state)

    def __len__(self) -> int:
        if self.number != 7:
            self.harm()
        return len(self._last)

    def harm(self) -> None:
        """The outcome."""


class Crashing(Trusting):
    """Reads where nothing is."""

    def harm(self) -> None:
        ctypes.string_at(1)


class Hanging(Trusting):
    """Waits for a number that does not come."""

    def harm(self) -> None:
        while self.number != 7:
            pass


class Failing(Trusting):
    """Raises what no caller can expect."""

    def harm(self) -> None:
        raise IndexError("no such place")


class Unwritable(Trusting):
    """Answers and continues, but cannot be saved again."""

    def _state(self) -> dict[str, Array]:
        if self.number != 7:
            raise IndexError("no such place")
        return super()._state()


@pytest.fixture
def toy():
    return Toy


@pytest.fixture
def toy_info():
    return BackendInfo("sketch", "toy", "toy:Toy", "the definition", "exact", "DESIGN, section 4")


@pytest.fixture
def toy_case(toy_info):
    return subject(toy_info, Toy).cases[0]


@pytest.fixture
def harmful():
    return {cls.__name__: cls for cls in (Crashing, Hanging, Failing, Unwritable)}
