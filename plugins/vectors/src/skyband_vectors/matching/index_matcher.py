"""A base for matchers over an index of somebody else, such as that of a vector library: four short methods."""

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from attrs import define, fields
from skyband.arrays import Array, Float64, Int8, Int64
from skyband.roles.sharding import BUILD, PROBE
from skyband_setjoin.matching.answers import MATCH
from skyband_setjoin.set_matcher import FIRST

from skyband_vectors.matching.band_kernels import decide
from skyband_vectors.matching.cosine_candidates import CosineCandidates
from skyband_vectors.matching.window_matcher import directions_of
from skyband_vectors.role import Float32


@define(eq=False)
class IndexMatcher(CosineCandidates):
    """Asks an index for candidates, and decides them by the definition: windows, sides and states are done here.

    The index holds the vectors of the window, each by its number and with length 1. A subclass makes it in
    `_make_index`, keeps it as it likes, and says how to add, remove and search. Rows are taken one by one, so answers
    depend on batches only if those of the index do. A restored matcher adds all vectors to a new index, oldest first.

    For cosine with a threshold of at least 0 only.
    """

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        self._make_index()

    def __deepcopy__(self, memo: Any) -> Self:
        """A copy with a new index: those of libraries can often not be copied."""
        own = {field.name: getattr(self, field.name) for field in fields(type(self)) if field.init}
        copied = type(self)(**own)
        copied.load_state(self.dump_state())
        return copied

    @abstractmethod
    def _make_index(self) -> None:
        """Make an empty index; called once."""

    @abstractmethod
    def _add(self, numbers: Int64, directions: Float32) -> None:
        """Add vectors of length 1, float32[n, dimensions], with ascending numbers, int64[n]."""

    @abstractmethod
    def _remove(self, numbers: Int64) -> None:
        """Remove the vectors with these numbers, at least one."""

    @abstractmethod
    def _candidates(self, direction: Float32) -> Int64:
        """The numbers of vectors that may be near one of length 1, float32[dimensions]; not all have to be.

        Numbers that are not held are left out, and repeated ones are looked at once.
        """

    def _batch(
        self, number: int, times: Int64, vectors: Float32, sides: Int8, parts: Int8
    ) -> tuple[Int64, Array]:  # fmt: skip
        new, _ = self._encoded(number, vectors, sides)
        directions, margin = self._directions(new.entries, new.lengths), self._product_margin()
        every, counts = [np.empty(0, MATCH)], [0]
        for row, horizon in enumerate(self._horizons(times).tolist()):
            self._drop_before(horizon)
            some = slice(row, row + 1)
            matches = every[0]
            if parts[row] & PROBE and len(self._store):
                _, old = self._store.tile(0, len(self._store))
                numbers = np.unique(self._candidates(directions[row]))
                places = np.minimum(np.searchsorted(old.numbers, numbers), len(old.numbers) - 1)
                places = places[old.numbers[places] == numbers]
                matches = decide(new, row, old, places, self.sides == 2, self.threshold, margin, self._most(0))
            every.append(matches)
            counts.append(len(matches))
            if parts[row] & BUILD and not (self.keep == FIRST and len(matches)):
                self._store.add(new.part(some), times[some], np.empty((1, 0), np.float32))
                self._add(new.numbers[some], directions[some])
        return np.cumsum(counts), np.concatenate(every)

    def _drop_before(self, horizon: int) -> None:
        times, numbers = self._store.column("times"), self._store.column("numbers")
        expired = numbers[: np.searchsorted(times, horizon)].copy()
        super()._drop_before(horizon)
        if len(expired):
            self._remove(expired)

    def _restored(self) -> None:
        column = self._store.column
        self._add(column("numbers").copy(), self._directions(column("entries"), column("lengths")))

    @staticmethod
    def _directions(entries: Float32, lengths: Float64) -> Float32:
        return directions_of(entries, lengths).astype(np.float32)
