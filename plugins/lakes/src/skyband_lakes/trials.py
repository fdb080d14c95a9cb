"""What the conformance checks try the formats with: a table in a folder."""

from math import isnan
from pathlib import Path

from skyband_jobs.formats import TableKeys
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
    """A table in SQLite."""

    def stored(self, value: float) -> float | None:
        """SQLite has one zero and no NaN."""
        return None if isnan(value) else value + 0.0

    def keys(self, folder: Path) -> TableKeys:
        return TableKeys(url=f"sqlite:///{folder}/board.db", table="counts of today")
