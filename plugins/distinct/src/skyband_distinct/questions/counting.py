"""How many distinct items a state, or the union of several, holds in any window."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeVar

import pyarrow as pa

from skyband.config.value_ranges import ValueRange, read_range
from skyband.errors import InputError
from skyband.states.compatibility import common_coverage
from skyband.states.since_or_last import Asked
from skyband.states.state import Readers, State, read_state

S = TypeVar("S")
ESTIMATE = pa.struct([(name, pa.float64()) for name in ("count", "low", "high")])


class Estimate(NamedTuple):
    """A number and the interval that the backend's guarantee puts around it, equal to it where it is exact."""

    count: float  # type: ignore[assignment]  # a tuple's own `count` is nobody's need here
    low: float
    high: float


def estimate(
    states: Any, *, since: Any = None, last: Any = None, between: Any = None, readers: Readers | None = None
) -> Estimate:
    """How many distinct items came in a window, from a state or from several together.

    Parameters
    ----------
    states : bytes, list or Arrow column
        the bytes of one state, or several states in a list, an Arrow column or any iterable
    since : moment, default None
        when the window begins: text, a datetime (UTC without a zone), microseconds, or a row's number
    last : duration, default None
        instead of `since`, the window's length up to the moment of the state, such as "37 minutes". Without either:
        all that the states cover
    between : (low, high), default None
        only items whose latest value v in the window has low <= v < high, of states made with a `value`; None or an
        infinite number for no end
    readers : Readers, default None
        the backends whose states can be read; None: those that are installed

    Returns
    -------
    Estimate
        count, low and high

    Raises
    ------
    InputError
        a state does not cover the window (the message says from when it does), or the states do not go together
    SnapshotError
        a state is damaged, of another version, or of a backend that is not installed
    """
    held = read_all(states, readers)
    return estimate_of(held, Asked.read(since, last), range_asked(between))


def estimate_of(states: list[State], asked: Asked, between: ValueRange | None = None) -> Estimate:
    """The same of states that are read already."""
    if len(states) == 1:
        return estimate_since(states[0], asked.of(states[0]), between)
    covers = common_coverage(states)
    since = asked.within(covers, max(state.floor for state in states))
    readers = [state.reader for state in states]
    moments = [since] * len(readers)
    if between is None:
        return Estimate(*type(readers[0]).union(readers, moments))
    _check_values(states[0])
    return Estimate(*type(readers[0]).between(readers, moments, between))


def estimate_since(state: State, since: int, between: ValueRange | None) -> Estimate:
    """Of one state, since a moment that it covers."""
    if between is None:
        return Estimate(*state.reader.estimate(since))
    _check_values(state)
    return Estimate(*type(state.reader).between([state.reader], [since], between))


def range_asked(between: Any) -> ValueRange | None:
    """The range that was asked for. Raises InputError where it is none."""
    try:
        return None if between is None else read_range(between)
    except ValueError as error:
        raise InputError("between", str(error)) from error


def _check_values(state: State) -> None:
    if state.parameters.get("values") is None:
        said = f"goes with states of values, and those of {state.key} were made without"
        raise InputError(
            "between", f"{said}: set `value` in the query that makes them, with sketch/k-skb or sketch/exact"
        )


def read_all(states: Any, readers: Readers | None = None) -> list[State]:
    """The states of sketches, one or several. Raises InputError where there is none."""
    return read_all_with(read_state, states, readers)


def read_all_with(read: Callable[[Any, Readers | None], S], states: Any, readers: Readers | None) -> list[S]:
    """The states, one or several, each by `read`. Raises InputError where there is none."""
    if isinstance(states, bytes | bytearray | memoryview):
        return [read(states, readers)]
    if isinstance(states, str) or not isinstance(states, Iterable):
        raise InputError("states", f"must be the bytes of a state, or several of them (got {type(states).__name__})")
    held = [read(_bytes(state), readers) for state in states]
    if not held:
        raise InputError("states", "there is none to ask")
    return held


def estimates(
    states: pa.Array, *, since: Any = None, last: Any = None, between: Any = None, readers: Readers | None = None
) -> pa.Array:
    """How many distinct items came in a window, from each state of an Arrow column by itself.

    Parameters
    ----------
    states : Arrow column
        the states; where it is null, the answer is
    since, last
        the window, as `estimate` takes them: one for all states, or an Arrow column with one for each
    between : (low, high), default None
        the range of values, as `estimate` takes it
    readers : Readers, default None
        the backends whose states can be read; None: those that are installed

    Returns
    -------
    pyarrow.Array
        structs of count, low and high

    Raises
    ------
    InputError, SnapshotError
        as `estimate` does
    """
    columns = {"since": since, "last": last}
    each = {name: column for name, column in columns.items() if isinstance(column, pa.Array | pa.ChunkedArray)}
    one, within = None if each else Asked.read(since, last), range_asked(between)
    found: list[dict[str, float] | None] = []
    for row, blob in enumerate(states):
        given = {name: column[row].as_py() for name, column in each.items()}
        if not blob.is_valid or None in given.values():
            found.append(None)
            continue
        state = read_state(_bytes(blob), readers)
        asked = one or Asked.read(**{**columns, **given})
        found.append(estimate_since(state, asked.of(state), within)._asdict())
    return pa.array(found, ESTIMATE)


def _bytes(state: Any) -> Any:
    return state.as_buffer() if isinstance(state, pa.Scalar) else state
