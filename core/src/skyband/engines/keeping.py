"""Where an operator rests between micro-batches: in Spark's state store, written chunk by chunk, and in this worker.

State: a head (the token, length and shard count of the last snapshot) and its bytes in chunks. An operator left in
this worker by the micro-batch before is used again only where its random token is the one in the state, so a task
that failed after its operator moved on leaves nothing behind that could be trusted; and only where it runs the same
query: a job that was changed and started again loads the state, which says what may change.
"""

import os
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from skyband.errors import SnapshotError

if TYPE_CHECKING:  # imported by the processor, which must stay light
    from skyband.engines.shipment import Shipment
    from skyband.operator import Operator

CHUNK = 64 * 1024
"""Bytes of state written at a time; a chunk that did not change is not written again."""

NAME = 8
"""Bytes of a token that name the shard for all its life; the others are random."""

MOST_CACHED = 256
"""Shards remembered in a worker, each with its newest operator only: others would be copies of the whole state."""


class Keeping:
    """Takes the operator of one shard out of its state, and keeps it there again."""

    def __init__(self, handle: Any) -> None:
        self._head = handle.getValueState("head", "token binary, length bigint, shards int")
        self._chunks = handle.getMapState("chunks", "number int", "data binary")
        self._name = b""
        self._written: list[bytes] = []

    def take(self, shipment: "Shipment") -> "Operator":
        """The operator as the last committed micro-batch left it."""
        self._shipment = shipment
        self._written = []
        if not self._head.exists():
            self._name = os.urandom(NAME)
            return shipment.operator()
        token, length, shards = self._head.get()
        if shards != shipment.shards:
            raise SnapshotError(
                f"the checkpoint was made with shards = {shards}, this job has {shipment.shards}: "
                "change it back, or give the changed job a new checkpoint"
            )
        self._name = bytes(token[:NAME])
        left_by, operator, chunks = _CACHE.pop(self._name, (b"", None, []))
        if operator is not None and left_by == bytes(token) and shipment.made(operator):
            self._written = chunks
            return operator
        count = -(-length // CHUNK)
        self._written = [bytes(self._chunks.getValue((number,))[0]) for number in range(count)]
        operator = shipment.operator()
        operator.load(b"".join(self._written))
        return operator

    def keep(self, operator: "Operator") -> int:
        """Write what changed of its state since `take`, remember it in this worker; returns the state's bytes."""
        written, blob = self._written, operator.snapshot()
        chunks = [blob[start : start + CHUNK] for start in range(0, len(blob), CHUNK)]
        for number, chunk in enumerate(chunks):
            if number >= len(written) or written[number] != chunk:
                self._chunks.updateValue((number,), (chunk,))
        for number in range(len(chunks), len(written)):
            self._chunks.removeKey((number,))
        token = self._name + os.urandom(NAME)
        self._head.update((token, len(blob), self._shipment.shards))
        _CACHE[self._name] = token, operator, chunks
        while len(_CACHE) > MOST_CACHED:
            _CACHE.popitem(last=False)
        return len(blob)


_CACHE: OrderedDict[bytes, "tuple[bytes, Operator, list[bytes]]"] = OrderedDict()
