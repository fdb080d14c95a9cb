"""The groups of an operator: their keys and values, and how each gets its rows, small groups all together."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from attrs import frozen

from skyband.arrays import TIME_MAX, TIME_MIN, Array, Int64, UInt64
from skyband.columns import keyed_frames
from skyband.columns.grouped_rows import GroupedRows
from skyband.columns.keyed_frames import plain_type
from skyband.columns.rows import Rows
from skyband.columns.values_by_key import KeyedColumns
from skyband.groups import state_arrays
from skyband.groups.answer_columns import ProcessorAnswers, as_batch
from skyband.groups.plain_turns import PlainTurn, plain_turns
from skyband.groups.processor import GroupProcessor
from skyband.kernels.sorted_arrays import among, distinct, search_sorted
from skyband.operator.processor_cache import ProcessorCache
from skyband.state_validation import StateReader

if TYPE_CHECKING:
    from skyband.groups.broadcast_state import BroadcastState
    from skyband.groups.small_groups.host import SmallGroupAnswers, SmallGroups

_NO_KEYS = np.empty(0, np.uint64)


@frozen
class Until:
    """The end of a micro-batch: a watermark, or the end of an input whose last time is `latest`."""

    watermark: int | None
    latest: int | None = None
    silent: bool = False
    """Whether its answers were given before, and need not be computed."""

    @property
    def moment(self) -> int:
        """The last moment that may be answered."""
        return TIME_MAX if self.watermark is None else self.watermark

    def run(self, processor: GroupProcessor, rows: Rows) -> ProcessorAnswers | None:
        """The answers of a processor."""
        if self.latest is not None:
            return processor.finish(rows, self.latest)
        return processor.catch_up(rows, self.moment) if self.silent else processor.advance(rows, self.moment)

    def plain_turns(
        self, processors: Sequence[GroupProcessor], times: Int64, spans: Int64
    ) -> Sequence[PlainTurn | None]:
        """The turns of these processors that are plain, None for others. See `skyband.groups.plain_turns`."""
        if self.watermark is None or self.silent:
            return [None] * len(processors)
        return plain_turns(processors, times, spans, self.watermark)


class Groups:
    """All groups of an operator. A micro-batch costs time for its rows and answers, not for all groups."""

    def __init__(
        self, by: pa.Schema, make: Callable[[int], GroupProcessor], small_groups: "SmallGroups | None",
        broadcast: "BroadcastState | None" = None,
    ) -> None:  # fmt: skip
        self._by = by
        self._plain = pa.schema([pa.field(field.name, plain_type(field.type)) for field in by])
        self._names = KeyedColumns(np.uint64, list(self._plain))
        """The grouping columns of each group."""
        self._processors = ProcessorCache(make)
        self._small_groups = small_groups
        self._broadcast = broadcast
        if small_groups is not None and broadcast is not None:
            small_groups.listen(broadcast)
        self._until = Until(TIME_MIN)
        self._with_other_parts = _NO_KEYS
        """Groups loaded from a state of a query with other parts. Each gets one turn, so that a processor whose rows no
        part needs is dropped: it would never be due."""
        self._dropped: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._names)

    @property
    def retained(self) -> int:
        """Items retained in all groups."""
        return self._processors.retained + (0 if self._small_groups is None else self._small_groups.retained)

    def largest(self, most: int) -> list[tuple[dict[str, Any], int, int]]:
        """The groups with the largest states, largest first: values, items retained and bytes."""
        keys, retained, sizes = self._processors.sizes()
        if self._small_groups is not None:
            small = self._small_groups.sizes()
            keys = np.concatenate([keys, small[0]])
            retained, sizes = np.concatenate([retained, small[1]]), np.concatenate([sizes, small[2]])
        largest = []
        for place in np.argsort(-sizes, kind="stable")[:most].tolist():
            (values,) = self._values_of(keys[place : place + 1]).to_pylist() if len(self._by) else [{}]
            largest.append((values, int(retained[place]), int(sizes[place])))
        return largest

    def start_from(self, since: Mapping[str, int]) -> None:
        """As `GroupProcessor.start_from`, for the small groups."""
        if since and self._small_groups is not None:
            self._small_groups.start_from(since)

    def take_dropped(self) -> Mapping[str, int]:
        """Rows that processors dropped, by reason, since the last call."""
        dropped, self._dropped = self._dropped, Counter()
        if self._small_groups is not None:
            dropped.update(self._small_groups.take_dropped())
        return dropped

    def run(self, ready: GroupedRows | None, until: Until) -> pa.RecordBatch | None:
        """The answers to rows and at the moments due, with the values of their groups."""
        self._until = until
        keys, spans, rows = _NO_KEYS, np.empty((0, 2), np.int64), Rows(np.empty(0, np.int64), {})
        if ready is not None:
            keys, spans, rows = ready.keys, ready.spans, ready.rows
            self._enroll(ready)
        turn = _MicroBatch(until)
        self._feed_processors(turn, keys, spans, rows)
        if (small := self._small_groups) is not None:
            self._take(turn, small.advance(until.moment) if until.latest is None else small.finish(until.latest))
        if self._broadcast is not None:
            self._broadcast.pass_to(until.moment)
        return self._finished(turn)

    def _due(self, until: int) -> UInt64:
        """The groups with a moment to answer up to `until`, ascending, their own or from a second table."""
        due, self._with_other_parts = distinct(self._processors.due(until), self._with_other_parts), _NO_KEYS
        if self._broadcast is None or self._broadcast.next_at > until:
            return due
        return distinct(due, self._broadcast.due(self._processors.keys, until))

    def _feed_processors(self, turn: "_MicroBatch", keys: UInt64, spans: Int64, rows: Rows) -> None:
        """Pass rows to the processors of their groups, and give a turn to those with a moment due.

        Rows of groups without a processor go to the small groups, as do rows after a session of a processor ends.
        """
        small, until = self._small_groups, turn.until
        has_processor = np.ones(len(keys), bool) if small is None else self._processors.has(keys)
        turning = distinct(keys[has_processor], self._due(until.moment))
        own = np.zeros((len(turning), 2), np.int64)
        own[search_sorted(turning, keys[has_processor])] = spans[has_processor]
        sizes, begin = own[:, 1] - own[:, 0], 0
        for some, processors in self._processors.some(turning):
            own_spans = own[begin : begin + len(some)]
            plain = until.plain_turns(processors, rows.times, own_spans)
            turn.advance_plain(some, processors, rows, own_spans, plain)
            for place in [place for place, at_once in enumerate(plain) if at_once is None]:
                part = rows.slice(*own_spans[place].tolist())
                sizes[begin + place] = self._feed(turn, some[place], processors[place], part)
            begin += len(some)
        if small is not None:
            remaining = _outside(own[:, 0], sizes, len(rows))
            small.add(np.repeat(keys, spans[:, 1] - spans[:, 0])[remaining], rows.pick(remaining))

    def _feed(self, turn: "_MicroBatch", key: int, processor: GroupProcessor, rows: Rows) -> int:
        """Give a processor its rows up to the end of its session, or all without small groups; returns their number."""
        count = len(rows) if self._small_groups is None else processor.rows_in_session(rows.times)
        whole = count == len(rows)
        ends = turn.until if whole else Until(int(rows.times[count]), silent=turn.until.silent)
        turn.advance(key, processor, rows.slice(0, count), ends)
        if processor.empty and whole:
            turn.emptied.append(np.array([key], np.uint64))
        return count

    def _take(self, turn: "_MicroBatch", answers: "SmallGroupAnswers") -> None:
        """Write answers of the small groups, and start processors for groups that are promoted."""
        turn.write(answers.answers, answers.owners)
        turn.emptied.append(answers.emptied)
        for key, processor, rows in answers.promoted:
            if self._broadcast is not None:
                processor.listen(self._broadcast, key)
            turn.advance(key, processor, rows, turn.until)
            if not processor.empty:
                self._processors.begin(key, processor)
        self._processors.rest()

    def _finished(self, turn: "_MicroBatch") -> pa.RecordBatch | None:
        """The answers with their groups; groups that are now empty are forgotten."""
        self._dropped.update(turn.dropped)
        answers = self._named(turn.answers, turn.owners) if turn.answers else None
        self._names.forget(distinct(_NO_KEYS, *turn.emptied))
        return answers

    def _enroll(self, ready: GroupedRows) -> None:
        """Learn the values that name new groups, from the first row of each."""
        new = ~self._names.knows(ready.keys)
        if not new.any():
            return
        named = zip(ready.names(len(self._by), new), self._plain.types, strict=True)
        self._names.learn(ready.keys[new], [column.cast(kind) for column, kind in named])

    def _values_of(self, keys: UInt64) -> pa.RecordBatch:
        """The grouping columns of these groups, at least one."""
        return pa.RecordBatch.from_arrays(self._names.lookup(keys), schema=self._plain)

    def _named(self, answers: list[ProcessorAnswers], owners: UInt64) -> pa.RecordBatch:
        together = as_batch(answers)
        named = zip(self._names.lookup(owners), self._by.types, strict=True)
        values = [keyed_frames.typed(column, kind) for column, kind in named]
        return pa.RecordBatch.from_arrays([*values, *together.columns], schema=pa.schema([*self._by, *together.schema]))

    def begin(self, keys: UInt64, values: pa.RecordBatch, processors: Sequence[GroupProcessor]) -> None:
        """Start with these groups, each with its values and processor. Called only if there are none yet."""
        present = np.array([not processor.empty for processor in processors], bool)
        self._names.learn(keys[present], [column.filter(pa.array(present)) for column in values.columns])
        for key, processor in zip(keys.tolist(), processors, strict=True):
            if not processor.empty:
                self._processors.begin(key, processor)
        self._processors.rest()

    def absorb(self, other: "Groups", selected: Array) -> None:
        """Take over another's groups (`selected`: bool for each), none of which is here. Both were just loaded."""
        others, columns = other._names.whole()
        keys = others[selected]
        self._names.learn(keys, [column.filter(pa.array(selected)) for column in columns])
        self._processors.absorb(other._processors, keys)
        others = other._with_other_parts
        self._with_other_parts = distinct(self._with_other_parts, others[among(others, np.sort(keys))])
        if self._small_groups is not None and other._small_groups is not None:
            self._small_groups.absorb(other._small_groups, keys)

    def merge(self, other: "Groups") -> None:
        """Merge the state of another shard of a query without `by`."""
        keys, columns = other._names.whole()
        self._names.learn(keys[~self._names.knows(keys)], columns)
        self._processors.merge(other._processors)

    @property
    def values(self) -> pa.RecordBatch:
        """The grouping columns of each group, in the order of `keys`."""
        _, columns = self._names.whole()
        return pa.RecordBatch.from_arrays(columns, schema=self._plain)

    @property
    def keys(self) -> UInt64:
        """All groups, ascending."""
        keys, _ = self._names.whole()
        return keys

    def dump_state(self) -> dict[str, Array]:
        """All groups as flat arrays, in canonical form, unchanged by this call."""
        canonical = self._canonical()
        return self._arrays() if canonical is None else canonical._arrays()

    def _canonical(self) -> "Groups | None":
        """A copy in canonical form: small groups have taken in waiting rows, and are promoted where that is due.

        None if these already are. Answers do not depend on it: every moment due has been answered.
        """
        if self._small_groups is None:
            return None
        small_groups, leaving = self._small_groups.canonical()
        if small_groups is self._small_groups:
            return None
        twin = copy(self)
        twin._names, twin._processors, twin._dropped = copy(self._names), self._processors.copy(), Counter()
        twin._small_groups = small_groups
        turn = _MicroBatch(self._until)
        twin._take(turn, leaving)
        twin._finished(turn)
        return twin

    def _arrays(self) -> dict[str, Array]:
        small_groups = (
            {}
            if self._small_groups is None
            else state_arrays.with_prefix("small_groups", self._small_groups.dump_state())
        )
        processors = state_arrays.with_prefix("processors", self._processors.dump_state())
        values = state_arrays.frame_to_array("values", self.values)
        return {"key": self.keys, **values, **small_groups, **processors}

    def load_state(self, arrays: Mapping[str, Array], changed: bool, watermark: int | None) -> None:
        """Load the result of `dump_state`, made at a watermark. changed: from a query with other parts."""
        values = state_arrays.frame_from_array("values", arrays, self.values)
        state = StateReader(arrays)
        keys = state.ascending("key", dtype=np.uint64, strictly=True)
        state.require(
            len(values) == len(keys) or not len(self._by), "key", f"{len(keys)} groups have {len(values)} names"
        )
        if self._small_groups is not None:
            self._small_groups.load_state(state_arrays.without_prefix("small_groups", arrays))
            until, passed = self._small_groups.until, TIME_MIN if watermark is None else watermark
            state.require(until <= passed, "small_groups", f"are answered up to {until}, after the watermark {passed}")
        self._processors.load_state(state_arrays.without_prefix("processors", arrays), changed)
        self._with_other_parts = self._processors.keys if changed else _NO_KEYS
        small_groups = _NO_KEYS if self._small_groups is None else self._small_groups.keys
        all_keys = distinct(self._processors.keys, small_groups)
        apart = len(all_keys) == len(self._processors) + len(small_groups)
        state.require(apart and bool(among(all_keys, keys).all()), "key", "must name each group, which is held once")
        self._names.replace(keys, values.columns)
        self._names.forget(keys[~among(keys, all_keys)])  # processors of changed parts may have nothing to answer

    def _check(self) -> None:
        """Raise AssertionError if a group is held twice or not at all, or its holder contradicts itself."""
        small = _NO_KEYS
        if self._small_groups is not None:
            self._small_groups._check()
            small = self._small_groups.keys
        self._processors._check()
        all_keys = distinct(self._processors.keys, small)
        assert len(all_keys) == len(self._processors) + len(small), "a group is small and has a processor"
        assert np.array_equal(all_keys, self.keys), "the groups must be those that are held"


class _MicroBatch:
    """The result of one micro-batch for the groups with rows or moments due."""

    def __init__(self, until: Until) -> None:
        self.until = until
        self.answers: list[ProcessorAnswers] = []
        self._owners: list[UInt64] = []
        self._keys: list[int] = []
        self._counts: list[int] = []
        self.emptied: list[UInt64] = []
        self.dropped: Counter[str] = Counter()

    def advance(self, key: int, processor: GroupProcessor, rows: Rows, until: Until) -> None:
        """Give a processor rows and record its answers."""
        self.write_one(key, processor, until.run(processor, rows))

    def advance_plain(
        self, keys: Sequence[int], processors: Sequence[GroupProcessor], rows: Rows, spans: Int64,
        turns: Sequence[PlainTurn | None],
    ) -> None:  # fmt: skip
        """Give rows to the processors whose turn is plain, and record their answers."""
        places = [place for place, turn in enumerate(turns) if turn]
        if not places:
            return
        plain = [processors[place] for place in places]
        answers = type(plain[0]).turns(plain, rows, spans[places], [turn for turn in turns if turn])
        self.answers += answers.pieces
        self._keys += [keys[place] for place in places]
        self._counts += answers.counts
        self._take_dropped(plain)

    def write_one(self, key: int, processor: GroupProcessor, answers: ProcessorAnswers | None) -> None:
        """Record a processor's answers and dropped rows."""
        self._take_dropped([processor])
        if answers is not None and len(answers):
            self.answers.append(answers)
            self._keys.append(key)
            self._counts.append(len(answers))

    def _take_dropped(self, processors: Sequence[GroupProcessor]) -> None:
        if type(processors[0]).take_dropped is not GroupProcessor.take_dropped:
            for processor in processors:
                for reason, count in processor.take_dropped().items():
                    self.dropped[reason] += count

    def write(self, answers: ProcessorAnswers | None, owners: UInt64) -> None:
        """Record answers of many groups, with the group of each row."""
        if answers is not None and len(answers):
            self._settle()
            self.answers.append(answers)
            self._owners.append(owners)

    @property
    def owners(self) -> UInt64:
        """uint64[n]: the group of each row of the answers."""
        self._settle()
        return np.concatenate([_NO_KEYS, *self._owners])

    def _settle(self) -> None:
        """Expand the owners of answers from processors, all at once."""
        self._owners.append(np.repeat(np.array(self._keys, np.uint64), self._counts))
        self._keys, self._counts = [], []


def _outside(starts: Int64, counts: Int64, rows: int) -> Array:
    """bool[rows]: the rows outside of these spans, which do not overlap."""
    edges = np.zeros(rows + 1, np.int64)
    np.add.at(edges, starts, 1)
    np.subtract.at(edges, starts + counts, 1)
    outside: Array = np.cumsum(edges[:-1]) == 0
    return outside
