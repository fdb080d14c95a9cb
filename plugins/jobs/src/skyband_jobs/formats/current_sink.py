"""A sink whose table holds the newest answers: it is given a log of changes, and applies what is left of it."""

from typing import TYPE_CHECKING

from attrs import frozen

from skyband_jobs.formats.batch_sink import BatchSink
from skyband_jobs.formats.net_changes import NetChanges, without_change

if TYPE_CHECKING:
    import pyarrow as pa


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
