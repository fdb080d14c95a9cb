"""Files of very many columns, of which a query reads few: what is done for each column is done once."""

import pyarrow as pa
from skyband_jobs.files.columnar_files import Layout, read, schema_of

COLUMNS = 20_000
"""With a look at the names of all for each it took two minutes."""


def test_columns_are_found_by_name_whatever_their_number(tmp_path):
    names = [f"c{number}" for number in range(COLUMNS)]
    for file, kind in (("a.arrow", pa.int32()), ("b.arrow", pa.int64())):
        table = pa.table([pa.array([1, None], kind)] * COLUMNS, names)
        with pa.ipc.new_file(tmp_path / file, table.schema) as writer:
            writer.write(table)
    layout = Layout("arrow")
    schema = schema_of(sorted(tmp_path.iterdir()), layout)
    assert schema == pa.schema([(name, pa.int64()) for name in names])
    (batch,) = read(tmp_path / "a.arrow", layout, schema)
    assert batch.schema == schema
    assert batch.column(COLUMNS - 1).to_pylist() == [1, None]
