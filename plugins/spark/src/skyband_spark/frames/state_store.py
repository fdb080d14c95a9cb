"""Keeps an operator between micro-batches: in Spark's state store, as a snapshot and a log, and in this worker.

A micro-batch writes its input, not its result: its frames go to a log, from which an operator that is behind catches
up. When the log is twice as large as the last snapshot, or long, or expensive to replay, the whole state is written
again and the log starts over. So a micro-batch costs its own bytes, and a whole state once in twice as many bytes of
rows; a state much smaller than its rows is written whole every time. (Writing only the changed pieces of a snapshot
would not help: a backend with a compact state changes most of it with every batch.)

Each step has a random token, written with it. An operator that stayed in this worker is reused if its token is that of
the state's last step, or of one in its log or its snapshot: then it catches up. A task that failed after its operator
advanced leaves a token that the state does not contain. It is only reused for the same query: a job that was changed
and restarted loads the state, which knows what may change. An operator in another worker of this machine is borrowed
for the micro-batch, if it is at the state's last step (`lent_operators`).
"""

import os
import time
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from skyband.errors import SnapshotError

from skyband_spark.frames.lent_operators import CachedOperator, Neighbours, RemoteOperator
from skyband_spark.frames.step_log import StepLog

if TYPE_CHECKING:  # imported by the processor, which must stay light
    from skyband.operator.logged_batch import LoggedBatch
    from skyband.operator.operator import Operator

    from skyband_spark.frames.sharded_plan import ShardedPlan

FORMAT = 3
"""The version of the state's format."""
CHUNK = 256 * 1024
"""Bytes of a snapshot in one entry of the state."""

MOST_LOGGED = 1000
"""The most steps in a log, which an operator that starts from the snapshot has to replay."""

LOG_PER_BASE = 2
"""The most bytes of a log for each byte of its snapshot. Writing a whole state takes a third of a large
micro-batch, because it must be built first: with a log no larger than the snapshot, every other one did so."""

MOST_TO_CATCH_UP = 2.0
"""The most seconds of work in a log, so that a shard that moves to another worker answers soon: more only if writing
the state takes longer. A worker measures its own steps, and learns the cost of others by replaying them."""

_MOST_SENT = 4
"""The most bytes of rows sent to the worker that has an operator, for each byte of its state: loading one byte takes
as long as sending some."""

MOST_CACHED = 256
"""Shards remembered in a worker, each with its newest operator only: others would be copies of the whole state."""


class Head(NamedTuple):
    """The head of a state. Steps are numbered from 1; the snapshot is of step `base`, the log has the later ones."""

    format: int
    shard_id: bytes
    """A permanent random id of this shard of this stream."""
    token: bytes
    base_token: bytes
    step: int
    base: int
    base_size: int
    logged: int
    """Bytes in the log."""
    shards: int


_HEAD = (
    "format int, shard_id binary, token binary, base_token binary, step bigint, base bigint, base_size bigint, "
    "logged bigint, shards int"
)


class StateStore:
    """Loads the operator of one shard from its state, and saves it again."""

    def __init__(self, handle: Any, neighbours: Neighbours | None = None) -> None:
        """neighbours: other workers that may have operators, and may use those of this one."""
        self._neighbours = neighbours
        self._state = handle.getValueState("head", _HEAD)
        self._chunks = handle.getMapState("chunks", "number int", "data binary")
        self._log = StepLog(handle.getMapState("log", "step bigint", "token binary, data binary"))

    def borrow(self, plan: "ShardedPlan", row_bytes: int) -> RemoteOperator | None:
        """The operator of the shard, if a neighbour has it as the last committed micro-batch left it, and this worker
        has not.

        Also None where there are many more bytes of rows to send than of state to load.
        """
        head = self._head = self._read_head(plan.shards)
        cached = _CACHE.get(head.shard_id)
        if self._neighbours is None or head.step == 0 or (cached is not None and cached.token == head.token):
            return None
        if row_bytes > _MOST_SENT * (head.base_size + head.logged):
            return None
        operator = self._neighbours.borrow(plan, head.token)
        if operator is not None:
            _forget(head.shard_id, self._neighbours)
            self._anew, self._work, self._writing = False, operator.work, operator.writing
            self._began = time.thread_time()
        return operator

    def load(self, plan: "ShardedPlan", number: int) -> "Operator":
        """The operator of the shard with this number, as the last committed micro-batch left it."""
        if self._neighbours is not None:
            self._neighbours.working = True
        self._head = self._read_head(plan.shards)
        self._anew = self._head.step == 0
        self._work = self._writing = 0.0
        self._began = time.thread_time()
        if self._anew:
            return plan.operator(number)
        cached = _forget(self._head.shard_id, self._neighbours)
        if cached is not None and plan.made(cached.operator) and self._follows(cached):
            operator, step, self._writing = cached.operator, cached.step, cached.writing
            steps = [*self._steps(step + 1)]
            if step > self._head.base:
                self._work = cached.work
        else:
            operator, steps = plan.operator(number), [*self._steps(self._head.base + 1)]
            count = -(-self._head.base_size // CHUNK)
            snapshot = b"".join(bytes(self._chunks.getValue((number,))[0]) for number in range(count))
            self._anew = operator.restore(snapshot, joined=steps[-1].watermark if steps else None)
            self._began = time.thread_time()  # time spent restoring does not count as a reason to write it again
        if steps:
            operator.replay(steps)
        return operator

    def commit(self, operator: "Operator | RemoteOperator", frames: Sequence[bytes], whole: bool = False) -> int:
        """Write the step with these frames, and cache the operator; returns the bytes of state kept.

        whole: it had more input than frames, so the state is written instead of the step.
        """
        self._anew |= whole
        head, token = self._head, os.urandom(16)
        head = head._replace(format=FORMAT, step=head.step + 1, token=token)
        self._work += operator.seconds if isinstance(operator, RemoteOperator) else 0.0
        if self._is_to_be_whole(head, sum(map(len, frames))):
            before = time.perf_counter()
            head = self._write_whole(head, operator.snapshot())
            self._work, self._writing = 0.0, time.perf_counter() - before
        else:
            entry = operator.logged_batch(frames)
            self._log.write(head.step, token, entry)
            head = head._replace(logged=head.logged + len(entry))
        self._state.update(tuple(head))
        if isinstance(operator, RemoteOperator):
            operator.keep(head.step, token, self._work, self._writing)
        else:
            cached = CachedOperator(operator, head.step, token, self._work, self._writing)
            _keep(head.shard_id, cached, self._neighbours)
            if self._neighbours is not None:
                self._neighbours.working = False
        return head.base_size + head.logged

    def _is_to_be_whole(self, head: Head, log_bytes: int) -> bool:
        """Whether to write the state rather than the step with this many bytes, whose work is added."""
        self._work += time.thread_time() - self._began
        if self._anew or head.logged + log_bytes > LOG_PER_BASE * head.base_size or head.step - head.base > MOST_LOGGED:
            return True
        return self._work > max(MOST_TO_CATCH_UP, self._writing)

    def begin(self, chunks: Iterable[tuple[int, bytes]], size: int, shards: int) -> None:
        """Write chunks, by number, of the first state, of `size` bytes, for a shard of a stream that starts with it.

        May be called several times: Spark passes a large state in parts.
        """
        for number, data in chunks:
            self._chunks.updateValue((number,), (data,))
        token = os.urandom(16)
        self._state.update(tuple(Head(FORMAT, os.urandom(16), token, token, 1, 1, size, 0, shards)))

    def _read_head(self, shards: int) -> Head:
        if not self._state.exists():
            return Head(FORMAT, os.urandom(16), b"", b"", 0, 0, 0, 0, shards)
        rows: Iterable[Any] = self._state.get()
        head = Head._make(bytes(value) if isinstance(value, bytearray) else value for value in rows)
        if head.format != FORMAT:
            message = f"the checkpoint has format {head.format}, this Skyband reads {FORMAT}"
            raise SnapshotError(f"{message}: run the Skyband that made it, or give the job a new checkpoint")
        if head.shards != shards:
            raise SnapshotError(
                f"the checkpoint was made with shards = {head.shards}, this job has {shards}: "
                "change it back, or give the changed job a new checkpoint"
            )
        return head

    def _follows(self, cached: CachedOperator) -> bool:
        """Whether the state's last step follows from the step of the cached operator."""
        if cached.step == self._head.step:
            return cached.token == self._head.token
        if cached.step == self._head.base:
            return cached.token == self._head.base_token
        return self._head.base < cached.step < self._head.step and cached.token == self._log.token(cached.step)

    def _steps(self, first: int) -> Iterator["LoggedBatch"]:
        from skyband.operator.logged_batch import LoggedBatch

        for step in range(first, self._head.step + 1):
            yield LoggedBatch.decode(self._log.load(step))

    def _write_whole(self, head: Head, snapshot: bytes) -> Head:
        for number, start in enumerate(range(0, len(snapshot), CHUNK)):
            self._chunks.updateValue((number,), (snapshot[start : start + CHUNK],))
        for number in range(-(-len(snapshot) // CHUNK), -(-head.base_size // CHUNK)):
            self._chunks.removeKey((number,))
        self._log.remove(range(head.base + 1, head.step))
        return head._replace(base=head.step, base_token=head.token, base_size=len(snapshot), logged=0)


_CACHE: OrderedDict[bytes, CachedOperator] = OrderedDict()
"""The operators left in this worker, by shard_id: at most one of each shard."""


def _keep(shard_id: bytes, operator: CachedOperator, neighbours: Neighbours | None) -> None:
    """Cache an operator for the next micro-batch of its shard."""
    _CACHE[shard_id] = operator
    while len(_CACHE) > MOST_CACHED:
        _forget(next(iter(_CACHE)), neighbours)
    if neighbours is not None:
        neighbours.offer(shard_id, operator.token, _take, lambda shard, back: _keep(shard, back, neighbours))


def _take(shard_id: bytes, token: bytes) -> CachedOperator | None:
    """Take the operator of a shard out of the cache, if it is at this token."""
    cached = _CACHE.pop(shard_id, None)  # popped first: this worker's task may want it, too
    if cached is None or cached.token == token:
        return cached
    _CACHE.setdefault(shard_id, cached)
    return None


def _forget(shard_id: bytes, neighbours: Neighbours | None) -> CachedOperator | None:
    """Take the operator of a shard out of the cache."""
    if neighbours is not None:
        neighbours.withdraw(shard_id)
    return _CACHE.pop(shard_id, None)
