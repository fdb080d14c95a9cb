"""Counts rows by the keys of all rules, and answers the rows that cross a bound."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from skyband.arrays import TIME_MAX, Array, Int64, UInt64
from skyband.columns.rows import Rows
from skyband.columns.rows_behind_answers import carried, carried_values
from skyband.errors import SnapshotError
from skyband.groups import state_arrays
from skyband.groups.processor import GroupProcessor
from skyband.queries.time_columns import moments
from skyband.registry import Binding
from skyband.state_validation import StateReader

from skyband_detect.detections.counter_rows_kernel import rows_by_counter
from skyband_detect.detections.counters import below_of, bits_column, bounds_of, key_column, reached_by, value_column
from skyband_detect.detections.falling_keys import FallenKeys, FallingKeys
from skyband_detect.detections.key_texts import key_texts
from skyband_detect.newest.last_times import LastTimes
from skyband_detect.role import NO_FALLS, NO_LIMIT, Crossings, Falls, KeyCounter

if TYPE_CHECKING:
    from skyband_detect.detections.query import Detections

_FARTHEST = 2**62
_NO_KEYS = np.empty(0, np.uint64)


class _Alerts(NamedTuple):
    """Rows that cross the bound of a rule: int64[n] each."""

    rows: Int64
    rules: Int64
    value: Int64
    low: Int64
    high: Int64


class DetectionsProcessor(GroupProcessor):
    """A counter for each condition, key and measure, and the last answers of rules with `silence`."""

    def __init__(self, query: "Detections", binding: Binding, answers: pa.Schema) -> None:
        self._query, self._binding, self._schema = query, binding, answers
        self._all = query.counters
        self._bounds = [bounds_of(counter, query.detections) for counter in self._all.all]
        rules = query.detections
        self._reached = [np.array(reached_by(counter, rules), np.int64) for counter in self._all.all]
        self._after, self._until = np.array([rule.span for rule in rules], np.int64).T
        silences = [0 if rule.silence is None else rule.silence.length for rule in rules]
        self._latest = np.array([0 if rule.below is None else rule.window.length for rule in rules])
        """How long after the last row a rule may answer."""
        self._horizon = max(1 + max(counter.longest for counter in self._all.all), *(silences + self._latest).tolist())
        """From its last row on, all is forgotten after so long."""
        self._carry = [answers.field(name) for name in query.carry]
        self._begin()

    def _begin(self) -> None:
        parameters = (counter.parameters for counter in self._all.all)
        self._counters = [cast(KeyCounter, self._binding.create(**own)) for own in parameters]
        quiet = [place for place, rule in enumerate(self._query.detections) if rule.silence is not None]
        self._answered = {place: LastTimes() for place in quiet}
        """The last answers of each key, for rules with `silence`."""
        below = (below_of(counter, self._query.detections) for counter in self._all.all)
        self._falling = {n: FallingKeys(*limits, self._carry) for n, limits in enumerate(below) if len(limits[0])}
        """The last rows of keys, for the counters of rules with `below`."""
        self._next_fall: int | None = None
        self._last: int | None = None

    def advance(self, rows: Rows, until: int) -> pa.RecordBatch | None:
        answers, fallen = None, list[FallenKeys]()
        if len(rows) or (self._next_fall is not None and self._next_fall < until):
            alerts = self._alerts(rows, until, fallen)
            answers = self._answers(rows, alerts, fallen)
            self._last = int(rows.times[-1]) if len(rows) else self._last
            self._pass()
        if self._last is not None and self.next_at <= until:
            self._begin()
        return answers

    def finish(self, rows: Rows, latest: int) -> pa.RecordBatch | None:
        return self.advance(rows, latest + 1)

    def _pass(self) -> None:
        """Move all counters to the last row, or beyond it to the last fall, which is then left behind."""
        assert self._last is not None
        for number, counter in enumerate(self._counters):
            if number in self._falling:
                self._falling[number].leave_behind(counter, self._last)
            else:
                counter.advance(self._last)
        self._find_next_fall()

    def _find_next_fall(self) -> None:
        falls = (falling.next_fall(self._counters[number]) for number, falling in self._falling.items())
        self._next_fall = min((fall for fall in falls if fall is not None), default=None)

    @property
    def next_at(self) -> int:
        """When the next key falls below a bound; or all windows are empty and no rule is silent."""
        if self._last is None:
            return TIME_MAX
        return self._last + self._horizon if self._next_fall is None else self._next_fall + 1

    @property
    def empty(self) -> bool:
        return self._last is None

    @property
    def retained(self) -> int:
        return sum(map(len, self._counters)) + sum(map(len, self._answered.values()))

    @property
    def nbytes(self) -> int:
        return sum(counter.nbytes for counter in self._counters) + sum(last.nbytes for last in self._answered.values())

    def _alerts(self, rows: Rows, until: int, fallen: list[FallenKeys]) -> _Alerts:
        """The rows that cross, by counter; adds the keys that fall before `until`, for each counter that has such."""
        pieces = [_Alerts(*[np.empty(0, np.int64)] * 5)]
        begins, all_rows = np.zeros(len(self._all.all) + 1, np.int64), np.empty(0, np.int64)
        if len(rows):
            bits = np.stack([rows[bits_column(word)] for word in range(self._all.words)])
            begins, all_rows = rows_by_counter(bits, len(self._all.all))
        for number, counter in enumerate(self._all.all):
            inside = all_rows[begins[number] : begins[number + 1]]
            if not len(inside):
                if number in self._falling:
                    fallen.append(self._falls(number, NO_FALLS, rows, inside, _NO_KEYS, until))
                continue
            times, keys = rows.times[inside], self._keys(rows, counter.key)[inside]
            values = rows[value_column(self._all.values.index(counter.values))][inside] if counter.values else None
            bounds = self._bounds[number]
            limits = self._falling[number].limits if number in self._falling else {}
            crossings = self._counters[number].update(
                times, keys, values, windows=bounds.windows, at_least=bounds.at_least, each=bounds.each, **limits
            )
            if len(crossings.rows):
                pieces.append(self._allowed(crossings, self._reached[number], times, keys, inside))
            if number in self._falling:
                fallen.append(self._falls(number, crossings.falls, rows, inside, keys, until))
        return _Alerts(*(np.concatenate(column) for column in zip(*pieces, strict=True)))

    def _falls(self, number: int, falls: Falls, rows: Rows, inside: Int64, keys: UInt64, until: int) -> FallenKeys:
        """The keys of a counter that fall before `until`, at times of their rules, not silent."""
        key = self._all.all[number].key

        def columns_of(places: Int64) -> list[pa.Array]:
            own = inside[places]
            texts = key_texts(key, [self._column(rows, name, own) for name in key], len(own))
            carry = zip(self._query.carry, self._carry, strict=True)
            return [texts, *(self._column(rows, name, own).cast(field.type) for name, field in carry)]

        state = self._counters[number]
        fallen = self._falling[number].update(state, falls, rows.times[inside], keys, until - 1, columns_of)
        stays = self._in_force(fallen.rules, fallen.times, fallen.keys)
        columns = [column.filter(pa.array(stays)) for column in fallen.columns]
        return FallenKeys(*(part[stays] for part in fallen[:4]), columns)

    def _in_force(self, rules: Int64, when: Int64, keys: UInt64) -> Array:
        """bool[n]: the answers for these keys at times of their rules, and not silent; each rule's in order of time."""
        stays: Array = (when > self._after[rules]) & (when <= self._until[rules])
        for rule in np.unique(rules).tolist():
            if rule in self._answered:
                own = np.flatnonzero(stays & (rules == rule))
                silence = self._query.detections[rule].silence
                assert silence is not None
                stays[own] = self._answered[rule].spaced(when[own], np.ascontiguousarray(keys[own]), silence.length)
        return stays

    def _keys(self, rows: Rows, key: tuple[str, ...]) -> UInt64:
        """uint64[n]: the hash of the key of each row; 0 for the key of no columns."""
        return rows[key_column(self._all.keys.index(key))] if key else np.zeros(len(rows), np.uint64)

    def _allowed(self, crossings: Crossings, places: Int64, times: Int64, keys: UInt64, inside: Int64) -> _Alerts:
        """The crossings at times of their rules that no `silence` suppresses."""
        rules = places[crossings.asks]
        stays = self._in_force(rules, times[crossings.rows], keys[crossings.rows])
        numbers = (crossings.value, crossings.low, crossings.high)
        return _Alerts(inside[crossings.rows[stays]], rules[stays], *(column[stays] for column in numbers))

    def _answers(self, rows: Rows, alerts: _Alerts, fallen: Sequence[FallenKeys]) -> pa.RecordBatch | None:
        pieces = [self._of_rows(rows, alerts)] if len(alerts.rows) else []
        for falls in fallen:
            numbers = {"value": falls.value, "low": falls.value, "high": falls.value}
            own = {"time": falls.times, "rule": falls.rules, "key": falls.columns[0], **numbers}
            pieces += [_answer_columns(own, falls.columns[1:])] if len(falls.times) else []
        if not pieces:
            return None
        table = pa.concat_tables(pieces).combine_chunks()
        order = pc.sort_indices(table, [(name, "ascending") for name in ("0", "1", "2")])
        times, rules, *others = (column.combine_chunks() for column in table.take(order).columns)
        names = pa.array([rule.name for rule in self._query.detections])
        columns = [moments(times.to_numpy(), self._schema.field("time").type), names.take(rules), *others]
        return pa.RecordBatch.from_arrays([pa.array(column) for column in columns], schema=self._schema)

    def _of_rows(self, rows: Rows, alerts: _Alerts) -> pa.Table:
        """The answers that rows stand for, with times and rules as numbers."""
        crossing, limited = rows.take(alerts.rows), alerts.high < NO_LIMIT
        high = pa.array(alerts.high.astype(np.float64), mask=~limited)
        numbers = {"value": alerts.value, "low": alerts.low, "high": high}
        own = {"time": crossing.times, "rule": alerts.rules, "key": self._key_texts(rows, alerts), **numbers}
        numbered = (self._query.carried_names.index(name) for name in self._query.carry)
        carry = zip(numbered, self._carry, strict=True)
        return _answer_columns(own, [carried_values(crossing, number, field.type) for number, field in carry])

    def _key_texts(self, rows: Rows, alerts: _Alerts) -> pa.Array:
        """string[n]: the key of each alert as JSON."""
        keys = [rule.key for rule in self._query.detections]
        different = list(dict.fromkeys(keys))
        number = np.array([different.index(key) for key in keys])[alerts.rules]
        pieces, places = [], []
        for place, key in enumerate(different):
            own = np.flatnonzero(number == place)
            if len(own):
                pieces.append(key_texts(key, [self._column(rows, name, alerts.rows[own]) for name in key], len(own)))
                places.append(own)
        return pa.concat_arrays(pieces).take(pa.array(np.argsort(np.concatenate(places), kind="stable")))

    def _column(self, rows: Rows, name: str, places: Int64) -> pa.Array:
        """The values of a key's column in these rows."""
        column = rows[carried(self._query.carried_names.index(name))]
        return pa.array(column[places]) if isinstance(column, np.ndarray) else column.take(pa.array(places))

    def merge(self, other: GroupProcessor) -> None:
        """Add the keys of another shard, which has others."""
        assert isinstance(other, DetectionsProcessor)
        for own, others in zip(self._counters, other._counters, strict=True):
            own.merge(others)
        for number, falling in self._falling.items():
            falling.merge(other._falling[number])
        for rule, answered in self._answered.items():
            parts = answered.entries(-_FARTHEST), other._answered[rule].entries(-_FARTHEST)
            both_keys, both_times = zip(*parts, strict=True)
            answered.load(np.concatenate(both_keys), np.concatenate(both_times))
        self._last = max((last for last in (self._last, other._last) if last is not None), default=None)
        self._find_next_fall()

    def _answered_since(self, rule: int) -> int:
        """The first time of an answer that may still keep this rule silent."""
        silence = self._query.detections[rule].silence
        assert silence is not None
        return -_FARTHEST if self._last is None else self._last - silence.length + 1

    def dump_state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        arrays: dict[str, Array] = {}
        for number, counter in enumerate(self._counters):
            arrays |= state_arrays.with_prefix(f"counter.{number}", counter.dump_state())
        for number, falling in self._falling.items():
            arrays |= state_arrays.with_prefix(f"falling.{number}", falling.dump_state())
        for rule, answered in self._answered.items():
            keys, times = answered.entries(self._answered_since(rule))
            arrays |= {f"answered.{rule}.keys": keys, f"answered.{rule}.times": times}
        return {"last": self._last}, arrays

    def load_state(self, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
        self._last = header["last"]
        if self._last is not None and (type(self._last) is not int or abs(self._last) > _FARTHEST):
            raise SnapshotError(f"contradicts itself: {self._last!r} is not the time of a row")
        last = -_FARTHEST if self._last is None else self._last
        for number, counter in enumerate(self._counters):
            counter.load_state(state_arrays.without_prefix(f"counter.{number}", arrays))
            latest = last + (counter.longest if number in self._falling else 0)
            if counter.now is not None and counter.now > latest:
                raise SnapshotError(f"contradicts itself: a counter has reached {counter.now}, after the last row")
        for number, falling in self._falling.items():
            falling.load_state(state_arrays.without_prefix(f"falling.{number}", arrays))
        self._find_next_fall()
        state = StateReader(arrays)
        for rule, answered in self._answered.items():
            keys = state.ascending(f"answered.{rule}.keys", dtype=np.uint64, strictly=True)
            times = state.column(
                f"answered.{rule}.times",
                np.int64,
                len(keys),
                at_least=self._answered_since(rule),
                at_most=last + int(self._latest[rule]),
            )
            answered.load(keys, times)


def _answer_columns(own: Mapping[str, Any], carry: Sequence[pa.Array]) -> pa.Table:
    """The columns of answers, numbers as float64, with the times and rules as int64."""
    columns = [pa.array(column) for column in own.values()]
    columns[3:] = [column.cast(pa.float64()) for column in columns[3:]]
    return pa.Table.from_arrays([*columns, *carry], [str(number) for number in range(len(columns) + len(carry))])
