"""How many distinct items a state, or the union of several, holds in any window."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeVar

import pyarrow as pa

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


def estimate(states: Any, *, since: Any = None, last: Any = None, readers: Readers | None = None) -> Estimate:
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
    return estimate_of(held, Asked.read(since, last))


def estimate_of(states: list[State], asked: Asked) -> Estimate:
    """The same of states that are read already."""
    if len(states) == 1:
        return Estimate(*states[0].reader.estimate(asked.of(states[0])))
    covers = common_coverage(states)
    since = asked.within(covers, max(state.floor for state in states))
    readers = [state.reader for state in states]
    return Estimate(*type(readers[0]).union(readers, [since] * len(readers)))


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


def estimates(states: pa.Array, *, since: Any = None, last: Any = None, readers: Readers | None = None) -> pa.Array:
    """How many distinct items came in a window, from each state of an Arrow column by itself.

    Parameters
    ----------
    states : Arrow column
        the states; where it is null, the answer is
    since, last
        the window, as `estimate` takes them: one for all states, or an Arrow column with one for each
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
    one = None if each else Asked.read(since, last)
    found: list[dict[str, float] | None] = []
    for row, blob in enumerate(states):
        given = {name: column[row].as_py() for name, column in each.items()}
        if not blob.is_valid or None in given.values():
            found.append(None)
            continue
        state = read_state(_bytes(blob), readers)
        asked = one or Asked.read(**{**columns, **given})
        found.append(dict(zip(ESTIMATE.names, state.reader.estimate(asked.of(state)), strict=True)))
    return pa.array(found, ESTIMATE)


def _bytes(state: Any) -> Any:
    return state.as_buffer() if isinstance(state, pa.Scalar) else state
