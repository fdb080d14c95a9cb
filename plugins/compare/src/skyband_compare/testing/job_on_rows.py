"""Runs a job in this process with given files as its source and memory as its sink."""

import glob
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from attrs import evolve, frozen
from skyband.engines.reference import LocalEngine
from skyband.errors import ConfigError, InputError, Problem
from skyband.operator.bad_rows import FIELD, REASON
from skyband.queries.query import BAD
from skyband_jobs import read_job
from skyband_jobs.files.source_files import Files
from skyband_jobs.job.checked_job import CheckedJob
from skyband_jobs.job.progress import Progress, Totals
from skyband_jobs.local.run import begin
from skyband_jobs.running.compilation_notice import announced
from skyband_jobs.tables.model import SHAPING

from skyband_compare.testing.file_formats import format_of

SOURCE_KEYS = ("stream", "schema", "explode", "where", "select", "finish", "idle_after")
"""The keys of a source that apply to any rows; the others locate its own rows."""
_NAMED = {"header": True, "inferSchema": True}
"""Options for a CSV file if the job's source is not CSV."""
_PER_FILE = "maxFilesPerTrigger"


@frozen
class Answers:
    """The answers of a job in order, and the counts of its rows."""

    job: CheckedJob
    table: pa.Table
    totals: Totals


def read_job_on(
    job: str | Path, inputs: Sequence[Path], sets: Iterable[str] = (), after_select: bool = False
) -> CheckedJob:
    """The job in a TOML file with the files `inputs` as its source: for a stream, each is a micro-batch.

    after_select: their rows are the result of the job's `where` and `select`.

    Raises JobError with all problems, ConfigError if the files have several formats or an unknown one.
    """
    formats = {format_of(path): path for path in inputs}
    if len(formats) > 1:
        message = f"the files of rows must have one format (got {' and '.join(sorted(formats))})"
        raise ConfigError(Problem("", message))
    (kind,) = formats
    sets = tuple(sets)
    keys = [key for key in SOURCE_KEYS if not (after_select and key in SHAPING)]
    typed = any(text.partition("=")[0].strip() == "source.schema" for text in sets)

    def edit(tables: dict[str, Any]) -> Mapping[str, Any]:
        source = tables.get("source")
        of_select = isinstance(source, Mapping) and after_select and "select" in source and not typed
        return _on_files(tables, kind, inputs, [key for key in keys if not (of_select and key == "schema")])

    checked = read_job(job, sets, "local", edit)
    if checked.query.gives_states:
        raise ConfigError(Problem("query.emit", "a test needs answers, and these are states: leave it out"))
    assert isinstance(checked.rows, Files), "local files"
    rows = evolve(checked.rows, paths=tuple(inputs))
    return evolve(checked, open_source=evolve(checked.open_source, rows=rows))


def run(job: CheckedJob, progress: Progress) -> Answers:
    """Raises InputError if a row is invalid and the job does not handle invalid rows, or if all rows are
    invalid: then the files do not fit the job."""
    totals = Totals.of(job, micro_batches=0 if job.source.stream else None)
    local_run, steps = begin(job, LocalEngine(), totals, progress)
    refused: list[pa.RecordBatch] = []
    local_run.on_bad_rows = refused.append
    with announced(progress, totals):
        tables = list(steps)
    progress.wipe()
    if refused and totals.rows_in == totals.dropped.get(BAD, 0):
        first = refused[0].slice(0, 1).to_pylist()[0]
        raise InputError(first[FIELD], f"{first[REASON]}; all rows of these files are invalid")
    schema = local_run.result_schema
    table = pa.concat_tables([table.cast(schema) for table in tables]) if tables else schema.empty_table()
    totals.answers = len(table)
    return Answers(job, table, totals)


def _on_files(tables: dict[str, Any], format: str, paths: Sequence[Path], keys: Sequence[str]) -> Mapping[str, Any]:
    """A job's tables with other rows, the same `keys` of its source, and no sink."""
    source, sink, query = (tables.get(name) for name in ("source", "sink", "query"))
    edited = {name: table for name, table in tables.items() if name != "metrics"}  # a test has no metrics
    if isinstance(source, Mapping):
        edited["source"] = {name: source[name] for name in keys if name in source}
        place = glob.escape(str(paths[0].absolute()))
        edited["source"] |= {
            "format": format,
            "path": place,
            "options": _options(source, "schema" in edited["source"], format, len(paths)),
        }
    edited["sink"] = {"format": "console"}
    if isinstance(sink, Mapping) and "trigger" in sink:
        edited["sink"]["trigger"] = sink["trigger"]
    elif isinstance(source, Mapping) and source.get("finish"):
        edited["sink"]["trigger"] = "available-now"
    if isinstance(query, Mapping):
        aside = (name for name in ("bad_rows", "late_rows") if isinstance(query.get(name), Mapping))
        edited["query"] = {**query, **dict.fromkeys(aside, "count")}
    return edited


def _options(source: Mapping[str, Any], typed: bool, format: str, files: int) -> dict[str, Any]:
    """Options to read text: the job's own, if its source has this format."""
    options = source.get("options")
    own = dict(options) if isinstance(options, Mapping) and source.get("format") == format else {}
    if format == "csv" and source.get("format") != "csv":
        own = {"header": True} if typed else _NAMED
    per_file = any(name.lower() == _PER_FILE.lower() for name in own)
    return {**own, _PER_FILE: 1} if files > 1 and source.get("stream") and not per_file else dict(own)
