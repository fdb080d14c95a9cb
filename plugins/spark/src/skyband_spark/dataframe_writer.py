"""Writes rows of a DataFrame to a sink, as files or through a connector, and gives their Arrow schema."""

from typing import Any

from skyband_jobs.local.sink_parts import holds_something
from skyband_jobs.tables.model import Sink, local_path

from skyband_spark.reading.source import text_options


def arrow_schema(rows: Any) -> Any:
    """The Arrow schema of the rows of a DataFrame, streaming or not."""
    return rows.sparkSession.createDataFrame([], rows.schema).toArrow().schema


def save(rows: Any, sink: Sink) -> None:
    """Write the rows of a DataFrame with the sink's mode."""
    writer = rows.write.format(sink.format).mode(_mode(sink)).options(**text_options(sink.with_defaults))
    writer.save(*([sink.path] if sink.path else []))


def _mode(sink: Sink) -> str:
    """An empty folder counts as missing: Spark leaves one where a run fails, and would then refuse it."""
    mode = sink.mode or "errorifexists"
    folder = local_path(sink.path) if sink.of_files and sink.path is not None else None
    if mode == "errorifexists" and folder is not None and folder.is_dir() and not holds_something(folder):
        return "append"
    return mode
