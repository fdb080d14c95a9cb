"""The trial of a format: keys of a new place, and answers to write there."""

from abc import ABC, abstractmethod
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa
from attrs import evolve, frozen
from skyband.registry.info import FORMAT_ABILITIES
from skyband_jobs.formats import BatchSink, Format, TableKeys
from skyband_jobs.formats.batch_sink import CurrentSink


class FormatTrial(ABC):
    """How the checks use a format. A plugin names its class in `FormatInfo.trial`; it is created without arguments."""

    @abstractmethod
    def keys(self, folder: Path) -> TableKeys:
        """The keys of a table in its own empty folder, not yet existing; the same for the same folder."""

    def answers(self, batch: int) -> pa.Table:
        """Three answers, different for each number, with the types of queries, including null and empty values."""
        moments = pa.array([60_000_000 * (batch + 1)] * 3, pa.timestamp("us", "UTC"))
        columns = {
            "place": ["a", None, ""],
            "at": moments,
            "rank": pa.array([1, 2, 3], pa.int64()),
            "count": pa.array([batch + 0.1, None, 2.0**53 - 1]),
            "state": [b"\x00\xff", b"", None],
        }
        return pa.table(columns)

    key: tuple[str, ...] = ("place", "rank")
    """The columns of `answers` that identify a row of the newest."""

    def log(self, batch: int) -> pa.Table:
        """A log of changes, for a table of the newest answers: the number decides what enters and leaves."""
        whole = self.answers(batch)
        change = pa.array(["entered", "updated", "left"][batch % 3 :] + ["entered", "updated", "left"][: batch % 3])
        return whole.add_column(whole.column_names.index("at") + 1, "change", change)

    def stored(self, value: float) -> float | None:
        """What a double is read back as: itself, unless the format's page says that its store has no such value."""
        return value

    def rows(self, format: Format, keys: TableKeys) -> list[dict[str, Any]]:
        """The rows of a table. Override it for a format that cannot read; otherwise its output is not checked.

        Raises an exception where there is no table.
        """
        table = format.read(keys)
        answers = pa.Table.from_batches(list(table.batches(list(table.schema.names))), table.schema)
        rows: list[dict[str, Any]] = answers.to_pylist()
        return rows


@frozen
class FormatSubject:
    """A format to be tried, as plain data for another process.

    format, trial: "package.module:Class" of both. can: as in `FormatInfo`. name: for reports.
    """

    name: str
    format: str
    trial: str
    can: tuple[str, ...] = FORMAT_ABILITIES

    def make(self) -> Format:
        """A new instance of the format."""
        instance: Format = _load(self.format)()
        return instance

    def trials(self) -> FormatTrial:
        """A new instance of its trial."""
        trial: FormatTrial = _load(self.trial)()
        return trial

    @property
    def shows(self) -> bool:
        """Whether its output can be checked."""
        return "reads" in self.can or type(self.trials()).rows is not FormatTrial.rows

    @property
    def adds(self) -> bool:
        """Whether its sink takes all answers, not only the newest."""
        return "writes" in self.can or "current" not in self.can

    def sink(self, folder: Path, current: bool = False) -> BatchSink:
        """A new sink for the table in a folder, as in a new process; current: for the newest answers."""
        trial = self.trials()
        keys = evolve(trial.keys(folder), writes=True, key=trial.key if current else ())
        sink = self.make().write(keys)
        return CurrentSink(sink, keys.key) if current else sink

    def rows(self, folder: Path) -> list[dict[str, Any]]:
        """The rows of the table in a folder, read again."""
        trial = self.trials()
        return trial.rows(self.make(), trial.keys(folder))


def _load(place: str) -> Any:
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)
