"""Spark at scale: what a micro-batch costs by the size of the state, and a batch by the shards. Groups: `groups.py`.

    state    a window of a day counted exactly, its state 10 KB to 100 MB; 2000 rows a micro-batch; 2 shards
    shards   distinct-count, the same of 1000 groups, and top-k, in batch on 1, 2, 4 and 8 shards: rows a second and
             bytes shuffled
    pairs    the same of top-k-pairs (windows of 30,000 sets with --rows 100000) and uncertain-join (5000 tuples), whose
             rows go to several shards

    python tests/bench/spark_scale.py state --megabytes 0.01 1 10 100

Bytes written are those that the micro-batch put into Spark's state store, before compression; the store writes them to
its changelog, and again in the background when it compacts.
"""

import argparse
import json
import shutil
import statistics
import tempfile
import time
import urllib.request
from pathlib import Path

import numpy as np
import on_spark
import pyarrow as pa
import pyarrow.parquet as pq
from family_streams import FAMILIES
from skyband import spark
from skyband.queries import make_query

SECOND = 1_000_000
COUNTED = {"kind": "distinct-count", "time": "ts", "item": "item", "windows": ["1 day"], "every": "1 hour"}
BYTES_A_KEY = 16


def write(folder: Path, number: int, at: int, items: np.ndarray, **columns) -> None:
    """Rows at one time but for the last, a second later: the next file of a stream."""
    times = np.full(len(items), at * SECOND)
    times[-1:] += SECOND
    ts = pa.array(times, pa.timestamp("us", "UTC"))
    pq.write_table(pa.table({"ts": ts, "item": items, **columns}), folder / f"{number:04}.parquet")


def run(session, folder: Path, query: dict, backends: dict, shards: int, home: Path):
    """A stream to its end, a file a micro-batch: the progress of each, and the bytes it wrote as state."""
    checkpoint = home / f"checkpoint {time.monotonic_ns()}"
    schema = session.read.parquet(str(folder)).schema
    source = session.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder))
    answers = spark.apply(source, make_query(query), backends, shards=shards)
    writer = answers.writeStream.format("noop").option("checkpointLocation", str(checkpoint))
    started = writer.trigger(availableNow=True).start()
    started.awaitTermination()
    progress = [entry for entry in started.recentProgress if entry.numInputRows]
    written = [
        sum(each["customMetrics"]["rocksdbTotalBytesWritten"] for each in json.loads(entry.json)["stateOperators"])
        for entry in progress
    ]
    shutil.rmtree(checkpoint)
    return progress, written


def by_state(session, home: Path, options) -> None:
    rng = np.random.default_rng(1)
    print("state       median trigger   90 %      written, median   mean        whole state written in")  # noqa: T201
    for megabytes in options.megabytes:
        folder = home / f"state {megabytes}"
        folder.mkdir()
        items = np.arange(max(int(megabytes * 1e6 / BYTES_A_KEY), 1))
        write(folder, 0, 0, items)
        for number in range(1, options.batches + 1):
            write(folder, number, number, rng.choice(items, 2000))
        progress, written = run(session, folder, COUNTED, {"sketch": "exact"}, 2, home)
        trigger = [entry.durationMs["triggerExecution"] for entry in progress[4:]]
        held = progress[-1].observedMetrics["skyband"]["state_bytes"]
        whole = [
            entry.durationMs["triggerExecution"]
            for entry, size in zip(progress, written, strict=True)
            if size > 0.4 * held
        ][-1:]
        print(  # noqa: T201
            f"{held / 1e6:7.2f} MB  {statistics.median(trigger):9.0f} ms   {np.percentile(trigger, 90):6.0f} ms"
            f"  {statistics.median(written[4:]) / 1e3:10.1f} KB  {statistics.mean(written[4:]) / 1e3:10.1f} KB"
            f"  {whole[0] if whole else 0:9.0f} ms"
        )


def by_shards(session, home: Path, options) -> None:
    rng = np.random.default_rng(1)
    folder = home / "shards"
    folder.mkdir()
    rows = options.rows // 8
    for number in range(8):
        seconds = np.sort(rng.integers(number * 1000, number * 1000 + 1000, rows))
        ts = pa.array(seconds * SECOND, pa.timestamp("us", "UTC"))
        columns = {"item": rng.zipf(1.3, rows) % 10**6, "value": rng.random(rows), "stream": np.full(rows, "a")}
        columns["group"] = rng.integers(0, 1000, rows)
        pq.write_table(pa.table({"ts": ts, **columns}), folder / f"{number}.parquet")
    frame = session.read.parquet(str(folder))
    top = {"kind": "top-k", "time": "ts", "object": "item", "stream": "stream", "value": "value", "streams": ["a"]}
    counted = COUNTED | {"windows": ["10 minutes", "1 hour"], "every": "1 minute"}
    queries = {
        "distinct-count": counted,
        "of 1000 groups": counted | {"by": ["group"]},
        "top-k": top | {"window": "10 minutes", "every": "1 minute", "repeats": "per-window", "k": 10},
    }
    for name, query in queries.items():
        _on_shards(session, frame, name, query, options)


def by_shards_in_pairs(session, home: Path, options) -> None:
    larger = {"top-k-pairs": {"window": "300 seconds"}, "uncertain-join": {"size": 5000}}
    for kind, keys in larger.items():
        folder = home / kind
        on_spark.write_files(FAMILIES[kind].make(options.rows), folder, 8)
        _on_shards(session, session.read.parquet(str(folder)), kind, FAMILIES[kind].query | keys, options)


def _on_shards(session, frame, name: str, query: dict, options) -> None:
    for shards in options.shards:
        taken = []
        for _ in range(3):
            before = _shuffled(session)
            began = time.perf_counter()
            spark.apply(frame, make_query(query), shards=shards).write.format("noop").mode("overwrite").save()
            taken.append(time.perf_counter() - began)
        moved = _shuffled(session) - before
        print(  # noqa: T201
            f"{name:15} {shards:2} shards  {min(taken):6.2f} s  {options.rows / min(taken):10,.0f} rows/s  "
            f"shuffled {moved / options.rows:6.1f} bytes a row"
        )


def _shuffled(session) -> int:
    """Bytes that all stages so far wrote for shuffles, as Spark's own interface on this machine has them."""
    address = f"{session.sparkContext.uiWebUrl}/api/v1/applications/{session.sparkContext.applicationId}/stages"
    with urllib.request.urlopen(address) as answer:
        return sum(stage["shuffleWriteBytes"] for stage in json.load(answer))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["state", "shards", "pairs"])
    parser.add_argument("--megabytes", type=float, nargs="+", default=[0.01, 1, 10, 100])
    parser.add_argument("--batches", type=int, default=24)
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--shards", type=int, nargs="+", default=[1, 2, 4, 8])
    parser.add_argument("--cores", type=int, default=2)
    options = parser.parse_args()
    shown = {"spark.ui.enabled": str(options.what != "state").lower()}
    session = on_spark.session(options.cores, **shown)
    home = Path(tempfile.mkdtemp())
    try:
        {"state": by_state, "shards": by_shards, "pairs": by_shards_in_pairs}[options.what](session, home, options)
    finally:
        shutil.rmtree(home)


if __name__ == "__main__":
    main()
