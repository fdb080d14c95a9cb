"""A sink for a stream's answers that writes each micro-batch once, however often Spark repeats it."""

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

    If Spark was killed between the write and its own commit, it repeats the micro-batch, with the same number and rows.
    The id in its checkpoint identifies a stream, so a stream that starts over is another one.
    The answers of a micro-batch are collected on the driver; they are few compared with the rows.
    """

    is_numbered: bool = True
    """Whether `latest` has the number of each micro-batch, also without answers; False: it may be older, or None."""

    def __call__(self, rows: Any, batch: int) -> None:
        """Write a micro-batch that has not been written yet."""
        stream = rows.sparkSession.sparkContext.getLocalProperty(_QUERY_ID)
        if stream is None:
            raise EngineError("Spark does not say which stream this is: call the sink from foreachBatch")
        answers = rows.toArrow()  # also if already written: computing them updates Spark's state
        latest = self.latest(stream)
        if latest is None or batch > latest:
            self.write(answers, stream, batch)

    @abstractmethod
    def latest(self, stream: str) -> int | None:
        """The number of a stream's last written micro-batch; None where there is none."""

    @abstractmethod
    def write(self, answers: "pa.Table", stream: str, batch: int) -> None:
        """Write the answers of a micro-batch, atomically with its number.

        Killed or raising at any moment, it has written both or neither: `latest` decides whether it is written again.
        Raises ConfigError where the table cannot hold the answers.
        """

    @abstractmethod
    def exists(self) -> bool:
        """Whether the table exists."""

    def check(self, schema: "pa.Schema") -> None:  # noqa: B027 - a log takes answers of any columns
        """Raise ConfigError where the table exists and cannot hold answers with these columns."""

    @abstractmethod
    def append(self, answers: "pa.Table", replace: bool = False) -> None:
        """Write the answers of a batch, all or nothing; `replace` overwrites the table."""

    def apply(self, changes: NetChanges, number: tuple[str, int] | None = None, replace: bool = False) -> None:  # noqa: ARG002
        """Apply changes to a table of the newest answers, all or nothing, for a format that can "current".

        number: the stream and its micro-batch, in the same commit as the changes; None for a batch. A format that does
        not say "streams" keeps no number, so after a kill it gets a micro-batch again. replace: drop all existing rows.
        Killed or raising at any moment, it behaves as `write`. Rows with other keys are left alone.
        """
        cls = type(self)
        message = f"{cls.__module__}.{cls.__qualname__} defines no method 'apply'"
        raise PluginError(f'{message}: define it, or leave "current" out of what its FormatInfo says it can')


@frozen(eq=False)
class CurrentSink(BatchSink):
    """Takes a log from `answers = "changes"`, and applies it to the sink of a format that can "current"."""

    sink: BatchSink
    key: tuple[str, ...]

    @property
    def is_numbered(self) -> bool:  # type: ignore[override]
        return self.sink.is_numbered

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
