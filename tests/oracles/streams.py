"""Random small streams, their groups and windows in plain Python: what the oracles of all queries share.

An oracle is written from the pages alone: nothing of the program but what a user calls.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from random import Random
from typing import Any, ClassVar

import pyarrow as pa

SECOND = 1_000_000
Row = dict[str, Any]
_TIMES = pa.timestamp("us", "UTC"), pa.timestamp("us"), pa.timestamp("ms"), pa.timestamp("ns", "UTC")
_GROUPINGS = ([], [], ["g"], ["g"], ["h"], ["g", "h"], [["g"], []], [["g", "h"], ["h"], []])


class Oracle(ABC):
    """A random query of one kind over a random stream. A subclass adds keys and columns, and says what is answered."""

    kind: ClassVar[str]
    key: ClassVar[tuple[str, ...]] = ()
    """What identifies a row of an answer in a log of changes."""
    reports_answered_rows: ClassVar[bool] = False
    """Whether rows are counted by a reason although they are answered."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.by: list[Any] = random.choice(_GROUPINGS)
        self.delay = random.choice((0, 0, 2, 6))
        self.query: Row = {"kind": self.kind, "time": "ts", "by": self.by, "delay": f"{self.delay} seconds"}
        self.sources: list[str] = []
        self.ahead: int | None = None
        self.idle: int | None = None
        self.backends: dict[str, Any] = {}
        self.types: dict[str, pa.DataType] = {"ts": random.choice(_TIMES), "g": pa.string(), "h": pa.float64()}
        self.unique_times = False
        if random.random() < 0.1:
            self.sources = self.query["sources"] = ["west", "east"]
            self.query["source"], self.types["src"] = "src", pa.string()
            if random.random() < 0.5:
                self.idle = random.choice((1, 4, 9))
                self.query["idle"] = f"{self.idle} seconds"
        elif random.random() < 0.1:
            self.ahead = random.choice((3, 8))
            self.query["ahead"] = f"{self.ahead} seconds"
        self.add_keys()

    @abstractmethod
    def add_keys(self) -> None:
        """Choose further keys of the query, its backends and the columns it reads."""

    @abstractmethod
    def columns(self, number: int) -> Row:
        """The columns of a row that the query reads, besides ts, g and h."""

    def keeps(self, row: Row) -> bool:
        """Whether a row that has a time is not left out for its content."""
        return True

    def rank(self, row: Row) -> Any:
        """What orders rows of one group that have one time."""
        return 0

    @abstractmethod
    def due(self, group: list[Row], before: float, until: float) -> Iterator[Row]:
        """The answers of one group, rows in order, that are due while the watermark goes from `before` to `until`."""

    @abstractmethod
    def end(self, newest: int) -> float:
        """Where the watermark goes when the input ends."""

    def read(self, answers: pa.RecordBatch) -> list[Row]:
        """Answers as rows, their times in seconds."""
        return plain(answers)

    def stream(self) -> list[Row]:
        """The rows, in the order in which they arrive."""
        random, time, rows, seen = self.random, self.random.randrange(-60, 60), [], set[int]()
        many = random.random() < 0.1  # groups, which are then answered together
        names = [f"group {number}" for number in range(40)] if many else ["a", "a", "b", "", None]
        for number in range(120 if many else random.choice((3, 12, 40))):
            if not many or number % 9 == 0:
                time += random.choice((0, 0, 0, 1, 1, 2, 3, random.choice((5, 9, 45))))
            at = None if random.random() < 0.03 else time - random.choice((0, 0, 0, 0, 1, 2, 5, 9))
            if self.unique_times and at in seen:
                continue
            seen.add(at)
            row: Row = {"ts": at, "g": random.choice(names)}
            row |= {"h": random.choice((0.0, -0.0, math.nan, 2.5, None))}
            row |= {"src": random.choice(("west", "east", "east", None))}
            rows.append(row | self.columns(number))
        return rows

    def answers(self, kept: list[Row], before: float, until: float) -> Iterator[Row]:
        """The answers of all groups that are due."""
        if until == -math.inf:
            return
        several = bool(self.by) and isinstance(self.by[0], list)
        for names in self.by if several else [self.by]:
            groups: dict[tuple[Any, ...], list[Row]] = {}
            for row in kept:
                groups.setdefault(tuple(alike(row[name]) for name in names), []).append(row)
            labels: Row = {name: None for each in self.by for name in each} if several else {}
            if several:
                labels["grouping"] = ", ".join(names) or "()"
            for values, group in groups.items():
                group.sort(key=lambda row: (row["ts"], self.rank(row)))
                for answer in self.due(group, before, until):
                    yield {**labels, **dict(zip(names, values, strict=True)), **answer}


class AtMoments(Oracle):
    """A query that answers at multiples of `every` over windows that end there, in seconds or in rows."""

    answer_of: tuple[str, ...] = ()
    """Columns that tell the answers of one moment apart, such as the window."""
    in_rows = False
    offset = 0
    always = False
    """Whether a group answers at every moment after its first row."""

    def draw_windows(self, most: int, rows: bool = False) -> None:
        """Choose `windows` and `every`, with a chance for rows."""
        random = self.random
        self.in_rows = rows and random.random() < 0.3
        self.every = random.choice((2, 3, 5, 10))
        self.windows = sorted(random.sample((2, 3, 4, 7, 10, 13, 20), random.randint(1, most)))
        self.longest = max(self.windows)
        if not self.in_rows and random.random() < 0.3:
            self.offset = random.randrange(1, self.every)
            self.query["offset"] = f"{self.offset} seconds"
        self.query["every"] = self.length(self.every)

    def length(self, number: int) -> str:
        """A length as a user writes it."""
        return f"{number} {'rows' if self.in_rows else 'seconds'}"

    def inside(self, group: list[Row], at: int, length: int) -> list[Row]:
        """The rows of the window of this length that ends at a moment."""
        if self.in_rows:
            return group[max(0, at - length) : at]
        return [row for row in group if at - length <= row["ts"] < at]

    @abstractmethod
    def answer(self, group: list[Row], at: int) -> Iterator[Row]:
        """The answer of one group at a moment, without `at`."""

    def end(self, newest: int) -> float:
        return math.inf if self.in_rows else self.after(newest)

    def after(self, time: float) -> int:
        """The first moment after a time."""
        return int((time - self.offset) // self.every + 1) * self.every + self.offset

    def due(self, group: list[Row], before: float, until: float) -> Iterator[Row]:
        if self.in_rows:
            first, last = (sum(row["ts"] < limit for row in group) for limit in (before, until))
            moments = range((first // self.every + 1) * self.every, last + 1, self.every)
        else:
            moments = range(self.after(max(before, group[0]["ts"])), int(until) + 1, self.every)
        for at in moments:
            if self.always or self.inside(group, at, self.longest):
                for answer in self.answer(group, at):
                    yield {"at": at, **answer}

    def change_log(self) -> bool:
        """Perhaps ask for a log of changes; returns whether."""
        if not self.in_rows and self.random.random() < 0.2:
            self.query["answers"] = "changes"
        return "answers" in self.query


class EachRow(Oracle):
    """A query that answers each row when the watermark has passed it."""

    @abstractmethod
    def answer(self, rows: list[Row], place: int) -> Iterator[Row]:
        """The answer of the row at this place of its group."""

    def end(self, newest: int) -> float:
        return math.inf

    def due(self, group: list[Row], before: float, until: float) -> Iterator[Row]:
        for place, row in enumerate(group):
            if before <= row["ts"] < until:
                yield from self.answer(group, place)


def alike(value: Any) -> Any:
    """A value of a group: one zero, and one NaN."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    return value


def plain(answers: pa.RecordBatch) -> list[Row]:
    """Rows of Arrow as dictionaries, times in seconds."""
    columns = {}
    for name, column in zip(answers.schema.names, answers.columns, strict=True):
        if pa.types.is_timestamp(column.type):
            micros = column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64()).to_pylist()
            columns[name] = [None if each is None else each / SECOND for each in micros]
        else:
            columns[name] = [alike(each) for each in column.to_pylist()]
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
