"""What an engine is: it hosts the operators of a query, and gives the answers that the reference gives."""

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
    """A host of operators, by the name in its `EngineInfo`. It is made without arguments and keeps nothing.

    An engine of this process is an `InProcessEngine`. Any other brings the way to run jobs on it itself.
    """

    name: ClassVar[str]


class Run(ABC):
    """A query while it runs in this process: rows in, answers out, a state that can be saved at any step.

    The answers are those of `skyband.engines.local`, the reference, however the rows are cut into batches.
    """

    query: "Query"
    schema: "pa.Schema"
    """Of the rows."""
    on_bad_rows: Callable[["pa.RecordBatch"], None] | None = None
    """Takes the rows that `bad_rows` puts aside, as `skyband.operator.bad_rows` has them."""
    on_late_rows: Callable[["pa.RecordBatch"], None] | None = None
    """Takes the rows that come after the watermark, in the same form."""

    @property
    @abstractmethod
    def result_schema(self) -> "pa.Schema":
        """Schema of the answers."""

    @property
    @abstractmethod
    def watermark(self) -> int | None:
        """Microseconds since the epoch; None before the first row."""

    @abstractmethod
    def add(self, batch: "pa.RecordBatch") -> "EventTimeProgress":
        """Take in rows and answer nothing yet; returns how far they have come."""

    @abstractmethod
    def step(self, progress: "EventTimeProgress") -> "pa.RecordBatch":
        """Answer what the rows just added let pass; `progress` is what `add` gave for them, added up."""

    @abstractmethod
    def flush(self) -> "pa.RecordBatch":
        """Answer up to the first moment after the last row, and stay ready for rows to come."""

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
        """What happened since this was last called."""

    @abstractmethod
    def snapshot(self) -> bytes:
        """The whole state. The same rows give the same bytes."""

    @abstractmethod
    def restore(self, blob: bytes) -> None:
        """Go on from a snapshot of the same query. Raises SnapshotError for any other bytes, and changes nothing."""

    def push(self, batch: "pa.RecordBatch") -> "pa.RecordBatch":
        """Take in rows, in any order within `delay`, and return the answers of the moments passed."""
        return self.step(self.add(batch))


class InProcessEngine(Engine):
    """An engine of this process. Jobs read and write for it, so that `begin` is all that it brings."""

    @abstractmethod
    def begin(self, query: "Query", bindings: Mapping[str, "Binding"], schema: "pa.Schema") -> Run:
        """A query that is about to run on its chosen backends, over rows of this schema."""
