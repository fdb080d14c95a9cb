"""Turns planned for many groups together equal the turns planned one by one."""

import numpy as np
import pyarrow as pa
import pytest
from skyband.columns.rows import Rows
from skyband.groups import plain_turns as module
from skyband.groups.answer_columns import AnswerColumns
from skyband.groups.batched_processor import BatchedProcessor
from skyband.groups.plain_turns import plain_turns
from skyband.groups.windowed_processor import WindowedProcessor
from skyband.windows.schedule import EndlessRegular, Regular, Schedule

EVERY, HORIZON, PHASE = 5, 12, 2
SCHEMA = pa.schema([("at", pa.int64()), ("sum", pa.int64())])


class ByMoment(WindowedProcessor):
    """Answers the sum of the values that its windows hold."""

    def __init__(self, schedule=None, rows=False):
        super().__init__(EVERY, HORIZON, rows, schedule or Regular(EVERY, HORIZON, PHASE))
        self.answers = []
        self.clear()

    def clear(self):
        self.times, self.values = np.empty(0, np.int64), np.empty(0, np.int64)

    def update(self, times, rows):
        self.times, self.values = np.append(self.times, times), np.append(self.values, rows["value"])

    def answer(self, at):
        self.answers.append((at, int(self.values[self.times >= at - HORIZON].sum())))

    def collect(self):
        answers, self.answers = self.answers, []
        return AnswerColumns(SCHEMA, [np.array(column) for column in zip(*answers, strict=True)]) if answers else None

    @property
    def retained(self):
        return len(self.times)

    def dump_state(self):
        return {"clock": self.clock()}, {"times": self.times, "values": self.values}

    def load_state(self, header, arrays):
        raise NotImplementedError


class AtOnce(BatchedProcessor):
    """The same from all rows of a turn at once, and from columns made for all groups."""

    no_rows = Rows(np.empty(0, np.int64), {"value": np.empty(0, np.int64)})
    columns_suffice = True

    def __init__(self, schedule=None, rows=False):
        super().__init__(EVERY, HORIZON, rows, schedule or Regular(EVERY, HORIZON, PHASE))

    def begin(self):
        self.times, self.values = np.empty(0, np.int64), np.empty(0, np.int64)

    def backend_columns(self, times, rows):
        return times, rows["value"]

    def feed(self, times, rows, due):
        return self.feed_columns(self.backend_columns(times, rows), due)

    def feed_columns(self, columns, due):
        times, values = columns
        assert len(times) or len(due), "a turn that brings nothing"
        self.times, self.values = np.append(self.times, times), np.append(self.values, values)
        sums = [self.values[(self.times >= at - HORIZON) & (self.times < at)].sum() for at in due.tolist()]
        return AnswerColumns(SCHEMA, [due, np.array(sums, np.int64)]) if len(due) else None

    retained, dump_state, load_state = ByMoment.retained, ByMoment.dump_state, ByMoment.load_state


def rows_of(answers):
    return [] if answers is None else list(zip(*(column.tolist() for column in answers.columns), strict=True))


def turns_of(rng, groups):
    """Rows of each group, some without any, and how far time has come: whole windows pass, or nothing."""
    now = int(rng.integers(-100, 100))
    for _ in range(40):
        until = now + int(rng.choice([0, 1, 2, EVERY, HORIZON, HORIZON + EVERY]))
        counts = rng.integers(0, 3, groups) * (rng.random(groups) < 0.7) * (until > now)
        times = [np.sort(rng.integers(now, until, count)) if count else np.empty(0, np.int64) for count in counts]
        stops = np.cumsum(counts)
        yield np.concatenate(times), np.stack([stops - counts, stops], axis=1), until
        now = until


@pytest.mark.parametrize("kind", [ByMoment, AtOnce])
@pytest.mark.parametrize("seed", range(8))
def test_a_turn_looked_up_for_all_is_what_each_would_have_found(seed, kind, monkeypatch):
    monkeypatch.setattr(module, "_FEW", 1)
    rng, groups = np.random.default_rng(seed), 12
    alone, together, plain = [kind() for _ in range(groups)], [kind() for _ in range(groups)], 0
    for times, spans, until in turns_of(rng, groups):
        rows = Rows(times, {"value": rng.integers(1, 100, len(times))})
        parts = [rows.slice(start, stop) for start, stop in spans.tolist()]
        each = [rows_of(one.advance(part, until)) for one, part in zip(alone, parts, strict=True)]
        turns = plain_turns(together, times, spans, until)
        places = [place for place, turn in enumerate(turns) if turn]
        plain += len(places)
        answers = [None] * groups
        if places:
            some = kind.turns([together[place] for place in places], rows, spans[places], list(filter(None, turns)))
            assert sum(map(len, some.pieces)) == sum(some.counts)
            pieces = iter(some.pieces)
            for place, count in zip(places, some.counts, strict=True):
                own = next(pieces) if count else None
                assert count == (0 if own is None else len(own))
                answers[place] = own
        for place in set(range(groups)) - set(places):
            answers[place] = together[place].advance(parts[place], until)
        assert [rows_of(own) for own in answers] == each
        assert [one.clock() for one in together] == [one.clock() for one in alone]
        assert all((one.times == other.times).all() for one, other in zip(alone, together, strict=True))
    assert plain > 100


class Doubled(AtOnce):
    """Feeds rows in its own way."""

    def feed(self, times, rows, due):
        return self.feed_columns((times, 2 * rows["value"]), due)


def test_what_feeds_rows_in_its_own_way_is_not_fed_columns_instead():
    many, rows = [Doubled() for _ in range(20)], Rows(np.full(20, 3), {"value": np.full(20, 5)})
    for one in many:
        one.advance(Rows(np.array([2]), {"value": np.array([1])}), 3)
    spans = np.stack([np.arange(20), np.arange(20) + 1], axis=1)
    turns = plain_turns(many, rows.times, spans, 4)
    Doubled.turns(many, rows, spans, turns)
    assert [one.values.tolist() for one in many] == [[2, 10]] * 20


class Changed(AtOnce):
    """Looks at each of its turns itself."""

    def due(self, times, until):
        return super().due(times, until)


@pytest.mark.parametrize(
    "make",
    [
        lambda: AtOnce(Schedule([HORIZON], [EVERY], [PHASE])),
        lambda: AtOnce(EndlessRegular(EVERY, HORIZON)),
        lambda: AtOnce(rows=True),
        lambda: Changed(),
    ],
    ids=["another schedule", "windows that are answered empty", "windows in rows", "a method of its own"],
)
def test_what_walks_otherwise_is_not_looked_up(make):
    many = [make() for _ in range(20)]
    for one in many:
        one.advance(Rows(np.array([0, 1]), {"value": np.array([1, 2])}), 2)
    assert plain_turns(many, np.empty(0, np.int64), np.zeros((20, 2), np.int64), 3) == [None] * 20
