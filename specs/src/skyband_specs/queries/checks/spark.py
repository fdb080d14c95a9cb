"""On Spark, in batch and as a stream, a query answers as it does in this process."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from skyband import spark
from skyband_spark.errors import plain_errors

from skyband_specs.queries.case import QueryCase, cut, gathered
from skyband_specs.queries.check import equal_answers, query_check
from skyband_specs.spark_session import small_session

COUNT = 2
FILES = 4
"""Files of a source, each a micro-batch of a stream."""


@query_check("engine")
def check_spark_answers_a_batch_as_local_does(case: QueryCase) -> None:
    """All rows at once, read from files."""
    with _files(case) as folder, plain_errors():
        rows = small_session().read.parquet(f"{folder}/source")
        spark.apply(rows, case.query(), dict(case.bindings)).write.parquet(f"{folder}/answers")
        equal_answers(_written(folder, case), case.answers(case.rows), "a batch on Spark, as local")


@query_check("engine")
def check_spark_answers_a_stream_as_local_does(case: QueryCase) -> None:
    """One file per micro-batch: up to the watermark, as a stream continues."""
    run = case.run(case.rows)
    expected = gathered(run, [run.push(batch) for batch in cut(case.rows, [])])
    with _files(case) as folder, plain_errors():
        schema = small_session().read.parquet(f"{folder}/source").schema
        source = small_session().readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(f"{folder}/source")
        answers = spark.apply(source, case.query(), dict(case.bindings))
        options = {"path": f"{folder}/answers", "checkpointLocation": f"{folder}/checkpoint"}
        started = answers.writeStream.format("parquet").options(**options).trigger(availableNow=True).start()
        started.awaitTermination()
        equal_answers(_written(folder, case), expected, "a stream on Spark, as local")


@contextmanager
def _files(case: QueryCase) -> Iterator[Path]:
    """A folder with the example's rows in `source`, in files that are read in this order."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "source").mkdir()
        size = -(-len(case.rows) // FILES)
        for number, batch in enumerate(cut(case.rows, range(size, len(case.rows), size))):
            path = folder / "source" / f"{number:04}.parquet"
            pq.write_table(pa.Table.from_batches([batch]), path)
            os.utime(path, (1_000_000_000 + number,) * 2)
        yield folder


def _written(folder: Path, case: QueryCase) -> pa.Table:
    """Spark's output, with the columns and types that the query declares."""
    schema = case.query().result_schema(case.rows.schema)
    answers = pq.read_table(folder / "answers", partitioning=None).select(schema.names)
    return answers.cast(schema)
