"""SketchReader: answers from a sketch's state in a snapshot, without building the sketch."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, Self

from skyband.arrays import Float64, UInt64
from skyband.config.half_open_ranges import ValueRange
from skyband.errors import InputError
from skyband.roles.answering_reader import AnsweringReader


class Sample(NamedTuple):
    """A uniform sample of distinct keys: those whose hash is in the lowest `share` of all hashes."""

    hashes: UInt64
    """uint64[n], ascending and distinct."""
    share: float
    """Above 0 and at most 1; 1 if these are all keys."""


class SketchReader(AnsweringReader):
    """Answers from one state of a backend, without creating the backend.

    A plugin names it in `BackendInfo.reader`. States of a backend without a reader are restored first, which is slower.

    A reader returns what `skyband.restore` and the sketch's own methods would. It loads no compiled code, copies no
    array and builds no table, so that it answers in microseconds. It validates each array before it relies on it
    (`skyband.state_validation.StateReader`): a state that contradicts itself raises SnapshotError.
    """

    questions: ClassVar[Sequence[str]] = (
        "skyband_distinct.questions.counting:CountItems",
        "skyband_distinct.questions.change_of_counts:ChangeOfCounts",
        "skyband_distinct.questions.item_overlap:CompareItems",
        "skyband_distinct.questions.set_expressions:CountExpression",
        "skyband_distinct.questions.theta_sketches:MakeThetaSketch",
        "skyband_distinct.questions.frequencies:CountByFrequency",
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
        """(count, low, high) of the keys that any state has since its moment. All have equal parameters."""

    def samples(self, since: int) -> Sequence[Sample]:  # noqa: ARG002 - most sketches hold none
        """Samples of the keys with time >= `since`, in the same order for equal parameters; empty if none are kept."""
        return ()

    @classmethod
    def smallest(cls, readers: Sequence[Self], since: Sequence[int]) -> tuple[UInt64, int | None]:  # noqa: ARG003
        """The smallest hashes of the keys that any state has since its moment. All have equal parameters.

        uint64[n], ascending and distinct, of the keys as they arrived, and the next hash after them: None if these are
        all keys. For backends with a parameter `hash`, and states with `hash = "theta"`.
        """
        raise InputError("states", f"of {type(readers[0]).__name__} hold no hashes that a theta sketch can be made of")

    @classmethod
    def between(
        cls,
        readers: Sequence[Self],
        since: Sequence[int],  # noqa: ARG003
        within: ValueRange,  # noqa: ARG003
    ) -> tuple[float, float, float]:
        """(count, low, high) of the keys that any state has since its moment and whose latest value is in a range.

        All have equal parameters. For backends with a parameter `values`, and states with `values = "latest"`.
        """
        raise InputError("states", f"of {type(readers[0]).__name__} keep no values, so ranges cannot be counted")

    @classmethod
    def frequencies(cls, readers: Sequence[Self], since: Sequence[int], classes: Sequence[int]) -> Float64:  # noqa: ARG003
        """float64[n, 3]: (count, low, high) of the keys with exactly classes[i] rows since these moments in all states.

        The last counts those with that many rows or more. All have equal parameters. For backends with a parameter
        `sightings` (`skyband_distinct.sightings`), and states with at least that many.
        """
        raise InputError("states", f"of {type(readers[0]).__name__} do not know how often keys were seen")
