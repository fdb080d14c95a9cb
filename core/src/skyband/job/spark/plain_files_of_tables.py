"""Tables that Spark reads without a connector of its own: their plain files, found through their log."""

from typing import Any

from skyband.errors import ConfigError, EngineError
from skyband.job.model import Sink, Source
from skyband.job.table_location import in_process, keys_of


def is_ours(session: Any, table: Source | Sink) -> bool:
    """Whether a table is read or written in this process, by a plugin's format, and not by a connector of Spark's."""
    return in_process(table, lambda name: str(session.conf.get(name, ""))) is not None


def table_frame(session: Any, source: Source) -> Any:
    """The rows of a table as it is now, as a DataFrame.

    Raises EngineError for a stream, which only a connector reads, ConfigError where the table is more than its files.
    """
    if source.stream:
        raise EngineError(
            f"Spark reads a stream from {source.format} with its connector only: configure it under [spark], read the "
            "table as a batch (source.stream = false), or use --engine local"
        )
    bound = in_process(source)
    assert bound is not None, source.format
    try:
        table = bound.read(keys_of(source))
        files = table.plain_files()
    except ConfigError as error:
        raise ConfigError(*(one.within("source") for one in error.problems)) from error
    schema = _spark_schema(table.schema)
    return session.read.schema(schema).parquet(*files) if files else session.createDataFrame([], schema)


def _spark_schema(schema: Any) -> Any:
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(schema)
