"""A processor that passes its backend all rows and moments of a step at once, which is cheaper than one by one."""

from abc import abstractmethod
from collections.abc import Sequence
from functools import cache
from typing import ClassVar, Self

from skyband.arrays import Array, Int64
from skyband.columns.rows import Rows
from skyband.groups.answer_columns import ProcessorAnswers, as_batch
from skyband.groups.plain_turns import AnswersOfTurns, PlainTurn
from skyband.groups.windowed_processor import DueMomentsProcessor
from skyband.windows.schedule import Schedule


class BatchedProcessor(DueMomentsProcessor):
    """Feeds its backend session by session: all rows and moments until the step ends or the windows are empty."""

    no_rows: ClassVar[Rows]
    """An empty `Rows` with the columns of the query's frame."""

    def __init__(self, every: int, horizon: int, rows: bool, schedule: Schedule | None = None) -> None:
        super().__init__(every, horizon, rows, schedule)
        self._pending: list[ProcessorAnswers] = []
        self.begin()

    @abstractmethod
    def begin(self) -> None:
        """Start with empty windows."""

    @abstractmethod
    def feed(self, times: Int64, rows: Rows, due: Int64) -> ProcessorAnswers | None:
        """Take in rows at `times` and answer the moments `due`, each over the rows before it."""

    def take_due(self, times: Int64, rows: Rows, due: Int64) -> None:
        if len(times) or len(due):
            answers = self.feed(times, rows if len(times) else self.no_rows, due)
            if answers is not None and len(answers):
                self._pending.append(answers)

    @property
    def columns_suffice(self) -> bool:
        """Whether `feed` equals `feed_columns`, so that the backend's columns are all that it needs of its rows.

        The columns of all groups of a micro-batch are then made at once. For a class with `feed_together`, whether that
        does what `feed` does.
        """
        return False

    def backend_columns(self, times: Int64, rows: Rows) -> Sequence[Array]:
        """The backend's columns of rows, of one group or of many, at `times`."""
        raise NotImplementedError(f"{type(self).__name__} sets columns_suffice, so it must define backend_columns")

    def feed_columns(self, columns: Sequence[Array], due: Int64) -> ProcessorAnswers | None:
        """As `feed`, with the result of `backend_columns` for the rows."""
        raise NotImplementedError(f"{type(self).__name__} sets columns_suffice, so it must define feed_columns")

    def turn(self, rows: Rows, due: Int64, last: int, following: int) -> ProcessorAnswers | None:
        self._last, self._next = last, following
        if len(rows) or len(due):
            return self.feed(rows.times, rows if len(rows) else self.no_rows, due)
        return None

    @classmethod
    def turns(cls, processors: Sequence[Self], rows: Rows, spans: Int64, turns: Sequence[PlainTurn]) -> AnswersOfTurns:
        way = _fastest_way(cls)
        if way == "feed" or not processors[0].columns_suffice:
            return super().turns(processors, rows, spans, turns)
        for processor, (_, last, following) in zip(processors, turns, strict=True):
            processor._last, processor._next = last, following
        rows, due = rows if len(rows) else processors[0].no_rows, [turn.due for turn in turns]
        columns = processors[0].backend_columns(rows.times, rows)
        if way == "feed_together":
            return cls.feed_together(processors, rows, columns, spans, due)
        return _fed_one_by_one(processors, columns, spans, due)

    @classmethod
    def feed_together(
        cls,
        processors: Sequence[Self],
        rows: Rows,  # noqa: ARG003
        columns: Sequence[Array],
        spans: Int64,
        due: Sequence[Int64],
    ) -> AnswersOfTurns:
        """As `feed` for each of the processors, with the rows from spans[i, 0] to spans[i, 1], exclusive.

        columns: the result of `backend_columns` for all rows.
        """
        return _fed_one_by_one(processors, columns, spans, due)

    def collect(self) -> ProcessorAnswers | None:
        answers, self._pending = self._pending, []
        if len(answers) <= 1:
            return answers[0] if answers else None
        return as_batch(answers)

    def clear(self) -> None:
        self.begin()


def _fed_one_by_one(
    processors: Sequence[BatchedProcessor], columns: Sequence[Array], spans: Int64, due: Sequence[Int64]
) -> AnswersOfTurns:
    answers = list[ProcessorAnswers | None]()
    for processor, (start, stop), moments in zip(processors, spans.tolist(), due, strict=True):
        if stop > start or len(moments):
            answers.append(processor.feed_columns([column[start:stop] for column in columns], moments))
        else:
            answers.append(None)
    return AnswersOfTurns.of(answers)


_WAYS = ("feed_together", "feed_columns", "feed")
"""Ways to feed a backend, the fastest first."""


@cache
def _fastest_way(kind: type[BatchedProcessor]) -> str:
    """The fastest way that a class defines, or else its closest base class that defines any."""
    says = next(cls for cls in kind.__mro__ if any(each in vars(cls) for each in _WAYS))
    return next(each for each in _WAYS if each in vars(says))
