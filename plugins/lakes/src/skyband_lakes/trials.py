"""What the conformance checks try the formats with: a table in a folder."""

import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from skyband.tables import Format, TableKeys
from skyband_specs.formats import FormatTrial


class DeltaTrial(FormatTrial):
    """A table that is a folder."""

    def keys(self, folder: Path) -> TableKeys:
        return TableKeys(path=str(folder / "counts of today"))


class IcebergTrial(FormatTrial):
    """A table in a catalogue in SQLite."""

    def keys(self, folder: Path) -> TableKeys:
        catalog = {"uri": f"sqlite:///{folder}/the lake.db", "warehouse": str(folder / "the lake")}
        return TableKeys(table="db.counts of today", catalog=catalog)


class SqlTrial(FormatTrial):
    """A table in SQLite, which the checks read without the format."""

    def keys(self, folder: Path) -> TableKeys:
        return TableKeys(url=f"sqlite:///{folder}/board.db", table="counts of today")

    def rows(self, format: Format, keys: TableKeys) -> list[dict[str, Any]]:  # noqa: ARG002 - it reads none
        with closing(sqlite3.connect(str(keys.url).removeprefix("sqlite:///"))) as database:
            database.row_factory = sqlite3.Row
            rows = [dict(row) for row in database.execute(f'SELECT * FROM "{keys.table}" ORDER BY rowid')]
        return [{**row, "at": datetime.fromisoformat(row["at"]).replace(tzinfo=UTC)} for row in rows]
