"""The job format `iceberg`."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from skyband.errors import Problem
from skyband_jobs.formats import Format, TableKeys

from skyband_lakes.iceberg.catalog import absolute_catalog, catalog_problems
from skyband_lakes.iceberg.tables import IcebergRows, IcebergSink
from skyband_lakes.libraries import ICEBERG


class IcebergFormat(Format):
    """A table has the name `table` in a catalogue, whose pyiceberg properties are `catalog`.

    On Spark, a table with `path` instead of both is left to Iceberg's connector.
    """

    def check(self, keys: TableKeys, on_spark: bool) -> list[Problem]:
        if keys.path is not None and (keys.table is not None or keys.catalog):
            message = "is for Spark's connector, while table and catalog are for pyiceberg: drop path, or these"
            return [Problem("path", message)]
        if keys.path is not None and on_spark:
            return []
        problems = []
        if keys.table is None:
            problems.append(Problem("table", "is required for iceberg: its name in the catalogue, such as db.answers"))
        elif not all(keys.table.rpartition(".")[::2]):
            message = f"must be a name in a namespace, such as db.answers (got {keys.table!r})"
            problems.append(Problem("table", message))
        if not keys.catalog:
            message = 'is required for iceberg, such as { uri = "sqlite:///lake.db", warehouse = "lake/" }'
            problems.append(Problem("catalog", message))
        else:
            problems += catalog_problems(keys.catalog, writes=keys.writes)
        if keys.options:
            problems.append(Problem("options", "have no effect with catalog: put the properties there"))
        if keys.schema is not None:
            problems.append(Problem("schema", "a table in iceberg has its own schema: remove it"))
        lacking = ICEBERG.missing()
        return problems if lacking is None else [*problems, Problem("format", f"iceberg {lacking}")]

    def read(self, keys: TableKeys) -> IcebergRows:
        return IcebergRows(keys.table or "", keys.catalog)

    def write(self, keys: TableKeys) -> IcebergSink:
        return IcebergSink(keys.table or "", keys.catalog)

    def keys(self, place: str, options: Mapping[str, Any]) -> TableKeys:
        return TableKeys(table=place, catalog=options)

    def in_process(self, keys: TableKeys, setting: Callable[[str], str]) -> bool:  # noqa: ARG002 - whatever Spark has
        return keys.table is not None

    def absolute(self, catalog: Mapping[str, Any], folder: Path) -> Mapping[str, Any]:
        return absolute_catalog(catalog, folder)
