"""Tables as Arrow's IPC stream."""

import pyarrow as pa

MEDIA_TYPE = "application/vnd.apache.arrow.stream"


def stream_of(table: pa.Table) -> bytes:
    """The bytes of a table."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(memoryview(sink.getvalue()))
