"""An hour of a real web log on Spark in minutes: rows a second, state, and whether memory stays flat.

python tests/bench/soak.py [--hours 1] [--files 60] [--inside 0] [--picture FILE]

Streams the World Cup log (`SKYBAND_DATA`) file by file through distinct-count by status, and after every micro-batch
notes the resident memory of this process (the driver), of the JVM and of all its Python workers. With `--inside N` the
JVM collects its garbage every N micro-batches, and what is left of its heap is noted, beside what lies outside it:
classes (metaspace), compiled code and direct buffers. A leak would show there, where resident memory also shows what a
JVM takes before it collects.
"""

import argparse
import os
import shutil
import tempfile
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import on_spark
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from memory import below, resident
from pyspark.sql.streaming import StreamingQueryListener
from skyband import spark

QUERY = {"kind": "distinct-count", "time": "ts", "item": "client_id", "by": ["status"]}
WINDOWS = {"windows": ["1 minute", "10 minutes"], "every": "10 seconds", "delay": "5 seconds"}


def write_source(stream: Path, folder: Path, hours: float, files: int, copies: int) -> int:
    """So many hours from the log's noon on, each request `copies` times by other clients; returns the rows."""
    log = pq.read_table(stream, columns=["ts", "client_id", "status"])
    start = log["ts"][0].as_py() + timedelta(hours=12)
    log = log.filter((pc.field("ts") >= start) & (pc.field("ts") < start + timedelta(hours=hours)))
    clients = np.repeat(log["client_id"].to_numpy().astype(np.int64), copies)
    clients = clients * copies + np.tile(np.arange(copies), len(log))
    rows = log.take(pa.array(np.repeat(np.arange(len(log)), copies)))
    rows = rows.set_column(1, "client_id", pa.array(clients))
    folder.mkdir()
    size = -(-len(rows) // files)
    for number in range(files):
        pq.write_table(rows.slice(number * size, size), folder / f"{number:04}.parquet")
        os.utime(folder / f"{number:04}.parquet", (1_000_000_000 + number,) * 2)
    return len(rows)


class Memory(StreamingQueryListener):  # type: ignore[misc]
    """A line after every micro-batch: seconds, rows, MB of driver, JVM and workers, KB of state."""

    def __init__(self, gateway: Any, inside: int) -> None:
        self.gateway, self.jvm = gateway, gateway.ProcessHandle.current().pid()
        self.started, self.seen, self.rows = time.perf_counter(), [], 0
        self.inside, self.within = inside, []

    def onQueryStarted(self, event: object) -> None:
        """Nothing to note."""

    def onQueryIdle(self, event: object) -> None:
        """Nothing to note."""

    def onQueryTerminated(self, event: object) -> None:
        """Nothing to note."""

    def onQueryProgress(self, event: object) -> None:
        """Note one micro-batch."""
        metrics = event.progress.observedMetrics.get("skyband")
        self.rows += metrics["rows_in"] or 0
        workers = sum(map(resident, below(self.jvm)))
        memory = resident(os.getpid()), resident(self.jvm), workers
        self.seen.append((time.perf_counter() - self.started, self.rows, *memory, (metrics["state_bytes"] or 0) / 1e3))
        if self.inside and len(self.seen) % self.inside == 0:
            self.within.append((len(self.seen), *self._inside(), memory[1]))
            lines(WITHIN if len(self.within) == 1 else (), self.within[-1:])

    def _inside(self) -> tuple[float, ...]:
        """MB of the heap after a collection, classes, compiled code and direct buffers."""
        beans = self.gateway.java.lang.management.ManagementFactory
        self.gateway.java.lang.System.gc()
        used = {pool.getName(): pool.getUsage().getUsed() / 1e6 for pool in beans.getMemoryPoolMXBeans()}
        code = sum(size for name, size in used.items() if name.startswith("Code"))
        buffers = self.gateway.java.lang.Class.forName("java.lang.management.BufferPoolMXBean")
        direct = sum(pool.getMemoryUsed() / 1e6 for pool in beans.getPlatformMXBeans(buffers))
        return beans.getMemoryMXBean().getHeapMemoryUsage().getUsed() / 1e6, used["Metaspace"], code, direct


HEADERS = ("seconds", "rows", "driver MB", "JVM MB", "workers MB", "state KB")
WITHIN = ("batches", "heap MB", "classes MB", "code MB", "buffers MB", "JVM MB")


def main() -> None:
    """Run it, print the table, draw the picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hours", type=float, default=1.0)
    parser.add_argument("--files", type=int, default=60)
    parser.add_argument("--copies", type=int, default=10)
    parser.add_argument("--inside", type=int, default=0, metavar="N", help="look into the JVM every N micro-batches")
    parser.add_argument("--picture", type=Path)
    options = parser.parse_args()
    session = on_spark.session(**{"spark.driver.memory": "1g"})
    home = Path(tempfile.mkdtemp())
    log = Path(os.environ["SKYBAND_DATA"]) / "worldcup98_day6_sample.parquet"
    rows = write_source(log, home / "source", options.hours, options.files, options.copies)
    memory = Memory(session._jvm, options.inside)
    session.streams.addListener(memory)
    schema = session.read.parquet(str(home / "source")).schema
    source = session.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(home / "source"))
    answers = spark.apply(source, {**QUERY, **WINDOWS}, shards=2).writeStream.format("noop")
    answers = answers.option("checkpointLocation", str(home / "checkpoint")).trigger(availableNow=True)
    started = time.perf_counter()
    answers.start().awaitTermination()
    took = time.perf_counter() - started
    shutil.rmtree(home)
    report(memory.seen, rows, took, options)


def lines(headers: tuple[str, ...], rows: list[tuple[float, ...]]) -> None:
    """Rows below their headers, where there are any."""
    if headers:
        print("  ".join(f"{name:>10}" for name in headers))  # noqa: T201
    for row in rows:
        print("  ".join(f"{value:>10,.0f}" for value in row), flush=True)  # noqa: T201


def report(seen: list[tuple[float, ...]], rows: int, took: float, options: argparse.Namespace) -> None:
    """Ten lines of the table, the sum of it, and the picture."""
    lines(HEADERS, seen[:: max(1, len(seen) // 10)])
    print(f"{rows:,} rows, {options.hours:g} h, in {took:.0f} s: {rows / took:,.0f} rows/s, {len(seen)} micro-batches")  # noqa: T201
    quarters = [np.median(part, axis=0) for part in np.array_split(np.array(seen), 4)]
    for place in (2, 3, 4, 5):
        by_quarter = ", ".join(f"{quarter[place]:,.0f}" for quarter in quarters)
        print(f"{HEADERS[place]:>10}, median of each quarter: {by_quarter}")  # noqa: T201
    if options.picture:
        from pictures import Measured, draw

        table = [[line[0], *line[2:5]] for line in seen]
        draw(
            Measured("Resident memory of a soak", ["seconds", *HEADERS[2:5]], table, "MB", 3, "linear"), options.picture
        )


if __name__ == "__main__":
    main()
