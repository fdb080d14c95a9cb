"""Arrow data whose buffers do not match: refused by column, without reading other memory."""

import struct

import pyarrow as pa
import pytest
from skyband.engines import local
from skyband.errors import InputError
from skyband_jobs.files.source_files import open_files
from skyband_jobs.tables.model import Source

QUERY = {"kind": "distinct-count", "time": "ts", "item": "client", "windows": ["1 hour"], "every": "1 hour"}
TABLE = pa.table({"ts": pa.array([0, 1, 2], pa.timestamp("us")), "client": ["a", "bb", "c"], "other": ["x", "y", "z"]})


def damaged(name: str) -> bytes:
    """The file of TABLE with one offset of a text far outside its data."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, TABLE.schema) as writer:
        writer.write_table(TABLE)
    whole, offsets = (
        sink.getvalue().to_pybytes(),
        struct.pack("<4i", *({"client": (0, 1, 3, 4), "other": (0, 1, 2, 3)}[name])),
    )
    assert whole.count(offsets) == 1
    return whole.replace(offsets, struct.pack("<4i", 0, 1 << 28, 3, 4))


@pytest.mark.parametrize("name", ["client", "other"])
def test_a_damaged_file_is_refused_with_the_column_when_it_is_read(tmp_path, name):
    (tmp_path / "a.arrow").write_bytes(damaged(name))
    files = open_files(Source(format="arrow", path=str(tmp_path), where="other = 'x'" if name == "other" else None))
    with pytest.raises(InputError, match=rf"a\.arrow: {name}: is damaged"):
        list(files.batches(["ts", "client"]))
    healthy = open_files(Source(format="arrow", path=str(tmp_path)))
    assert sum(map(len, healthy.batches(["ts"]))) == 3


def test_a_damaged_batch_is_refused_by_column():
    table = pa.ipc.open_file(pa.py_buffer(damaged("client"))).read_all()
    with pytest.raises(InputError, match="client: is damaged"):
        local.apply(table, QUERY)
    run = local.LocalRun.start(QUERY, table.schema)
    with pytest.raises(InputError, match="client: is damaged"):
        run.push(table.to_batches()[0])
    assert local.apply(pa.ipc.open_file(pa.py_buffer(damaged("other"))).read_all(), QUERY).num_rows == 1
