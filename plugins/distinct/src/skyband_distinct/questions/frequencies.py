"""Counts the items of a window by how often they were seen."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import pyarrow as pa
from attrs import define
from skyband.config.parameters import checked
from skyband.states.question import Question
from skyband.states.state import State

from skyband_distinct.sightings import MOST, as_seen, check_seen, fault_of_seen, texts


@define
class CountByFrequency(Question):
    """The number of distinct items in a window that were seen once, twice and so on.

    The states are those of `distinct-count` with `seen`. A row of several states is counted once for each state. Exact
    for sketch/exact and while k-skb knows all items; otherwise low and high contain each number with probability
    1 − delta.
    """

    name: ClassVar[str] = "frequency"
    result: ClassVar[pa.DataType] = pa.list_(
        pa.struct([("seen", pa.string()), *((name, pa.float64()) for name in ("count", "low", "high"))])
    )
    whole_numbers: ClassVar[bool] = True

    seen: tuple[int, ...] = checked(
        (), type="list", check=lambda value: fault_of_seen(value) if value else None, bounds=f"ascending, up to {MOST}",
        converter=as_seen,
        help="how often, as [1, 2, 3]; the last means that many or more. Empty: all that the states know",
    )  # fmt: skip

    def answer(self, states: Sequence[State], since: Sequence[int]) -> Mapping[str, Any]:
        most = states[0].parameters.get("sightings")
        classes = self.seen or tuple(range(1, (most or 1) + 1))
        check_seen(classes, most)
        readers = [state.reader for state in states]
        count, low, high = type(readers[0]).frequencies(readers, since, classes).T
        return {"seen": texts(classes), "count": count, "low": low, "high": high}
