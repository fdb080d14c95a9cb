"""TopReader: ranks objects from a ranker's state in a snapshot, without building the ranker."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, Self

from skyband.arrays import Float64, Int64
from skyband.roles.answering_reader import AnsweringReader


class Ranking(NamedTuple):
    """The largest objects of a window, by total descending, then by object."""

    objects: Int64
    totals: Float64
    shares: Float64
    """The totals as parts of the grand total of all objects."""
    low: Float64
    """The true total is at least this, as far as the backend's guarantee goes."""
    high: Float64


class TopReader(AnsweringReader):
    """Ranks objects from one state of a backend, without creating the backend.

    A plugin names it in `BackendInfo.reader` of a ranker, as it names a `SketchReader` for a sketch. It returns what
    the backend's own `since` would, loads no compiled code, and validates each array before it relies on it: a state
    that contradicts itself raises SnapshotError.
    """

    questions: ClassVar[Sequence[str]] = ("skyband_totals.questions.largest_objects:RankObjects",)
    object_ids: ClassVar[str | None] = "objects"

    @classmethod
    def bring_to(cls, backend: Any, at: int, since: int) -> None:  # noqa: ARG003 - a ranker forgets by its clock
        backend.advance(at)

    @classmethod
    @abstractmethod
    def top(
        cls,
        readers: Sequence[Self],
        since: Sequence[int],
        k: int | None,
        share: float | None,
        at_least: float | None = None,
    ) -> Ranking:
        """The largest objects of the rows that the states hold since their moments. All have equal parameters.

        k, share, at_least: the limits of objects; if all are None, those of the parameters.
        """
