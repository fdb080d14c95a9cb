"""An installed format: reports failures of its plugin's class with the distribution that brings it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import define, field, frozen
from skyband.errors import EngineError, PluginError, Problem, SkybandError
from skyband.registry.info import FormatInfo
from skyband.registry.module_import import cause, load_class
from skyband.registry.name_claims import Listed

from skyband_jobs.formats.batch_sink import BatchSink, CurrentSink
from skyband_jobs.formats.followed import Followed
from skyband_jobs.formats.format import Format, TableKeys
from skyband_jobs.formats.net_changes import NetChanges
from skyband_jobs.formats.table_rows import Refuse, TablePart, TableRows

if TYPE_CHECKING:
    import pyarrow as pa


@frozen
class InstalledFormat:
    """Calls a format's methods. Exceptions other than Skyband's become an EngineError that names the format."""

    info: FormatInfo
    name: str
    """With its distribution, for errors."""
    format: Format

    def check(self, keys: TableKeys, on_spark: bool) -> list[Problem]:
        """As `Format.check`."""
        with _faults_of(self.name):
            return list(self.format.check(keys, on_spark))

    def read(self, keys: TableKeys) -> "GuardedRows":
        """As `Format.read`."""
        with _faults_of(self.name):
            return GuardedRows(self.format.read(keys), self.name)

    def follow(self, keys: TableKeys) -> Followed:
        """As `Format.follow`."""
        with _faults_of(self.name):
            return self.format.follow(keys)

    def write(self, keys: TableKeys) -> BatchSink:
        """As `Format.write`; where `keys.key` names columns, the sink takes a log of changes."""
        with _faults_of(self.name):
            own = self.format.write(keys)
            sink = GuardedSink(own, self.name, "streams" in self.info.can and own.is_numbered)
            return CurrentSink(sink, keys.key) if keys.key else sink

    def keys(self, place: str, options: Mapping[str, Any]) -> TableKeys:
        """As `Format.keys`."""
        with _faults_of(self.name):
            return self.format.keys(place, options)

    def in_process(self, keys: TableKeys, setting: Callable[[str], str] = lambda _: "") -> bool:
        """As `Format.in_process`."""
        with _faults_of(self.name):
            return self.format.in_process(keys, setting)

    def absolute(self, catalog: Mapping[str, Any], folder: Path) -> Mapping[str, Any]:
        """As `Format.absolute`."""
        with _faults_of(self.name):
            return self.format.absolute(catalog, folder)

    def is_at(self, path: Path) -> bool:
        """As `Format.is_at`."""
        with _faults_of(self.name):
            return self.format.is_at(path)


_NEEDED = {"read": {"reads"}, "write": {"writes", "streams", "current"}}
"""The methods of a format, and the abilities that need each."""


def _defines(cls: type[Format], method: str) -> bool:
    return getattr(cls, method) is not getattr(Format, method)


def load(entry: Listed[FormatInfo]) -> InstalledFormat:
    """Load a plugin's format. Raises PluginError where its class is missing or not a Format."""
    info, name = entry.info, f"format {entry.info.name} of {entry.distribution}"
    cls = load_class(info.factory, Format, name)
    undone = [name for name, abilities in _NEEDED.items() if abilities & {*info.can} and not _defines(cls, name)]
    if undone:
        message = f"has no {' and no '.join(undone)}, though its FormatInfo names {' and '.join(info.can)}"
        raise PluginError(f"{name}: {info.factory} {message}: define it, or declare less")
    try:
        return InstalledFormat(info, name, cls())
    except Exception as error:
        raise PluginError(f"{name}: {info.factory} could not be created: {cause(error)}") from error


@contextmanager
def _faults_of(name: str) -> Iterator[None]:
    try:
        yield
    except SkybandError:
        raise
    except (Exception, SystemExit) as error:  # a plugin may raise anything
        raise EngineError(f"{name} failed: {cause(error)}") from error


@define(eq=False)
class GuardedSink(BatchSink):
    """A format's sink; errors name the format and, in a stream, the micro-batch.

    If a table no longer has a micro-batch that it had, because it was dropped or rolled back, it takes no further ones:
    the earlier answers would be missing unnoticed.
    """

    sink: BatchSink
    name: str
    is_numbered: bool
    """Whether it reports the number of each micro-batch that it has."""
    _numbers: dict[str, int] = field(factory=dict, init=False)
    """The last micro-batch that the table has had, by stream."""

    def latest(self, stream: str) -> int | None:
        with _faults_of(self.name):
            number = self.sink.latest(stream)
        before = self._numbers.get(stream)
        if before is not None and (number is None or number < before):
            has = "has none of it" if number is None else f"is at {number}"
            message = f"{self.name}: the table had micro-batch {before} of this stream, and now {has}"
            raise EngineError(f"{message}: restore it, or start over with another table and checkpoint")
        if number is not None:
            self._note(stream, number)
        return number

    def write(self, answers: "pa.Table", stream: str, batch: int) -> None:
        with _faults_of(f"micro-batch {batch}: {self.name}"):
            self.sink.write(answers, stream, batch)
        self._note(stream, batch)

    def exists(self) -> bool:
        with _faults_of(self.name):
            return self.sink.exists()

    def check(self, schema: "pa.Schema") -> None:
        with _faults_of(self.name):
            self.sink.check(schema)

    def append(self, answers: "pa.Table", replace: bool = False) -> None:
        with _faults_of(self.name):
            self.sink.append(answers, replace)

    def apply(self, changes: NetChanges, number: tuple[str, int] | None = None, replace: bool = False) -> None:
        with _faults_of(self.name if number is None else f"micro-batch {number[1]}: {self.name}"):
            self.sink.apply(changes, number, replace)
        if number is not None:
            self._note(*number)

    def _note(self, stream: str, batch: int) -> None:
        if self.is_numbered:
            self._numbers[stream] = batch


@frozen(eq=False)
class GuardedRows(TableRows):
    """A format's rows; errors name the format."""

    rows: TableRows
    name: str

    @property
    def schema(self) -> "pa.Schema":
        with _faults_of(self.name):
            return self.rows.schema

    @property
    def place(self) -> str:
        with _faults_of(self.name):
            return self.rows.place

    @property
    def version(self) -> int | None:
        with _faults_of(self.name):
            return self.rows.version

    def batches(self, columns: list[str]) -> "Iterator[pa.RecordBatch]":
        with _faults_of(self.name):
            yield from self.rows.batches(columns)

    def readable(self, columns: list[str], refuse: Refuse) -> "Iterator[pa.RecordBatch]":
        with _faults_of(self.name):
            yield from self.rows.readable(columns, refuse)

    def plain_files(self) -> list[str]:
        with _faults_of(self.name):
            return self.rows.plain_files()

    def parts(self) -> Sequence[TablePart] | None:
        with _faults_of(self.name):
            parts = self.rows.parts()
        return None if parts is None else [GuardedPart(part, self.name) for part in parts]


@frozen(eq=False)
class GuardedPart(TablePart):
    """A part of a format's rows; errors name the format."""

    part: TablePart
    name: str

    @property
    def place(self) -> str:
        return self.part.place

    @property
    def size(self) -> int:
        return self.part.size

    def batches(self, columns: list[str]) -> "Iterator[pa.RecordBatch]":
        with _faults_of(self.name):
            yield from self.part.batches(columns)
