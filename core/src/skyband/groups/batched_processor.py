"""A processor that gives its backend all rows and moments of a step at once: cheaper than moment by moment."""

from abc import abstractmethod
from typing import ClassVar

from skyband.arrays import Int64
from skyband.columns.rows import Rows
from skyband.groups.answer_columns import ProcessorAnswers, as_batch
from skyband.groups.processor import RegularProcessor
from skyband.windows.schedule import Schedule


class BatchedProcessor(RegularProcessor):
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

    def take(self, times: Int64, rows: Rows, until: int) -> None:
        due = self.due(times, until)
        if len(times) or len(due):
            answers = self.feed(times, rows if len(times) else self.no_rows, due)
            if answers is not None and len(answers):
                self._pending.append(answers)

    def collect(self) -> ProcessorAnswers | None:
        answers, self._pending = self._pending, []
        if len(answers) <= 1:
            return answers[0] if answers else None
        return as_batch(answers)

    def clear(self) -> None:
        self.begin()
