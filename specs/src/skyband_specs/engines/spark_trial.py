"""Runs the queries of the engine checks on Spark in this process, in batch and as a stream of files."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.parquet as pq
from skyband_spark import program

from skyband_specs.engines.trial import EngineCase, EngineTrial
from skyband_specs.spark_session import small_session


class SparkTrial(EngineTrial):
    """Spark on two cores of this machine."""

    most: ClassVar[int | None] = 2

    def batch(self, case: EngineCase) -> pa.Table:
        with _folder_of(case) as (session, folder):
            rows = session.read.schema(_schema(session, case)).parquet(*map(str, sorted(folder.iterdir())))
            return _ordered(case, _answers(case, rows).toArrow())

    def stream(self, case: EngineCase, stop: int | None = None) -> pa.Table:
        """A file for each batch; a stream that stops has the first `stop` files, the next one all of them."""
        answers = list[pa.Table]()
        with _folder_of(case) as (session, folder), TemporaryDirectory() as checkpoint:
            later = [] if stop is None else sorted(folder.iterdir())[stop:]
            for path in later:
                path.rename(path.with_name(f"_{path.name}"))  # which Spark passes over
            for _ in range(1 if stop is None else 2):
                source = session.readStream.schema(_schema(session, case)).option("maxFilesPerTrigger", 1)
                started = (
                    _answers(case, source.parquet(str(folder)))
                    .writeStream.foreachBatch(lambda rows, _: answers.append(rows.toArrow()))
                    .option("checkpointLocation", checkpoint)
                    .trigger(availableNow=True)
                    .start()
                )
                started.awaitTermination()
                for path in later:
                    path.with_name(f"_{path.name}").rename(path)
                later = []
        return _ordered(case, pa.concat_tables(answers))


def _answers(case: EngineCase, rows: Any) -> Any:
    plan = program.plan_of(rows, case.query, bindings=case.bindings)
    if case.rules is not None:
        plan, _ = program.with_rules(plan, case.rules)
    return program.answers_of(rows, plan)


@contextmanager
def _folder_of(case: EngineCase) -> Iterator[tuple[Any, Path]]:
    """A session, and a folder with a Parquet file for each batch, the first the oldest."""
    with TemporaryDirectory() as folder:
        for number, batch in enumerate(case.batches):
            path = Path(folder) / f"{number:05}.parquet"
            pq.write_table(pa.Table.from_batches([batch]), path)
            os.utime(path, (1_000_000_000 + number,) * 2)
        yield small_session(), Path(folder)


def _schema(session: Any, case: EngineCase) -> Any:
    """The columns as Spark types, of an empty batch too."""
    return session.createDataFrame(case.rows.slice(0, 0)).schema


def _ordered(case: EngineCase, answers: pa.Table) -> pa.Table:
    """Answers with the column types of the reference, in its order."""
    schema = case.reference().result_schema
    return case.in_order(answers.select(schema.names).cast(schema))
