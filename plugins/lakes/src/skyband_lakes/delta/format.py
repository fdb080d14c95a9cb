"""The job format `delta`."""

from collections.abc import Callable
from pathlib import Path

from skyband.errors import Problem
from skyband_jobs.formats import Format, TableKeys
from skyband_jobs.job.output_folders import folder_problem

from skyband_lakes.delta.tables import DeltaRows, DeltaSink
from skyband_lakes.libraries import DELTA

_CONNECTOR = "io.delta.sql.DeltaSparkSessionExtension"
_LOG = "_delta_log"


class DeltaFormat(Format):
    """A table is a folder at `path`; `options` are deltalake's `storage_options`."""

    def check(self, keys: TableKeys, on_spark: bool) -> list[Problem]:
        problems = [
            Problem(name, "is only for formats with a catalogue: remove it (got format 'delta')")
            for name in ("table", "catalog")
            if getattr(keys, name)
        ]
        if keys.path is None:
            problems.append(Problem("path", "is required for delta: the path of the table"))
        elif (blocked := folder_problem("path", keys.path)) is not None:
            problems.append(blocked)
        if keys.schema is not None:
            problems.append(Problem("schema", "a table in delta has its own schema: remove it"))
        lacking = None if on_spark and not keys.key else DELTA.missing()  # a Spark session may have Delta's connector
        return problems if lacking is None else [*problems, Problem("format", f"delta {lacking}")]

    def read(self, keys: TableKeys) -> DeltaRows:
        return DeltaRows(keys.path or "", keys.options)

    def write(self, keys: TableKeys) -> DeltaSink:
        return DeltaSink(keys.path or "", keys.options)

    def in_process(self, keys: TableKeys, setting: Callable[[str], str]) -> bool:
        return bool(keys.key) or _CONNECTOR not in setting("spark.sql.extensions")

    def is_at(self, path: Path) -> bool:
        return (path / _LOG).is_dir()
