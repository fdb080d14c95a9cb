"""Writes a checkpoint that starts with given states, from which a stream that never ran resumes.

Spark lets a stream start with states through `initialState`, only in its first micro-batch. So one is run that reads
nothing: two empty files, one after the other, because on a start Spark checks what the last micro-batch but one had
read. Then its position is rewritten: that of the stream that made the states, or nothing.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from skyband.errors import EngineError

from skyband_spark.frames.clock_ticks import with_ticks
from skyband_spark.frames.shard_keys import keys_of
from skyband_spark.frames.sharded_plan import SHUFFLE_SCHEMA, ShardedPlan
from skyband_spark.frames.state_store import CHUNK, StateStore

SEEDS = (0, 1)
"""The micro-batches that write the states."""

NOTHING_READ = "-"
"""Spark's offset of a source that was not read yet."""

_FIRST_SOURCE = 2
"""The line of the first source in Spark's offsets; the others follow."""

_STATES = pa.schema([("shard", pa.int64()), ("number", pa.int32()), ("size", pa.int64()), ("data", pa.binary())])


class FirstStates(StatefulProcessor):  # type: ignore[misc]
    """Puts the states of a stream's shards where `ShardProcessor` looks for them."""

    def __init__(self, shards: int) -> None:
        self._shards = shards

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._store = StateStore(handle)

    def handleInitialState(self, key: Any, initialState: Any, timerValues: Any) -> None:  # noqa: N802, N803, ARG002
        chunks = zip(initialState["number"].tolist(), map(bytes, initialState["data"]), strict=True)
        self._store.begin(chunks, int(initialState["size"].iloc[0]), self._shards)

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Any]:  # noqa: N802, N803, ARG002
        yield from ()

    def close(self) -> None:
        """Do nothing: it holds no resources."""


def write_checkpoint(
    session: Any, plan: ShardedPlan, snapshots: list[bytes], folder: Path, second: bool = False
) -> Path:
    """Write a checkpoint into `folder`, which is empty, from which a stream of this plan resumes with these snapshots,
    by shard.

    The positions in its source, and in the second if there is one, are set by `set_position`.
    """
    from pyspark.sql.pandas.types import from_arrow_schema

    checkpoint = folder / "checkpoint"
    states = session.read.schema(from_arrow_schema(_STATES)).parquet(str(_snapshot_file(snapshots, folder / "states")))
    empty = session.readStream.schema(from_arrow_schema(SHUFFLE_SCHEMA)).option("maxFilesPerTrigger", 1)
    nothing = empty.parquet(str(_empty_files(folder / "source")))
    if second:
        nothing = nothing.union(empty.parquet(str(_empty_files(folder / "second"))))
    rows = _without_ticks(nothing, plan).selectExpr("CAST(shard AS BIGINT) AS shard", "first")
    paths = rows.groupBy("shard").transformWithStateInPandas(
        FirstStates(plan.shards), "shard bigint", "append", "None", initialState=states.groupBy("shard")
    )
    writer = paths.writeStream.format("noop").option("checkpointLocation", str(checkpoint))
    writer.trigger(availableNow=True).start().awaitTermination()
    if not all((checkpoint / "commits" / str(batch)).is_file() for batch in SEEDS):
        raise EngineError(f"Spark did not write the first states into {str(checkpoint)!r}")
    return checkpoint


def set_position(checkpoint: Path, offset: str = NOTHING_READ, log: Path | None = None, number: int = 0) -> None:
    """Set in a new checkpoint how far the source with this number was read: a line of Spark's offsets, and its log."""
    for batch in SEEDS:
        path = checkpoint / "offsets" / str(batch)
        lines = path.read_text("utf-8").splitlines()
        lines[_FIRST_SOURCE + number] = offset
        _replace(path, "\n".join(lines))
    source_log = checkpoint / "sources" / str(number)
    for path in source_log.iterdir() if source_log.is_dir() else ():
        path.unlink()
    for path in sorted(log.iterdir()) if log is not None else ():
        source_log.mkdir(parents=True, exist_ok=True)
        (source_log / path.name).write_bytes(path.read_bytes())


def set_place(checkpoint: Path, final: Path) -> None:
    """Set the final place of a new checkpoint: Spark keeps absolute paths to the schemas of its states."""
    for path in (checkpoint / "state").glob("*/_metadata/*/[0-9]*"):
        version, text = path.read_text("utf-8").split("\n", 1)
        offsets = json.loads(text)
        for store in offsets["stateStoreInfo"]:
            store["stateSchemaFilePaths"] = [
                f"file:{final.absolute()}/state/{schema.rpartition('/checkpoint/state/')[2]}"
                for schema in store["stateSchemaFilePaths"]
            ]
        _replace(path, f"{version}\n{json.dumps(offsets)}")


def offset_of(checkpoint: Path, batch: int, number: int = 0) -> str:
    """How far the source with this number was read after a micro-batch. Raises EngineError where it is missing."""
    lines = (checkpoint / "offsets" / str(batch)).read_text("utf-8").splitlines()
    if len(lines) <= _FIRST_SOURCE + number or lines[0] != "v1":
        raise EngineError(
            f"{str(checkpoint / 'offsets' / str(batch))!r} is not a list of offsets as written by Spark 4"
        )
    return lines[_FIRST_SOURCE + number]


def _without_ticks(packed: Any, plan: ShardedPlan) -> Any:
    """Packed rows, with the stream's clock if it has one: its checkpoint must know both sources."""
    from pyspark.sql import functions as sql

    return packed if plan.ticking is None else with_ticks(packed, plan).where(sql.col("first") < sql.lit(-(2**63)))


def _snapshot_file(snapshots: list[bytes], folder: Path) -> Path:
    """The snapshots as files that Spark reads, one for each shard."""
    folder.mkdir()
    for number, (key, snapshot) in enumerate(zip(keys_of(len(snapshots)), snapshots, strict=True)):
        starts = range(0, len(snapshot), CHUNK)
        common = {"shard": key, "size": len(snapshot)}
        rows = [{**common, "number": i, "data": snapshot[s : s + CHUNK]} for i, s in enumerate(starts)]
        pq.write_table(pa.Table.from_pylist(rows, _STATES), folder / f"{number:05}.parquet")
    return folder


def _empty_files(folder: Path) -> Path:
    folder.mkdir()
    for batch in SEEDS:
        pq.write_table(SHUFFLE_SCHEMA.empty_table(), folder / f"{batch}.parquet")
    return folder


def _replace(path: Path, text: str) -> None:
    """Rewrite one of Spark's files, and remove its checksum file."""
    path.write_text(text, "utf-8")
    (path.parent / f".{path.name}.crc").unlink(missing_ok=True)
