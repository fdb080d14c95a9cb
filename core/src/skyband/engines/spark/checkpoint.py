"""What a stream's checkpoint holds, read by Spark's reader of states: each shard's operator."""

import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from attrs import frozen

from skyband import snapshot
from skyband.engines.spark.state_store import FORMAT, Head
from skyband.errors import EngineError, SnapshotError
from skyband.operator.logged_batch import LoggedBatch
from skyband.operator.operator import Operator
from skyband.snapshot import Snapshot


@frozen
class ShardState:
    """One shard: its head, the snapshot it began from last, and the batches logged since."""

    head: Head
    blob: bytes
    batches: tuple[LoggedBatch, ...]

    @property
    def nbytes(self) -> int:
        """Bytes kept in the state."""
        return self.head.base_size + self.head.logged

    @property
    def snapshot(self) -> Snapshot:
        """Raises SnapshotError where it is damaged."""
        return snapshot.decode(self.blob)

    def restore(self, operator: Operator) -> Operator:
        """A fresh operator of the same plan as of the last step. Raises SnapshotError where it does not fit."""
        operator.restore(self.blob, joined=self.batches[-1].watermark if self.batches else None)
        operator.replay(self.batches)
        return operator


def read_shards(session: Any, checkpoint: str) -> list[ShardState]:
    """The shards of the last micro-batch that was committed; those without a row yet are not there.

    A stream may run meanwhile. Raises EngineError where the checkpoint is not there, is empty or not Skyband's.
    """
    folder = Path(checkpoint)
    if not (folder / "state").is_dir():
        said = "holds no state yet: run the stream first" if folder.is_dir() else "is not there"
        raise EngineError(f"the checkpoint {checkpoint!r} {said}")
    with _plain_path(folder) as where:
        return _read(session, where)


def _read(session: Any, checkpoint: str) -> list[ShardState]:
    heads = {shard: Head._make(row) for shard, row in _values(session, checkpoint)}
    if any(head.format != FORMAT for head in heads.values()):
        found = next(head.format for head in heads.values() if head.format != FORMAT)
        raise SnapshotError(f"the checkpoint has format {found}, this Skyband reads {FORMAT}: run the one that made it")
    chunks = _entries(session, checkpoint, "chunks", "data")
    logs = _entries(session, checkpoint, "log", "data")
    return [
        ShardState(head, _whole(head, chunks[shard]), tuple(_logged(head, logs[shard])))
        for shard, head in sorted(heads.items())
    ]


@contextmanager
def _plain_path(folder: Path) -> Iterator[str]:
    """The folder by a name that Spark's reader of states finds: it takes a space for %20, and looks for that."""
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
        raise SnapshotError(f"damaged: a shard's snapshot has {len(blob)} bytes, its head says {head.base_size}")
    return blob


def _logged(head: Head, log: dict[int, bytes]) -> Iterator[LoggedBatch]:
    for step in range(head.base + 1, head.step + 1):
        if step not in log:
            raise SnapshotError(f"damaged: the log lacks step {step} of {head.step}")
        yield LoggedBatch.decode(log[step])


def _values(session: Any, checkpoint: str) -> list[tuple[int, tuple[Any, ...]]]:
    rows = _reader(session, checkpoint, "head").selectExpr("key.shard AS shard", "value.*").collect()
    return [
        (row[0], tuple(bytes(value) if isinstance(value, bytearray) else value for value in row[1:])) for row in rows
    ]


def _entries(session: Any, checkpoint: str, name: str, column: str) -> dict[int, dict[int, bytes]]:
    """Of a map, by shard and by its whole-number key."""
    number = "number" if name == "chunks" else "step"
    rows = _reader(session, checkpoint, name).selectExpr(
        "key.shard AS shard", f"user_map_key.{number} AS place", f"user_map_value.{column} AS bytes"
    )
    found: dict[int, dict[int, bytes]] = defaultdict(dict)
    for row in rows.toLocalIterator():
        found[row["shard"]][row["place"]] = bytes(row["bytes"])
    return found


def _reader(session: Any, checkpoint: str, name: str) -> Any:
    from pyspark.errors import PySparkException

    try:
        return session.read.format("statestore").option("stateVarName", name).load(checkpoint)
    except PySparkException as error:
        if "STATE_VARIABLE" in str(error) or "stateVarName" in str(error):
            raise EngineError(f"the checkpoint {checkpoint!r} is of a stream that is not Skyband's") from error
        raise
