"""Describes a state: its backend, parameters, coverage and size."""

from typing import Any

from attrs import frozen

from skyband.states.readers import Readers
from skyband.states.state import read_state


@frozen
class Description:
    """A state's backend and parameters, the window it covers, and its size."""

    backend: str
    """`role/name`."""
    parameters: dict[str, Any]
    unit: str
    """"time", with moments in microseconds since the epoch, or "rows"; "" for a snapshot without a moment."""
    at: int | None
    """The moment of the state."""
    since: int | None
    """The earliest moment it answers from; None if any."""
    latest: int | None
    """The latest time in it: `at - latest` is how long its group has had no rows."""
    retained: int
    """The number of items it holds."""
    nbytes: int
    changed: bool
    """Whether its table holds only groups that changed."""


def describe(state: Any, *, readers: Readers | None = None) -> Description:
    """Describe a state (bytes). Raises SnapshotError if it is damaged, or its backend is not installed."""
    decoded = read_state(state, readers)
    covers = decoded.covers
    floor = decoded.earliest
    return Description(
        backend=decoded.key,
        parameters=decoded.parameters,
        unit="" if covers is None else "rows" if covers.rows else "time",
        at=None if covers is None else covers.at,
        since=covers.since if covers is not None else floor if floor > -(2**63) else None,
        latest=decoded.latest,
        retained=decoded.retained,
        nbytes=decoded.nbytes,
        changed=covers is not None and covers.changed,
    )
