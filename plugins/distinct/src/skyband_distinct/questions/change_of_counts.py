"""How the number of distinct items has changed between the windows of two states, such as today's and last week's."""

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import pyarrow as pa
from attrs import define
from skyband.states.question import Question
from skyband.states.state import State

from skyband_distinct.questions.counting import Estimate


class Change(NamedTuple):
    """The count of the left window with its bounds, that of the right one, and the increase with its bounds.

    The ratio is the left count divided by the right one; None if that is 0.
    """

    count: float  # type: ignore[assignment]  # a tuple's own `count` is not needed
    low: float
    high: float
    previous: float
    difference: float
    difference_low: float
    difference_high: float
    ratio: float | None


@define
class ChangeOfCounts(Question):
    """How the number of distinct items has changed from the window of the right state to that of the left one.

    The columns are those of distinct-count with `against`. The bounds of the difference hold where those of both counts
    do.
    """

    name: ClassVar[str] = "change"
    result: ClassVar[pa.DataType] = pa.struct([(name, pa.float64()) for name in Change._fields])
    of_pairs: ClassVar[bool] = True
    returns: ClassVar[str] = (
        "Change\n    count, low, high, previous, difference, difference_low, difference_high and ratio"
    )
    exports: ClassVar[tuple[str, ...]] = ("Change",)

    def answer(self, states: Sequence[State], since: Sequence[int]) -> Change:
        now, before = (Estimate(*state.reader.estimate(moment)) for state, moment in zip(states, since, strict=True))
        difference = now.count - before.count, now.low - before.high, now.high - before.low
        ratio = now.count / before.count if before.count else None
        return Change(now.count, now.low, now.high, before.count, *difference, ratio)
