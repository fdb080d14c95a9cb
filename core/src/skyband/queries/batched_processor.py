"""A processor that gives its backend all rows and moments of a step at once: cheaper than moment by moment."""

from abc import abstractmethod
from typing import ClassVar

import numpy as np
import pyarrow as pa

from skyband.arrays import Int64
from skyband.columns.rows import Rows
from skyband.queries.processor import WindowedProcessor


class BatchedProcessor(WindowedProcessor):
    """Collects rows and the moments asked for until the turn ends or the longest window runs empty."""

    no_rows: ClassVar[Rows]
    """Rows with the columns of the query's frame, none of them."""

    def __init__(self, every: int, horizon: int, rows: bool) -> None:
        super().__init__(every, horizon, rows)
        self._times: list[Int64] = []
        self._rows_taken: list[Rows] = []
        self._asked: list[int] = []
        self._written: list[pa.RecordBatch] = []
        self.begin()

    @abstractmethod
    def begin(self) -> None:
        """Start with nothing in the windows."""

    @abstractmethod
    def feed(self, times: Int64, rows: Rows, asked: Int64) -> pa.RecordBatch | None:
        """Take in rows at `times` and answer the moments `asked`, each over the rows before it."""

    def update(self, times: Int64, rows: Rows) -> None:
        self._times.append(times)
        self._rows_taken.append(rows)

    def answer(self, at: int) -> None:
        self._asked.append(at)

    def collect(self) -> pa.RecordBatch | None:
        self._feed()
        written, self._written = self._written, []
        return pa.concat_batches(written) if written else None

    def clear(self) -> None:
        self._feed()
        self.begin()

    def _feed(self) -> None:
        if not self._times and not self._asked:
            return
        times = np.concatenate([self.no_rows.times, *self._times])
        rows = Rows.joined(self._rows_taken) if self._rows_taken else self.no_rows
        asked = np.array(self._asked, np.int64)
        self._times, self._rows_taken, self._asked = [], [], []
        answers = self.feed(times, rows, asked)
        if answers is not None and len(answers):
            self._written.append(answers)
