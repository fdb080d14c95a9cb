"""Additional columns of answers: the grand totals of shards, numbers of objects, and states."""

import pyarrow as pa
from skyband.columns import record_batch_bytes
from skyband.queries import emitted_states

GRANDS = ("grand", "grand_low", "grand_high")
"""Further columns of a shard's answers."""
OBJECTS = "objects"
"""The column of the number of objects of a row, with `rest`."""
OBJECT_TYPE = b"skyband.object"
"""The metadata key of a column of states for the type of their objects, an empty frame."""


def state_field(objects: pa.DataType) -> pa.Field:
    """The column of states whose objects are of this type."""
    frame = pa.RecordBatch.from_pydict({"object": pa.array([], objects)})
    return emitted_states.FIELD.with_metadata({OBJECT_TYPE: record_batch_bytes.to_bytes(frame).hex()})
