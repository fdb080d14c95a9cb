"""Counts rows by the keys of all rules, and answers the rows that cross a bound."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from skyband.arrays import TIME_MAX, Array, Int64, UInt64
from skyband.columns.rows import Rows
from skyband.errors import SnapshotError
from skyband.groups import state_arrays
from skyband.groups.broadcast_state import BroadcastState
from skyband.groups.processor import GroupProcessor
from skyband.registry import Binding
from skyband.state_validation import StateReader

from skyband_detect.detections.alerts import Alerts, AnswerTable, joined_alerts, rows_by_rule
from skyband_detect.detections.batch_entries import NO_ENTRIES, BatchEntries, Entries, column_of
from skyband_detect.detections.coming_rules import ComingRules
from skyband_detect.detections.counter_state import CounterState
from skyband_detect.detections.counters import Counter, key_column
from skyband_detect.detections.crossings import crossings_of
from skyband_detect.detections.falling_keys import FallenKeys, joined_falls
from skyband_detect.detections.key_texts import key_texts
from skyband_detect.detections.versions import ActiveRules, Opening, Silence
from skyband_detect.keyed_clock import FARTHEST
from skyband_detect.newest.last_times import LastTimes
from skyband_detect.role import NO_FALLS, Falls

if TYPE_CHECKING:
    from skyband_detect.detections.query import Detections

_NEVER = -FARTHEST
_NO_KEYS = np.empty(0, np.uint64)


class DetectionsProcessor(GroupProcessor):
    """A counter for each condition, key and measure, and the last answers of rules with `silence`."""

    def __init__(self, query: "Detections", bindings: Mapping[str, Binding], answers: pa.Schema) -> None:
        self._query, self._bindings = query, bindings
        self._all = query.counters
        self._fixed = ActiveRules.of(query.detections, self._all.all, unit=query.unit)
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
        self._counters = [self._new(counter) for counter in self._all.all]
        self._opened: dict[Opening, CounterState] = {}
        """The counters opened for rules that came, from their first row on."""
        self._silent: dict[Silence, LastTimes] = {}
        """For rules with `silence`, the time until which each key is silent."""
        self._silent_until: dict[Silence, int] = {}
        """Until when some key of these rules is silent."""
        self._falls_of: tuple[ActiveRules, int | None] | None = None
        """The next fall, and the rules that it is of."""
        self._last: int | None = None

    def _new(self, counter: Counter) -> CounterState:
        return CounterState(counter, self._bindings, self._table.carry)

    def advance(self, rows: Rows, until: int) -> pa.RecordBatch | None:
        answers, active, next_fall = None, self._active, self._next_fall
        if len(rows) or (next_fall is not None and next_fall < until):
            self._drop_others(active)
            alerts, fallen = self._alerts(rows, active, until)
            answers = self._table.of(rows, active, *self._not_silent(rows, active, alerts, fallen))
            self._last = int(rows.times[-1]) if len(rows) else self._last
            assert self._last is not None
            for state in (*self._counters, *self._opened.values()):
                state.advance(self._last)
            self._falls_of = None
        if self._last is not None and self.next_at <= until:
            self._begin()
        return answers

    def finish(self, rows: Rows, latest: int) -> pa.RecordBatch | None:
        return self.advance(rows, latest + 1)

    @property
    def _next_fall(self) -> int | None:
        """When the next key falls below a bound of the rules in force."""
        active = self._active
        if self._falls_of is None or self._falls_of[0] is not active:
            opened = ((active.opened[of], state) for of, state in self._opened.items() if of in active.opened)
            pairs = (*zip(active.permanent, self._counters, strict=True), *opened)
            falls = [state.next_fall(active.asks(counter)) for counter, state in pairs if counter.falls]
            self._falls_of = active, min((fall for fall in falls if fall is not None), default=None)
        return self._falls_of[1]

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
        if (next_fall := self._next_fall) is not None:
            return next_fall + 1
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

    def _alerts(self, rows: Rows, active: ActiveRules, until: int) -> tuple[list[Alerts], list[FallenKeys]]:
        """The rows that bring a key to a bound, by counter, and the keys that fall before `until`."""
        alerts, fallen = list[Alerts](), list[FallenKeys]()
        batch, turns = BatchEntries(self._query, rows), list[tuple[Counter, CounterState, list[Entries]]]()
        for number, (counter, state) in enumerate(zip(active.permanent, self._counters, strict=True)):
            turns.append((counter, state, batch.of_permanent(number)))
        opened = active.opened if len(rows) else {of: active.opened[of] for of in self._opened}
        entries = batch.of_opened(opened.values()) if len(rows) else [[NO_ENTRIES] for _ in opened]
        for (of, counter), own in zip(opened.items(), entries, strict=True):
            if of not in self._opened and any(len(one.rows) for one in own):
                self._opened[of] = self._new(counter)
            if of in self._opened:
                turns.append((counter, self._opened[of], own))
        for counter, state, own in turns:
            falls, asks = NO_FALLS, active.asks(counter)
            if any(len(one.rows) for one in own):
                keys, unit = self._keys(rows, counter.key), self._query.unit
                crossing, falls = crossings_of(counter, asks, state, rows.times, keys, own, unit)
                alerts.append(crossing.filter(active.holds(crossing.rules, rows.times[crossing.rows])))
            if state.falling is not None:
                fallen.append(self._falls(active, counter, state, falls, rows, own[0].rows, until))
        return alerts, fallen

    def _falls(
        self, active: ActiveRules, counter: Counter, state: CounterState, falls: Falls, rows: Rows, inside: Int64,
        until: int,
    ) -> FallenKeys:  # fmt: skip
        """The keys of a counter that fall before `until`, at times of their rules."""

        def columns_of(places: Int64) -> list[pa.Array]:
            own = inside[places]
            key = [column_of(self._query, rows, name, own) for name in counter.key]
            carry = zip(self._query.carry, self._table.carry, strict=True)
            carried = [column_of(self._query, rows, name, own).cast(field.type) for name, field in carry]
            return [key_texts(counter.key, key, len(own)), *carried]

        keys = self._keys(rows, counter.key)[inside] if len(inside) else _NO_KEYS
        assert state.falling is not None
        asks, times = active.asks(counter), rows.times[inside]
        fallen = state.falling.update(state.backend, asks, falls, times, keys, until - 1, columns_of)
        return fallen.filter(active.holds(fallen.rules, fallen.times))

    def _not_silent(
        self, rows: Rows, active: ActiveRules, crossing: Sequence[Alerts], fallen: Sequence[FallenKeys]
    ) -> tuple[Alerts, FallenKeys | None]:
        """The crossings and falls that no `silence` suppresses."""
        alerts, falls = joined_alerts(crossing), joined_falls(fallen)
        if not active.silences:
            return alerts, falls
        own, own_falls = rows_by_rule(alerts.rules, alerts.rows), dict[int, Int64]()
        stays, when = np.ones(len(alerts.rows), np.bool_), rows.times[alerts.rows]
        if falls is not None:
            own_falls, falls_stay = rows_by_rule(falls.rules, falls.times), np.ones(len(falls.rules), np.bool_)
        for silence, places in active.silences.items():
            for place in (place for place in places if place in own or place in own_falls):
                if active.rules[place].below is None:
                    keys = self._keys(rows, silence[1])[alerts.rows[own[place]]]
                    stays[own[place]] = self._spaced(active, place, when[own[place]], keys)
                elif falls is not None:
                    some = own_falls[place]
                    falls_stay[some] = self._spaced(active, place, falls.times[some], falls.keys[some])
        return alerts.filter(stays), None if falls is None else falls.filter(falls_stay)

    def _spaced(self, active: ActiveRules, place: int, when: Int64, keys: UInt64) -> Array:
        """bool[n]: the answers of a rule for these keys, in order of time, that its `silence` does not suppress."""
        rule = active.rules[place]
        assert rule.silence is not None
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
        self._falls_of = None

    def dump_state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        self._drop_others(self._active)
        arrays: dict[str, Array] = {}
        for number, counter in enumerate(self._counters):
            arrays |= state_arrays.with_prefix(f"counter.{number}", counter.dump_state())
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
            counter.load_state(state_arrays.without_prefix(f"counter.{number}", arrays), self._last)
        active = self._active
        for number, entry in enumerate(header["opened"]):
            (where, key, measure, values), at = entry
            opening = (where, tuple(key), measure, tuple(values)), at
            if opening in active.opened:  # its rules may have left since
                self._opened[opening] = self._new(active.opened[opening])
                self._opened[opening].load_state(state_arrays.without_prefix(f"opened.{number}", arrays), self._last)
        self._falls_of = None
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
