"""Lets workers on a machine use each other's operators: if Spark moves a shard to another worker, its rows are sent to
the worker that has the operator in memory.

Spark gives each task to any idle worker, so shards move between workers with each micro-batch. Each worker would
have to read a state, or replay a log, that another has in memory. So for each operator in its memory, a worker listens
at an address made of the token of its last step, a Unix socket without a file. Whoever can read the state knows the
token, and whoever listens there has the operator at that step. It works for one micro-batch; the borrower writes the
state.

A worker does not lend while it works with its own operator, because Python would only alternate between the two: then
the other loads the state, and has the shard from then on. Both ends only talk to processes of the same user. Linux
only.
"""

import os
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:  # imported by the processor, which must stay light
    import pyarrow as pa
    from skyband.operator.metrics import Metrics
    from skyband.operator.operator import Operator
    from skyband.watermark import EventTimeProgress, Ticking

    from skyband_spark.frames.sharded_plan import ShardedPlan

_PEER = struct.Struct("3i")
"""Process, user and group of the other end."""
_PATIENCE = 2.0
"""Seconds within which a neighbour answers. The first time it compares its code with ours, for half a second."""


class NeighbourGoneError(Exception):
    """The worker that has the operator did not complete the micro-batch."""


class CachedOperator(NamedTuple):
    """An operator in the memory of a worker, ready for the next micro-batch."""

    operator: "Operator"
    step: int
    token: bytes
    work: float
    """Seconds of work in the log up to this step, as its workers measured them."""
    writing: float
    """Seconds that the last snapshot took; 0 where unknown."""


Take = Callable[[bytes, bytes], CachedOperator | None]
"""Takes the operator of a shard out of the cache, if it is at this token."""
Keep = Callable[[bytes, CachedOperator], None]
"""Puts it back, at another token."""


class Neighbours:
    """The workers with the same parent, which run the same code: lends operators to them, and borrows theirs."""

    def __init__(self) -> None:
        self.working = False
        """Whether this worker is using its own operator; after an error, until the next success."""
        self._listeners: dict[bytes, socket.socket] = {}

    def offer(self, shard_id: bytes, token: bytes, take: Take, keep: Keep) -> None:
        """Lend the operator of a shard, at this token, to a neighbour that wants it."""
        self.withdraw(shard_id)
        if sys.platform != "linux":
            return
        listener = socket.socket(socket.AF_UNIX)
        try:
            listener.bind(_address(token))
            listener.listen()
        except OSError:
            listener.close()
            return
        self._listeners[shard_id] = listener
        arguments = listener, shard_id, token, take, keep
        threading.Thread(target=self._serve, args=arguments, daemon=True).start()

    def withdraw(self, shard_id: bytes) -> None:
        """Stop lending the operator of a shard."""
        listener = self._listeners.pop(shard_id, None)
        if listener is not None:
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)  # wakes its thread
            listener.close()

    def borrow(self, plan: "ShardedPlan", token: bytes) -> "RemoteOperator | None":
        """The operator whose last step has this token; None where no neighbour has it, or it is busy."""
        if sys.platform != "linux":
            return None
        lender = socket.socket(socket.AF_UNIX)
        try:
            lender.connect(_address(token))
        except OSError:
            lender.close()
            return None
        if not _is_neighbour(lender):
            lender.close()
            return None
        connection = Connection(lender.detach())
        try:
            connection.send_bytes(_pickled(plan))
            figures = connection.recv() if connection.poll(_PATIENCE) else None
        except (OSError, EOFError):
            figures = None
        if figures is None:
            connection.close()
            return None
        return RemoteOperator(connection, *figures)

    def _serve(self, listener: socket.socket, shard_id: bytes, token: bytes, take: Take, keep: Keep) -> None:
        while True:
            try:
                borrower, _ = listener.accept()
            except OSError:  # withdrawn
                return
            if not _is_neighbour(borrower):
                borrower.close()
                continue
            back = None
            with Connection(borrower.detach()) as connection, suppress(OSError, EOFError):
                plan = connection.recv_bytes()
                own = None if self.working else take(shard_id, token)
                if own is None:
                    connection.send(None)
                    continue
                listener.close()  # it will leave this token
                if _runs(own.operator, plan):
                    connection.send((own.work, own.writing))
                    back = _work(connection, own.operator)
                else:
                    connection.send(None)
            if back is not None:
                keep(shard_id, back)


class RemoteOperator:
    """An operator in another worker, used for one micro-batch with the methods of `Operator`.

    Every method except `keep` raises NeighbourGoneError where the other worker has ended, or its operator failed: the
    work is then repeated here, so that the error is raised in the task.
    """

    def __init__(self, connection: Connection, work: float, writing: float) -> None:
        """work, writing: as in `CachedOperator`."""
        self._connection = connection
        self.work, self.writing = work, writing
        self.seconds = 0.0
        """Seconds of work done there."""

    def add(self, frames: Sequence[bytes]) -> None:
        """Take packed frames."""
        self._ask("add", frames)

    def step(self, progress: "EventTimeProgress", ticking: "Ticking | None") -> "pa.RecordBatch":
        """As `Operator.step`."""
        return self._ask("step", progress, ticking)

    def logged_batch(self, pieces: Sequence[bytes]) -> bytes:
        """As `Operator.logged_batch`."""
        entry: bytes = self._ask("last_turn").encode(pieces)
        return entry

    def snapshot(self) -> bytes:
        """As `Operator.snapshot`."""
        state: bytes = self._ask("snapshot")
        return state

    def count_dropped(self, counts: Mapping[str, int]) -> None:
        """As `Operator.count_dropped`."""
        self._ask("count_dropped", dict(counts))

    def take_metrics(self) -> "Metrics":
        """As `Operator.take_metrics`."""
        metrics: Metrics = self._ask("take_metrics")
        return metrics

    @property
    def watermark(self) -> int | None:
        """As `Operator.watermark`."""
        watermark: int | None = self._ask("watermark")
        return watermark

    def keep(self, step: int, token: bytes, work: float, writing: float) -> None:
        """Give it back, to be kept there at this step; if the other worker has ended, nothing is lost."""
        with suppress(NeighbourGoneError):
            self._ask("keep", step, token, work, writing)
        self._connection.close()

    def _ask(self, name: str, *arguments: Any) -> Any:
        try:
            self._connection.send((name, arguments))
            answer, self.seconds = self._connection.recv()
        except (OSError, EOFError) as end:
            self._connection.close()
            raise NeighbourGoneError(name) from end
        return answer


def _work(connection: Connection, operator: "Operator") -> CachedOperator | None:
    """Serve an operator to a neighbour until it disconnects; returns it at its new step, if it was given back.

    An operator that was not given back is discarded: no state matches it.
    """
    back, began = None, time.thread_time()
    while True:
        try:
            name, arguments = connection.recv()
        except (OSError, EOFError):
            return back
        answer: Any = None
        if name == "keep":
            back = CachedOperator(operator, *arguments)
        else:
            try:
                answer = _call(operator, name, arguments)
            except Exception:  # the borrower repeats the work, and raises it where Spark sees it
                return None
        connection.send((answer, time.thread_time() - began))


def _call(operator: "Operator", name: str, arguments: Sequence[Any]) -> Any:
    if name == "watermark":
        return operator.watermark
    if name == "add":
        from skyband.columns import keyed_frames

        for frame in arguments[0]:
            operator.add(keyed_frames.from_bytes(frame))
        return None
    return getattr(operator, name)(*arguments)


def _pickled(plan: "ShardedPlan") -> bytes:
    from pyspark import cloudpickle

    query: bytes = cloudpickle.dumps((plan.query, plan.bindings, plan.schema))
    return query


def _runs(operator: "Operator", plan: bytes) -> bool:
    """Whether it runs exactly this: the query with its evolvable keys, the backends, the source's schema."""
    from pyspark import cloudpickle

    same: bool = (operator.query, operator.bindings, operator.schema) == cloudpickle.loads(plan)
    return same


def _address(token: bytes) -> str:
    """The address of a socket without a file, shared by workers of one parent."""
    return f"\0skyband {os.getppid()} {token.hex()}"


def _is_neighbour(other: socket.socket) -> bool:
    """Whether the other end is another process of this user."""
    process, user, _ = _PEER.unpack(other.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size))
    return bool(user == os.getuid() and process != os.getpid())
