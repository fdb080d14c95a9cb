"""The interface of engines: an engine runs the operators of a query and returns the reference's answers."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    import pyarrow as pa

    from skyband.operator.bad_rows import Unreadable
    from skyband.operator.metrics import Metrics
    from skyband.queries.query import Query
    from skyband.registry import Binding
    from skyband.watermark import EventTimeProgress


class Engine(ABC):
    """Runs operators, under the name in its `EngineInfo`. Made without arguments; holds no state.

    An engine in this process is an `InProcessEngine`. Any other engine provides the code that runs jobs on it.
    """

    name: ClassVar[str]


class Run(ABC):
    """A query running in this process: takes rows, returns answers, and can save its state at any step.

    The answers are those of `skyband.engines.local`, the reference, for any split of the rows into batches.
    """

    query: "Query"
    schema: "pa.Schema"
    """Schema of the rows."""
    on_bad_rows: Callable[["pa.RecordBatch"], None] | None = None
    """Receives the rows that `bad_rows` puts aside, in the form of `skyband.operator.bad_rows`."""
    on_late_rows: Callable[["pa.RecordBatch"], None] | None = None
    """Receives the rows that arrive after the watermark, in the same form."""

    @property
    @abstractmethod
    def result_schema(self) -> "pa.Schema":
        """The schema of the answers."""

    @property
    @abstractmethod
    def watermark(self) -> int | None:
        """The watermark in microseconds since the epoch; None before the first row."""

    @abstractmethod
    def add(self, batch: "pa.RecordBatch") -> "EventTimeProgress":
        """Take in rows without answering yet; returns the times they reach."""

    @abstractmethod
    def step(self, progress: "EventTimeProgress") -> "pa.RecordBatch":
        """Answer the moments that the rows just added complete; `progress` is what `add` returned for them, summed."""

    @abstractmethod
    def flush(self) -> "pa.RecordBatch":
        """Answer up to the first moment after the last row, and stay ready for more rows."""

    @abstractmethod
    def finish(self) -> "pa.RecordBatch":
        """The input has ended: answer up to the first moment after the last row."""

    @abstractmethod
    def broadcast(self, rows: Any) -> None:
        """Take in rows of the query's second table. Raises InputError at the first bad one if `bad_rows` is "fail"."""

    @abstractmethod
    def refuse(self, refused: "Unreadable") -> None:
        """Count rows that could not be read as bad rows, and put them aside."""

    @abstractmethod
    def take_metrics(self) -> "Metrics":
        """The metrics since the last call."""

    @abstractmethod
    def snapshot(self) -> bytes:
        """The whole state. The same rows give the same bytes."""

    @abstractmethod
    def restore(self, blob: bytes) -> None:
        """Resume from a snapshot of the same query. Raises SnapshotError for any other bytes, and changes nothing."""

    def push(self, batch: "pa.RecordBatch") -> "pa.RecordBatch":
        """Take in rows, in any order within `delay`, and return the answers of the moments passed."""
        return self.step(self.add(batch))


class InProcessEngine(Engine):
    """An engine in this process. Jobs read and write for it; it only provides `begin`."""

    @abstractmethod
    def begin(self, query: "Query", bindings: Mapping[str, "Binding"], schema: "pa.Schema") -> Run:
        """Start a query on its chosen backends, over rows of this schema."""
