"""QuantileReader: quantiles, shares and counts from the state of a sketch in a snapshot, using numpy only."""

import json
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, ClassVar, Self

import numpy as np
from attrs import define
from skyband import snapshot
from skyband.arrays import TIME_MIN, Array, Float64, Int64
from skyband.config.parameters import build
from skyband.roles.answering_reader import AnsweringReader
from skyband.state_validation import StateReader

from skyband_quantiles import sketch_parameters
from skyband_quantiles.buckets import reading
from skyband_quantiles.buckets.contents import Contents, raw_rows, widest_shift
from skyband_quantiles.rows_in_states import rows_from_state
from skyband_quantiles.sample_answers import of_sample
from skyband_quantiles.sample_bounds import sample_size
from skyband_quantiles.sample_in_states import sample_in
from skyband_quantiles.sketch_parameters import SketchParameters


@define
class BucketsParameters(SketchParameters):
    """The parameters of quantile-sketch/buckets."""

    alpha: float = sketch_parameters.alpha()
    epsilon: float = sketch_parameters.epsilon_of_rows()


@define
class SampleParameters(SketchParameters):
    """The parameters of quantile-sketch/k-skb."""

    epsilon: float = sketch_parameters.epsilon()
    delta: float = sketch_parameters.delta()
    seed: int = sketch_parameters.seed()


@lru_cache(maxsize=64)
def _built(cls: Any, text: str) -> Any:
    return build(cls, json.loads(text))


class QuantileReader(AnsweringReader):
    """Answers from one or several states of quantile sketches, like a sketch of all their rows.

    An inconsistent state raises SnapshotError, wrong parameters ConfigError.
    """

    questions: ClassVar[Sequence[str]] = (
        "skyband_quantiles.questions.quantiles_of_windows:QuantilesOfWindow",
        "skyband_quantiles.questions.quantiles_of_windows:QuantileOfWindow",
        "skyband_quantiles.questions.quantiles_of_windows:ShareOfWindow",
    )
    parameters_class: ClassVar[type[SketchParameters]] = SketchParameters

    def __init__(self, parameters: Mapping[str, Any], state: Mapping[str, Array]) -> None:
        build: Any = _built
        self._given: Any = build(self.parameters_class, snapshot.text(dict(parameters)))
        reader = StateReader(state)
        clock = reader.column("clock", np.int64).tolist()
        late = len(clock) == 2 and clock[1] > clock[0] - (self._given.by == "rows")
        reader.require(len(clock) <= 2 and not late, "clock", f"is {clock}, which no sketch stands at")
        self._latest: int | None = clock[1] if len(clock) > 1 else None
        self._floor: int = max(clock[0] - self._given.longest, TIME_MIN) if clock else TIME_MIN
        self._read(reader)

    @property
    def latest(self) -> int | None:
        return self._latest

    @property
    def floor(self) -> int:
        return self._floor

    @classmethod
    def bring_to(cls, backend: Any, at: int, since: int) -> None:  # noqa: ARG003 - a sketch forgets by its clock
        backend.advance(at)

    @abstractmethod
    def _read(self, reader: StateReader) -> None: ...

    @property
    def cuts(self) -> tuple[float, ...]:
        """The numbers above which rows are counted."""
        cuts: tuple[float, ...] = self._given.cuts
        return cuts

    @classmethod
    @abstractmethod
    def answer(
        cls, readers: Sequence[Self], since: Sequence[int], parts: Int64, limits: Float64
    ) -> tuple[tuple[float, float, float], Float64, Float64]:
        """(rows, low, high), quantiles float64[q, 3] and shares float64[a, 3] of all rows since the moments.

        parts: shares in billionths; limits: numbers for the shares above them. All parameters are equal.
        """


class RankReader(QuantileReader):
    """A reader of states that bound the rank of each value for certain, and so answer distances too."""

    questions = (*QuantileReader.questions, "skyband_quantiles.questions.distance_of_windows:DistanceOfWindows")

    @classmethod
    @abstractmethod
    def read_windows(cls, readers: Sequence[Self], since: Sequence[int]) -> reading.Reading:
        """All rows of the states since the moments."""

    @classmethod
    def answer(
        cls, readers: Sequence[Self], since: Sequence[int], parts: Int64, limits: Float64
    ) -> tuple[tuple[float, float, float], Float64, Float64]:
        rows = cls.read_windows(readers, since)
        count = float(rows.rows), float(rows.sure), float(rows.sure + rows.maybe)
        return count, reading.quantiles(rows, parts), reading.shares(rows, limits, readers[0].cuts)


class ExactReader(RankReader):
    """The reader of quantile-sketch/exact. O(n log n) for n rows since the moments."""

    def _read(self, reader: StateReader) -> None:
        self._times, self._values = rows_from_state(reader, self.latest)

    @property
    def retained(self) -> int:
        return len(self._times)

    @classmethod
    def read_windows(cls, readers: Sequence[Self], since: Sequence[int]) -> reading.Reading:
        each = [own._values[np.searchsorted(own._times, begin) :] for own, begin in zip(readers, since, strict=True)]
        return reading.of_rows(np.concatenate(each))


class BucketsReader(RankReader):
    """The reader of quantile-sketch/buckets, whose bounds are certain, also of several states together."""

    parameters_class = BucketsParameters

    def _read(self, reader: StateReader) -> None:
        own_parameters = self._given
        widest, most = widest_shift(own_parameters.alpha), raw_rows(own_parameters.epsilon)
        self._contents = Contents.from_arrays(reader, self.latest, widest, most, own_parameters.cuts)

    @property
    def retained(self) -> int:
        return self._contents.retained

    @classmethod
    def read_windows(cls, readers: Sequence[Self], since: Sequence[int]) -> reading.Reading:
        return reading.read([one._contents for one in readers], since, readers[0].cuts)


class KSkbReader(QuantileReader):
    """The reader of quantile-sketch/k-skb. The k smallest random numbers of all rows are among those of the states."""

    parameters_class = SampleParameters

    def _read(self, reader: StateReader) -> None:
        self._size = sample_size(self._given.epsilon, self._given.delta)
        self._times, self._scores, self._values = sample_in(reader, self.latest)

    @property
    def retained(self) -> int:
        return len(self._times)

    @classmethod
    def answer(
        cls, readers: Sequence[Self], since: Sequence[int], parts: Int64, limits: Float64
    ) -> tuple[tuple[float, float, float], Float64, Float64]:
        own_parameters, size = readers[0]._given, readers[0]._size
        counts = [
            len(reader._times) - int(np.searchsorted(reader._times[::-1], begin))
            for reader, begin in zip(readers, since, strict=True)
        ]
        scores = np.concatenate([reader._scores[:count] for reader, count in zip(readers, counts, strict=True)])
        values = np.concatenate([reader._values[:count] for reader, count in zip(readers, counts, strict=True)])
        return of_sample(scores, values, size, own_parameters.delta, parts, limits)
