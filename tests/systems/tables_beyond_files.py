"""Tables that are more than their files: partitions, deleted rows and columns that came later, of each format."""

import base64
import json
import struct
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from skyband_lakes.libraries import DELTA, ICEBERG

_Z85 = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_B85 = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
PLACES = ["a b", "é=%/x", None, "c"]


def visits(first: int, rows: int = 40) -> pa.Table:
    numbers = range(first, first + rows)
    return pa.table(
        {
            "ts": pa.array([1_000_000 * number for number in numbers], pa.timestamp("us", "UTC")),
            "place": [PLACES[number % 4] for number in numbers],
            "who": [f"visitor {number % 7}" for number in numbers],
        }
    )


def delta(folder: Path, deletes: bool) -> list[dict]:
    """Make a table by place, a column of which came later; returns its rows."""
    library = DELTA.imported()
    library.write_deltalake(str(folder), visits(0), partition_by=["place"])
    later = visits(40).append_column("more", pa.array([1.5] * 40))
    library.write_deltalake(str(folder), later, mode="append", schema_mode="merge")
    rows = [{"more": None, **row} for row in visits(0).to_pylist()] + later.to_pylist()
    if not deletes:
        return rows
    added = pa.table(library.DeltaTable(str(folder)).get_add_actions(flatten=True)).to_pylist()
    path = next(one["path"] for one in added if one["partition.place"] == "c" and one["null_count.more"] == 0)
    delete_by_vector(folder, path, [0, 3])
    gone = [row for row in later.to_pylist() if row["place"] == "c"]
    return [row for row in rows if row not in (gone[0], gone[3])]


def delete_by_vector(folder: Path, path: str, rows: list[int]) -> None:
    """Commit a deletion vector as Delta's protocol has it, in the log itself: deltalake reads them and writes none."""
    log = folder / "_delta_log"
    actions = [json.loads(line) for entry in sorted(log.glob("*.json")) for line in entry.read_text().splitlines()]
    add = next(action["add"] for action in actions if action.get("add", {}).get("path") == path)
    bitmap = struct.pack("<IIHHI", 12346, 1, 0, len(rows) - 1, 16) + struct.pack(f"<{len(rows)}H", *rows)
    data = struct.pack("<IQI", 1681511377, 1, 0) + bitmap
    text = base64.b85encode(data.ljust(-(-len(data) // 4) * 4, b"\0")).translate(bytes.maketrans(_B85, _Z85)).decode()
    vector = {"storageType": "i", "pathOrInlineDv": text, "sizeInBytes": len(data), "cardinality": len(rows)}
    remove = {"path": path, "deletionTimestamp": add["modificationTime"], "dataChange": True}
    commit(folder, with_feature("deletionVectors"), {"remove": remove}, {"add": add | {"deletionVector": vector}})


def with_feature(name: str) -> dict:
    """The action of Delta's log by which a table has a feature that its readers must know."""
    versions = {"minReaderVersion": 3, "minWriterVersion": 7}
    return {"protocol": versions | {"readerFeatures": [name], "writerFeatures": [name]}}


def commit(folder: Path, *actions: dict) -> None:
    """Add a commit to Delta's log."""
    log = folder / "_delta_log"
    number = len(list(log.glob("*.json")))
    (log / f"{number:020}.json").write_text("".join(f"{json.dumps(action)}\n" for action in actions))


def iceberg(folder: Path, name: str, properties: dict[str, str], deletes: bool) -> list[dict]:
    """The same table in Iceberg, a column of which is called otherwise since its first rows."""
    from pyiceberg.transforms import IdentityTransform
    from pyiceberg.types import DoubleType

    catalog = ICEBERG.imported("catalog.sql").SqlCatalog("default", **properties)
    catalog.create_namespace_if_not_exists(name.partition(".")[0])
    table = catalog.create_table(name, visits(0).rename_columns(["ts", "place", "called"]).schema)
    with table.update_spec() as spec:
        spec.add_field("place", IdentityTransform())
    table.append(visits(0).rename_columns(["ts", "place", "called"]))
    with table.update_schema() as columns:
        columns.rename_column("called", "who")
        columns.add_column("more", DoubleType())
    later = visits(40).append_column("more", pa.array([1.5] * 40))
    table.append(later)
    rows = [{"more": None, **row} for row in visits(0).to_pylist()] + later.to_pylist()
    if not deletes:
        return rows
    task = next(task for task in table.scan().plan_files() if task.file.partition[0] == "c")
    gone = pq.read_table(task.file.file_path.removeprefix("file://"), columns=["ts"])["ts"].to_pylist()
    delete_by_position(folder, table, task.file, [0, 3])
    return [row for row in rows if row["ts"] not in (gone[0], gone[3])]


def delete_by_position(folder: Path, table, file, rows: list[int]) -> None:
    """Commit a file of deleted positions, as Spark writes them: pyiceberg reads them and writes none."""
    from pyiceberg.manifest import DataFile, DataFileContent, FileFormat

    place = folder / "deleted.parquet"
    pq.write_table(pa.table({"file_path": [file.file_path] * len(rows), "pos": pa.array(rows, pa.int64())}), place)
    deletes = DataFile.from_args(
        content=DataFileContent.POSITION_DELETES,
        file_path=str(place),
        file_format=FileFormat.PARQUET,
        partition=file.partition,
        record_count=len(rows),
        file_size_in_bytes=place.stat().st_size,
        column_sizes={},
        value_counts={},
        null_value_counts={},
        nan_value_counts={},
        lower_bounds={},
        upper_bounds={},
        key_metadata=None,
        split_offsets=None,
        equality_ids=None,
        sort_order_id=None,
    )
    deletes.spec_id = table.spec().spec_id
    with table.transaction() as change, change.update_snapshot().fast_append() as snapshot:
        snapshot.append_data_file(deletes)
