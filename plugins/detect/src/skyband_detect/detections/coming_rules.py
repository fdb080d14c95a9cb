"""The rules that come, change and leave while a query runs, and the counters opened for them."""

import json
import logging
from bisect import bisect_right
from collections.abc import Mapping
from typing import TYPE_CHECKING

import pyarrow as pa
from skyband.arrays import TIME_MAX, TIME_MIN, Array
from skyband.columns.arrow_normalization import no_rows
from skyband.columns.numbers import is_number
from skyband.errors import InputError, SnapshotError
from skyband.groups import state_arrays
from skyband.groups.broadcast_state import BroadcastState, RefusedRows
from skyband.instants import instant
from skyband.rules.json_rules import RuleError
from skyband_expressions.binding import bind
from skyband_expressions.expression import parse_condition
from skyband_expressions.row_conditions import columns_read, problem_in

from skyband_detect.detections.counters import Counter, Shared, shared_by
from skyband_detect.detections.number_measures import NumberMeasure
from skyband_detect.detections.rule import Rule, rule_or_faults
from skyband_detect.detections.rule_rows import row_schema, rows_of, rule_of
from skyband_detect.detections.versions import ActiveRules, Limits, Opening, Version, with_ends
from skyband_detect.role import LONGEST, MOST
from skyband_detect.total_role import QUANTILE

if TYPE_CHECKING:
    from skyband_detect.detections.query import Detections

_TEXTS = pa.list_(pa.string())
_OPENED = pa.schema([
    ("where", pa.string()), ("key", _TEXTS), ("measure", pa.string()), ("values", _TEXTS), ("at", pa.int64()),
    *((limit, pa.int64()) for limit in Limits._fields),
])  # fmt: skip
_VERSIONS = pa.schema([
    ("name", pa.string()), ("start", pa.int64()), ("holds", pa.int64()), ("life", pa.int64()), ("rule", pa.string()),
    ("opening", pa.int64()),
])  # fmt: skip
_log = logging.getLogger("skyband.detections")


class ComingRules(BroadcastState):
    """The versions of rules by name, and the counters that are open for them.

    A rule whose counter is kept, for a fixed rule or by `keep`, holds from its first moment on. For another one a
    counter is opened at the watermark, and the rule holds once its window is full of rows counted since. Rules share
    an open counter whose limits they fit in. A row costs O(versions of its name).
    """

    reads_json = True

    def __init__(self, query: "Detections") -> None:
        self._query = query
        self._fixed = {rule.name for rule in query.detections}
        self._permanent: dict[Shared, Counter] = {counter.shared: counter for counter in query.counters.all}
        self._versions: dict[str, list[Version]] = {}
        """By name, in order of start."""
        self._limits: dict[Shared, dict[int, Limits]] = {}
        """Those of each open counter, by the watermark at which it was opened."""
        self._answered, self._next_end, self._turn_at = TIME_MIN, TIME_MAX, TIME_MAX
        self._source: pa.Schema | None = None
        self._active: ActiveRules | None = None

    @property
    def schema(self) -> pa.Schema:
        return row_schema()

    def read_from(self, schema: pa.Schema) -> None:
        self._source = schema

    @property
    def active(self) -> ActiveRules:
        """The rules that answer at times from the watermark on, with their counters."""
        if self._active is None:
            self._forget()
            ends = [entry for name in sorted(self._versions) for entry in with_ends(self._versions[name])]
            rules = [(version, end) for version, end in ends if version.rule is not None]
            holding = [(version, end) for version, end in rules if end > version.holds]
            self._next_end = min((end for _, end in rules), default=TIME_MAX)
            limits = {(of, at): limit for of, by_time in self._limits.items() for at, limit in by_time.items()}
            fixed, unit = self._query.detections, self._query.unit
            self._active = ActiveRules.of(fixed, self._query.counters.all, holding, limits, unit=unit)
        return self._active

    @property
    def next_at(self) -> int:
        """When rules with `below` have come, every group has a turn, to find out which of its keys fall next."""
        return self._turn_at

    def pass_to(self, watermark: int) -> None:
        self._answered = max(self._answered, watermark)
        if self._turn_at < self._answered:
            self._turn_at = TIME_MAX
        if self._next_end < self._answered:
            self._active, self._next_end = None, TIME_MAX

    def take(self, rows: pa.Table, watermark: int | None) -> RefusedRows:
        self.pass_to(TIME_MIN if watermark is None else watermark)
        self._forget()
        refused: dict[int, tuple[RuleError, str]] = {}
        came: dict[tuple[str, int], list[tuple[int, str, Rule | None]]] = {}
        for place, (text, row) in enumerate(rows_of(rows)):
            try:
                if isinstance(row, RuleError):
                    raise row
                name, rule, (after, until) = rule_of(row)
                self._check(name, rule)
                start = max(after, self._answered)
                if rule is not None and until <= (holds := self._holding(rule, start)[0]):
                    message = f"is not later than {_text(holds)}, from when on the rule can answer: leave it out"
                    raise RuleError("until", f"of rule {name!r} {message}, or set a later one")
            except RuleError as error:
                refused[place] = error, text
                continue
            came.setdefault((name, start), []).append((place, text, rule))
        for (name, start), entries in sorted(came.items()):
            problem = None
            if any(rule != entries[0][2] for _, _, rule in entries):
                problem = f"rule {name!r} is given twice with different values for one time: set `after` of each"
            elif entries[0][2] is None and self._going_on(name, start) is None:
                problem = f"there is no rule {name!r} to end: check the spelling"
            if problem is None:
                self._add(name, start, entries[0][2])
            else:
                refused |= {place: (RuleError("name", problem), text) for place, text, _ in entries}
        self._active = None
        return [
            (InputError(f"rules.{error.column}", str(error), place), text)
            for place, (error, text) in sorted(refused.items())
        ]

    def _check(self, name: str, rule: Rule | None) -> None:
        """Raise RuleError if a rule cannot be counted here."""
        if name in self._fixed:
            raise RuleError("name", f"{name!r} is a fixed rule of the query: give the rule another name")
        if rule is None or self._is_kept(rule):
            return
        query, columns = self._query, ", ".join(self._query.carried_names) or "none"
        if rule.key not in query.keys:
            permanent = self._permanent.get(shared_by(rule))
            if permanent is not None:
                raise RuleError(*_beyond(rule, permanent))
            keys = ", ".join(str(list(key)) for key in query.keys) or "none"
            message = f"of rule {name!r} is not one of `keys` ({keys}), by which rows are sent: start over with it in"
            raise RuleError("key", f"{message} `keys`, or with such a counter in `keep` (got {list(rule.key)})")
        needs = [(key, columns_read(where)) for key, where in rule.conditions]
        for key, names in [*needs, ("measure", rule.values)]:
            for column in names:
                if column not in query.carried_names:
                    message = f"of rule {name!r} reads column {column!r}, which no row brings to it ({columns} come)"
                    raise RuleError(key, f"{message}: start over with it in `rule_columns`")
        if rule.number is not None:
            self._check_number(name, rule.number)
        for key, where in () if self._source is None else rule.conditions:
            problem = problem_in(where, self._source)
            if problem is None and bind(parse_condition(where).tree, self._source).can_fail:
                problem = "can fail on a row and so end the stream, as a division by 0 does: use nullif or try_cast"
            if problem is not None:
                raise RuleError(key, f"of rule {name!r} {problem}")

    def _check_number(self, name: str, number: NumberMeasure) -> None:
        """Raise RuleError if a sum, mean or quantile cannot be computed of a column, which rows bring."""
        if self._source is not None and not is_number(kind := self._source.field(number.column).type):
            raise RuleError("measure", f"of rule {name!r} needs numbers, and column {number.column!r} is {kind}")
        if number.kind != QUANTILE and number.column not in self._query.rule_numbers:
            message = f"adds up column {number.column!r}, whose numbers are not known to be multiples of `unit`"
            raise RuleError("measure", f"of rule {name!r} {message}: start over with it in `rule_numbers`")

    def _going_on(self, name: str, start: int) -> Version | None:
        """The version of a name that holds, or waits to, when another one starts."""
        earlier = [entry for entry in with_ends(self._versions.get(name, [])) if entry[0].start <= start]
        return earlier[-1][0] if earlier and earlier[-1][0].rule is not None and self._stays(*earlier[-1]) else None

    def _stays(self, version: Version, end: int) -> bool:
        """Whether a version may answer, or ends one that may: rows at the watermark itself are still to come."""
        return (version.holds if version.rule is None else end) >= self._answered

    def _add(self, name: str, start: int, rule: Rule | None) -> None:
        versions = self._versions.setdefault(name, [])
        before = self._going_on(name, start)
        holds, opening = start, None
        if rule is not None:
            holds, opening = self._holding(rule, start)
            why = "its counter is kept" if opening is None else "its window is full of rows counted by then"
            _log.info("rule %r answers for times later than %s: %s", name, _text(holds), why)
        if rule is not None and opening is not None:
            limits, own = self._limits.setdefault(opening[0], {}), Limits.of(rule)
            limits[opening[1]] = own.with_room_for(limits.get(opening[1], own))
        if rule is not None and rule.below is not None:
            self._turn_at = self._answered
        version = Version(name, start, holds, start if before is None else before.life, rule, opening)
        place = bisect_right(versions, start, key=lambda each: each.start)
        if place and versions[place - 1].start == start:
            versions[place - 1] = version
        else:
            versions.insert(place, version)

    def _is_kept(self, rule: Rule) -> bool:
        permanent = self._permanent.get(shared_by(rule))
        return permanent is not None and _limits_of(permanent).covers(Limits.of(rule))

    def _holding(self, rule: Rule, start: int) -> tuple[int, Opening | None]:
        """When a rule begins to hold, and its counter: the oldest open one that it fits in, or one that opens now.

        No row was counted since the watermark, so a counter opened at it may still have larger limits.
        """
        if self._is_kept(rule):
            return start, None
        of, needed = shared_by(rule), Limits.of(rule)
        at = min(
            (at for at, limits in self._limits.get(of, {}).items() if limits.covers(needed)), default=self._answered
        )
        return max(start, at + rule.reach - 1), (of, at)

    def _forget(self) -> None:
        """Forget the versions that answer no more, the ends of names, and the counters of no rule."""
        for name, own in list(self._versions.items()):
            remaining = [version for version, end in with_ends(own) if self._stays(version, end)]
            if any(version.rule is not None for version in remaining):
                self._versions[name] = remaining
            else:
                del self._versions[name]
        used = {version.opening for own in self._versions.values() for version in own}
        open_ones = {of: {at: limit for at, limit in by.items() if (of, at) in used} for of, by in self._limits.items()}
        self._limits = {of: by_time for of, by_time in open_ones.items() if by_time}

    def dump_state(self) -> Mapping[str, Array]:
        self._forget()
        versions = [version for name in sorted(self._versions) for version in self._versions[name]]
        openings = sorted(((of, at) for of, by in self._limits.items() for at in by), key=repr)
        opened = [
            dict(zip(_OPENED.names, (*map(_plain, of), at, *self._limits[of][at]), strict=True)) for of, at in openings
        ]
        entries = [
            {
                "name": version.name, "start": version.start, "holds": version.holds, "life": version.life,
                "rule": None if version.rule is None else json.dumps(version.rule.to_dict()),
                "opening": None if version.opening is None else openings.index(version.opening),
            }
            for version in versions
        ]  # fmt: skip
        return {
            **state_arrays.frame_to_array("opened", pa.RecordBatch.from_pylist(opened, schema=_OPENED)),
            **state_arrays.frame_to_array("versions", pa.RecordBatch.from_pylist(entries, schema=_VERSIONS)),
        }

    def load_state(self, arrays: Mapping[str, Array]) -> None:
        opened, versions = (
            state_arrays.frame_from_array(name, _named(name, arrays), no_rows(schema)).to_pylist()
            for name, schema in (("opened", _OPENED), ("versions", _VERSIONS))
        )
        openings = [_opening(row) for row in opened]
        self._limits, self._versions, self._active = {}, {}, None
        for (of, at), row in zip(openings, opened, strict=True):
            self._limits.setdefault(of, {})[at] = Limits(*(row[limit] for limit in Limits._fields))
        for row in versions:
            version = self._version(row, openings)
            self._versions.setdefault(version.name, []).append(version)
        if any(
            version.rule is not None and version.rule.below is not None
            for own in self._versions.values()
            for version in own
        ):
            self._turn_at = self._answered
        for name, own in self._versions.items():
            starts = [version.start for version in own]
            if starts != sorted({*starts}):
                raise SnapshotError(f"rules: must have one version of {name!r} at a time, in order")

    def _version(self, row: Mapping[str, object], openings: list[Opening]) -> Version:
        name, start, holds, life, text, place = row.values()
        if not isinstance(name, str) or None in (start, holds, life):
            raise SnapshotError(f"rules: holds a version that is incomplete: {row!r:.200}")
        rule = None if text is None else _rule_of(str(text))
        opening = None
        if place is not None:
            if not isinstance(place, int) or not 0 <= place < len(openings):
                raise SnapshotError(f"rules: holds a version without its counter: {row!r:.200}")
            opening = openings[place]
        fits = opening is None
        if rule is not None:
            counted = self._is_kept(rule) if opening is None else self._fits(rule, opening)
            fits = counted and rule.name == name
        if not fits:
            raise SnapshotError(f"rules: holds a version that its counter cannot answer: {row!r:.200}")
        return Version(name, start, holds, life, rule, opening)  # type: ignore[arg-type]  # checked above

    def _fits(self, rule: Rule, opening: Opening) -> bool:
        return shared_by(rule) == opening[0] and self._limits[opening[0]][opening[1]].covers(Limits.of(rule))


def _limits_of(counter: Counter) -> Limits:
    return Limits(counter.longest, counter.most, counter.falls)


def _beyond(rule: Rule, permanent: Counter) -> tuple[str, str]:
    """The key in which a rule exceeds the limits of a permanent counter, and what is wrong."""
    if rule.bound <= permanent.most and rule.window.length <= permanent.longest:
        message = "needs the last row of each key, which is not there for so long: start over with a counter in `keep`"
        return "below", f"of rule {rule.name!r} {message} that has `below = true`"
    is_bound = rule.bound > permanent.most
    key = ("at_least" if rule.below is None else "below") if is_bound else "window"
    limit = f"{permanent.most:,}" if is_bound else f"{permanent.longest:,} microseconds"
    message = f"is above {limit}, which the counter is kept for: make it smaller, or start over with a larger `keep`"
    return key, f"of rule {rule.name!r} {message}"


def _text(time: int) -> str:
    return "the start" if time < -LONGEST else str(instant(time))


def _plain(part: object) -> object:
    return list(part) if isinstance(part, tuple) else part


def _named(name: str, arrays: Mapping[str, Array]) -> dict[str, Array]:
    return {key: values for key, values in arrays.items() if key.split(" ")[0] == name}


def _opening(row: Mapping[str, object]) -> Opening:
    where, key, measure, values, at, longest, most, falls = row.values()
    limits = [(at, TIME_MIN, TIME_MAX), (longest, 1, LONGEST), (most, 1, MOST), (falls, 0, longest)]
    if not all(isinstance(one, int) and least <= one <= top for one, least, top in limits):  # type: ignore[operator]
        raise SnapshotError(f"rules: holds a counter that no rule can have: {row!r:.200}")
    return (where, tuple(key or ()), measure, tuple(values or ())), at  # type: ignore[arg-type,return-value]


def _rule_of(text: str) -> Rule:
    try:
        table = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SnapshotError(f"rules: holds a rule that is not JSON: {error}") from error
    rule = rule_or_faults(table) if isinstance(table, dict) else []
    if not isinstance(rule, Rule):
        raise SnapshotError(f"rules: holds a rule that cannot be: {text:.200}")
    return rule
