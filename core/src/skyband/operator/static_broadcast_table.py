"""A query's second table as a whole, not a stream: each run gets all of it, and takes in the new rows."""

import json
from hashlib import blake2b

import numpy as np
import pyarrow as pa
from attrs import frozen

from skyband.arrays import UInt64
from skyband.columns import record_batch_bytes
from skyband.columns.arrow_normalization import no_rows


@frozen
class WholeTable:
    """The rows of such a table as bytes, and a hash of each."""

    rows: bytes
    hashes: bytes
    """uint64[n], little-endian."""

    @classmethod
    def of(cls, table: pa.Table) -> "WholeTable":
        """All rows of a table."""
        texts = (json.dumps(row, default=str, sort_keys=True) for row in table.to_pylist())
        hashes = b"".join(blake2b(text.encode(), digest_size=8).digest() for text in texts)
        batches = table.combine_chunks().to_batches()
        rows = batches[0] if batches else no_rows(table.schema)
        return cls(record_batch_bytes.to_bytes(rows), hashes)

    @property
    def keys(self) -> UInt64:
        """uint64[n]: the hashes of its rows, ascending."""
        return np.sort(np.frombuffer(self.hashes, "<u8").astype(np.uint64))

    def without(self, hashes: UInt64) -> pa.Table:
        """The rows whose hashes are not among these."""
        fresh = ~np.isin(np.frombuffer(self.hashes, "<u8"), hashes)
        return pa.Table.from_batches([record_batch_bytes.from_bytes(self.rows)]).filter(pa.array(fresh))
