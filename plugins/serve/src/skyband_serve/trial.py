"""Runs the queries of the engine checks as services over a folder of files, a turn each."""

import os
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq
from attrs import evolve
from skyband_jobs.files.source_files import Files, layout_of
from skyband_jobs.files.where_and_select import Shape
from skyband_jobs.job.checked_job import CheckedJob
from skyband_jobs.job.opening import OpenSource
from skyband_jobs.job.progress import Progress
from skyband_jobs.tables.model import AVAILABLE_NOW, Sink, Source
from skyband_specs.engines import EngineCase, EngineTrial

from skyband_serve.engine import ServeEngine


class ServeTrial(EngineTrial):
    """Services in this process, each to the end of its files."""

    def batch(self, case: EngineCase) -> pa.Table:
        """All rows in one turn, then the end of the input."""
        with TemporaryDirectory() as folder:
            job = _job_of(evolve(case, cuts=()), Path(folder), finish=True)
            return _answers(case, job)

    def stream(self, case: EngineCase, stop: int | None = None) -> pa.Table:
        """A file for each batch; a stream that stops has the first `stop` files, the next one all of them."""
        with TemporaryDirectory() as folder:
            job = _job_of(case, Path(folder), finish=False)
            files = sorted((Path(folder) / "rows").iterdir())
            later = [] if stop is None else [path.rename(path.with_name(f"_{path.name}")) for path in files[stop:]]
            if stop is not None:
                ServeEngine().run(job, _quiet())
            for path in later:
                path.rename(path.with_name(path.name[1:]))
            return _answers(case, job)


def _job_of(case: EngineCase, folder: Path, finish: bool) -> CheckedJob:
    for place, tables in (
        ("rows", [pa.Table.from_batches([batch]) for batch in case.batches]),
        ("rules", [] if case.rules is None else [case.rules]),
    ):
        (folder / place).mkdir()
        for number, table in enumerate(tables):
            path = folder / place / f"{number:05}.parquet"
            pq.write_table(table, path)
            os.utime(path, (1_000_000_000 + number,) * 2)
    source = Source("parquet", str(folder / "rows"), stream=True, finish=finish, options={"maxFilesPerTrigger": 1})
    rules = None if case.rules is None else Source("parquet", str(folder / "rules"), stream=True)
    schema, shape = case.rows.schema, Shape()
    files = Files(source, (), schema, shape, schema, layout_of(source))
    sink = Sink("parquet", str(folder / "answers"), str(folder / "checkpoint"), trigger=AVAILABLE_NOW)
    return CheckedJob(
        "trial", source, case.query, {}, sink, {}, None, folder / "job.toml", (), OpenSource(schema, files),
        case.bindings, broadcast=rules,
    )  # fmt: skip


def _answers(case: EngineCase, job: CheckedJob) -> pa.Table:
    ServeEngine().run(job, _quiet())
    schema = case.reference().result_schema
    parts = sorted(Path(job.sink.path or "").glob("part-*.parquet"))
    return case.in_order(pa.concat_tables([schema.empty_table(), *map(pq.read_table, parts)]))


def _quiet() -> Progress:
    return Progress(StringIO())
