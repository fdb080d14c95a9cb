"""A format of sources and sinks: what a plugin writes, and Skyband's own are."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from attrs import field, frozen

if TYPE_CHECKING:
    import pyarrow as pa
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path

from skyband.errors import PluginError, Problem

from skyband_jobs.formats.batch_sink import BatchSink
from skyband_jobs.formats.table_rows import TableRows


@frozen
class TableKeys:
    """What a job's `[source]` or `[sink]` says of its table, besides the format.

    path: a file or folder, absolute, or an address. table, catalog: a name in a catalogue, and the catalogue's
    properties. options: further ones. schema: the columns that a source declares. stream: whether a source is read as a
    stream. writes: whether it is a sink. url: the address of a database. key: of a sink that holds the newest answers,
    the columns that name a row of them; (): answers are added.
    """

    path: str | None = None
    table: str | None = None
    catalog: Mapping[str, Any] = field(factory=dict)
    options: Mapping[str, Any] = field(factory=dict)
    schema: "pa.Schema | None" = None
    stream: bool = False
    writes: bool = False
    url: str | None = None
    key: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        """Where the table is, as messages name it."""
        return self.table or self.path or ""


class Format(ABC):
    """Tables or logs that a job reads and writes in its own process, by the name in `FormatInfo`.

    It is made without arguments and keeps nothing: `read` and `write` give what does. `read` is written where the
    format can "reads", `write` where it can "writes", "streams" or "current". What it raises that is none of
    `skyband.errors` is told as a fault of its distribution.
    """

    @abstractmethod
    def check(self, keys: TableKeys, on_spark: bool) -> list[Problem]:
        """What is wrong with the keys of a job, each with its key; what to install, under `format`.

        Nothing is connected to: a job is checked on any machine.
        """

    def read(self, keys: TableKeys) -> TableRows:  # noqa: ARG002
        """The rows of a table as it is now. Raises ConfigError where there is none."""
        raise PluginError(self._without("read", '"reads"'))

    def write(self, keys: TableKeys) -> BatchSink:  # noqa: ARG002
        """What writes to a table, which need not be there yet: nothing is made before the first answers.

        Where `keys.key` names columns, the table holds the newest answers, and `BatchSink.apply` is called, not `write`
        and `append`.
        """
        raise PluginError(self._without("write", '"writes", "streams" and "current"'))

    def _without(self, method: str, abilities: str) -> str:
        message = f"{type(self).__module__}.{type(self).__qualname__} defines no method {method!r}"
        return f"{message}: define it, or leave {abilities} out of what its FormatInfo says it can"

    def keys(self, place: str, options: Mapping[str, Any]) -> TableKeys:
        """The keys that `skyband_jobs.formats.open_sink` and `open_table` mean by a place and its options."""
        return TableKeys(path=place, options=options)

    def in_process(self, keys: TableKeys, setting: Callable[[str], str]) -> bool:  # noqa: ARG002 - for those that look
        """Whether a job on Spark leaves this table to this process, rather than to a connector of Spark's.

        setting: of the session by name, "" where it is not set.
        """
        return True

    def absolute(self, catalog: Mapping[str, Any], folder: Path) -> Mapping[str, Any]:  # noqa: ARG002
        """The properties of a catalogue, or `url` of a database, its paths taken from the folder of the job file."""
        return catalog

    def is_at(self, path: Path) -> bool:  # noqa: ARG002
        """Whether a path on this machine is a table of this format, seen without opening it."""
        return False
