"""The processor that Spark runs: it imports nothing heavy before the first row.

At the start of every stream, Spark starts a new Python on the driver only to call `init` and learn the states; every
import needed to unpickle the processor delays it.
"""

from collections.abc import Iterator
from typing import Any

from pyspark import cloudpickle
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from skyband_spark.frames.lent_operators import Neighbours
from skyband_spark.frames.state_store import StateStore

_NEIGHBOURS = Neighbours()
"""The neighbours of this worker."""


class ShardProcessor(StatefulProcessor):  # type: ignore[misc]
    """Hosts the operator of one shard; the plan travels pickled, and is unpickled when there are rows."""

    def __init__(self, plan: Any) -> None:
        self._pickled_plan = cloudpickle.dumps(plan)

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._store = StateStore(handle, _NEIGHBOURS)

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Any]:  # noqa: N802, N803, ARG002
        from skyband_spark.frames.micro_batch import process_micro_batch

        yield process_micro_batch(cloudpickle.loads(self._pickled_plan), self._store, key[0], rows)

    def close(self) -> None:
        """Do nothing: only the cache outlives the micro-batch."""
