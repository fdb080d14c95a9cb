"""A sink for the answers of a stream that takes each micro-batch once, however often Spark gives it."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from attrs import frozen
from skyband.errors import EngineError, PluginError

from skyband_jobs.formats.net_changes import NetChanges, without_change

if TYPE_CHECKING:
    import pyarrow as pa

_QUERY_ID = "sql.streaming.queryId"


class BatchSink(ABC):
    """A function for Spark's `foreachBatch`: `answers.writeStream.foreachBatch(sink)`.

    Spark gives a micro-batch again where it was killed between the write and its own commit, with the same number and
    the same rows. A stream is told by the id in its checkpoint, so that one begun anew is another.

    The answers of a micro-batch come to the driver; they are few beside the rows.
    """

    def __call__(self, rows: Any, batch: int) -> None:
        """Write a micro-batch that was not written yet."""
        stream = rows.sparkSession.sparkContext.getLocalProperty(_QUERY_ID)
        if stream is None:
            raise EngineError("Spark does not say which stream this is: call the sink from foreachBatch")
        answers = rows.toArrow()  # even those of a micro-batch that is there: Spark's state comes with them
        latest = self.latest(stream)
        if latest is None or batch > latest:
            self.write(answers, stream, batch)

    @abstractmethod
    def latest(self, stream: str) -> int | None:
        """The number of the last micro-batch of a stream that is written; None where there is none."""

    @abstractmethod
    def write(self, answers: "pa.Table", stream: str, batch: int) -> None:
        """Write the answers of a micro-batch; a table takes them together with its number, all or nothing.

        Killed or raising at any moment, it has written both or neither: what `latest` says decides whether the
        micro-batch is written again. Raises ConfigError where the table cannot hold the answers.
        """

    @abstractmethod
    def exists(self) -> bool:
        """Whether there is such a table."""

    def check(self, schema: "pa.Schema") -> None:  # noqa: B027 - a log takes answers of any columns
        """Raise ConfigError where the table is there and cannot hold answers of these columns."""

    @abstractmethod
    def append(self, answers: "pa.Table", replace: bool = False) -> None:
        """Write the answers of a batch, all or nothing; `replace`: in place of what is there."""

    def apply(self, changes: NetChanges, number: tuple[str, int] | None = None, replace: bool = False) -> None:  # noqa: ARG002
        """Make a table of the newest answers hold these changes too, all or nothing: of a format that can "current".

        number: the stream and its micro-batch, in the same commit as the changes; None: of a batch. A format that does
        not say "streams" keeps no number, and is given a micro-batch again after a kill. replace: nothing that is there
        stays. Killed or raising at any moment, as `write`. Rows of other keys are left alone.
        """
        cls = type(self)
        message = f"{cls.__module__}.{cls.__qualname__} defines no method 'apply'"
        raise PluginError(f'{message}: define it, or leave "current" out of what its FormatInfo says it can')


@frozen(eq=False)
class CurrentSink(BatchSink):
    """Takes what `answers = "changes"` gives, and has the sink of a format that can "current" apply it."""

    sink: BatchSink
    key: tuple[str, ...]

    def latest(self, stream: str) -> int | None:
        return self.sink.latest(stream)

    def write(self, answers: "pa.Table", stream: str, batch: int) -> None:
        self.sink.apply(NetChanges.of(answers, self.key), (stream, batch))

    def exists(self) -> bool:
        return self.sink.exists()

    def check(self, schema: "pa.Schema") -> None:
        self.sink.check(without_change(schema))

    def append(self, answers: "pa.Table", replace: bool = False) -> None:
        self.sink.apply(NetChanges.of(answers, self.key), replace=replace)
