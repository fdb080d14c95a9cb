"""The columns of answers besides the result's: what a shard tells the others, and states."""

import pyarrow as pa
from skyband.columns import record_batch_bytes
from skyband.queries import emitted_states

GRANDS = ("grand", "grand_low", "grand_high")
"""Columns of a shard's answers besides the result's."""
OBJECTS = "objects"
"""The column of how many objects a row is about, where all others have one together."""
OBJECT_TYPE = b"skyband.object"
"""Beside the column of states stands the type of the objects in them, in a frame without rows."""


def state_field(objects: pa.DataType) -> pa.Field:
    """The column of states whose objects are of this type."""
    frame = pa.RecordBatch.from_pydict({"object": pa.array([], objects)})
    return emitted_states.FIELD.with_metadata({OBJECT_TYPE: record_batch_bytes.to_bytes(frame).hex()})
