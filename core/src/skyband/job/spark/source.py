"""The rows of a job's source as a DataFrame of Spark, shaped by `where` and `select`, and the plan for them."""

from typing import Any

from skyband import spark
from skyband.engines.spark.sharded_plan import ShardedPlan
from skyband.job.checked_job import CheckedJob
from skyband.job.model import Source, option_text
from skyband.job.spark import catalog_table
from skyband.job.spark.errors import sql_of
from skyband.job.spark.plain_files_of_tables import is_ours, table_frame
from skyband.job.spark.python_file_reader import choose_reader, file_frame, settings_of, spark_defaults
from skyband.watermark import Ticking


def source_frame(session: Any, job: CheckedJob) -> Any:
    """The DataFrame of a job's source."""
    return open_source(session, job)[0]


def open_source(session: Any, job: CheckedJob) -> tuple[Any, str | None]:
    """The DataFrame of a job's source, and who reads its files, where there is a choice."""
    source = job.source
    if is_ours(session, source):
        rows, choice = table_frame(session, source, job.query.columns)
        return _shaped(rows, choice.rest), str(choice)
    if catalog_table.is_named(source):
        return _shaped(catalog_table.table_frame(session, source, text_options(source.options)), source), None
    if not source.of_files:
        return _shaped(_read_by_spark(session, source), source), None
    choice = choose_reader(source, settings_of(session, source), job.query.columns, job.rows)
    if choice.files is None:
        return _shaped(_read_by_spark(session, source), source), str(choice)
    return _shaped(file_frame(session, choice, job.query.columns), choice.rest), str(choice)


def _read_by_spark(session: Any, source: Source) -> Any:
    defaults = spark_defaults(source)
    reader = session.read.format(source.format).options(**defaults, **text_options(source.options))
    path = [] if source.path is None else [source.path]
    if source.stream:
        schema = source.schema
        if schema is None and source.of_files:
            schema = reader.load(*path).schema  # as a batch, because streams of files do not look for themselves
        reader = session.readStream.format(source.format).options(**defaults, **text_options(source.options))
        reader = reader.schema(schema) if schema is not None else reader
    elif source.schema is not None:
        reader = reader.schema(source.schema)
    return reader.load(*path)


def plan_for(job: CheckedJob, source: Any, shards: int | None, ticking: Ticking | None = None) -> ShardedPlan:
    """What is to be done with the DataFrame of a job's source, on as many shards."""
    return spark.plan_of(source, job.query, job.backends, shards, ticking, job.bindings)


def _shaped(rows: Any, source: Source) -> Any:
    """The rows that `where` leaves, with the columns of `select`."""
    if source.where is not None:
        with sql_of("source.where"):
            rows = rows.where(source.where)
    if source.select is None:
        return rows
    for place, column in enumerate(source.select):
        with sql_of(f"source.select[{place}]"):
            rows.selectExpr(column)
    return rows.selectExpr(*source.select)


def text_options(options: Any) -> dict[str, str]:
    """Options as Spark takes them."""
    return {name: option_text(value) for name, value in options.items()}
