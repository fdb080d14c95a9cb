"""Measures the port of `skyband serve`: its start, its memory, and questions to it.

    python tests/bench/serve/port.py [--asks 2000] [--rows 200000] [--publish MILLISECONDS | --beside ROWS]

One group's state: rows of an hour, 1 in 4 of them of another item or size. A client in another process asks over one
connection, each time for something else, so that no reply is given twice. By kind: KB of the state; milliseconds of a
request for the client, the median and 99 %; milliseconds of CPU of the serving process. With --publish the board gets
the same answers so often meanwhile: milliseconds of `publish`, the median and 99 %, in a thread that does nothing else.

With --beside the distinct count runs in the main thread: so many rows a second in turns of 100 ms, windows of a minute
answered each second, all published. Milliseconds of a turn, the median and 99 % of 300, without questions and with 20 a
second, and of a question.
"""

import argparse
import io
import json
import resource
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from skyband.engines import local
from skyband_jobs import read_job
from skyband_jobs.job.progress import Progress
from skyband_serve.published import Board
from skyband_serve.settings import ServeSettings
from skyband_serve.web.serving import serving

KEYS = {"time": "ts", "windows": ["1 hour", "1 minute"], "every": "1 hour", "emit": "state"}
KINDS = {
    "distinct-count": ({"kind": "distinct-count", "item": "item"}, {}, "last={n}%20seconds"),
    "distinct-count exact": ({"kind": "distinct-count", "item": "item"}, {"sketch": "exact"}, "last={n}%20seconds"),
    "quantiles": ({"kind": "quantiles", "value": "item"}, {}, "last={m}%20minutes&q=0.{n:05}"),
    "heavy-hitters": (
        {"kind": "heavy-hitters", "object": "item", "k": 10},
        {},
        "last={m}%20minutes&k=10&at_least=0.{n:05}",
    ),
}
CLIENT = """
import http.client, json, sys, time
port, asks, query = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
client, seconds = http.client.HTTPConnection("127.0.0.1", port, timeout=60), []
pause = float(sys.argv[4])
for number in range(1, asks + 1):
    begun = time.perf_counter()
    client.request("GET", "/ask?" + query.format(n=number, m=number % 60 + 1))
    reply = client.getresponse()
    body = reply.read()
    seconds.append(time.perf_counter() - begun)
    assert reply.status == 200, body
    time.sleep(pause)
print(json.dumps(seconds))
"""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--asks", type=int, default=2000)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--publish", type=float)
    parser.add_argument("--beside", type=int)
    options = parser.parse_args()
    if options.beside is not None:
        beside(options.beside)
        return
    rng = np.random.default_rng(1)
    times = pa.array(np.arange(options.rows) * 3_600_000_000 // options.rows, pa.timestamp("us"))
    rows = pa.table({"ts": times, "item": rng.integers(0, options.rows // 4, options.rows)})
    for kind, (keys, backends, query) in KINDS.items():
        answers = local.apply(rows, {**KEYS, **keys}, backends)
        with tempfile.TemporaryDirectory() as folder:
            job = job_in(Path(folder), {**KEYS, **keys}, rows.slice(0, 10))
        print(f"{kind:22}", *asked(job, answers, query, options))  # noqa: T201


def job_in(folder: Path, keys: dict[str, object], rows: pa.Table) -> object:
    """A checked job with this query."""
    pq.write_table(rows, folder / "rows.parquet")
    query = "\n".join(f"{key} = {json.dumps(value)}" for key, value in keys.items())
    source, sink = '[source]\nformat = "parquet"\npath = "rows.parquet"', '[sink]\nformat = "parquet"\npath = "out"'
    (folder / "job.toml").write_text(f"{source}\n[query]\n{query}\n{sink}\n")
    return read_job(folder / "job.toml", (), "local")


def asked(job: object, answers: pa.Table, query: str, options: argparse.Namespace) -> list[str]:
    """Serve the answers, and ask: the figures as text."""
    settings = ServeSettings(http="127.0.0.1:0")
    board, memory, begun = Board(job, settings), rss(), time.perf_counter()
    with serving(job, board, settings, Progress(io.StringIO())) as address:
        started = time.perf_counter() - begun
        board.publish(1, answers, {})
        ask(address.port, 50, query)
        stop, publishing = threading.Event(), list[float]()
        publisher = threading.Thread(target=publish, args=(board, answers, options.publish, stop, publishing))
        if options.publish is not None:
            publisher.start()
        cpu = time.process_time()
        seconds = ask(address.port, options.asks, query)
        cpu = time.process_time() - cpu
        stop.set()
        figures = [f"state {answers.nbytes / 1e3:8,.0f} KB"]
        middle, most = np.quantile(seconds, [0.5, 0.99]) * 1e3
        figures += [f"wall {middle:6.2f} p99 {most:6.2f} ms", f"CPU {cpu / options.asks * 1e3:6.2f} ms"]
        figures += [f"start {started * 1e3:4.0f} ms", f"memory +{(rss() - memory) / 1e6:.0f} MB"]
        if options.publish is not None:
            publisher.join()
            slow = np.quantile(publishing, [0.5, 0.99]) * 1e3
            figures.append(f"publish {slow[0]:.2f} p99 {slow[1]:.2f} ms")
        return figures


def publish(board: Board, answers: pa.Table, every: float, stop: threading.Event, seconds: list[float]) -> None:
    """Publish again and again."""
    turn = 1
    while not stop.wait(every / 1e3):
        turn, begun = turn + 1, time.perf_counter()
        board.publish(turn, answers, {})
        seconds.append(time.perf_counter() - begun)


def beside(rate: int) -> None:
    """Turns of a stream at its own rate, without questions and with them."""
    keys = {**KEYS, **KINDS["distinct-count"][0], "windows": ["1 minute"], "every": "1 second"}
    rng, turns, size = np.random.default_rng(1), 300, rate // 10
    schema = pa.schema([("ts", pa.timestamp("us")), ("item", pa.int64())])
    with tempfile.TemporaryDirectory() as folder:
        job = job_in(Path(folder), keys, schema.empty_table())
    settings = ServeSettings(http="127.0.0.1:0")
    board = Board(job, settings)
    with serving(job, board, settings, Progress(io.StringIO())) as address, ThreadPoolExecutor(1) as asking:
        run, number = local.LocalRun.start(keys, schema), 0
        for what in ("first", "without questions", "with 20 a second"):
            seconds, client = list[float](), None
            for _ in range(turns):
                times = number * 100_000 + np.arange(size) * 100_000 // size
                columns = [pa.array(times, pa.timestamp("us")), rng.integers(0, 50_000, size)]
                batch, begun = pa.record_batch(columns, schema=schema), time.perf_counter()
                answers = run.step(run.add(batch))
                number += 1
                board.publish(number, pa.table(answers), {})
                seconds.append(time.perf_counter() - begun)
                if what.startswith("with 2") and client is None:
                    client = asking.submit(ask, address.port, turns * 2 - 60, "last={m}%20seconds", 0.05)
                time.sleep(max(0.1 - seconds[-1], 0))
            print(f"turns {what:18} {of(seconds)}")  # noqa: T201
            if client is not None:
                print(f"questions {'':14} {of(client.result())}")  # noqa: T201


def of(seconds: list[float]) -> str:
    """The median and 99 % as text."""
    middle, most = np.quantile(seconds, [0.5, 0.99]) * 1e3
    return f"{middle:6.2f} p99 {most:6.2f} ms"


def ask(port: int, asks: int, query: str, pause: float = 0.0) -> list[float]:
    """Seconds of each request of a client."""
    command = [sys.executable, "-c", CLIENT, str(port), str(asks), query, str(pause)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def rss() -> int:
    """Bytes of this process that are in memory."""
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * resource.getpagesize()


if __name__ == "__main__":
    main()
