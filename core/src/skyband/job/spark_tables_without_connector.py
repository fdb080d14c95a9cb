"""Tables that Spark reads without a connector of its own: their plain files, found through their log."""

from typing import Any

from skyband.errors import ConfigError, EngineError, Problem
from skyband.job.model import Source, local_path, option_text
from skyband.tables import open_table

_EXTENSIONS = {"delta": "io.delta.sql.DeltaSparkSessionExtension"}


def has_connector(session: Any, format: str) -> bool:
    """Whether Spark was started with a table format's connector: then it reads and writes such tables itself."""
    return _EXTENSIONS[format] in session.conf.get("spark.sql.extensions", "")


def table_frame(session: Any, source: Source) -> Any:
    """The rows of a table as it is now, as a DataFrame.

    Raises EngineError for a stream, which only a connector reads, ConfigError where the table is more than its files.
    """
    if source.stream:
        raise EngineError(
            f"Spark reads a stream from {source.format} with its connector only: configure it under [spark], read the "
            "table as a batch (source.stream = false), or use --engine local"
        )
    path = local_path(source.path or "")
    try:
        options = {name: option_text(value) for name, value in source.options.items()}
        table = open_table(source.format, str(path) if path is not None else str(source.path), options)
        files = table.plain_files()
    except ConfigError as error:
        raise ConfigError(*(Problem(f"source.{one.field}", one.message) for one in error.problems)) from error
    schema = _spark_schema(table.schema)
    return session.read.schema(schema).parquet(*files) if files else session.createDataFrame([], schema)


def _spark_schema(schema: Any) -> Any:
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(schema)
