"""Reads the state in a stream's checkpoint, with Spark's reader of states: each shard's operator."""

import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from attrs import frozen
from skyband import snapshot
from skyband.errors import EngineError, SnapshotError
from skyband.operator.logged_batch import LoggedBatch
from skyband.operator.operator import Operator
from skyband.snapshot import Snapshot

from skyband_spark.frames import step_log
from skyband_spark.frames.shard_keys import number_of
from skyband_spark.frames.sharded_plan import ShardedPlan
from skyband_spark.frames.state_store import FORMAT, Head


@frozen
class ShardState:
    """One shard: its head, its last snapshot, and the batches logged since."""

    number: int
    """Its number among the `head.shards`."""
    head: Head
    blob: bytes
    batches: tuple[LoggedBatch, ...]

    @property
    def nbytes(self) -> int:
        """Bytes of state."""
        return self.head.base_size + self.head.logged

    @property
    def snapshot(self) -> Snapshot:
        """Raises SnapshotError where it is damaged."""
        return snapshot.decode(self.blob)

    def restore(self, plan: ShardedPlan) -> Operator:
        """The operator after the last step. Raises SnapshotError where it is of another plan or shard."""
        operator = plan.operator(self.number)
        operator.restore(self.blob, joined=self.batches[-1].watermark if self.batches else None)
        operator.replay(self.batches)
        return operator


def read_shards(session: Any, checkpoint: str, batch: int | None = None) -> list[ShardState]:
    """The shards after a micro-batch, by number, without those that have had no row.

    batch: one that was committed; None: the last. A stream may be running: everything is read as of that micro-batch.
    Raises EngineError where the checkpoint is missing, empty or not Skyband's, SnapshotError where it is damaged.
    """
    folder = Path(checkpoint)
    if not (folder / "state").is_dir():
        message = "has no state yet: run the stream first" if folder.is_dir() else "does not exist"
        raise EngineError(f"the checkpoint {checkpoint!r} {message}")
    batch = last_committed(folder) if batch is None else batch
    if batch < 0:
        raise EngineError(f"the checkpoint {checkpoint!r} has no state yet: run the stream first")
    with _plain_path(folder) as where:
        return _read(_States(session, where, batch))


def last_committed(checkpoint: Path) -> int:
    """The last committed micro-batch, -1 before the first."""
    log = checkpoint / "commits"
    names = [path.name for path in log.iterdir()] if log.is_dir() else []
    return max((int(name) for name in names if name.isascii() and name.isdigit()), default=-1)


def _read(states: "_States") -> list[ShardState]:
    heads = states.heads()
    chunks, logs = states.entries("chunks", "number"), states.entries("log", "step")
    shards = [
        ShardState(number_of(key, head.shards), head, _whole(head, chunks[key]), tuple(_logged(head, logs[key])))
        for key, head in heads.items()
    ]
    return sorted(shards, key=lambda shard: shard.number)


@contextmanager
def _plain_path(folder: Path) -> Iterator[str]:
    """A path to the folder that Spark's reader of states accepts: it would turn a space into %20."""
    if quote(str(folder)) == str(folder):
        yield str(folder)
        return
    with tempfile.TemporaryDirectory(prefix="skyband-") as links:
        link = Path(links, "checkpoint")
        link.symlink_to(folder.absolute(), target_is_directory=True)
        yield str(link)


def _whole(head: Head, chunks: dict[int, bytes]) -> bytes:
    blob = b"".join(chunks[number] for number in sorted(chunks))
    if len(blob) != head.base_size:
        raise SnapshotError(f"damaged: a shard's snapshot has {len(blob)} bytes, its head expects {head.base_size}")
    return blob


def _logged(head: Head, log: dict[int, bytes]) -> Iterator[LoggedBatch]:
    return (LoggedBatch.decode(step_log.bytes_of(log, step)) for step in range(head.base + 1, head.step + 1))


@frozen
class _States:
    """Spark's reader of the states in a checkpoint, as of one micro-batch."""

    session: Any
    checkpoint: str
    batch: int

    def heads(self) -> dict[int, Head]:
        """The head of each shard, by its key. Raises SnapshotError where they have another format."""
        reader = self._reader("head")
        names = tuple(reader.schema["value"].dataType.fieldNames())
        formats = {row[0] for row in reader.select("value.format").collect()} if "format" in names else {"none"}
        if names != Head._fields or formats - {FORMAT}:
            other = next(iter(formats - {FORMAT}), "another")
            raise SnapshotError(
                f"the checkpoint {self.checkpoint!r} has format {other}, but this Skyband reads {FORMAT}: use the "
                "version that made it, or give the job a new checkpoint"
            )
        rows = reader.selectExpr("key.shard AS shard", "value.*").collect()
        return {row[0]: Head._make(bytes(v) if isinstance(v, bytearray) else v for v in row[1:]) for row in rows}

    def entries(self, name: str, key: str) -> dict[int, dict[int, bytes]]:
        """The entries of a map, by the shard's key and by their own integer key."""
        rows = self._reader(name).selectExpr(
            "key.shard AS shard", f"user_map_key.{key} AS place", "user_map_value.data AS bytes"
        )
        by_shard: dict[int, dict[int, bytes]] = defaultdict(dict)
        for row in rows.toLocalIterator():
            by_shard[row["shard"]][row["place"]] = bytes(row["bytes"])
        return by_shard

    def _reader(self, name: str) -> Any:
        from pyspark.errors import PySparkException

        reader = self.session.read.format("statestore").option("stateVarName", name).option("batchId", self.batch)
        try:
            return reader.load(self.checkpoint)
        except PySparkException as error:
            if "STATE_VARIABLE" in str(error) or "stateVarName" in str(error):
                raise EngineError(f"the checkpoint {self.checkpoint!r} is not from a stream of Skyband") from error
            raise
