"""What travels from the driver to the executors: a query with its backends resolved, and who made it."""

from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import frozen

import skyband
from skyband import frames
from skyband.arrays import UInt64
from skyband.errors import PluginError
from skyband.operator import Operator
from skyband.queries.encoding import encode
from skyband.queries.query import Query
from skyband.registry import Binding, load_class

PACKED = pa.schema(
    [
        pa.field("shard", pa.int32(), nullable=False),
        pa.field("first", pa.int64(), nullable=False),
        pa.field("latest", pa.int64(), nullable=True),
        pa.field("dropped", pa.list_(pa.int64()), nullable=False),
        pa.field("frame", pa.binary(), nullable=True),
    ]
)
"""A frame as one row: its shard, its earliest time, the latest time its task has seen, and the rows left out by reason.

Every task sends each shard one row without a frame, last, so that all shards learn how far time has come.
"""

AT_THE_END = np.iinfo(np.int64).max


@frozen
class Shipment:
    """A bound query as plain data. Backends are named `module:Class`, so executors need the code but no entry points."""

    query: Query
    bindings: Mapping[str, Binding]
    schema: pa.Schema
    shards: int
    made_by: str = skyband.__version__

    def operator(self) -> Operator:
        """A fresh operator for one shard. Raises PluginError where this machine's installation differs."""
        if skyband.__version__ != self.made_by:
            raise PluginError(f"the driver runs skyband {self.made_by}, this executor {skyband.__version__}: use one")
        for binding in self.bindings.values():
            _same_plugin(binding)
        return Operator(self.query, self.bindings, self.schema)

    def pack(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Source batches as packed frames, each batch cut by shard and sorted by time. Runs where the rows are."""
        latest: int | None = None
        dropped = np.zeros(len(self.query.leaves_out), np.int64)
        for batch in batches:
            encoded = encode(self.query, batch)
            dropped += [encoded.dropped.get(reason, 0) for reason in self.query.leaves_out]
            if len(encoded.frame):
                last = int(encoded.frame.column(frames.TIME).to_numpy().max())
                latest = last if latest is None else max(latest, last)
                yield _packed(self._cut(encoded.frame), latest, np.zeros_like(dropped))
        ticks = [(shard, AT_THE_END, None) for shard in range(self.shards)]
        nothing = np.zeros_like(dropped)
        yield _packed(ticks[:1], latest, dropped)
        yield _packed(ticks[1:], latest, nothing)

    def _cut(self, frame: pa.RecordBatch) -> list[tuple[int, int, bytes | None]]:
        """The rows of a frame by shard: (shard, earliest time, Arrow bytes)."""
        times = frame.column(frames.TIME).to_numpy()
        if self.shards == 1:
            return [(0, int(times.min()), frames.to_bytes(frame))]
        shards = self._shard_of(frame)
        order = np.argsort(shards, kind="stable")
        cuts = np.searchsorted(shards[order], np.arange(self.shards + 1))
        pieces: list[tuple[int, int, bytes | None]] = []
        for shard in np.flatnonzero(cuts[1:] > cuts[:-1]).tolist():
            rows = order[cuts[shard] : cuts[shard + 1]]
            pieces.append((shard, int(times[rows].min()), frames.to_bytes(frame.take(pa.array(rows)))))
        return pieces

    def _shard_of(self, frame: pa.RecordBatch) -> UInt64:
        hashes = frame.column(frames.GROUP if self.query.by else str(self.query.shard_by)).to_numpy()
        return (hashes.view(np.uint64) >> np.uint64(32)) % np.uint64(self.shards)


def _packed(pieces: list[tuple[int, int, bytes | None]], latest: int | None, dropped: Any) -> pa.RecordBatch:
    rows = [
        {"shard": shard, "first": first, "latest": latest, "dropped": dropped.tolist(), "frame": data}
        for shard, first, data in pieces
    ]
    return pa.RecordBatch.from_pylist(rows, schema=PACKED)


def _same_plugin(binding: Binding) -> None:
    try:
        here = version(binding.distribution)
    except PackageNotFoundError:
        load_class(binding.info)  # reached by a path without metadata: the class itself is what counts
        return
    if here != binding.version:
        raise PluginError(
            f"{binding.info.key}: the driver runs {binding.distribution} {binding.version}, this executor {here}: use one"
        )
