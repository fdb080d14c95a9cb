"""Rules: what is asked of all groups comes, changes and goes while it runs, each with the moments that it holds for."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from attrs import evolve, frozen

from skyband.arrays import TIME_MAX, TIME_MIN, Array, Int64
from skyband.config.calendar_lengths import Length
from skyband.config.durations import Duration, length_text
from skyband.errors import SnapshotError
from skyband.groups import state_arrays
from skyband.groups.broadcast_state import BroadcastState, RefusedRows
from skyband.rules.rule_rows import Limits, Version, read_rules, row_schema
from skyband.state_validation import StateReader

_NUMBERS = ("window", "slide", "k", "phase", "after", "until")
_SCHEMA = pa.schema([pa.field("name", pa.string()), *(pa.field(name, pa.int64()) for name in _NUMBERS)])
_MOST = 2**62


class Moments(NamedTuple):
    """Answers due, in order of (at, rule): int64[m] each. `rule` is a place in `Rules.names`."""

    at: Int64
    rule: Int64
    since: Int64
    k: Int64

    def with_rows(self, times: Int64) -> Iterator[tuple[int, int, range]]:
        """(start, stop, places) of the rows at `times` before each moment since the last, and the answers due then.

        The last ones are the rows after all moments, with nothing due.
        """
        at, first = np.unique(self.at, return_index=True)
        begins, stops, start = [*first.tolist(), len(self.at)], np.searchsorted(times, at).tolist(), 0
        for begin, end, stop in zip(begins, begins[1:], stops, strict=False):
            yield start, stop, range(begin, end)
            start = stop
        yield start, len(times), range(0)

    def at_place(self, place: int) -> tuple[int, int, int, int]:
        """at, rule, since and k of one."""
        return tuple(int(column[place]) for column in self)  # type: ignore[return-value]


@frozen(eq=False)
class _InForce:
    """Versions that have moments to come, as arrays in order of rule: each answers later than `begin`, up to `end`."""

    names: pa.Array
    window_names: pa.Array
    window: Int64
    slide: Int64
    k: Int64
    phase: Int64
    begin: Int64
    end: Int64

    def first_after(self, time: int) -> Int64:
        """int64[v]: the first moment of each later than `time`; TIME_MAX where there is none."""
        least = np.maximum(time, self.begin)
        reachable = least < TIME_MAX - self.slide
        least = np.where(reachable, least, 0)
        first = least + 1 + (self.phase - least - 1) % self.slide
        return np.where(reachable & (first <= self.end), first, TIME_MAX)


class Rules(BroadcastState):
    """What a query asks for ever, and the rules that came, which hold for moments later than `after` up to `until`.

    Of several versions of a name each holds until the next begins. A version without a window is the end of a rule.
    Retained are those with moments to come. `take` costs O(r log r) for r rules, `moments` O(rules + m log m).
    """

    def __init__(self, fixed: Sequence[Version], limits: Limits) -> None:
        """fixed: those that hold for ever."""
        self._fixed = fixed
        self._limits = limits
        self._versions: dict[tuple[str, int], Version] = {}
        self._answered = TIME_MIN
        self._in_force: _InForce | None = None
        self._next: int | None = None
        self._span: tuple[int, int] | None = None
        self._due = _NOTHING

    @property
    def schema(self) -> pa.Schema:
        return row_schema(self._limits)

    @property
    def windows(self) -> pa.Array:
        """The window of each rule in force as text, in the order of `names`."""
        return self._active.window_names

    @property
    def names(self) -> pa.Array:
        """The name of each rule in force, one for each version."""
        return self._active.names

    @property
    def answered(self) -> int:
        """Every moment up to here is answered."""
        return self._answered

    @property
    def rate(self) -> float:
        """Moments in a unit of time, at most."""
        return float((1 / self._active.slide).sum())

    @property
    def next_at(self) -> int:
        if self._next is None:
            self._next = int(self._active.first_after(self._answered).min(initial=TIME_MAX))
        return self._next

    def pass_to(self, watermark: int) -> None:
        self._answered = max(self._answered, watermark)
        if self._next is not None and self._next <= self._answered:
            self._next = None

    def take(self, rows: pa.Table, watermark: int | None) -> RefusedRows:
        self.pass_to(TIME_MIN if watermark is None else watermark)
        before = {**self._versions}
        fixed = {version.name for version in self._fixed}
        versions, refused = read_rules(rows, self._limits, self._answered, fixed, before)
        self._versions = versions
        self._in_force = self._next = self._span = None
        return refused

    def moments(self, begin: int, end: int) -> Moments:
        """The answers due later than `begin`, up to `end`. Those of the last span asked stay at hand."""
        if self._span != (begin, end):
            self._due, self._span = self._moments(begin, end), (begin, end)
        return self._due

    def last_moment(self, latest: int) -> int:
        """The last moment that an input has whose last row is at `latest`: of each rule the first later one."""
        moments = self._active.first_after(latest)
        return int(moments[moments < TIME_MAX].max(initial=latest + 1))

    def at_the_end(self, moments: Moments, latest: int) -> Moments:
        """Of these moments those of an input whose last row is at `latest`."""
        due = moments.at - self._active.slide[moments.rule] <= latest
        return Moments(*(column[due] for column in moments))

    def dump_state(self) -> Mapping[str, Array]:
        remaining = [one for one, end in _with_ends(self._versions.values()) if end > self._answered]
        names = pa.array([one.name for one in remaining], pa.string())
        numbers = [pa.array([getattr(one, name) for one in remaining], pa.int64()) for name in _NUMBERS]
        return state_arrays.frame_to_array("rules", pa.RecordBatch.from_arrays([names, *numbers], schema=_SCHEMA))

    def load_state(self, arrays: Mapping[str, Array]) -> None:
        empty = pa.RecordBatch.from_arrays([pa.array([], kind) for kind in _SCHEMA.types], schema=_SCHEMA)
        frame = state_arrays.frame_from_array("rules", arrays, empty)
        columns = {name: frame.column(name).to_numpy() for name in _NUMBERS}
        state = StateReader(columns)
        k = self._limits.most or 0
        for name, least, most in (
            ("window", 0, self._limits.longest), ("slide", 1, _MOST), ("k", 0, k), ("phase", 0, _MOST),
        ):  # fmt: skip
            state.column(name, np.int64, len(frame), at_least=least, at_most=most)
        versions = [Version(**row) for row in frame.to_pylist()]
        self._versions = {(one.name, one.after): one for one in versions}
        if len(self._versions) != len(versions) or any(one.name is None for one in versions):
            raise SnapshotError("rules: must have one version of a name at a time")
        self._in_force = self._next = self._span = None

    @property
    def _active(self) -> _InForce:
        """As of now: a version whose moments have passed goes when rules come."""
        if self._in_force is None:
            remaining = {one.key: one for one, end in _with_ends(self._versions.values()) if end > self._answered}
            self._versions = remaining
            both = [*((one, TIME_MAX) for one in self._fixed), *_with_ends(remaining.values())]
            both = [(one, end) for one, end in both if one.window]
            window, slide, k, phase, begin = (
                np.array([getattr(one, name) for one, _ in both], np.int64)
                for name in ("window", "slide", "k", "phase", "after")
            )
            names, ends = (
                pa.array([one.name for one, _ in both], pa.string()),
                np.array([end for _, end in both], np.int64),
            )
            windows = pa.array([length_text(length, False) for length in window.tolist()], pa.string())
            self._in_force = _InForce(names, windows, window, slide, k, phase, begin, ends)
        return self._in_force

    def _moments(self, begin: int, end: int) -> Moments:
        rules = self._active
        first = rules.first_after(begin)
        last = np.minimum(rules.end, end)
        counts = np.where(first <= last, (last - np.where(first <= last, first, last)) // rules.slide + 1, 0)
        rule = np.repeat(np.arange(len(counts)), counts)
        place = np.arange(len(rule)) - np.repeat(np.cumsum(counts) - counts, counts)
        at = first[rule] + place * rules.slide[rule]
        order = np.lexsort((rule, at))
        at, rule = at[order], rule[order]
        return Moments(at, rule, at - rules.window[rule], rules.k[rule])


_NONE = np.empty(0, np.int64)
_NOTHING = Moments(_NONE, _NONE, _NONE, _NONE)


def rules_of(windows: Sequence[Length], every: Length, offset: Duration, limits: Limits) -> Rules:
    """The rules of a query with windows that are asked for ever at the moments of `every`, each named by its length."""
    slide, phase = every.length, offset.length % every.length
    k = limits.k or 0
    fixed = [Version(str(one), one.length, slide, k, phase, TIME_MIN, TIME_MAX) for one in dict.fromkeys(windows)]
    return Rules(fixed, evolve(limits, every=(slide, phase)))


def _with_ends(versions: Any) -> list[tuple[Version, int]]:
    """Versions by name and time, each with the moment up to which it holds."""
    ordered = sorted(versions, key=lambda one: one.key)
    ends = []
    for place, one in enumerate(ordered):
        following = ordered[place + 1] if place + 1 < len(ordered) else one
        replaced = following is not one and following.name == one.name
        ends.append((one, min(one.until, following.after) if replaced else one.until))
    return ends
