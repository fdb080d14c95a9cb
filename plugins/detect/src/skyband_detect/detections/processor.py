"""Counts rows by the keys of all rules, and answers the rows that cross a bound."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
from skyband.arrays import TIME_MAX, Array, Int64, UInt64
from skyband.columns.hashing import hash_columns
from skyband.columns.rows import Rows
from skyband.errors import SnapshotError
from skyband.groups import state_arrays
from skyband.groups.broadcast_state import BroadcastState
from skyband.groups.processor import GroupProcessor
from skyband.registry import Binding
from skyband.state_validation import StateReader

from skyband_detect.detections.alerts import Alerts, AnswerTable
from skyband_detect.detections.coming_rules import ComingRules
from skyband_detect.detections.conditions import rows_by_condition
from skyband_detect.detections.counter_rows_kernel import rows_by_counter
from skyband_detect.detections.counters import (
    Counter,
    Needs,
    below_of,
    bits_column,
    key_column,
    number_column,
    total_bounds_of,
    value_column,
)
from skyband_detect.detections.falling_keys import FallenKeys, FallingKeys
from skyband_detect.detections.key_texts import key_texts
from skyband_detect.detections.sequences.sequence import SequenceCounter
from skyband_detect.detections.units import worth
from skyband_detect.detections.versions import ActiveRules, Opening, Silence
from skyband_detect.keyed_clock import FARTHEST
from skyband_detect.newest.last_times import LastTimes
from skyband_detect.role import NO_FALLS, NO_LIMIT, Falls, KeyCounter
from skyband_detect.total_role import MEAN, QUANTILE

if TYPE_CHECKING:
    from skyband_detect.detections.query import Detections

SECOND = 1_000_000
"""In the unit of times."""
_NEVER = -FARTHEST
_NO_KEYS = np.empty(0, np.uint64)


class DetectionsProcessor(GroupProcessor):
    """A counter for each condition, key and measure, and the last answers of rules with `silence`."""

    def __init__(self, query: "Detections", bindings: Mapping[str, Binding], answers: pa.Schema) -> None:
        self._query, self._bindings = query, bindings
        self._all = query.counters
        self._of_totals = {
            number: total_bounds_of(counter, query.detections, query.unit)
            for number, counter in enumerate(self._all.all)
            if counter.is_number
        }
        """What is asked of the counters of numbers."""
        self._fixed = ActiveRules.of(query.detections, self._all.all)
        self._coming: ComingRules | None = None
        self._table = AnswerTable(query, answers, [answers.field(name) for name in query.carry])
        self._begin()

    def listen(self, broadcast: BroadcastState, group: int | None = None) -> None:  # noqa: ARG002
        assert isinstance(broadcast, ComingRules)
        self._coming = broadcast

    @property
    def _active(self) -> ActiveRules:
        """The rules in force."""
        return self._fixed if self._coming is None else self._coming.active

    def _begin(self) -> None:
        self._counters: list[Any] = [self._new(counter) for counter in self._all.all]
        self._opened: dict[Opening, KeyCounter] = {}
        """The counters opened for rules that came, from their first row on."""
        self._silent: dict[Silence, LastTimes] = {}
        """For rules with `silence`, the time until which each key is silent."""
        self._silent_until: dict[Silence, int] = {}
        """Until when some key of these rules is silent."""
        below = (below_of(counter, self._query.detections) for counter in self._all.all)
        self._falling = {n: FallingKeys(*limits, self._table.carry) for n, limits in enumerate(below) if len(limits[0])}
        """The last rows of keys, for the counters of fixed rules with `below`."""
        self._next_fall: int | None = None
        self._last: int | None = None

    def _new(self, counter: Counter) -> Any:
        if counter.steps is not None:
            return SequenceCounter(
                counter.steps,
                counter.longest,
                lambda **parameters: cast("KeyCounter", self._bindings["key-counter"].create(**parameters)),
            )
        assert counter.role is not None
        return self._bindings[counter.role].create(**counter.parameters)

    def advance(self, rows: Rows, until: int) -> pa.RecordBatch | None:
        answers, fallen = None, list[FallenKeys]()
        if len(rows) or (self._next_fall is not None and self._next_fall < until):
            active = self._active
            self._drop_others(active)
            alerts = self._alerts(rows, active, until, fallen)
            answers = self._table.of(rows, active, alerts, fallen)
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
        for counter in self._opened.values():
            counter.advance(self._last)
        self._find_next_fall()

    def _find_next_fall(self) -> None:
        falls = (falling.next_fall(self._counters[number]) for number, falling in self._falling.items())
        self._next_fall = min((fall for fall in falls if fall is not None), default=None)

    def _drop_others(self, active: ActiveRules) -> None:
        """Forget the counters and silences of rules that have left."""
        self._opened = {opening: counter for opening, counter in self._opened.items() if opening in active.opened}
        self._silent = {of: times for of, times in self._silent.items() if (of[0], of[2]) in active.names}
        self._silent_until = {of: until for of, until in self._silent_until.items() if of in self._silent}

    @property
    def next_at(self) -> int:
        """When the next key falls below a bound; or all windows are empty and no rule is silent."""
        if self._last is None:
            return TIME_MAX
        if self._next_fall is not None:
            return self._next_fall + 1
        active = self._active
        silent = (until for of, until in self._silent_until.items() if (of[0], of[2]) in active.names)
        return max(self._last + 1 + active.longest, *silent, _NEVER)

    @property
    def empty(self) -> bool:
        return self._last is None

    @property
    def retained(self) -> int:
        self._drop_others(self._active)
        silent = sum(len(self._silent_keys(silence)[0]) for silence in self._silent)
        return sum(map(len, (*self._counters, *self._opened.values()))) + silent

    def _silent_keys(self, silence: Silence) -> tuple[UInt64, Int64]:
        """The keys that are still silent, ascending, and until when."""
        return self._silent[silence].entries(-FARTHEST if self._last is None else self._last + 1)

    @property
    def nbytes(self) -> int:
        tables: list[Any] = [*self._counters, *self._opened.values(), *self._silent.values()]
        return sum(table.nbytes for table in tables)

    def _alerts(self, rows: Rows, active: ActiveRules, until: int, fallen: list[FallenKeys]) -> Alerts:
        """The rows that cross, by counter; adds the keys that fall before `until`, for each counter that has such."""
        pieces = [Alerts(*[np.empty(0, np.int64)] * 5)]
        begins, all_rows = np.zeros(self._all.bits + 1, np.int64), np.empty(0, np.int64)
        if len(rows):
            bits = np.stack([rows[bits_column(word)] for word in range(self._all.words)])
            begins, all_rows = rows_by_counter(bits, self._all.bits)
        for number, (counter, state) in enumerate(zip(active.permanent, self._counters, strict=True)):
            own = [all_rows[begins[bit] : begins[bit + 1]] for bit in self._all.step_bits.get(number, (number,))]
            inside, falls = own[0], NO_FALLS
            falling = self._falling.get(number)
            if counter.steps is not None:
                if any(map(len, own)):
                    items = [self._values(rows, *some) for some in zip(counter.needs, own, strict=True)]
                    pieces.append(self._sequences(active, counter, state, rows, own, items))
            elif len(inside) and counter.is_number:
                pieces.append(self._totals(active, number, rows, inside))
            elif len(inside):
                values = self._values(rows, counter.needs[0], inside)
                limits = {} if falling is None else falling.limits
                alerts, falls = self._crossings(active, counter, state, rows, inside, values, limits)
                pieces.append(alerts)
            if falling is not None:
                fallen.append(self._falls(active, number, falls, rows, inside, until))
        if active.opened and len(rows):
            pieces += self._of_opened(rows, active, begins, all_rows)
        alerts = Alerts(*(np.concatenate(column) for column in zip(*pieces, strict=True)))
        return self._not_silent(rows, active, alerts)

    def _falls(
        self, active: ActiveRules, number: int, falls: Falls, rows: Rows, inside: Int64, until: int
    ) -> FallenKeys:
        """The keys of a counter that fall before `until`, at times of their rules, not silent."""
        key = self._all.all[number].key

        def columns_of(places: Int64) -> list[pa.Array]:
            own = inside[places]
            texts = key_texts(key, [self._table.column(rows, name, own) for name in key], len(own))
            carry = zip(self._query.carry, self._table.carry, strict=True)
            return [texts, *(self._table.column(rows, name, own).cast(field.type) for name, field in carry)]

        keys = self._keys(rows, key)[inside] if len(inside) else _NO_KEYS
        falling, times = self._falling[number], rows.times[inside]
        fallen = falling.update(self._counters[number], falls, times, keys, until - 1, columns_of)
        stays = active.holds(fallen.rules, fallen.times)
        for rule in np.unique(fallen.rules).tolist():
            own = np.flatnonzero(stays & (fallen.rules == rule))
            stays[own] = self._spaced(active, rule, fallen.times[own], fallen.keys[own])
        columns = [column.filter(pa.array(stays)) for column in fallen.columns]
        rules, times, keys = fallen.rules[stays], fallen.times[stays], fallen.keys[stays]
        return FallenKeys(rules, times, keys, fallen.value[stays], columns)

    def _of_opened(self, rows: Rows, active: ActiveRules, begins: Int64, all_rows: Int64) -> list[Alerts]:
        """The crossings of the counters that were opened for rules that came."""
        names, first = self._query.carried_names, len(self._all.all)
        columns = [self._table.column(rows, name, None) for name in names]
        batch = pa.RecordBatch.from_arrays([pa.array(rows.times), *columns], names=["", *names])
        wheres = [need.where for counter in active.opened.values() for need in counter.needs]
        meets = dict(rows_by_condition(dict.fromkeys(where for where in wheres if where is not None), batch))
        with_key = {key: all_rows[slice(*begins[first + n : first + n + 2])] for n, key in enumerate(self._all.coming)}
        masks = {key: np.zeros(len(rows), np.bool_) for key in with_key}
        for key, inside in with_key.items():
            masks[key][inside] = True
        pieces = []
        for opening, counter in active.opened.items():
            own, items = list[Int64](), list[UInt64 | None]()
            for where, key, values, _ in counter.needs:
                inside = with_key[key] if where is None else meets[where][masks[key][meets[where]]]
                columns = [batch.column(name).take(pa.array(inside)) for name in values]
                valid = [column.is_valid().to_numpy(zero_copy_only=False) for column in columns]
                whole = np.all(valid, axis=0) if columns else np.ones(len(inside), np.bool_)
                own.append(inside[whole])
                items.append(hash_columns(columns)[whole] if columns else None)
            if not any(map(len, own)):
                continue
            if opening not in self._opened:
                self._opened[opening] = self._new(counter)
            state: Any = self._opened[opening]
            if counter.steps is not None:
                pieces.append(self._sequences(active, counter, state, rows, own, items))
            else:
                pieces.append(self._crossings(active, counter, state, rows, own[0], items[0], {})[0])
        return pieces

    def _values(self, rows: Rows, need: Needs, inside: Int64) -> UInt64 | None:
        """uint64[m]: the hashes of the values of some rows; None if no values are counted."""
        return rows[value_column(self._all.values.index(need.values))][inside] if need.values else None

    def _sequences(
        self, active: ActiveRules, counter: Counter, state: SequenceCounter, rows: Rows, inside: Sequence[Int64],
        values: Sequence[UInt64 | None],
    ) -> Alerts:  # fmt: skip
        """The rows that complete a sequence, at times of their rules; inside, values: of each step."""
        bounds, keys = active.bounds[counter.rules], self._keys(rows, counter.key)
        complete = state.update(rows.times, keys, inside, values, bounds)
        rules, when = active.reached[counter.rules][complete.asks], rows.times[complete.rows]
        stays = active.holds(rules, when)
        return Alerts(complete.rows[stays], rules[stays], *[complete.lengths[stays] / SECOND] * 3)

    def _crossings(
        self, active: ActiveRules, counter: Counter, state: KeyCounter, rows: Rows, inside: Int64,
        values: UInt64 | None, limits: Mapping[str, Int64],
    ) -> tuple[Alerts, Falls]:  # fmt: skip
        """The crossings at times of their rules, of the rows that a counter counts; and the keys that fall."""
        bounds, times = active.bounds[counter.rules], rows.times[inside]
        keys = self._keys(rows, counter.key)[inside]
        crossings = state.update(
            times, keys, values, windows=bounds.windows, at_least=bounds.at_least, each=bounds.each, **limits
        )
        rules, when = active.reached[counter.rules][crossings.asks], times[crossings.rows]
        stays = active.holds(rules, when)
        high = np.where(crossings.high == NO_LIMIT, np.nan, crossings.high)
        numbers = (crossings.value, crossings.low, high)
        return (
            Alerts(inside[crossings.rows[stays]], rules[stays], *(column[stays] for column in numbers)),
            crossings.falls,
        )

    def _totals(self, active: ActiveRules, number: int, rows: Rows, inside: Int64) -> Alerts:
        """The times of their rules at which numbers reach a bound, of the rows that a counter counts."""
        counter, times = self._all.all[number], rows.times[inside]
        values = rows[number_column(self._all.numbers.index(counter.numbers))][inside]
        keys = self._keys(rows, counter.key)[inside]
        reached = self._counters[number].update(times, keys, values, **self._of_totals[number])
        rules, when = np.array(counter.rules)[reached.asks], times[reached.rows]
        value = reached.value if counter.kind == QUANTILE else worth(reached.value, self._query.unit)
        value = value / reached.sizes if counter.kind == MEAN else value
        stays = active.holds(rules, when)
        return Alerts(inside[reached.rows[stays]], rules[stays], *[value[stays]] * 3)

    def _not_silent(self, rows: Rows, active: ActiveRules, alerts: Alerts) -> Alerts:
        """The alerts that no `silence` suppresses."""
        if not active.silences or not len(alerts.rows):
            return alerts
        stays, when = np.ones(len(alerts.rows), np.bool_), rows.times[alerts.rows]
        order = np.lexsort((alerts.rows, alerts.rules))
        begins = np.searchsorted(alerts.rules[order], np.arange(len(active.rules) + 1))
        for silence, places in active.silences.items():
            keys = self._keys(rows, silence[1])
            for place in places:
                own = order[begins[place] : begins[place + 1]]
                stays[own] = self._spaced(active, place, when[own], keys[alerts.rows[own]])
        return Alerts(*(column[stays] for column in alerts))

    def _spaced(self, active: ActiveRules, place: int, when: Int64, keys: UInt64) -> Array:
        """bool[n]: the answers of a rule for these keys, in order of time, that no `silence` suppresses."""
        rule = active.rules[place]
        if rule.silence is None or not len(when):
            return np.ones(len(when), np.bool_)
        until, length = when + rule.silence.length, rule.silence.length
        of = (rule.name, rule.key, active.lives[place])
        stays = self._silent.setdefault(of, LastTimes()).spaced(until, np.ascontiguousarray(keys), length)
        self._silent_until[of] = int(until[stays].max(initial=self._silent_until.get(of, _NEVER)))
        return stays

    def _keys(self, rows: Rows, key: tuple[str, ...]) -> UInt64:
        """uint64[n]: the hash of the key of each row; 0 for the key of no columns."""
        return rows[key_column(self._all.keys.index(key))] if key else np.zeros(len(rows), np.uint64)

    def merge(self, other: GroupProcessor) -> None:
        """Add the keys of another shard, which has others."""
        assert isinstance(other, DetectionsProcessor)
        for own, others in zip(self._counters, other._counters, strict=True):
            own.merge(others)
        for number, falling in self._falling.items():
            falling.merge(other._falling[number])
        for opening, counter in other._opened.items():
            if opening in self._opened:
                self._opened[opening].merge(counter)
            else:
                self._opened[opening] = counter
        for silence, times in other._silent.items():
            both = self._silent.setdefault(silence, LastTimes())
            both_keys, both_times = zip(both.entries(-FARTHEST), times.entries(-FARTHEST), strict=True)
            both.load(np.concatenate(both_keys), np.concatenate(both_times))
        for silence, until in other._silent_until.items():
            self._silent_until[silence] = max(until, self._silent_until.get(silence, _NEVER))
        self._last = max((last for last in (self._last, other._last) if last is not None), default=None)
        self._find_next_fall()

    def dump_state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        self._drop_others(self._active)
        arrays: dict[str, Array] = {}
        for number, counter in enumerate(self._counters):
            arrays |= state_arrays.with_prefix(f"counter.{number}", counter.dump_state())
        for number, falling in self._falling.items():
            arrays |= state_arrays.with_prefix(f"falling.{number}", falling.dump_state())
        openings = sorted(self._opened, key=repr)
        for number, opening in enumerate(openings):
            arrays |= state_arrays.with_prefix(f"opened.{number}", self._opened[opening].dump_state())
        silences: list[Silence] = []
        for silence in sorted(self._silent):
            keys, until = self._silent_keys(silence)
            if len(keys):
                arrays |= {f"silent.{len(silences)}.keys": keys, f"silent.{len(silences)}.until": until}
                silences.append(silence)
        return {"last": self._last, "opened": openings, "silent": silences}, arrays

    def load_state(self, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
        self._last = header["last"]
        if self._last is not None and (type(self._last) is not int or abs(self._last) > FARTHEST):
            raise SnapshotError(f"contradicts itself: {self._last!r} is not the time of a row")
        for number, counter in enumerate(self._counters):
            falls = counter.longest if number in self._falling else 0
            self._load(counter, state_arrays.without_prefix(f"counter.{number}", arrays), falls)
        for number, falling in self._falling.items():
            falling.load_state(state_arrays.without_prefix(f"falling.{number}", arrays))
        self._find_next_fall()
        active = self._active
        for number, entry in enumerate(header["opened"]):
            (where, key, measure, values), at = entry
            opening = (where, tuple(key), measure, tuple(values)), at
            if opening in active.opened:  # its rules may have left since
                self._opened[opening] = self._new(active.opened[opening])
                self._load(self._opened[opening], state_arrays.without_prefix(f"opened.{number}", arrays))
        state = StateReader(arrays)
        for number, (name, key, life) in enumerate(header["silent"]):
            keys = state.ascending(f"silent.{number}.keys", dtype=np.uint64, strictly=True)
            least = -FARTHEST if self._last is None else self._last + 1
            until = state.column(
                f"silent.{number}.until", np.int64, len(keys), at_least=least, at_most=2 * FARTHEST - 1
            )
            self._silent[name, tuple(key), life] = table = LastTimes()
            table.load(keys, until)
            self._silent_until[name, tuple(key), life] = int(until.max(initial=_NEVER))

    def _load(self, counter: KeyCounter, arrays: Mapping[str, Array], later: int = 0) -> None:
        """Load a counter, which has reached at most so much more than the last row."""
        counter.load_state(arrays)
        if counter.now is not None and counter.now > (-FARTHEST if self._last is None else self._last + later):
            raise SnapshotError(f"contradicts itself: a counter has reached {counter.now}, after the last row")
