"""Correct sketches of few lines, from which the broken ones are made."""

import math
from collections.abc import Mapping
from typing import ClassVar, Self

import numpy as np
from attrs import define, field
from skyband import BackendInfo, InputError, SnapshotError
from skyband.arrays import TIME_MIN, Array, Float64, Int64, UInt64
from skyband.config.parameters import choice, integer, number
from skyband.roles import Sketch
from skyband.state_validation import StateReader
from skyband_specs.sketch.streams import spread

PAPER = "Zhang et al., Counting distinct objects over sliding windows"


@define(eq=False)
class Reference(Sketch):
    """The definition in a dictionary: the latest time of each key."""

    name: ClassVar[str] = "reference"

    _last: dict[int, int] = field(factory=dict, init=False)

    def _update(self, times: Int64, keys: UInt64) -> None:
        for time, key in zip(times.tolist(), keys.tolist(), strict=True):
            self._see(key, time)

    def _see(self, key: int, time: int) -> None:
        self._last[key] = max(time, self._last.get(key, time))

    def estimate(self, since: int) -> float:
        return float(sum(time >= since for time in self._last.values()))

    def forget(self, before: int) -> None:
        self._last = {key: time for key, time in self._last.items() if time >= before}

    def _merge(self, other: Self) -> None:
        for key, time in other._last.items():
            self._see(key, time)

    def __len__(self) -> int:
        return len(self._last)

    @property
    def nbytes(self) -> int:
        return 16 * len(self._last)

    def _state(self) -> dict[str, Array]:
        keys = sorted(self._last)
        return {
            "keys": np.array(keys, np.uint64),
            "last": np.array([self._last[key] for key in keys], np.int64),
            "now": np.array([] if self._now is None else [self._now], np.int64),
        }

    def _load(self, state: Mapping[str, Array]) -> None:
        self._last = dict(zip(state["keys"].tolist(), state["last"].tolist(), strict=True))
        self._now = int(state["now"][0]) if len(state["now"]) else None


@define(eq=False)
class Bounded(Sketch):
    """Linear counting over time stamps: keys fall into cells, and n is read off the share of cells that are filled."""

    name: ClassVar[str] = "bounded"

    epsilon: float = number(0.1, above=0, below=1, help="relative error")
    delta: float = number(0.05, above=0, below=1, help="share of answers that may exceed it")
    seed: int = integer(0, at_least=0, help="sketches merge only where it agrees")

    cells: ClassVar[int] = 1 << 14
    _stamps: Int64 = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._stamps = np.full(self.cells, TIME_MIN)

    def _update(self, times: Int64, keys: UInt64) -> None:
        mixed = spread((keys ^ np.uint64(self.seed)).view(np.int64))
        np.maximum.at(self._stamps, mixed % np.uint64(self.cells), times)

    def estimate(self, since: int) -> float:
        empty = np.count_nonzero(self._stamps < max(since, TIME_MIN + 1))
        return -self.cells * math.log(max(empty, 0.5) / self.cells) if empty < self.cells else 0.0

    def _merge(self, other: Self) -> None:
        np.maximum(self._stamps, other._stamps, out=self._stamps)

    def __len__(self) -> int:
        return int(np.count_nonzero(self._stamps != TIME_MIN))

    @property
    def nbytes(self) -> int:
        return self._stamps.nbytes

    def _state(self) -> dict[str, Array]:
        return {"stamps": self._stamps, "now": np.array([] if self._now is None else [self._now], np.int64)}

    def _load(self, state: Mapping[str, Array]) -> None:
        self._stamps = StateReader(state).column("stamps", np.int64, self.cells).copy()
        self._now = int(state["now"][0]) if len(state["now"]) else None


@define(eq=False)
class Plain(Reference):
    """A sketch that can do nothing beyond counting, and says so."""

    name: ClassVar[str] = "plain"
    ordered: ClassVar[bool] = True

    def snapshot(self) -> bytes:
        raise SnapshotError("a plain sketch cannot be written")

    def _merge(self, other: Self) -> None:
        raise InputError("other", "a plain sketch cannot be merged")


@define(eq=False)
class Panes(Reference):
    """A sketch that answers since the start of a pane only, and says so."""

    name: ClassVar[str] = "panes"

    grain: ClassVar[int] = 5

    def estimate(self, since: int) -> float:
        if since % self.grain:
            raise InputError("since", f"must be a multiple of {self.grain} (got {since})")
        return super().estimate(since)


@define(eq=False)
class Adding(Reference):
    """The definition of a sum: the latest value of each key beside its time."""

    name: ClassVar[str] = "adding"

    values: str | None = choice("latest", default=None, help="whether keys have values")
    _of: dict[int, float] = field(factory=dict, init=False)

    @property
    def keeps_values(self) -> bool:
        return self.values is not None

    @property
    def adds_values(self) -> bool:
        return True

    def _update_with_values(self, times: Int64, keys: UInt64, values: Float64) -> None:
        for time, key, value in zip(times.tolist(), keys.tolist(), values.tolist(), strict=True):
            latest = (self._last[key], self._of[key]) if key in self._last else (time, value)
            self._last[key], self._of[key] = max(latest, (time, value))

    def _sum_terms(self, since: int, least: float, most: float) -> tuple[Float64, float, float]:
        terms = np.array([self._of[key] for key, time in self._last.items() if time >= since])
        total = math.fsum(terms.tolist())
        return terms, total, total


def _info(name: str, guarantee: str, lacks: Mapping[str, str] | None = None) -> BackendInfo:
    return BackendInfo("sketch", name, "mutants.sketch:Reference", "for the tests", guarantee, PAPER, lacks or {})


EXACT = _info("reference", "exact")
ADDING = _info("adding", "exact")
BOUNDED = _info("bounded", "bounded")
PANES = _info("panes", "exact", {"any-since": "it has panes"})
PLAIN = _info("plain", "exact", {"merge": "plain", "snapshot": "plain", "out-of-order": "plain"})
