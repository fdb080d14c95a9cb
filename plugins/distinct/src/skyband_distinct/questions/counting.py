"""Counts the distinct items of a state, or of the union of several, in any window."""

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import pyarrow as pa
from attrs import define
from skyband.config.half_open_ranges import ValueRange, range_parameter
from skyband.errors import InputError
from skyband.states.asking import answer
from skyband.states.question import Question
from skyband.states.readers import Readers
from skyband.states.since_or_last import WindowRequest
from skyband.states.state import State, read_state, state_bytes

ESTIMATE = pa.struct([(name, pa.float64()) for name in ("count", "low", "high")])


class Estimate(NamedTuple):
    """A number and its guaranteed interval; low and high equal the count if it is exact."""

    count: float  # type: ignore[assignment]  # a tuple's own `count` is not needed
    low: float
    high: float


@define
class CountItems(Question):
    """The number of distinct items in a window, from one state or the union of several."""

    name: ClassVar[str] = "estimate"
    result: ClassVar[pa.DataType] = ESTIMATE
    each: ClassVar[tuple[str, ...]] = ("between",)
    whole_numbers: ClassVar[bool] = True
    returns: ClassVar[str] = "Estimate\n    count, low and high"
    sql_names: ClassVar[tuple[str, ...]] = ("estimate_between",)
    exports: ClassVar[tuple[str, ...]] = ("Estimate", "estimates")

    between: ValueRange | None = range_parameter(
        help="only items whose latest value v in the window has low <= v < high, for states made with a `value`; None "
        "or infinite for no limit"
    )

    def answer(self, states: Sequence[State], since: Sequence[int]) -> Estimate:
        readers = [state.reader for state in states]
        if self.between is not None:
            _check_values(states[0])
            return Estimate(*type(readers[0]).between(readers, since, self.between))
        if len(states) == 1:
            return Estimate(*readers[0].estimate(since[0]))
        return Estimate(*type(readers[0]).union(readers, since))


def _check_values(state: State) -> None:
    if state.parameters.get("values") is None:
        message = f"needs states with values, but those of {state.key} were made without"
        raise InputError(
            "between", f"{message}: set `value` in the query that makes them, with sketch/k-skb or sketch/exact"
        )


def estimates(
    states: pa.Array, *, since: Any = None, last: Any = None, between: Any = None, readers: Readers | None = None
) -> pa.Array:
    """The number of distinct items in a window, for each state of an Arrow column.

    Parameters
    ----------
    states : Arrow column
        the states; a null state has a null answer
    since, last
        the window, as in `estimate`: one for all states, or an Arrow column with one for each
    between : (low, high), default None
        the range of values, as in `estimate`
    readers : Readers, default None
        the backends whose states can be read; by default the installed ones

    Returns
    -------
    pyarrow.Array
        structs of count, low and high

    Raises
    ------
    InputError, SnapshotError
        as in `estimate`
    """
    columns = {"since": since, "last": last}
    each = {name: column for name, column in columns.items() if isinstance(column, pa.Array | pa.ChunkedArray)}
    shared_window, question = None if each else WindowRequest.read(since, last), CountItems.make({"between": between})
    counts: list[dict[str, float] | None] = []
    for row, blob in enumerate(states):
        own = {name: column[row].as_py() for name, column in each.items()}
        if not blob.is_valid or None in own.values():
            counts.append(None)
            continue
        state = read_state(state_bytes(blob), readers)
        window = shared_window or WindowRequest.read(**{**columns, **own})
        counts.append(answer(question, [state], [window.moment_in(state)], "since")._asdict())
    return pa.array(counts, ESTIMATE)
