"""The keys of a job that say which table or log is meant."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from attrs import field, frozen

if TYPE_CHECKING:
    import pyarrow as pa


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
