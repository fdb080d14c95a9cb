"""What the benches on Spark share: a quiet session, files of a stream, and the time of a whole run."""

import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from skyband import spark

Way = Callable[[Any], Any]
"""From a DataFrame of the source, batch or streaming, to one of the answers."""


def session(cores: int = 2, **settings: str) -> Any:
    """A session on this machine that says nothing."""
    plain = {
        "spark.master": f"local[{cores}]",
        "spark.sql.shuffle.partitions": str(cores),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
    }
    started = spark.session("bench", **{**plain, **settings})
    started.sparkContext.setLogLevel("ERROR")
    return started


def cpu_seconds(process: int | str = "self") -> float:
    """What this process and those below it, Java and its Python workers, have taken of processors; on Linux only."""
    try:
        after_name = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        tasks = list(Path(f"/proc/{process}/task").iterdir())
        children = {child for task in tasks for child in (task / "children").read_text().split()}
    except (FileNotFoundError, ProcessLookupError):  # it has ended: its parent counts it
        return 0.0
    ticks = sum(int(after_name[place]) for place in (11, 12, 13, 14))  # its own, and those of children that ended
    return ticks / os.sysconf("SC_CLK_TCK") + sum(cpu_seconds(child) for child in children)


def write_files(table: pa.Table, folder: Path, files: int) -> None:
    """The table cut into files of one size, in order."""
    folder.mkdir(parents=True)
    size = -(-len(table) // files)
    for number in range(files):
        pq.write_table(table.slice(number * size, size), folder / f"{number:04}.parquet")


def batch(session: Any, way: Way, folder: Path, in_python: bool = False) -> float:
    """Seconds for a run over all files at once; the answers go nowhere. in_python: Spark does not read the files."""
    started = time.perf_counter()
    source = spark.files(str(folder)) if in_python else session.read.parquet(str(folder))
    way(source).write.format("noop").mode("overwrite").save()
    return time.perf_counter() - started


def stream(
    session: Any, way: Way, folder: Path, files_a_batch: int, sink: Path | None = None, in_python: bool = False
) -> float:
    """Seconds for a whole stream, so many files a micro-batch; the answers go to `sink` as Parquet, or nowhere."""
    checkpoint = tempfile.mkdtemp()
    if in_python:
        source = spark.files(str(folder), stream=True, maxFilesPerTrigger=files_a_batch)
    else:
        schema = session.read.parquet(str(folder)).schema
        source = session.readStream.schema(schema).option("maxFilesPerTrigger", files_a_batch).parquet(str(folder))
    writer = way(source).writeStream.format("noop" if sink is None else "parquet").outputMode("append")
    writer = writer if sink is None else writer.option("path", str(sink))
    started = time.perf_counter()
    writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start().awaitTermination()
    took = time.perf_counter() - started
    shutil.rmtree(checkpoint)
    return took
