"""Rules in force: windows that are added, changed and removed while a query runs, each with its period."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve, field, frozen

from skyband.arrays import TIME_MAX, TIME_MIN, Array, Int64, UInt64
from skyband.columns.arrow_normalization import no_rows
from skyband.config.calendar_lengths import Length
from skyband.config.durations import Duration, length_text
from skyband.errors import SnapshotError
from skyband.groups import state_arrays
from skyband.groups.broadcast_state import BroadcastState, RefusedRows
from skyband.kernels.sorted_arrays import among, distinct
from skyband.rules.rule_groups import GROUP_TYPE, group_keys, group_problem
from skyband.rules.rule_moments import NO_MOMENTS, InForce, Moments
from skyband.rules.rule_rows import Limits, Version, read_rules, row_schema
from skyband.state_validation import StateReader
from skyband.windows.schedule import check_count

_NUMBERS = ("window", "slide", "k", "phase", "after", "until")
_SCHEMA = pa.schema([pa.field("name", pa.string()), *(pa.field(name, pa.int64()) for name in _NUMBERS)])
_GROUPS = pa.schema([pa.field("group", GROUP_TYPE)])
_MOST = 2**62


@frozen(eq=False)
class _Table:
    """The versions in force; those for all groups are separate from those for one."""

    names: pa.Array
    windows: pa.Array
    every: InForce
    """All versions."""
    common: InForce
    group: UInt64
    """uint64[v]: the group of each version that is for one group."""
    own: Array
    """bool[v]: whether a version is for one group."""
    places: dict[int, Int64]
    """The places of versions for each group that has its own rules."""
    since: int
    """All versions with moments later than this are included."""
    _of_groups: dict[int, InForce] = field(factory=dict, init=False)

    @classmethod
    def of(cls, versions: Sequence[tuple[Version, int]], by: pa.Schema, since: int) -> "_Table":
        """Versions by name and time, each with the moment up to which it holds. O(v log v)."""
        numbers = {
            name: np.array([getattr(version, name) for version, _ in versions], np.int64)
            for name in ("window", "slide", "k", "phase", "after")
        }
        begins, ends = numbers.pop("after"), np.array([end for _, end in versions], np.int64)
        every = InForce(np.arange(len(versions)), **numbers, begin=begins, end=ends)
        windows = pa.array([length_text(length, False) for length in numbers["window"].tolist()], pa.string())
        own = np.array([version.group is not None for version, _ in versions], bool)
        group = np.zeros(len(versions), np.uint64)
        group[own] = group_keys(by, [version.group for version, _ in versions if version.group is not None])
        places = np.flatnonzero(own)
        places = places[np.argsort(group[places], kind="stable")]
        keys, starts = np.unique(group[places], return_index=True)
        by_group = dict(zip(keys.tolist(), np.split(places, starts[1:]), strict=False))
        names = pa.array([version.name for version, _ in versions], pa.string())
        return cls(names, windows, every, every.pick(np.flatnonzero(~own)), group, own, by_group, since)

    def of_group(self, group: int | None) -> InForce:
        """The versions in force in a group; None: in a group that no rule names."""
        if group is None or group not in self.places:
            return self.common
        if group not in self._of_groups:
            both = np.concatenate([np.flatnonzero(~self.own), self.places[group]])
            self._of_groups[group] = self.every.pick(np.sort(both))
        return self._of_groups[group]

    @cached_property
    def _versions(self) -> tuple[pa.Array, Int64, Int64]:
        """The names, the starts of versions, and each version's name and start as one number, ascending."""
        coded, begins = self.names.dictionary_encode(), np.unique(self.every.begin)
        code = coded.indices.to_numpy().astype(np.int64)
        return coded.dictionary, begins, code * len(begins) + np.searchsorted(begins, self.every.begin)

    def _codes(self, names: pa.Array) -> Int64:
        """int64[n]: a number for each name, -1 for a name without versions."""
        return pc.index_in(names, value_set=self._versions[0]).fill_null(-1).to_numpy().astype(np.int64)

    def _version(self, code: Int64, times: Int64, side: Literal["left", "right"]) -> tuple[Int64, Array]:
        """int64[n], the last version of each name that begins before a time, or with "right" also at it; and bool[n],
        whether there is one. O(n log v).
        """
        _, begins, versions = self._versions
        last = code * len(begins) + np.searchsorted(begins, times, side) - 1
        place = np.searchsorted(versions, last, "right") - 1
        return place, (place >= 0) & (versions[place] >= code * len(begins))

    def next_due(self, names: pa.Array, groups: UInt64, times: Int64) -> Int64:
        """As `BroadcastState.next_due`, for names as strings. O(n log v) for each version that follows another."""
        times, every, asked = np.maximum(times, self.since), self.every, self._codes(names)
        due, walking = times + 1, np.arange(len(times) if len(self.names) else 0)
        while len(walking):
            time = times[walking]
            place, holds = self._version(asked[walking], time, "right")
            holds &= every.end[place] > time
            holds &= ~self.own[place] | (self.group[place] == groups[walking])
            walking, place, time = walking[holds], place[holds], time[holds]
            first = time + 1 + (every.phase[place] - time - 1) % every.slide[place]
            answers = first <= every.end[place]
            due[walking] = np.where(answers, first, every.end[place] + 1)
            times[walking] = every.end[place]
            walking = walking[~answers]  # another version may follow where this one ends
        return due

    def slides_of(self, names: pa.Array, at: Int64) -> Int64:
        """int64[n]: the slide of each name's version that answers at a moment; 0 if none does. O(n log v)."""
        if not len(self.names):
            return np.zeros(len(at), np.int64)
        place, holds = self._version(self._codes(names), at, "left")
        return np.where(holds & (self.every.end[place] >= at), self.every.slide[place], 0)


class Rules(BroadcastState):
    """The fixed windows of a query, and the rules added to it, which hold for moments later than `after` up to `until`.

    Each version of a name holds until the next begins. A version without a window ends a rule. Versions with future
    moments are retained. `take` costs O(r log r) for r rules, `moments` O(rules + m log m).
    """

    reads_json: ClassVar[bool] = True

    def __init__(self, fixed: Sequence[Version], limits: Limits) -> None:
        """fixed: the versions that never end."""
        self._fixed = fixed
        self._limits = limits
        self._versions: dict[tuple[str, int], Version] = {}
        self._answered, self._reported = TIME_MIN, TIME_MAX
        self._by = pa.schema([])
        self._in_force: _Table | None = None
        self._next: int | None = None
        self._span: tuple[int, int] | None = None
        self._due = NO_MOMENTS

    @property
    def schema(self) -> pa.Schema:
        return row_schema(self._limits)

    def group_by(self, by: pa.Schema) -> None:
        self._by = by

    @property
    def windows(self) -> pa.Array:
        """The window of each rule in force as text, in the order of `names`."""
        return self._active.windows

    @property
    def names(self) -> pa.Array:
        """The name of each rule in force, once per version."""
        return self._active.names

    @property
    def answered(self) -> int:
        """Every moment up to here is answered."""
        return self._answered

    def rate(self, group: int | None = None) -> float:
        """The most moments of a group in a unit of time."""
        return self._active.of_group(group).rate

    def check_answers(self, times: Int64, until: int, group: int | None = None) -> None:
        """Raise TooManyMomentsError where one rule has too many answers, up to `until`, to the first of these rows."""
        if len(times):
            rules, first = self._active.of_group(group), int(times.min())
            last = np.minimum(np.minimum(rules.end, until), first + rules.window)
            check_count(int(((last - np.maximum(rules.begin, first)) // rules.slide).max(initial=0)), first, until)

    @property
    def next_at(self) -> int:
        if self._next is None:
            self._next = int(self._active.every.first_after(self._answered).min(initial=TIME_MAX))
        return self._next

    def due(self, groups: UInt64, until: int) -> UInt64:
        if self.next_at > until:
            return groups[:0]
        table = self._active
        due = table.every.first_after(self._answered) <= until
        if (due & ~table.own).any():
            return groups
        return groups[among(groups, distinct(table.group[due]))]

    def pass_to(self, watermark: int) -> None:
        self._answered = max(self._answered, watermark)
        if self._next is not None and self._next <= self._answered:
            self._next = None

    def report_from(self, moment: int) -> None:
        self._reported = moment

    @property
    def _needed(self) -> int:
        """Versions that hold for moments later than this are needed."""
        return min(self._answered, self._reported)

    def take(self, rows: pa.Table, watermark: int | None) -> RefusedRows:
        self.pass_to(TIME_MIN if watermark is None else watermark)
        before = {**self._versions}
        fixed = {version.name for version in self._fixed}
        versions, refused = read_rules(rows, self._limits, self._by, self._answered, fixed, before)
        self._versions = versions
        self._in_force = self._next = self._span = None
        return refused

    def moments(self, begin: int, end: int, group: int | None = None) -> Moments:
        """The answers of a group due after `begin`, up to `end`; the last result for all groups is cached."""
        rules = self._active.of_group(group)
        if rules is not self._active.common:
            return rules.moments(begin, end)
        if self._span != (begin, end):
            self._due, self._span = rules.moments(begin, end), (begin, end)
        return self._due

    def next_due(self, names: pa.Array, groups: UInt64, times: Int64) -> Int64:
        return self._active.next_due(names, groups, times)

    def at_the_end_of(self, names: pa.Array, at: Int64, latest: int) -> Array:
        due: Array = at - self._active.slides_of(names, at) <= latest
        return due

    @property
    def slides(self) -> Int64:
        """int64[v]: the slide of each rule in force, in the order of `names`."""
        return self._active.every.slide

    @property
    def for_all(self) -> Int64:
        """The places in `names` of the rules for all groups."""
        return self._active.common.rule

    def own_of(self, groups: UInt64) -> tuple[Int64, Int64]:
        """int64[n] each: places of groups with their own rules, and of these rules in `names`. O((r + g) log r)."""
        table = self._active
        own = np.flatnonzero(table.own)
        own = own[np.argsort(table.group[own], kind="stable")]
        start, stop = (np.searchsorted(table.group[own], groups, side) for side in ("left", "right"))
        counts = stop - start
        group = np.repeat(np.arange(len(groups)), counts)
        return group, own[np.arange(len(group)) + np.repeat(start - np.cumsum(counts) + counts, counts)]

    def each(self, rules: Int64, begins: Int64, ends: Int64) -> tuple[Moments, Int64]:
        """The answers of rules (places in `names`) due in (begin, end], by rule and time, and each one's rule."""
        picked = self._active.every.pick(rules)
        at, number = picked.due(begins, ends)
        return Moments(at, rules[number], at - picked.window[number], picked.k[number]), number

    def last_moment(self, latest: int) -> int:
        """The last moment of an input whose last row is at `latest`: the latest of each rule's next moments."""
        moments = self._active.every.first_after(latest)
        return int(moments[moments < TIME_MAX].max(initial=latest + 1))

    def at_the_end(self, moments: Moments, latest: int) -> Moments:
        """The moments that belong to an input whose last row is at `latest`."""
        due = moments.at - self._active.every.slide[moments.rule] <= latest
        return Moments(*(column[due] for column in moments))

    def dump_state(self) -> Mapping[str, Array]:
        remaining = [version for version, end in _with_ends(self._versions.values()) if end > self._needed]
        names = pa.array([version.name for version in remaining], pa.string())
        numbers = [pa.array([getattr(version, name) for version in remaining], pa.int64()) for name in _NUMBERS]
        groups = pa.array([version.group for version in remaining], GROUP_TYPE)
        if groups.null_count == len(groups):
            groups = groups[:0]
        return {
            **state_arrays.frame_to_array("rules", pa.RecordBatch.from_arrays([names, *numbers], schema=_SCHEMA)),
            **state_arrays.frame_to_array("groups", pa.RecordBatch.from_arrays([groups], schema=_GROUPS)),
        }

    def load_state(self, arrays: Mapping[str, Array]) -> None:
        parts = {
            name: {key: values for key, values in arrays.items() if key.split(" ")[0] == name}
            for name in ("rules", "groups")
        }
        frame, named = (
            state_arrays.frame_from_array(name, part, no_rows(schema))
            for (name, part), schema in zip(parts.items(), (_SCHEMA, _GROUPS), strict=True)
        )
        columns = {name: frame.column(name).to_numpy() for name in _NUMBERS}
        state = StateReader(columns)
        k = self._limits.most or 0
        for name, least, most in (
            ("window", 0, self._limits.longest), ("slide", 1, _MOST), ("k", 0, k), ("phase", 0, _MOST),
        ):  # fmt: skip
            state.column(name, np.int64, len(frame), at_least=least, at_most=most)
        groups = [None if names is None else tuple(names) for names in named.column("group").to_pylist()]
        if groups and len(groups) != len(frame):
            raise SnapshotError(f"groups: must have one entry for each of {len(frame)} rules, or none")
        if any(names is not None and group_problem(self._by, names) for names in groups):
            raise SnapshotError("groups: must be named by the values of `by`")
        versions = [
            Version(**row, group=group)
            for row, group in zip(frame.to_pylist(), groups or [None] * len(frame), strict=True)
        ]
        self._versions = {version.key: version for version in versions}
        if len(self._versions) != len(versions) or any(version.name is None for version in versions):
            raise SnapshotError("rules: must have one version of a name at a time")
        self._in_force = self._next = self._span = None

    @property
    def _active(self) -> _Table:
        """The current table; versions whose moments have passed are dropped when rules arrive."""
        if self._in_force is None:
            ends = _with_ends(self._versions.values())
            remaining = {version.key: version for version, end in ends if end > self._needed}
            self._versions = remaining
            both = [*((version, TIME_MAX) for version in self._fixed), *_with_ends(remaining.values())]
            windows = [(version, end) for version, end in both if version.window]
            self._in_force = _Table.of(windows, self._by, self._needed)
        return self._in_force


def rules_of(windows: Sequence[Length], every: Length, offset: Duration, longest: Duration, **further: Any) -> Rules:
    """The rules of a query with fixed windows at the moments of `every`, each named by its length.

    further: fields of the limits besides the longest window.
    """
    limits = Limits(longest.length, **further)
    slide, phase = every.length, offset.length % every.length
    k = limits.k or 0
    fixed = [Version(str(one), one.length, slide, k, phase, TIME_MIN, TIME_MAX) for one in dict.fromkeys(windows)]
    return Rules(fixed, evolve(limits, every=(slide, phase)))


def _with_ends(versions: Any) -> list[tuple[Version, int]]:
    """Versions by name and time, each with the moment up to which it holds."""
    ordered = sorted(versions, key=lambda version: version.key)
    ends = []
    for place, version in enumerate(ordered):
        following = ordered[place + 1] if place + 1 < len(ordered) else version
        replaced = following is not version and following.name == version.name
        ends.append((version, min(version.until, following.after) if replaced else version.until))
    return ends
