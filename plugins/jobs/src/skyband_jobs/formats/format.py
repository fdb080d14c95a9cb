"""A format of sources and sinks: the base class of Skyband's own formats and those of plugins."""

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
from skyband_jobs.formats.followed import Followed
from skyband_jobs.formats.table_rows import TableRows


@frozen
class TableKeys:
    """What a job's `[source]` or `[sink]` says about its table, apart from the format.

    path: a file or folder, absolute, or an address. table, catalog: a name in a catalogue, and the catalogue's
    properties. options: further options. schema: the columns that a source declares. stream: whether a source is a
    stream. writes: whether it is a sink. url: the address of a database. key: for a sink with the newest answers, the
    columns that identify a row; (): answers are appended.
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
        """Where the table is, for messages."""
        return self.table or self.path or ""


class Format(ABC):
    """Tables or logs that a job reads and writes in its own process, by the name in `FormatInfo`.

    It is created without arguments and keeps no state; what `read` and `write` return does. Define `read` if
    `FormatInfo.can` has "reads", `follow` if it has "follows", `write` if it has "writes", "streams" or "current".
    Exceptions other than those of `skyband.errors` are reported as failures of its distribution.
    """

    @abstractmethod
    def check(self, keys: TableKeys, on_spark: bool) -> list[Problem]:
        """Problems with a job's keys, each with its key; what to install is a problem of `format`.

        It must not connect to anything: a job can be checked on any machine.
        """

    def read(self, keys: TableKeys) -> TableRows:  # noqa: ARG002
        """The rows of a table as it is now. Raises ConfigError where there is none."""
        raise PluginError(self._without("read", '"reads"'))

    def follow(self, keys: TableKeys) -> Followed:  # noqa: ARG002
        """The rows of a stream as they arrive, for an engine of this process that resumes."""
        raise PluginError(self._without("follow", '"follows"'))

    def write(self, keys: TableKeys) -> BatchSink:  # noqa: ARG002
        """A writer to a table, which need not exist yet: nothing is created before the first answers.

        If `keys.key` names columns, the table holds the newest answers, and `BatchSink.apply` replaces `write` and
        `append`.
        """
        raise PluginError(self._without("write", '"writes", "streams" and "current"'))

    def _without(self, method: str, abilities: str) -> str:
        message = f"{type(self).__module__}.{type(self).__qualname__} defines no method {method!r}"
        return f"{message}: define it, or leave {abilities} out of what its FormatInfo says it can"

    def keys(self, place: str, options: Mapping[str, Any]) -> TableKeys:
        """The keys for a place and its options, as `skyband_jobs.formats.open_sink` and `open_table` take them."""
        return TableKeys(path=place, options=options)

    def in_process(self, keys: TableKeys, setting: Callable[[str], str]) -> bool:  # noqa: ARG002 - for those that look
        """Whether a job on Spark reads or writes this table in this process, rather than with a Spark connector.

        setting: of the session by name, "" where it is not set.
        """
        return True

    def absolute(self, catalog: Mapping[str, Any], folder: Path) -> Mapping[str, Any]:  # noqa: ARG002
        """The properties of a catalogue, or `url` of a database, with paths resolved against the job file's folder."""
        return catalog

    def is_at(self, path: Path) -> bool:  # noqa: ARG002
        """Whether a path on this machine is a table of this format, without opening it."""
        return False
