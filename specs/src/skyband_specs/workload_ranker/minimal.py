"""workload-ranker/mine: keeps the rows of future windows, and sorts them whenever an answer is due."""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from attrs import define, field
from skyband.arrays import Array, Float64, Int64
from skyband.roles import Answer, TopKQuery, WorkloadRanker
from skyband.state_validation import StateReader


@define(eq=False)
class MineWorkloadRanker(WorkloadRanker):
    """Keeps the rows of future windows, and sorts them whenever an answer is due.

    Parameters
    ----------
    by : str, default "time"
        whether windows are times or row counts (one of time, rows)
    queries : list of (window, slide, k[, phase])
        the queries, numbered from 0 (windows, slides and k at least 1, phases at least 0)

    Complexity
    ----------
    An answer costs O(rows held · log rows held). Every row of the longest window is retained.

    References
    ----------
    The definition: the top k of [T − window, T) at every moment T of a query.

    Examples
    --------
    >>> import skyband
    >>> ranker = skyband.create("workload-ranker", "mine", queries=[(4, 2, 1), (8, 4, 2)])
    >>> answers = ranker.update(times=[0, 1, 3, 5, 8], objects=[10, 11, 12, 13, 14], scores=[5.0, 3.0, 1.0, 6.0, 8.0])
    >>> for answer in answers:
    ...     print(answer.at, answer.query, answer.objects.tolist(), answer.scores.tolist())
    2 0 [10] [5.0]
    4 0 [10] [5.0]
    4 1 [10, 11] [5.0, 3.0]
    6 0 [13] [6.0]
    8 0 [13] [6.0]
    8 1 [13, 10] [6.0, 5.0]
    """

    name: ClassVar[str] = "mine"

    _rows: list[tuple[int, int, float]] = field(factory=list, init=False)
    """(time, object, score), oldest first."""
    _answered: int | None = field(default=None, init=False)
    """Every moment up to this one has been answered; None before the first row."""

    def _update(self, times: Int64, objects: Int64, scores: Float64) -> list[Answer]:
        answers = []
        for row in zip(times.tolist(), objects.tolist(), scores.tolist(), strict=True):
            self._answered = row[0] if self._answered is None else self._answered
            answers += self._answers_until(row[0])
            self._rows.append(row)
        return answers + self._answers_until(self._reached(times))

    def _answers_until(self, now: int) -> list[Answer]:
        if self._answered is None or now == self._answered:
            return []
        due = [
            (at, number)
            for number, query in enumerate(self.queries)
            for at in range(after(query, self._answered), now + 1, query.slide)
        ]
        answers = [self._answer(number, at) for at, number in sorted(due)]
        self._answered = now
        oldest = min(after(query, now) - query.window for query in self.queries)
        self._rows = [row for row in self._rows if row[0] >= oldest]
        return answers

    def _answer(self, number: int, at: int) -> Answer:
        query = self.queries[number]
        inside = [row for row in self._rows if at - query.window <= row[0] < at]
        best = sorted(inside, key=lambda row: (-row[2], row[1]))[: query.k]
        objects, scores = [row[1] for row in best], [row[2] for row in best]
        return Answer(number, at, np.array(objects, np.int64), np.array(scores, np.float64))

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def nbytes(self) -> int:
        return 24 * len(self._rows)

    def _state(self) -> dict[str, Array]:
        times, objects, scores = zip(*self._rows, strict=True) if self._rows else ((), (), ())
        return {
            "now": np.array([] if self._now is None else [self._now], np.int64),
            "answered": np.array([] if self._answered is None else [self._answered], np.int64),
            "times": np.array(times, np.int64),
            "objects": np.array(objects, np.int64),
            "scores": np.array(scores, np.float64),
        }

    def _load(self, state: Mapping[str, Array]) -> None:
        read = StateReader(state)  # a state may come from anyone: check it before using it
        self._now, self._answered = read.optional("now"), read.optional("answered")
        read.require(self._answered in (None, self._now), "answered", "every moment up to now has been answered")
        read.ascending("times", at_most=-(2**63) if self._now is None else self._now)
        columns = (state[name].tolist() for name in ("times", "objects", "scores"))
        self._rows = list(zip(*columns, strict=True))


def after(query: TopKQuery, moment: int) -> int:
    """The query's first moment of output after `moment`."""
    return moment + 1 + (query.phase - moment - 1) % query.slide
