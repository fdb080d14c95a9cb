"""Tables of the Spark session's catalogues, by name: reads and writes them, and checks them before a run.

An existing table keeps its definition: answers are matched to its columns by name, and added or replace its rows.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from skyband.errors import ConfigError, Problem, suggest
from skyband.registry.info import FILE_FORMATS
from skyband_jobs.tables.model import Job, Sink, Source, local_path
from skyband_jobs.tables.table_location import SPARK_TABLE

from skyband_spark.sink_log_check import check_belong, latest


def is_named(table: Source | Sink) -> bool:
    """Whether a source or sink is a table of Spark's catalogue."""
    return table.format == SPARK_TABLE


def table_frame(session: Any, source: Source, options: Mapping[str, str]) -> Any:
    """The rows of a job's table, as a DataFrame. Raises ConfigError where there is no such table."""
    _require(session, source.table or "", "source.table")
    reader = (session.readStream if source.stream else session.read).options(**options)
    return reader.table(source.table)


def batch_writer(session: Any, sink: Sink, answers: Any, options: Mapping[str, str]) -> Callable[[], None] | None:
    """A function that writes all answers, creating the table if necessary; None where the mode says to keep its rows.

    Raises ConfigError where the table exists and `mode` does not say what to do, or its columns differ.
    """
    name = sink.table or ""
    if not session.catalog.tableExists(name):
        return lambda: answers.write.options(**options).saveAsTable(name)
    if sink.mode == "ignore":
        return None
    if sink.mode not in ("append", "overwrite"):
        message = f'{name!r} already exists: choose another table, or set sink.mode to "overwrite" or "append"'
        raise ConfigError(Problem("sink.table", message))
    table = _with_columns_of(session, name, answers)
    return lambda: answers.select(*table.columns).write.insertInto(name, overwrite=sink.mode == "overwrite")


def start_stream(session: Any, job: Job, answers: Any, writer: Any) -> Any:
    """Start a stream of answers into a table. Raises ConfigError where its columns differ, or its answers and the
    checkpoint do not belong together."""
    name = job.sink.table or ""
    checkpoint = None if job.sink.checkpoint is None else local_path(job.sink.checkpoint)
    if session.catalog.tableExists(name):
        _with_columns_of(session, name, answers)
        folder = _folder(session, name)
        if folder is not None and checkpoint is not None:
            check_belong(checkpoint, folder, "table")
    elif checkpoint is not None and (committed := latest(checkpoint / "commits")) >= 0:
        message = f"{name!r} is gone, but the checkpoint {str(checkpoint)!r} has written micro-batch {committed}"
        raise ConfigError(Problem("sink.table", f"{message}: restore it, or start over with another checkpoint"))
    return writer.toTable(name)


def _require(session: Any, name: str, key: str) -> None:
    if session.catalog.tableExists(name):
        return
    within, _, last = name.rpartition(".")
    others = [one.name for one in session.catalog.listTables(within)] if session.catalog.databaseExists(within) else []
    nearby = f"; {suggest(last, others)}" if others else f", nor a schema {within!r} with tables in it"
    raise ConfigError(Problem(key, f"there is no table {name!r} in Spark's catalogue{nearby}"))


def _with_columns_of(session: Any, name: str, answers: Any) -> Any:
    """The table. Raises ConfigError where its columns differ from those of the answers, in any order."""
    table = session.table(name)
    there, ours = ({field.name: field.dataType.simpleString() for field in one.schema} for one in (table, answers))
    if there != ours:
        wrong = [f"{column} {there.get(column, 'missing')}" for column in ours if there.get(column) != ours[column]]
        wrong += [f"{column}, which the answers lack" for column in there if column not in ours]
        expected = ", ".join(f"{column} {kind}" for column, kind in ours.items())
        message = f"{name!r} has other columns ({'; '.join(wrong)}): answers are {expected}"
        raise ConfigError(Problem("sink.table", message))
    return table


def _folder(session: Any, name: str) -> Path | None:
    """Where Spark's file sink writes the rows of a table; None for tables that keep a log themselves."""
    facts = {row.col_name: row.data_type for row in session.sql(f"DESCRIBE TABLE EXTENDED {name}").collect()}
    place = urlsplit(str(facts.get("Location", "")))
    if str(facts.get("Provider", "")).lower() not in FILE_FORMATS or place.scheme not in ("", "file") or not place.path:
        return None
    return Path(unquote(place.path))
