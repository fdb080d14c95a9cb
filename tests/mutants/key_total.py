"""Broken key-totals, one bug each, beside the correct one they are made from: the definition."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any, ClassVar, Self

import numpy as np
from attrs import define, field
from skyband import BackendInfo
from skyband.arrays import Array, Int64, UInt64
from skyband_detect.total_role import QUANTILE, KeyTotal, Reached, TotalBounds
from skyband_detect.totals.conformance.oracle import KeyTotalOracle
from skyband_specs.faults import Mutant, faulty

PAPER = "by definition"


@define(eq=False)
class Reference(KeyTotal):
    """The definition: every row of the longest window, added up anew for each answer."""

    name: ClassVar[str] = "reference"
    oracle: ClassVar[type[KeyTotalOracle]] = KeyTotalOracle

    _rows: list[tuple[int, int, Any]] = field(factory=list, init=False)

    def _update(self, times: Int64, keys: UInt64, values: Array, bounds: TotalBounds) -> Reached:
        oracle = self.oracle(self.measure, self.limit)
        oracle.rows = self._rows
        asks = list(zip(*(column.tolist() for column in bounds), strict=True))
        rows = list(zip(times.tolist(), keys.tolist(), (values + 0).tolist(), strict=True))
        found = self.among(oracle.update(rows, asks))
        self._rows = oracle.rows
        self._settle(int(times[-1]))
        kinds = (np.int64, np.int64, np.int64, np.float64 if self.measure == QUANTILE else np.int64)
        return Reached(*(np.array([row[part] for row in found], kind) for part, kind in enumerate(kinds)))

    def among(self, found: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        return found

    def _settle(self, now: int) -> None:
        self._rows = [row for row in self._rows if row[0] > now - self.longest]

    def _magnitude(self) -> int:
        len(self)
        return sum(abs(int(row[2])) for row in self._rows)

    def _merge(self, other: Self) -> None:
        self._rows = sorted([*self._rows, *other._rows])

    def __len__(self) -> int:
        if self._now is not None:
            self._settle(self._now)
        return len(self._rows)

    @property
    def nbytes(self) -> int:
        return 24 * len(self)

    def _state(self) -> dict[str, Array]:
        len(self)
        rows = sorted(self._rows)
        kinds = {"times": np.int64, "keys": np.uint64, "values": np.float64 if self.measure == QUANTILE else np.int64}
        columns = {name: np.array([row[part] for row in rows], kind) for part, (name, kind) in enumerate(kinds.items())}
        return {**self._clock(), **columns}

    def _load(self, state: Mapping[str, Array]) -> None:
        self._set_clock(state["clock"])
        self._rows = list(zip(*(state[name].tolist() for name in ("times", "keys", "values")), strict=True))


class _WindowClosed(KeyTotalOracle):
    def inside(self, at: int, time: int, window: int) -> bool:
        return time - window <= at <= time


class WindowClosed(Reference):
    """A row exactly one window old is inside."""

    oracle = _WindowClosed

    def _settle(self, now: int) -> None:
        self._rows = [row for row in self._rows if row[0] >= now - self.longest]


class _AboveTheBound(KeyTotalOracle):
    def reaches(self, values: list[Any], ask: Any) -> bool:
        return super().reaches(values, (ask[0], ask[1] + 1, *ask[2:]))


class AboveTheBound(Reference):
    """A bound is reached one unit late."""

    oracle = _AboveTheBound


class _AnyNumber(KeyTotalOracle):
    def reaches(self, values: list[Any], ask: Any) -> bool:
        return super().reaches(values, (*ask[:3], 1, ask[4]))


class AnyNumber(Reference):
    """A mean or quantile counts, however few its values are."""

    oracle = _AnyNumber


class _FirstOfATime(KeyTotalOracle):
    def stands(self, new: Any) -> int:
        return new[0][0]


class FirstOfATime(Reference):
    """The first row of a time stands for it."""

    oracle = _FirstOfATime


class _RankBelow(KeyTotalOracle):
    def value(self, values: list[Any], ask: Any) -> Any:
        if self.measure != QUANTILE:
            return super().value(values, ask)
        return sorted(values)[ask[2] * len(values) // 1_000_000_000 - 1 if len(values) > 2 else 0]


class RankBelow(Reference):
    """A quantile is of a rank that is cut off, not rounded up."""

    oracle = _RankBelow


class StaysAbove(Reference):
    """Each time at the bound counts, whether it is asked for or not."""

    def _update(self, times: Int64, keys: UInt64, values: Array, bounds: TotalBounds) -> Reached:
        return super()._update(times, keys, values, bounds._replace(each=np.ones_like(bounds.each)))


class RowByRow(Reference):
    """Each row of a time is judged, not all of them together."""

    def _update(self, times: Int64, keys: UInt64, values: Array, bounds: TotalBounds) -> Reached:
        pieces = []
        for row in range(len(times)):
            part = slice(row, row + 1)
            one = super()._update(times[part], keys[part], values[part], bounds)
            pieces.append(one._replace(rows=one.rows + row))
        return Reached(*(np.concatenate(parts) for parts in zip(*pieces, strict=True)))


class FirstBoundOnly(Reference):
    """All bounds are answered by the first of them."""

    def _update(self, times: Int64, keys: UInt64, values: Array, bounds: TotalBounds) -> Reached:
        if not len(bounds.windows):
            return super()._update(times, keys, values, bounds)
        alike = TotalBounds(*(np.full_like(column, column[0]) for column in bounds))
        return super()._update(times, keys, values, alike)


class LearnsWhatIsAsked(Reference):
    """Rows count only if something was asked when they came."""

    def _update(self, times: Int64, keys: UInt64, values: Array, bounds: TotalBounds) -> Reached:
        before = list(self._rows)
        reached = super()._update(times, keys, values, bounds)
        if not len(bounds.windows):
            self._rows = before
        return reached


class ShortKeys(Reference):
    """Keys are held in one bit."""

    def _update(self, times: Int64, keys: UInt64, values: Array, bounds: TotalBounds) -> Reached:
        return super()._update(times, keys & np.uint64(1), values, bounds)


class SingleFloats(Reference):
    """Sums are added up as floats, which large ones do not fit."""

    def among(self, found: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        return [(*row[:3], type(row[3])(float(row[3]))) for row in found]


class NeverForgets(Reference):
    """Rows that no window can reach stay."""

    def _settle(self, now: int) -> None:
        """Keep them."""


class GoesBack(Reference):
    """Time may go back."""

    def _check_times(self, times: Int64) -> None:
        """Take them."""

    def advance(self, now: int) -> None:
        self._now = now


class WritesOverAnswers(Reference):
    """The next answer is written over the last."""

    def _update(self, times: Int64, keys: UInt64, values: Array, bounds: TotalBounds) -> Reached:
        reached = super()._update(times, keys, values, bounds)
        if not hasattr(self, "_buffer"):
            self._buffer = np.zeros(20_000, np.int64)
        self._buffer[: len(reached.sizes)] = reached.sizes
        return reached._replace(sizes=self._buffer[: len(reached.sizes)])


class MergeReplaces(Reference):
    """The other's rows take the place of the own ones."""

    def _merge(self, other: Self) -> None:
        self._rows = list(other._rows)


class MergeTakes(Reference):
    """What is merged is taken away from the other."""

    def _merge(self, other: Self) -> None:
        super()._merge(other)
        other._rows.clear()


class MergeOfOneKey(Reference):
    """Of a key that both have, only the own rows stay."""

    def _merge(self, other: Self) -> None:
        own = {row[1] for row in self._rows}
        self._rows = sorted([*self._rows, *(row for row in other._rows if row[1] not in own)])


class MergesAnything(Reference):
    """What has other parameters is merged."""

    def merge(self, other: Any) -> None:
        if other._now is not None:
            other = deepcopy(other)
            self._now = max(self._now or 0, other._now)
            self._merge(other)


@define(eq=False)
class TakesAnyLimit(Reference):
    """Does not look at the limit."""

    limit: float = 0.0


def _info() -> BackendInfo:
    return BackendInfo(
        "key-total", "reference", "mutants.key_total:Reference", "for the tests", "exact", PAPER,
        {"out-of-order": "for the tests"},
    )  # fmt: skip


REFERENCES = [(_info(), Reference)]

_ORACLE = ("seeded_streams_equal_the_oracle", "every_moment_equals_the_oracle")
_REACHED = "reached_bounds_are_those_of_the_definition"

MUTANTS: list[Mutant] = [
    (_info(), WindowClosed, ("tiny_streams_equal_the_oracle", "totals_leave_out_what_is_one_window_old", *_ORACLE)),
    (_info(), AboveTheBound, (_REACHED, "sums_are_exact_up_to_their_limit", *_ORACLE)),
    (_info(), AnyNumber, (_REACHED,)),
    (_info(), FirstOfATime, (_REACHED,)),
    (_info(), RankBelow, (_REACHED,)),
    (_info(), StaysAbove, (_REACHED, *_ORACLE)),
    (_info(), RowByRow, (_REACHED, *_ORACLE)),
    (_info(), FirstBoundOnly, ("each_total_is_answered_as_if_alone", *_ORACLE)),
    (_info(), LearnsWhatIsAsked, ("a_total_that_joins_was_always_there", "asking_totals_leaves_no_trace")),
    (_info(), ShortKeys, ("odd_streams_equal_the_oracle", _REACHED)),
    (_info(), SingleFloats, ("sums_are_exact_up_to_their_limit",)),
    (_info(), NeverForgets, ("steady_stream_holds_steady_memory", "values_are_forgotten")),
    (_info(), TakesAnyLimit, ("wrong_limits_are_named",)),
    (_info(), GoesBack, ("bad_input_leaves_no_trace",)),
    (_info(), WritesOverAnswers, ("answers_are_the_callers",)),
    (_info(), MergeReplaces, ("totals_of_shards_merge", "values_of_one_key_merge")),
    (_info(), MergeTakes, ("totals_of_shards_merge",)),
    (_info(), MergeOfOneKey, ("values_of_one_key_merge",)),
    (_info(), MergesAnything, ("only_equal_totals_merge",)),
    *faulty(_info(), Reference, globals()),
]
"""The checks see: every broken backend is caught by those it names, and every check catches at least one."""
