"""Rows of a DataFrame for a sink: their columns, and a batch of them into files or what a connector takes."""

from typing import Any

from skyband_jobs.job.model import Sink, local_path
from skyband_jobs.local.sink_parts import holds_something

from skyband_spark.reading.source import text_options


def arrow_schema(rows: Any) -> Any:
    """The columns in which rows come to a table, also those of a stream."""
    return rows.sparkSession.createDataFrame([], rows.schema).toArrow().schema


def save(rows: Any, sink: Sink) -> None:
    """Write the rows of a DataFrame as the sink's mode says."""
    writer = rows.write.format(sink.format).mode(_mode(sink)).options(**text_options(sink.with_defaults))
    writer.save(*([sink.path] if sink.path else []))


def _mode(sink: Sink) -> str:
    """A folder without anything in it is as good as none: Spark leaves one where a run fails, and then refuses it."""
    mode = sink.mode or "errorifexists"
    folder = local_path(sink.path) if sink.of_files and sink.path is not None else None
    if mode == "errorifexists" and folder is not None and folder.is_dir() and not holds_something(folder):
        return "append"
    return mode
