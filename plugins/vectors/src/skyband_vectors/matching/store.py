"""The vectors of a window in order of arrival, in arrays that are moved when they are full."""

import numpy as np
from skyband.arrays import Array, Int64, read_only

from skyband_vectors.matching.scan_kernels import Vectors
from skyband_vectors.role import Float32

_FEWEST = 64


class VectorStore:
    """Columns of the vectors held: times, what a scan needs, and the features that are multiplied.

    Adding and dropping are O(1) a vector on average: there is room for as many as are held, and a batch.
    """

    def __init__(self, dimensions: int, features: int) -> None:
        self.first, self.stop = 0, 0
        self._columns: dict[str, Array] = {
            "entries": np.empty((0, dimensions), np.float32),
            "features": np.empty((0, features), np.float32),
            "squares": np.empty(0),
            "lengths": np.empty(0),
            "times": np.empty(0, np.int64),
            "numbers": np.empty(0, np.int64),
            "sides": np.empty(0, np.int8),
        }

    def __len__(self) -> int:
        return self.stop - self.first

    def column(self, name: str) -> Array:
        """The values of the vectors held, oldest first."""
        return self._columns[name][self.first : self.stop]

    def tile(self, start: int, stop: int) -> tuple[Float32, Vectors]:
        """The features of the vectors at places start..stop of those held, and what a scan needs of them."""
        places = slice(self.first + start, self.first + stop)
        columns = {name: read_only(self._columns[name][places]) for name in Vectors._fields}
        return self._columns["features"][places], Vectors(**columns)

    def add(self, vectors: Vectors, times: Int64, features: Float32) -> None:
        """Add vectors later than those held."""
        count = len(times)
        room = len(self._columns["times"])
        if self.stop + count > room:
            needed = len(self) + count
            self._move(max(_FEWEST, 2 * needed) if needed > room // 2 or needed < room // 8 else room)
        for name, values in {**vectors._asdict(), "times": times, "features": features}.items():
            self._columns[name][self.stop : self.stop + count] = values
        self.stop += count

    def drop_before(self, horizon: int) -> None:
        """Drop the vectors older than this."""
        self.first += int(np.searchsorted(self.column("times"), horizon))
        if self.first == self.stop:
            self.first = self.stop = 0

    def replace_features(self, features: Float32) -> None:
        """Replace the features of all vectors held by float32[n, any]."""
        column = np.empty((len(self._columns["times"]), features.shape[1]), np.float32)
        column[self.first : self.stop] = features
        self._columns["features"] = column

    def _move(self, room: int) -> None:
        for name, column in self._columns.items():
            moved = np.empty((room, *column.shape[1:]), column.dtype)
            moved[: len(self)] = column[self.first : self.stop]
            self._columns[name] = moved
        self.first, self.stop = 0, len(self)

    @property
    def nbytes(self) -> int:
        """Bytes of all columns, slack included."""
        return sum(column.nbytes for column in self._columns.values())
