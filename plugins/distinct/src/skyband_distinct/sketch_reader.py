"""SketchReader: answers from a sketch's state as it lies in a snapshot, without building the sketch."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, Self

from skyband.arrays import UInt64
from skyband.config.half_open_ranges import ValueRange
from skyband.errors import InputError
from skyband.roles.answering_reader import AnsweringReader


class Sample(NamedTuple):
    """A uniform sample of distinct keys: those whose hash is in the lowest `share` of all hashes."""

    hashes: UInt64
    """uint64[n], ascending and distinct."""
    share: float
    """Above 0, at most 1; 1 where these are all keys."""


class SketchReader(AnsweringReader):
    """Answers from one state of a backend, without making the backend.

    A plugin names it in `BackendInfo.reader`. States of a backend that has none are restored first, which is slower.

    A reader answers as `skyband.restore` and the sketch's own methods would. It loads no compiled code, copies no
    array and builds no table, so that a state is asked in microseconds. It looks at each array before it
    relies on it (`skyband.state_validation.StateReader`): a state that contradicts itself raises SnapshotError.
    """

    union_needs_one_moment: ClassVar[bool] = False
    """Whether `union` refuses windows that begin at different moments."""

    questions: ClassVar[Sequence[str]] = (
        "skyband_distinct.questions.counting:CountItems",
        "skyband_distinct.questions.item_overlap:CompareItems",
        "skyband_distinct.questions.theta_sketches:MakeThetaSketch",
    )

    @classmethod
    def bring_to(cls, backend: Any, at: int, since: int) -> None:  # noqa: ARG003 - a sketch forgets by the rows' times
        backend.forget(since)

    @abstractmethod
    def estimate(self, since: int) -> tuple[float, float, float]:
        """(count, low, high) of the distinct keys with time >= `since`."""

    @classmethod
    @abstractmethod
    def union(cls, readers: Sequence[Self], since: Sequence[int]) -> tuple[float, float, float]:
        """(count, low, high) of the keys that at least one state has since its moment, with equal parameters in all."""

    def samples(self, since: int) -> Sequence[Sample]:  # noqa: ARG002 - most sketches hold none
        """Samples of the keys with time >= `since`, in the same order for equal parameters; empty if it keeps none."""
        return ()

    @classmethod
    def smallest(cls, readers: Sequence[Self], since: Sequence[int]) -> tuple[UInt64, int | None]:  # noqa: ARG003
        """The smallest hashes of the keys that at least one state has since its moment, with equal parameters in all.

        uint64[n], ascending and distinct, of the keys as they came, and the next hash after them: None where these are
        all keys. For backends with a parameter `hash`, of states that have `hash = "theta"`.
        """
        raise InputError("states", f"of {type(readers[0]).__name__} give no hashes: they make no theta sketch")

    @classmethod
    def between(
        cls,
        readers: Sequence[Self],
        since: Sequence[int],  # noqa: ARG003
        within: ValueRange,  # noqa: ARG003
    ) -> tuple[float, float, float]:
        """(count, low, high) of the keys that at least one state has since its moment, their latest value in a range.

        With equal parameters in all. For backends with a parameter `values`, of states that have `values = "latest"`.
        """
        raise InputError("states", f"of {type(readers[0]).__name__} keep no values: they count no range of them")
