"""CPU seconds from a command to its first answer: Skyband beside DuckDB, Polars and, with --spark, Spark itself.

    python tests/bench/first_answer.py [--rows 500000] [--rounds 5] [--spark]

The question: how many different clients in the last hour, each half hour of a day, of rows of Parquet. Each way is a
new process, all in turn. CPU is that of the process and those below it, Java and Python's
workers too; on Linux only. A round before the others writes byte code and compiles kernels. DuckDB and Polars count
exactly.

The second table shows where the seconds go: processes that stop after each step, what each took more than the one
before it. With --spark the third does so for a batch on Spark.

`pip install duckdb polars` brings what it is compared with; what is not installed is left out.
"""

import argparse
import ctypes
import os
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from skyband.text_tables import table

BENCH = str(Path(__file__).parent)
PR_SET_CHILD_SUBREAPER = 36
"""Linux gives this process those whose parents have ended, so that it can count what they took."""
HOUR = 3_600_000_000
JOB = """
[source]
format = "parquet"
path = "requests"
stream = {stream}

[query]
kind = "distinct-count"
time = "ts"
item = "client"
windows = ["1 hour"]
every = "30 minutes"

[sink]
format = "parquet"
path = "counts-{number}"
{more}
"""
DUCKDB = """
import duckdb
print(len(duckdb.sql('''
    select moment, count(distinct client) from
        (select client, unnest([time_bucket(interval '30 minutes', ts) + interval '30 minutes',
                                time_bucket(interval '30 minutes', ts) + interval '1 hour']) moment
          from 'requests/*.parquet')
    group by moment order by moment
''').fetchall()))
"""
POLARS = """
import polars as pl
rows = pl.scan_parquet("requests/*.parquet").sort("ts")
windows = rows.group_by_dynamic("ts", every="30m", period="1h", start_by="window")
print(len(windows.agg(pl.col("client").n_unique()).collect()))
"""
SPARK = """
import sys
sys.path.insert(0, {bench!r})
import on_spark
from pyspark.sql import functions as sql
session = on_spark.session(**{{"spark.sql.shuffle.partitions": "2"}})
def way(rows):
    window = sql.window("ts", "1 hour", "30 minutes")
    return rows.withWatermark("ts", "0 seconds").groupBy(window).agg(sql.approx_count_distinct("client", 0.02))
"""
SPARK_BATCH = SPARK + "from pathlib import Path\non_spark.batch(session, way, Path('requests'))\n"
SPARK_STREAM = SPARK + "from pathlib import Path\non_spark.stream(session, way, Path('requests'), 1)\n"
COUNT = """
from skyband.engines import local
query = {"kind": "distinct-count", "time": "ts", "item": "client", "windows": ["1 hour"], "every": "30 minutes"}
"""
LOCAL_STEPS = {
    "Python": "",
    "numpy and Arrow": "import numpy, pyarrow, pyarrow.parquet, pyarrow.compute",
    "Skyband's command": "from skyband.cli.commands import main; from skyband_jobs.programs import run\n"
    "from skyband_jobs.commands.deferred_pandas import defer_pandas; defer_pandas()",
    "numba": "import skyband.kernels.nested",
    "reading the rows": "rows = pyarrow.parquet.read_table('requests')",
    "a first answer, of one row": COUNT + "local.apply(rows.slice(0, 1), query)",
    "all answers": "local.apply(rows, query)",
}
SPARK_STEPS = {
    "Python with PySpark and Skyband": f"import sys; sys.path.insert(0, {BENCH!r}); import on_spark",
    "Java and the session": "session = on_spark.session()",
    "a first plan, of one row": "session.range(1).collect()",
    "workers of Python": "session.range(2).mapInArrow(lambda batches: batches, 'id long').collect()",
    "the batch": "from skyband import spark\nfrom pathlib import Path\n"
    "query = {'kind': 'distinct-count', 'time': 'ts', 'item': 'client', 'windows': ['1 hour'], 'every': '30 minutes'}\n"
    "on_spark.batch(session, lambda rows: spark.apply(rows, query), Path('requests'), in_python=True)",
}
Taken = list[tuple[float, float]]
"""CPU seconds and seconds of each round."""


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--spark", action="store_true", help="also on Spark: a minute and more a round")
    options = parser.parse_args()
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        write_requests(home / "requests", options.rows)
        ways = local_ways() | (spark_ways() if options.spark else {})
        taken = in_turn(ways, home, options.rounds)
        rows = [[name, *medians(times), shown(times)] for name, times in taken.items()]
        table(["way", "CPU, s", "wall, s", "CPU of each"], rows)
        print_steps(LOCAL_STEPS, home, options.rounds)
        if options.spark:
            print_steps(SPARK_STEPS, home, options.rounds)


def write_requests(folder: Path, rows: int) -> None:
    """A day of requests of Zipf clients in four files."""
    rng = np.random.default_rng(1)
    times = np.sort(rng.integers(0, 24 * HOUR, rows)) + 1_781_913_600_000_000
    clients = rng.zipf(1.2, rows) % 200_000
    requests = pa.table({"ts": pa.array(times, pa.timestamp("us", "UTC")), "client": clients})
    folder.mkdir()
    for number, start in enumerate(range(0, rows, -(-rows // 4))):
        pq.write_table(requests.slice(start, -(-rows // 4)), folder / f"{number}.parquet")


def local_ways() -> dict[str, list[str]]:
    """The commands that need no Java."""
    ways = {"skyband, local engine": job("local")}
    for name, program in (("duckdb", DUCKDB), ("polars", POLARS)):
        if find_spec(name):
            ways[name] = python(program)
        else:
            sys.stderr.write(f"{name} is left out: pip install {name}\n")
    return ways


def spark_ways() -> dict[str, list[str]]:
    """The commands that start Spark."""
    return {
        "skyband on Spark, batch": job("batch"),
        "Spark SQL, batch": python(SPARK_BATCH.format(bench=BENCH)),
        "skyband on Spark, stream": job("stream"),
        "Spark SQL, stream": python(SPARK_STREAM.format(bench=BENCH)),
    }


def job(name: str) -> list[str]:
    """The command that runs this job; `in_turn` writes it."""
    engine = "local" if name == "local" else "spark"
    return [str(Path(sys.executable).with_name("skyband")), "run", f"{name}.toml", "--engine", engine]


def python(program: str) -> list[str]:
    return [sys.executable, "-c", program]


def in_turn(ways: dict[str, list[str]], home: Path, rounds: int) -> dict[str, Taken]:
    """What each way took in each round after the first."""
    taken: dict[str, Taken] = {name: [] for name in ways}
    for number in range(rounds + 1):
        for name in ("local", "batch", "stream"):
            more = f'checkpoint = "checkpoint-{number}"\ntrigger = "available-now"' if name == "stream" else ""
            text = JOB.format(stream=str(name == "stream").lower(), number=f"{name}-{number}", more=more)
            (home / f"{name}.toml").write_text(text)
        for name, command in ways.items():
            times = run(command, home)
            if number:
                taken[name].append(times)
    return taken


def run(command: list[str], home: Path) -> tuple[float, float]:
    """CPU seconds of a process and all below it, and the seconds until it ended."""
    own = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with (home / "output").open("wb") as output:
        started = time.perf_counter()
        process = subprocess.Popen(command, cwd=home, env=own, stdout=output, stderr=output)
        _, status, used = os.wait4(process.pid, 0)
    took, process.returncode = time.perf_counter() - started, os.waitstatus_to_exitcode(status)
    cpu = used.ru_utime + used.ru_stime + cpu_of_orphans()
    if process.returncode:
        raise SystemExit(f"{command} failed:\n{(home / 'output').read_text()}")
    return cpu, took


def cpu_of_orphans() -> float:
    """CPU seconds of Java and of workers that outlive the process that started them, once all have ended."""
    cpu = 0.0
    while True:
        try:
            used = os.wait4(-1, 0)[2]
        except ChildProcessError:
            return cpu
        cpu += used.ru_utime + used.ru_stime


def print_steps(steps: dict[str, str], home: Path, rounds: int) -> None:
    """What each step took, by processes that end after it."""
    programs = ["\n".join([*steps.values()][: number + 1]) for number in range(len(steps))]
    ways = {name: python(program) for name, program in zip(steps, programs, strict=True)}
    middle = [medians(times) for times in in_turn(ways, home, rounds).values()]
    differences = [
        [round(now - before, 2) for before, now in zip(*pair, strict=True)] for pair in pairwise([(0, 0), *middle])
    ]
    table(["step", "CPU, s", "wall, s"], [[name, *row] for name, row in zip(steps, differences, strict=True)])


def medians(times: Taken) -> tuple[float, float]:
    cpu, wall = (round(statistics.median(column), 2) for column in zip(*times, strict=True))
    return cpu, wall


def shown(times: Taken) -> str:
    return " ".join(f"{cpu:.2f}" for cpu, _ in times)


if __name__ == "__main__":
    main()
