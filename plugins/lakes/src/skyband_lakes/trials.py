"""Tables in a folder for the conformance checks of the formats."""

from math import isnan
from pathlib import Path

from skyband_jobs.formats import TableKeys
from skyband_specs.formats import FormatTrial


class DeltaTrial(FormatTrial):
    """A Delta table in a folder."""

    def keys(self, folder: Path) -> TableKeys:
        return TableKeys(path=str(folder / "counts of today"))


class IcebergTrial(FormatTrial):
    """An Iceberg table in a SQLite catalogue."""

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
