"""The values behind ids that do not determine them, kept while a window or an answer may still need them."""

from collections.abc import Sequence
from copy import copy
from functools import cache
from itertools import chain, pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from skyband.arrays import Array, Int64
from skyband.columns import keyed_frames
from skyband.columns.dictionaries import last_of_each
from skyband.columns.ids import values_as
from skyband.columns.integer_ids import integers_of, is_integer_id
from skyband.columns.rows import Rows
from skyband.columns.values_by_key import KeyedColumns
from skyband.errors import SnapshotError
from skyband.kernels.sorted_arrays import among, search_sorted

_LEAST = 1024
_FEW = 64
"""At most this many texts are kept in a Python dict, which is faster than sorting them."""


class ValuesById:
    """The values behind the ids of rows that are still valid. Memory is proportional to the window.

    A row costs O(log n). A few texts at a time cost O(1) each: they are kept apart from the sorted ids until there
    are enough to make sorting cheap per text.
    """

    def __init__(self, kind: pa.DataType) -> None:
        self._kind = kind
        self.needed = not is_integer_id(kind)
        """Whether ids do not determine the values."""
        self._text = pa.types.is_string(kind)
        self._before: int | None = None
        self._be(_no_names(kind))
        self._new: list[pa.RecordBatch] = []
        self._rows = 0

    def _be(self, names: pa.RecordBatch) -> None:
        """Keep these names, and no others."""
        self._names, self._few = names, dict[int, tuple[int, str]]()
        self._ids, self._values = names.column("id").to_numpy(zero_copy_only=False), names.column("name")

    def update(self, times: Int64, rows: Rows) -> None:
        """Learn the names of rows at these times: columns `object` and, if needed, `name`."""
        if self.needed:
            self.learn(times, rows["object"], rows["name"])

    def learn(self, times: Int64, ids: Int64, names: pa.Array | Array) -> None:
        """As `update`, if they are needed."""
        if self._text and len(ids) <= _FEW and not self._new and isinstance(names, pa.Array):
            last_seen = zip(times.tolist(), names.to_pylist(), strict=True)
            self._few.update(zip(ids.tolist(), last_seen, strict=True))
            if len(self._few) > _FEW + len(self._ids) // 8:
                self._settle()
            return
        last = None if isinstance(names, np.ndarray) else last_of_each(names)
        if last is not None:
            times, ids, names = times[last], ids[last], names.take(pa.array(last))
        if self._few:
            self._settle()
        self._new.append(_names(times, ids, values_as(names, self._kind)))
        self._rows += len(times)
        if self._rows > 2 * len(self._names) + _LEAST:
            self._settle()

    def lookup(self, ids: Int64) -> pa.Array:
        """The values of these ids."""
        if not self.needed:
            return integers_of(ids, self._kind)
        values = self.values_of(ids)
        return pa.array(values, self._kind) if isinstance(values, list) else values

    def values_of(self, ids: Int64) -> pa.Array | list[str]:
        """As `lookup`, for ids that do not determine values. `joined_values` joins the results of many groups."""
        if self._new or (self._few and len(ids) > _FEW):
            self._settle()
        places = search_sorted(self._ids, ids)
        if not self._text or len(ids) > _FEW:
            if not among(ids, self._ids).all():
                raise _no_name()
            return self._values.take(pa.array(places))
        return [self._value(number, place) for number, place in zip(ids.tolist(), places.tolist(), strict=True)]

    def _value(self, number: int, place: int) -> Any:
        few = self._few.get(number)
        if few is not None:
            return few[1]
        if place == len(self._ids) or self._ids[place] != number:
            raise _no_name()
        return self._values[place].as_py()

    def for_answers(self, ids: Int64) -> pa.Array | Int64:
        """As `lookup`, or the ids if they equal the values except for the type, to join over many groups."""
        return ids if self.tells_itself else self.lookup(ids)

    @property
    def tells_itself(self) -> bool:
        """Whether ids equal the values, except for the type."""
        return not self.needed and self._kind != pa.uint64()

    def merge(self, other: "ValuesById") -> None:
        """Learn the names of another, which shares no id with this one."""
        if self.needed:
            self._settle()
            self._new.append(other.frame())
            self._rows += len(self._new[-1])

    def forget(self, before: int) -> None:
        """Allow values that no row at `before` or later uses to be dropped."""
        self._before = before

    def frame(self) -> pa.RecordBatch:
        """All names, in one canonical form."""
        if self.needed:
            self._settle()
        return self._names

    def load_state(self, frame: pa.RecordBatch) -> None:
        """Load the result of `frame`. Raises SnapshotError if its ids are not in order."""
        self._be(frame)
        if not len(frame):
            return
        ids = frame.column("id").to_numpy(zero_copy_only=False)
        if frame.column("last").null_count or (ids[1:] <= ids[:-1]).any():
            raise SnapshotError("contradicts itself: names must be in the order of their ids, each once")

    def _settle(self) -> None:
        """Merge into one row per id, sorted by id, with the last time it was seen."""
        few = self._few
        if few:
            times, values = zip(*few.values(), strict=True)
            names = values_as(pa.array(values, self._kind), self._kind)
            self._new.append(_names(np.array(times, np.int64), np.fromiter(few, np.int64, len(few)), names))
        together = keyed_frames.concatenated([self._names, *self._new])
        self._new, self._rows = [], 0
        ids, times = together.column("id").to_numpy(), together.column("last").to_numpy()
        _, places = np.unique(ids[::-1], return_index=True)
        last = len(ids) - 1 - places
        if self._before is not None:
            last = last[times[last] >= self._before]
        self._be(together.take(pa.array(last)))


def learn_together(names: Sequence[ValuesById], rows: Rows, spans: Int64) -> None:
    """As `update` for each, with rows spans[i, 0] to spans[i, 1], exclusive; for values that ids do not determine."""
    if not len(rows):  # an empty frame may have no names
        return
    times, ids, values = rows.times, rows["object"], rows["name"]
    for own, (start, stop) in zip(names, spans.tolist(), strict=True):
        if stop > start:
            own.learn(times[start:stop], ids[start:stop], values[start:stop])


def values_together(names: Sequence[ValuesById], ids: Int64, ends: Int64) -> pa.Array:
    """As `values_of` for each, with ids ends[i] to ends[i + 1], exclusive, as one column."""
    parts = pairwise(ends.tolist())
    return joined_values([own.values_of(ids[start:stop]) for own, (start, stop) in zip(names, parts, strict=True)])


def joined_values(pieces: Sequence[pa.Array | list[str]]) -> pa.Array:
    """One column from one or more results of `ValuesById.values_of`."""
    if all(isinstance(piece, list) for piece in pieces):
        return pa.array(list(chain.from_iterable(pieces)), pa.string())
    return pa.concat_arrays([pa.array(own, pa.string()) if isinstance(own, list) else own for own in pieces])


def _no_name() -> SnapshotError:
    return SnapshotError("contradicts itself: the state has no name for an id in its answers")


def _names(times: Int64, ids: Int64, names: pa.Array) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"last": pa.array(times), "id": pa.array(ids), "name": names})


@cache
def _no_names(kind: pa.DataType) -> pa.RecordBatch:
    return _names(np.empty(0, np.int64), np.empty(0, np.int64), pa.array([], kind))


class ValuesInUse:
    """The values behind ids that do not determine them, while those ids are in use. O(log n) per id."""

    def __init__(self, kind: pa.DataType) -> None:
        self._kind = kind
        self._values = KeyedColumns(np.int64, [pa.field("name", kind)])
        self._count = 0

    def __len__(self) -> int:
        return len(self._values)

    def learn(self, ids: Int64, values: pa.Array | Array) -> None:
        """Learn the values of these ids, in the form of a frame of rows: floats as numpy."""
        unknown = np.flatnonzero(~self._values.knows(ids))
        if not len(unknown):
            return
        added, first = np.unique(ids[unknown], return_index=True)
        rows = unknown[first]
        new = pa.array(values[rows]) if isinstance(values, np.ndarray) else values.take(pa.array(rows))
        self._values.learn(added, [new.cast(self._kind)])

    def lookup(self, ids: Int64) -> pa.Array:
        """The values of these ids."""
        try:
            return self._values.lookup(ids)[0]
        except KeyError:
            raise SnapshotError("contradicts itself: the state has no name for an id in its answers") from None

    def knows(self, ids: Int64) -> Array:
        """bool[n]: whether the values of these ids are known."""
        return self._values.knows(ids)

    def keep(self, ids: Int64, lazily: bool = False) -> None:
        """Forget all other ids; lazily: only once the number of ids has doubled."""
        if lazily and len(self) <= 2 * self._count + _LEAST:
            return
        self._values.replace(*self._values.of(ids))
        self._count = len(self)

    def frame(self, ids: Int64) -> pa.RecordBatch:
        """The values of these ids, in one canonical form."""
        used, (names,) = self._values.of(ids)
        return pa.RecordBatch.from_pydict({"id": pa.array(used), "name": names})

    def no_names(self) -> pa.RecordBatch:
        """An empty frame."""
        return self.frame(np.empty(0, np.int64))

    def copy(self) -> "ValuesInUse":
        """A copy that learns and forgets independently."""
        twin = copy(self)
        twin._values = copy(self._values)
        return twin

    def load_state(self, frame: pa.RecordBatch) -> None:
        """Load the result of `frame`. Raises SnapshotError if its ids are not in order."""
        ids = frame.column("id").to_numpy(zero_copy_only=False)
        if frame.column("id").null_count or (ids[1:] <= ids[:-1]).any():
            raise SnapshotError("contradicts itself: names must be in the order of their ids, each once")
        self._values.replace(ids, [frame.column("name")])
        self._count = len(ids)
