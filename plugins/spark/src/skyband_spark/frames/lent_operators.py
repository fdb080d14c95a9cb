"""Operators that other workers on this machine have in memory: where Spark gives a shard to a worker that has not its
operator, the rows go to the one that has.

Spark gives each task to any of its idle workers, so that shards change places from one micro-batch to the next: each
worker would read a state, or catch up with a log, that another has in memory. So a worker listens, for each operator in
its memory, at an address made of the token of its last step, a Unix socket without a file. Who may read the state knows
the token, and where somebody listens, his operator is at that step. He works with it for one micro-batch; the one who
borrows it writes the state.

Nobody lends while he works with an operator of his own, as Python does two things only by turns: then the other loads
the state, and has the shard from then on. Both ends talk to processes of their own user alone. On Linux only.
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
"""Process, user and group of who is at the other end."""
_PATIENCE = 2.0
"""Seconds in which a neighbour says whether it lends. At first it compares its code with ours, for half a second."""


class NeighbourGoneError(Exception):
    """The worker that has the operator did not come to the end of the micro-batch."""


class CachedOperator(NamedTuple):
    """An operator in the memory of a worker, ready for the next micro-batch."""

    operator: "Operator"
    step: int
    token: bytes
    work: float
    """Seconds of work in the log up to this step, as the workers that had it know them."""
    writing: float
    """Seconds that the last snapshot took; 0 where it is not known."""


Take = Callable[[bytes, bytes], CachedOperator | None]
"""Gives the operator of a shard away, if it is at this token."""
Keep = Callable[[bytes, CachedOperator], None]
"""Takes it back, at another token."""


class Neighbours:
    """The workers of this worker's parent, which run the same code: what is lent to them, and borrowed."""

    def __init__(self) -> None:
        self.working = False
        """Whether this worker works with an operator of its own; after an error until it has done so again."""
        self._listeners: dict[bytes, socket.socket] = {}

    def offer(self, shard_id: bytes, token: bytes, take: Take, keep: Keep) -> None:
        """Lend the operator of a shard, at this token, to a neighbour who wants it."""
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
        """Lend the operator of a shard no longer."""
        listener = self._listeners.pop(shard_id, None)
        if listener is not None:
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)  # its thread waits no longer
            listener.close()

    def borrow(self, plan: "ShardedPlan", token: bytes) -> "RemoteOperator | None":
        """The operator whose last step has this token; None where no neighbour has it, or he works."""
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
                listener.close()  # it will not be at this token any more
                if _runs(own.operator, plan):
                    connection.send((own.work, own.writing))
                    back = _work(connection, own.operator)
                else:
                    connection.send(None)
            if back is not None:
                keep(shard_id, back)


class RemoteOperator:
    """An operator in another worker, for one micro-batch: what `Operator` does it does there.

    Each method but `keep` raises NeighbourGoneError where the other worker has ended, or its operator raised an error:
    done again here, that is raised where the task is.
    """

    def __init__(self, connection: Connection, work: float, writing: float) -> None:
        """work, writing: as `CachedOperator` has them."""
        self._connection = connection
        self.work, self.writing = work, writing
        self.seconds = 0.0
        """Of work that was done there."""

    def add(self, frames: Sequence[bytes]) -> None:
        """Take in packed frames."""
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
        """Give it back, to be kept there at this step; where the other worker has ended nothing is lost."""
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
    """Do with an operator what a neighbour wants, until he is gone; the operator at its new step, if he gives it back.

    Nobody has any use for an operator that was not given back: no state says what it is.
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
            except Exception:  # whoever borrows does the work again, and raises it where Spark sees it
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
    """Whether it runs just this: the query with its evolvable keys, the backends, the source's schema."""
    from pyspark import cloudpickle

    same: bool = (operator.query, operator.bindings, operator.schema) == cloudpickle.loads(plan)
    return same


def _address(token: bytes) -> str:
    """Of a socket without a file, where workers of one parent meet."""
    return f"\0skyband {os.getppid()} {token.hex()}"


def _is_neighbour(other: socket.socket) -> bool:
    """Whether another process of this user is at the other end."""
    process, user, _ = _PEER.unpack(other.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size))
    return bool(user == os.getuid() and process != os.getpid())
