"""TopReader: ranks objects from a ranker's state as it lies in a snapshot, without building the ranker."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

from skyband.arrays import Array, Float64, Int64


class Ranking(NamedTuple):
    """The largest objects of a window, by total descending, then by object."""

    objects: Int64
    totals: Float64
    shares: Float64
    """The totals as parts of the grand total, which is that of all objects."""
    low: Float64
    """The true total is at least this, as far as the backend's guarantee goes."""
    high: Float64


class TopReader(ABC):
    """Ranks objects from one state of a backend, without making the backend.

    A plugin names it in `BackendInfo.reader` of a ranker, as it names a `SketchReader` for a sketch. It answers as the
    backend's own `since` would, loads no compiled code, and looks at each array before it relies on it: a state that
    contradicts itself raises SnapshotError.
    """

    @abstractmethod
    def __init__(self, parameters: Mapping[str, Any], state: Mapping[str, Array]) -> None:
        """Raises SnapshotError where the state contradicts itself, ConfigError where the parameters are wrong."""

    @property
    @abstractmethod
    def latest(self) -> int | None:
        """The latest time seen, None before the first."""

    @property
    @abstractmethod
    def floor(self) -> int:
        """The state has forgotten what is older than this."""

    @property
    @abstractmethod
    def retained(self) -> int:
        """Items that the ranker retains."""

    @property
    def grain(self) -> int:
        """Windows begin at multiples of this."""
        return 1

    @classmethod
    @abstractmethod
    def top(cls, readers: Sequence[Self], since: Sequence[int], k: int | None, share: float | None) -> Ranking:
        """The largest objects of the rows that the states hold since their moments, with equal parameters in all.

        k, share: how many objects, and how large; both None: those of the parameters.
        """
