"""The groups of an operator: who they are, and their turns, in a crowd where the query has one, else in lanes."""

from collections import Counter
from collections.abc import Callable, Mapping

import numpy as np
import pyarrow as pa
from attrs import frozen

from skyband import frames
from skyband.arrays import Array, Int64, UInt64
from skyband.ascending import among, distinct
from skyband.lanes import Lanes
from skyband.queries import states
from skyband.queries.crowd import Crowd
from skyband.queries.lane import Lane, MomentLane, Rows
from skyband.queries.names import spelled_as

_NOBODY = np.empty(0, np.uint64)


@frozen
class Goal:
    """How far a turn goes: to a watermark, or to the end of an input whose last time is `latest`."""

    watermark: int | None
    latest: int | None = None

    @property
    def reaches(self) -> int:
        """No moment due later has its turn."""
        return int(np.iinfo(np.int64).max) if self.watermark is None else self.watermark

    def of(self, lane: Lane, rows: Rows) -> pa.RecordBatch | None:
        """What a lane answers."""
        if self.latest is not None:
            return lane.finish(rows, self.latest)
        return lane.advance(rows, self.reaches)


class Groups:
    """All groups of an operator. A turn costs what its rows and answers do, not what all groups would."""

    def __init__(self, by: pa.Schema, make: Callable[[], Lane], crowd: Crowd | None) -> None:
        self._by = by
        self._key = _NOBODY
        plain = [(field.name, spelled_as(field.type)) for field in by]
        self._values = pa.RecordBatch.from_arrays([pa.array([], kind) for _, kind in plain], schema=pa.schema(plain))
        """The grouping columns of each group, in the order of `_key`."""
        self._lanes = Lanes(make)
        self._crowd = crowd
        self._goal = Goal(int(np.iinfo(np.int64).min))
        self._left_out: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._key)

    @property
    def retained(self) -> int:
        """Items retained in all groups."""
        return self._lanes.retained + (0 if self._crowd is None else self._crowd.retained)

    def take_left_out(self) -> Mapping[str, int]:
        """Rows that lanes left out, by reason, since this was last called."""
        taken, self._left_out = self._left_out, Counter()
        return taken

    def run(self, ready: pa.RecordBatch | None, goal: Goal) -> pa.RecordBatch | None:
        """The answers to rows (in the order of `frames.ordered`) and at the moments due, after their groups' values."""
        self._goal = goal
        turn = _Turn(self._lanes, self._crowd, goal)
        keys, spans, rows = _NOBODY, np.empty((0, 2), np.int64), Rows(np.empty(0, np.int64), {})
        if ready is not None:
            keys, spans = frames.group_spans(ready)
            rows = Rows(*frames.payload(ready))
            self._enroll(keys, ready, spans[:, 0])
        turn.feed(keys, spans, rows)
        return self._finished(turn)

    def _finished(self, turn: "_Turn") -> pa.RecordBatch | None:
        """A turn's answers with the groups they are of; those that are empty now are forgotten."""
        self._left_out.update(turn.left_out)
        answers = self._named(turn.answers, turn.owners) if turn.answers else None
        emptied = distinct(_NOBODY, *turn.emptied)
        emptied = emptied[~self._lanes.has(emptied)]
        if self._crowd is not None:
            emptied = emptied[~self._crowd.has(emptied)]
        if len(emptied):
            self._pick(np.flatnonzero(~among(self._key, emptied)))
        return answers

    def _enroll(self, keys: UInt64, ready: pa.RecordBatch, firsts: Int64) -> None:
        """Learn the values that groups not known yet are named by, from the first row of each."""
        new = ~among(keys, self._key)
        if not new.any():
            return
        rows = pa.array(firsts[new])
        columns = [frames.decoded(ready.column(frames.by_column(number))) for number in range(len(self._by))]
        named = zip(columns, self._values.schema.types, strict=True)
        values = pa.RecordBatch.from_arrays([c.take(rows).cast(kind) for c, kind in named], schema=self._values.schema)
        self._key = np.concatenate([self._key, keys[new]])
        self._values = pa.concat_batches([self._values, values])
        self._pick(np.argsort(self._key))

    def _pick(self, places: Int64) -> None:
        self._key = self._key[places]
        if len(self._by):
            self._values = self._values.take(pa.array(places))

    def _named(self, answers: list[pa.RecordBatch], owners: list[UInt64]) -> pa.RecordBatch:
        together = pa.concat_batches(answers)
        places = pa.array(np.searchsorted(self._key, np.concatenate(owners)))
        named = zip(self._values.columns, self._by.types, strict=True)
        values = [frames.typed(column.take(places), kind) for column, kind in named]
        return pa.RecordBatch.from_arrays([*values, *together.columns], schema=pa.schema([*self._by, *together.schema]))

    def state(self) -> dict[str, Array]:
        """All groups as flat arrays, in one form however they came."""
        if self._crowd is not None:
            turn = _Turn(self._lanes, self._crowd, self._goal)
            turn.gather(settle=True)
            self._finished(turn)
        crowd = {} if self._crowd is None else states.under("crowd", self._crowd.state())
        lanes = states.under("lanes", self._lanes.state())
        return {"key": self._key, **states.framed("values", self._values), **crowd, **lanes}

    def load(self, arrays: Mapping[str, Array], changed: bool) -> None:
        """Take over a `state`. changed: it is of a query with other parts."""
        self._key = arrays["key"]
        self._values = states.unframed("values", arrays, self._values)
        if self._crowd is not None:
            self._crowd.load(states.of("crowd", arrays))
        self._lanes.load(states.of("lanes", arrays), changed)
        there = self._lanes.has(self._key)
        if self._crowd is not None:
            there |= self._crowd.has(self._key)
        if not there.all():  # a lane of changed parts may have nothing to answer any more
            self._pick(np.flatnonzero(there))


class _Turn:
    """One turn of the groups that have rows or moments due."""

    def __init__(self, lanes: Lanes, crowd: Crowd | None, goal: Goal) -> None:
        self._lanes = lanes
        self._crowd = crowd
        self._goal = goal
        self.answers: list[pa.RecordBatch] = []
        self.owners: list[UInt64] = []
        self.emptied: list[UInt64] = []
        self.left_out: Counter[str] = Counter()

    def feed(self, keys: UInt64, spans: Int64, rows: Rows) -> None:
        """Give each group its rows, and all whose moment is due their turn."""
        in_lane = self._lanes.has(keys) if self._crowd is not None else np.ones(len(keys), bool)
        span_of = dict(zip(keys[in_lane].tolist(), spans[in_lane].tolist(), strict=True))
        for key, lane in self._lanes.each(distinct(keys[in_lane], self._lanes.due(self._goal.reaches))):
            self._one(key, lane, rows.slice(*span_of.get(key, (0, 0))))
        if self._crowd is not None:
            lengths = spans[:, 1] - spans[:, 0]
            there = np.repeat(~in_lane, lengths)
            self._crowd.add(np.repeat(keys, lengths)[there], rows.pick(there))
            self.gather()

    def gather(self, settle: bool = False) -> None:
        """The crowd's answers, and those of the groups that leave it."""
        crowd = self._crowd
        assert crowd is not None
        until = self._goal.reaches if self._goal.latest is None else crowd.end(self._goal.latest)
        again = True
        while again:
            found = crowd.advance(until, settle)
            self._write(found.answers, found.owners)
            self.emptied.append(found.emptied)
            again = False
            for key, lane, rows in found.outgrown:
                self._lanes.begin(key, lane)
                for _ in self._lanes.each(np.array([key], np.uint64)):
                    again |= self._one(key, lane, rows)

    def _one(self, key: int, lane: Lane, rows: Rows) -> bool:
        """A lane's turn; whether rows of it are left to the crowd, because the lane ran empty before them."""
        left = len(rows)
        if self._crowd is not None and isinstance(lane, MomentLane):
            left = lane.empty_before(rows.times)
        if left < len(rows):
            given = lane.advance(rows.slice(0, left), int(rows.times[left]))
        else:
            given = self._goal.of(lane, rows)
        self.left_out.update(lane.take_left_out())
        if given is not None and len(given):
            self._write(given, np.full(len(given), key, np.uint64))
        if lane.empty:
            self.emptied.append(np.array([key], np.uint64))
        if left == len(rows) or self._crowd is None:
            return False
        rest = rows.slice(left, len(rows))
        self._crowd.add(np.full(len(rest), key, np.uint64), rest)
        return True

    def _write(self, answers: pa.RecordBatch | None, owners: UInt64) -> None:
        if answers is not None and len(answers):
            self.answers.append(answers)
            self.owners.append(owners)
