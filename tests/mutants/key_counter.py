"""Broken key-counters, one bug each, beside the correct one they are made from: the definition."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any, ClassVar, Self

import numpy as np
from attrs import define, field
from skyband import BackendInfo
from skyband.arrays import Array, Int64, UInt64
from skyband_detect.conformance.oracle import Fall, KeyCounterOracle, falls_by_definition
from skyband_detect.role import Below, Bounds, Crossings, Falls, KeyCounter
from skyband_specs.faults import Mutant, faulty

PAPER = "by definition"
Row = tuple[int, int, int]


@define(eq=False)
class Reference(KeyCounter):
    """The definition: every row of the longest window, counted anew for each answer."""

    name: ClassVar[str] = "reference"

    _rows: list[Row] = field(factory=list, init=False)

    def _update(self, times: Int64, keys: UInt64, values: UInt64 | None, bounds: Bounds, below: Below) -> Crossings:
        items = np.zeros(len(times), np.uint64) if values is None else values
        rows = list(zip(times.tolist(), keys.tolist(), items.tolist(), strict=True))
        oracle = self.oracle()
        oracle.rows = self._rows
        asks = list(zip(bounds.windows.tolist(), bounds.at_least.tolist(), bounds.each.tolist(), strict=True))
        found = self.among(oracle.update(rows, asks))
        self._rows = oracle.rows
        falls = self._falls(int(times[-1]), below)
        self._settle(int(times[-1]))
        return Crossings(*(np.array([row[place] for row in found], np.int64) for place in range(5)), falls)

    def _falls(self, until: int, below: Below) -> Falls:
        asks = list(zip(below.windows.tolist(), below.bounds.tolist(), strict=True))
        found = self.fallen(falls_by_definition(self._rows, asks, self._now, until))
        times, places, _, values = (np.array([fall[part] for fall in found], np.int64) for part in range(4))
        return Falls(np.array([fall[2] for fall in found], np.uint64), places, times, values)

    def _next_fall(self, below: Below) -> int | None:
        assert self._now is not None
        return next(iter(self._falls(self._now + 2 * self.longest, below).times.tolist()), None)

    def fallen(self, falls: list[Fall]) -> list[Fall]:
        return falls

    def oracle(self) -> KeyCounterOracle:
        return KeyCounterOracle(self.measure)

    def among(self, found: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
        return found

    def _settle(self, now: int) -> None:
        self._rows = [row for row in self._rows if row[0] >= now - self.longest + (self.measure != "unseen")]

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
        names = {"times": np.int64, "keys": np.uint64, "values": np.uint64}
        columns = {
            name: np.array([row[place] for row in rows], kind) for place, (name, kind) in enumerate(names.items())
        }
        return {**self._clock(), **columns}

    def _load(self, state: Mapping[str, Array]) -> None:
        self._set_clock(state["clock"])
        self._rows = list(zip(*(state[name].tolist() for name in ("times", "keys", "values")), strict=True))


class _Changed(KeyCounterOracle):
    """An oracle of windows that are longer by some time."""

    def __init__(self, measure: str, longer: int) -> None:
        super().__init__(measure)
        self.longer = longer

    def crossing(self, own: Any, new: Any, window: int, bound: int, each: bool) -> Any:
        return super().crossing(own, new, window + self.longer, bound, each)


class WindowClosed(Reference):
    """A row exactly one window old is inside."""

    def oracle(self) -> KeyCounterOracle:
        return _Changed(self.measure, 1)


class WindowShort(Reference):
    """A row that becomes too old with the next time is outside already."""

    def oracle(self) -> KeyCounterOracle:
        return _Changed(self.measure, -1)


class RowsOfATimeAreEarlier(Reference):
    """The rows of a time are answered one by one: those after the first find it above the bound."""

    def _update(self, times: Int64, keys: UInt64, values: UInt64 | None, bounds: Bounds, below: Below) -> Crossings:
        crossings = super()._update(times, keys, values, bounds, below)
        stays = np.append(True, times[1:] != times[:-1])[crossings.rows]
        return Crossings(*(column[stays] for column in crossings))


class ValueIsTheBound(Reference):
    """The value is that of the row that crosses, without the rows of its time after it."""

    def among(self, found: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
        return [(row, ask, min(low, 2), min(low, 2), high) for row, ask, _, low, high in found]


class LastRowOfATime(Reference):
    """The first row of the batch stands for the answer, whichever crossed."""

    def among(self, found: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
        return [(max(row - 1, 0), *others) for row, *others in found]


class StaysAbove(Reference):
    """Each time counts, whether it is asked for or not."""

    def _update(self, times: Int64, keys: UInt64, values: UInt64 | None, bounds: Bounds, below: Below) -> Crossings:
        return super()._update(times, keys, values, bounds._replace(each=np.ones_like(bounds.each)), below)


class FirstBoundOnly(Reference):
    """All bounds are answered by the first of them."""

    def _update(self, times: Int64, keys: UInt64, values: UInt64 | None, bounds: Bounds, below: Below) -> Crossings:
        if not len(bounds.windows):
            return super()._update(times, keys, values, bounds, below)
        alike = Bounds(*(np.full_like(column, column[0]) for column in bounds))
        return super()._update(times, keys, values, alike, below)


class LearnsWhatIsAsked(Reference):
    """Rows count only if something was asked when they came."""

    def _update(self, times: Int64, keys: UInt64, values: UInt64 | None, bounds: Bounds, below: Below) -> Crossings:
        before = list(self._rows)
        crossings = super()._update(times, keys, values, bounds, below)
        if not len(bounds.windows):
            self._rows = before
        return crossings


class ShortKeys(Reference):
    """Keys are held in 32 bits."""

    def _update(self, times: Int64, keys: UInt64, values: UInt64 | None, bounds: Bounds, below: Below) -> Crossings:
        short = None if values is None else values & np.uint64(1)
        return super()._update(times, keys & np.uint64(1), short, bounds, below)


class FallsALittleLate(Reference):
    """A row exactly one window old is still inside when a key falls."""

    def fallen(self, falls: list[Fall]) -> list[Fall]:
        return [(moment + 1, *others) for moment, *others in falls]


class FallsTwice(Reference):
    """Falls that were told are told again."""

    def _falls(self, until: int, below: Below) -> Falls:
        now, self._now = self._now, None
        falls = super()._falls(until, below)
        self._now = now
        return falls


class FallsInSpiteOfARow(Reference):
    """A row at the moment of a fall comes after it."""

    def _falls(self, until: int, below: Below) -> Falls:
        rows, now = self._rows, self._now
        self._rows, self._now = [(2 * time, *others) for time, *others in rows], None if now is None else 2 * now
        falls = super()._falls(2 * until, Below(2 * below.windows - 1, below.bounds))
        self._rows, self._now = rows, now
        return falls._replace(times=(falls.times + 1) // 2)


class FallsToNothing(Reference):
    """No rows remain of a key that falls."""

    def fallen(self, falls: list[Fall]) -> list[Fall]:
        return [(*fall[:3], 0) for fall in falls]


class FallsIfNoRowCame(Reference):
    """A key whose last row was before this call has fallen for good."""

    def _falls(self, until: int, below: Below) -> Falls:
        falls = super()._falls(until, below)
        last = {key: time for time, key, _ in self._rows}
        stays = np.array([last[key] >= (self._now or 0) for key in falls.keys.tolist()], bool)
        return Falls(*(column[stays] for column in falls))


class FallsOfTheFirst(Reference):
    """Merged, only the own keys fall."""

    def _merge(self, other: Self) -> None:
        self._own = {row[1] for row in self._rows}
        super()._merge(other)

    def fallen(self, falls: list[Fall]) -> list[Fall]:
        return [fall for fall in falls if not hasattr(self, "_own") or fall[2] in self._own]


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

    def _update(self, times: Int64, keys: UInt64, values: UInt64 | None, bounds: Bounds, below: Below) -> Crossings:
        crossings = super()._update(times, keys, values, bounds, below)
        if not hasattr(self, "_buffer"):
            self._buffer = np.zeros(20_000, np.int64)
        self._buffer[: len(crossings.value)] = crossings.value
        return crossings._replace(value=self._buffer[: len(crossings.value)])


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
class TakesAnyBound(Reference):
    """Does not look at the largest bound."""

    most: int = 1


def _info() -> BackendInfo:
    return BackendInfo(
        "key-counter", "reference", "mutants.key_counter:Reference", "for the tests", "exact", PAPER,
        {"out-of-order": "for the tests"},
    )  # fmt: skip


REFERENCES = [(_info(), Reference)]

_ORACLE = ("seeded_streams_equal_the_oracle", "every_moment_equals_the_oracle")
_FALLS = "falls_are_those_of_the_definition"
_CROSSINGS = "crossings_are_those_of_the_definition"

MUTANTS: list[Mutant] = [
    (_info(), WindowClosed, ("tiny_streams_equal_the_oracle", "the_window_is_open_at_its_old_end", *_ORACLE)),
    (_info(), WindowShort, ("tiny_streams_equal_the_oracle", "the_window_is_open_at_its_old_end", *_ORACLE)),
    (_info(), RowsOfATimeAreEarlier, (_CROSSINGS,)),
    (_info(), ValueIsTheBound, (_CROSSINGS, *_ORACLE)),
    (_info(), LastRowOfATime, (_CROSSINGS, *_ORACLE)),
    (_info(), StaysAbove, (_CROSSINGS, *_ORACLE)),
    (_info(), FirstBoundOnly, ("each_bound_is_answered_as_if_alone", *_ORACLE)),
    (_info(), LearnsWhatIsAsked, ("a_bound_that_joins_was_always_there", "bounds_leave_no_trace")),
    (_info(), ShortKeys, ("odd_streams_equal_the_oracle", _CROSSINGS)),
    (_info(), FallsALittleLate, (_FALLS, "a_row_at_the_moment_of_a_fall_counts")),
    (_info(), FallsTwice, (_FALLS, "falls_are_known_beforehand")),
    (_info(), FallsInSpiteOfARow, (_FALLS, "a_row_at_the_moment_of_a_fall_counts")),
    (_info(), FallsToNothing, (_FALLS,)),
    (_info(), FallsIfNoRowCame, (_FALLS, "falls_are_known_beforehand", "each_fall_is_told_as_if_alone")),
    (_info(), FallsOfTheFirst, ("falls_of_merged_counters",)),
    (_info(), NeverForgets, ("steady_stream_holds_steady_memory", "keys_are_forgotten")),
    (_info(), TakesAnyBound, ("wrong_parameters_are_named",)),
    (_info(), GoesBack, ("bad_input_leaves_no_trace",)),
    (_info(), WritesOverAnswers, ("answers_are_the_callers",)),
    (_info(), MergeReplaces, ("shards_by_key_merge", "rows_of_one_key_merge")),
    (_info(), MergeTakes, ("shards_by_key_merge",)),
    (_info(), MergeOfOneKey, ("rows_of_one_key_merge",)),
    (_info(), MergesAnything, ("only_equal_counters_merge",)),
    *faulty(_info(), Reference, globals()),
]
"""The checks see: every broken backend is caught by those it names, and every check catches at least one."""
