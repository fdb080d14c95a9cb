"""What a state says of itself."""

from typing import Any

from attrs import frozen

from skyband.states.readers import Readers
from skyband.states.state import read_state


@frozen
class Description:
    """Of which backend a state is, with which parameters, what it covers and how large it is."""

    backend: str
    """`role/name`."""
    parameters: dict[str, Any]
    unit: str
    """"time", with moments in microseconds since the epoch, or "rows"; "" of a snapshot without a moment."""
    at: int | None
    """The moment of the state."""
    since: int | None
    """It answers from then on; None: from any moment."""
    latest: int | None
    """The latest time in it: `at - latest` is how long its group has been silent."""
    retained: int
    """Items that it holds."""
    nbytes: int
    changed: bool
    """Whether its table holds only the groups that changed."""


def describe(state: Any, *, readers: Readers | None = None) -> Description:
    """What a state (bytes) is. Raises SnapshotError where it is damaged, or of a backend that is not installed."""
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
