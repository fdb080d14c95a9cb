"""A processor that gives its backend all rows and moments of a step at once: cheaper than moment by moment."""

from abc import abstractmethod
from collections.abc import Sequence
from functools import cache
from typing import ClassVar, Self

from skyband.arrays import Array, Int64
from skyband.columns.rows import Rows
from skyband.groups.answer_columns import ProcessorAnswers, as_batch
from skyband.groups.plain_turns import AnswersOfTurns, PlainTurn
from skyband.groups.processor import DueMomentsProcessor
from skyband.windows.schedule import Schedule


class BatchedProcessor(DueMomentsProcessor):
    """Feeds its backend session by session: all rows and moments until the turn ends or the windows run empty."""

    no_rows: ClassVar[Rows]
    """Rows with the columns of the query's frame, none of them."""

    def __init__(self, every: int, horizon: int, rows: bool, schedule: Schedule | None = None) -> None:
        super().__init__(every, horizon, rows, schedule)
        self._pending: list[ProcessorAnswers] = []
        self.begin()

    @abstractmethod
    def begin(self) -> None:
        """Start with nothing in the windows."""

    @abstractmethod
    def feed(self, times: Int64, rows: Rows, due: Int64) -> ProcessorAnswers | None:
        """Take in rows at `times` and answer the moments `asked`, each over the rows before it."""

    def take_due(self, times: Int64, rows: Rows, due: Int64) -> None:
        if len(times) or len(due):
            answers = self.feed(times, rows if len(times) else self.no_rows, due)
            if answers is not None and len(answers):
                self._pending.append(answers)

    @property
    def columns_suffice(self) -> bool:
        """Whether all that it keeps of its rows is what its backend has of them, and `feed` is `feed_columns`.

        The columns of all groups of a turn are then made at once.
        """
        return False

    def backend_columns(self, times: Int64, rows: Rows) -> Sequence[Array]:
        """What the backend takes of rows, of one group or of many, at `times`."""
        raise NotImplementedError(f"{type(self).__name__} says that columns suffice, and makes none")

    def feed_columns(self, columns: Sequence[Array], due: Int64) -> ProcessorAnswers | None:
        """As `feed`, of what `backend_columns` made of the rows."""
        raise NotImplementedError(f"{type(self).__name__} says that columns suffice, and takes none")

    def turn(self, rows: Rows, due: Int64, last: int, following: int) -> ProcessorAnswers | None:
        self._last, self._next = last, following
        if len(rows) or len(due):
            return self.feed(rows.times, rows if len(rows) else self.no_rows, due)
        return None

    @classmethod
    def turns(cls, processors: Sequence[Self], rows: Rows, spans: Int64, turns: Sequence[PlainTurn]) -> AnswersOfTurns:
        if not len(rows) or not _feeds_columns(cls) or not processors[0].columns_suffice:
            return super().turns(processors, rows, spans, turns)
        columns, answers = processors[0].backend_columns(rows.times, rows), list[ProcessorAnswers | None]()
        for one, (start, stop), (due, last, following) in zip(processors, spans.tolist(), turns, strict=True):
            one._last, one._next = last, following
            if stop > start or len(due):
                answers.append(one.feed_columns([column[start:stop] for column in columns], due))
            else:
                answers.append(None)
        return AnswersOfTurns.of(answers)

    def collect(self) -> ProcessorAnswers | None:
        answers, self._pending = self._pending, []
        if len(answers) <= 1:
            return answers[0] if answers else None
        return as_batch(answers)

    def clear(self) -> None:
        self.begin()


@cache
def _feeds_columns(kind: type[BatchedProcessor]) -> bool:
    """Whether a class that says how rows are fed says it of columns, too: not one that changes `feed` alone."""
    says = next(cls for cls in kind.__mro__ if "feed" in vars(cls) or "feed_columns" in vars(cls))
    return "feed_columns" in vars(says)
