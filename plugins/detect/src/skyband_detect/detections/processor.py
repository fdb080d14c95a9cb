"""Counts rows by the keys of all rules, and answers the rows that cross a bound."""

from collections.abc import Mapping
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
from skyband_detect.detections.counters import bits_column, bounds_of, key_column, value_column
from skyband_detect.detections.key_texts import key_texts
from skyband_detect.newest.last_times import LastTimes
from skyband_detect.role import NO_LIMIT, Crossings, KeyCounter

if TYPE_CHECKING:
    from skyband_detect.detections.query import Detections

_FARTHEST = 2**62


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
        self._after, self._until = np.array([rule.span for rule in rules], np.int64).T
        silences = [0 if rule.silence is None else rule.silence.length for rule in rules]
        self._horizon = max(1 + max(counter.longest for counter in self._all.all), *silences)
        """From its last row on, all is forgotten after so long."""
        self._begin()

    def _begin(self) -> None:
        parameters = (counter.parameters for counter in self._all.all)
        self._counters = [cast(KeyCounter, self._binding.create(**own)) for own in parameters]
        quiet = [place for place, rule in enumerate(self._query.detections) if rule.silence is not None]
        self._answered = {place: LastTimes() for place in quiet}
        """The last answers of each key, for rules with `silence`."""
        self._last: int | None = None

    def advance(self, rows: Rows, until: int) -> pa.RecordBatch | None:
        answers = None
        if len(rows):
            answers = self._answers(rows, self._alerts(rows))
            self._last = int(rows.times[-1])
            for counter in self._counters:
                counter.advance(self._last)
        if self._last is not None and self.next_at <= until:
            self._begin()
        return answers

    def finish(self, rows: Rows, latest: int) -> pa.RecordBatch | None:
        return self.advance(rows, latest)

    @property
    def next_at(self) -> int:
        """When all windows are empty and no rule is silent."""
        return TIME_MAX if self._last is None else self._last + self._horizon

    @property
    def empty(self) -> bool:
        return self._last is None

    @property
    def retained(self) -> int:
        return sum(map(len, self._counters)) + sum(map(len, self._answered.values()))

    @property
    def nbytes(self) -> int:
        return sum(counter.nbytes for counter in self._counters) + sum(last.nbytes for last in self._answered.values())

    def _alerts(self, rows: Rows) -> _Alerts:
        """The rows that cross, by counter."""
        pieces = [_Alerts(*[np.empty(0, np.int64)] * 5)]
        bits = np.stack([rows[bits_column(word)] for word in range(self._all.words)])
        begins, all_rows = rows_by_counter(bits, len(self._all.all))
        for number, counter in enumerate(self._all.all):
            inside = all_rows[begins[number] : begins[number + 1]]
            if not len(inside):
                continue
            times, keys = rows.times[inside], self._keys(rows, counter.key)[inside]
            values = rows[value_column(self._all.values.index(counter.values))][inside] if counter.values else None
            bounds = self._bounds[number]
            crossings = self._counters[number].update(
                times, keys, values, windows=bounds.windows, at_least=bounds.at_least, each=bounds.each
            )
            if len(crossings.rows):
                pieces.append(self._allowed(crossings, np.array(counter.rules), times, keys, inside))
        return _Alerts(*(np.concatenate(column) for column in zip(*pieces, strict=True)))

    def _keys(self, rows: Rows, key: tuple[str, ...]) -> UInt64:
        """uint64[n]: the hash of the key of each row; 0 for the key of no columns."""
        return rows[key_column(self._all.keys.index(key))] if key else np.zeros(len(rows), np.uint64)

    def _allowed(self, crossings: Crossings, places: Int64, times: Int64, keys: UInt64, inside: Int64) -> _Alerts:
        """The crossings at times of their rules that no `silence` suppresses."""
        rules, when = places[crossings.asks], times[crossings.rows]
        stays = (when > self._after[rules]) & (when <= self._until[rules])
        for rule in places.tolist():
            if rule in self._answered:
                own = np.flatnonzero(stays & (rules == rule))
                silence = self._query.detections[rule].silence
                assert silence is not None
                of = np.ascontiguousarray(keys[crossings.rows[own]])
                stays[own] = self._answered[rule].spaced(when[own], of, silence.length)
        numbers = (crossings.value, crossings.low, crossings.high)
        return _Alerts(inside[crossings.rows[stays]], rules[stays], *(column[stays] for column in numbers))

    def _answers(self, rows: Rows, alerts: _Alerts) -> pa.RecordBatch | None:
        if not len(alerts.rows):
            return None
        texts = self._key_texts(rows, alerts)
        table = pa.table({"time": rows.times[alerts.rows], "rule": alerts.rules, "key": texts})
        order = pc.sort_indices(table, [(name, "ascending") for name in table.column_names]).to_numpy()
        sources, rules = alerts.rows[order], alerts.rules[order]
        names = pa.array([rule.name for rule in self._query.detections])
        limited = alerts.high[order] < NO_LIMIT
        columns: list[Any] = [
            moments(rows.times[sources], self._schema.field("time").type),
            names.take(pa.array(rules)),
        ]
        columns += [texts.take(pa.array(order)), alerts.value[order].astype(np.float64)]
        columns += [
            alerts.low[order].astype(np.float64),
            pa.array(alerts.high[order].astype(np.float64), mask=~limited),
        ]
        crossing = rows.take(sources)
        for name in self._query.carry:
            number = self._query.carried_names.index(name)
            columns.append(carried_values(crossing, number, self._schema.field(name).type))
        return pa.RecordBatch.from_arrays([pa.array(column) for column in columns], schema=self._schema)

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
        for rule, answered in self._answered.items():
            parts = answered.entries(-_FARTHEST), other._answered[rule].entries(-_FARTHEST)
            both_keys, both_times = zip(*parts, strict=True)
            answered.load(np.concatenate(both_keys), np.concatenate(both_times))
        self._last = max((last for last in (self._last, other._last) if last is not None), default=None)

    def _answered_since(self, rule: int) -> int:
        """The first time of an answer that may still keep this rule silent."""
        silence = self._query.detections[rule].silence
        assert silence is not None
        return -_FARTHEST if self._last is None else self._last - silence.length + 1

    def dump_state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        arrays: dict[str, Array] = {}
        for number, counter in enumerate(self._counters):
            arrays |= state_arrays.with_prefix(f"counter.{number}", counter.dump_state())
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
            if counter.now is not None and counter.now > last:
                raise SnapshotError(f"contradicts itself: a counter has reached {counter.now}, after the last row")
        state = StateReader(arrays)
        for rule, answered in self._answered.items():
            keys = state.ascending(f"answered.{rule}.keys", dtype=np.uint64, strictly=True)
            times = state.column(
                f"answered.{rule}.times", np.int64, len(keys), at_least=self._answered_since(rule), at_most=last
            )
            answered.load(keys, times)
