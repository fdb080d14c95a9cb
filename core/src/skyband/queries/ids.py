"""Ids of any type as the int64 that backends take, and back. Integers are their own code, anything else its hash.

A code depends on the id alone, so shards and engines agree on it. Among equal scores, integers rank ascending and other
ids by the order of their hashes: fixed, but not alphabetical.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from skyband import frames
from skyband.arrays import Array, Int64
from skyband.hashing import hash_column


def is_id(kind: pa.DataType) -> bool:
    """Whether a column of this type can hold ids."""
    return pa.types.is_integer(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind)


def codes_of(ids: pa.Array) -> Int64:
    """int64[n]: the codes of a column of ids; 0 where it is null."""
    if pa.types.is_integer(ids.type):
        return ids.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    return hash_column(ids).view(np.int64)


class Ids:
    """Which id each code stands for, for as long as a window can still answer with it.

    Integer ids need no memory. Others are kept with the time they were last seen, sorted by code, until `forget`.
    """

    def __init__(self, kind: pa.DataType) -> None:
        self._kind = kind
        self._codes: Int64 = np.empty(0, np.int64)
        self._times: Int64 = np.empty(0, np.int64)
        self._values = pa.array([], kind)

    def add(self, codes: Int64, times: Int64, values: pa.Array | None = None) -> None:
        """Remember the ids (`values`) behind codes seen at times that ascend; integers may leave `values` out."""
        if values is None or not len(codes):
            return
        together = np.concatenate((self._codes, codes))
        moments = np.concatenate((self._times, times))
        order = np.lexsort((moments, together))
        ranked = together[order]
        last = order[np.append(ranked[1:] != ranked[:-1], True)]
        everything = pa.concat_arrays([self._values, frames.decoded(values).cast(self._kind)])
        self._take(together, moments, everything, last)

    def forget(self, before: int) -> None:
        """Let go of ids last seen before this time."""
        if (self._times < before).any():
            self._take(self._codes, self._times, self._values, np.flatnonzero(self._times >= before))

    def values(self, codes: Int64) -> pa.Array:
        """The ids behind codes."""
        if pa.types.is_integer(self._kind):
            return pa.array(codes).cast(self._kind)
        return self._values.take(pa.array(np.searchsorted(self._codes, codes)))

    def _take(self, codes: Int64, times: Int64, values: pa.Array, rows: Int64) -> None:
        self._codes, self._times, self._values = codes[rows], times[rows], values.take(pa.array(rows))

    def state(self) -> dict[str, Array]:
        """Flat arrays for a lane's `state`, under names of their own."""
        if not len(self._codes):
            return {}
        held = pa.RecordBatch.from_arrays([self._values], names=["id"])
        values = np.frombuffer(frames.to_bytes(held), np.uint8)
        return {"ids.codes": self._codes, "ids.times": self._times, "ids.values": values}

    def load(self, arrays: Mapping[str, Any]) -> None:
        """Take over what `state` gave."""
        if "ids.codes" in arrays:
            self._codes, self._times = arrays["ids.codes"], arrays["ids.times"]
            self._values = frames.from_bytes(arrays["ids.values"]).column(0)
