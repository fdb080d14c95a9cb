"""The time of one push on the local engine, from rows in to answers out, of a distinct count over a minute.

    python tests/bench/one_process/push.py [--pushes 3000] [--rows 1000]

Each push holds the rows of a second; every tenth has an answer. The first 200 only warm up.
"""

import argparse
import time

import numpy as np
import pyarrow as pa
from skyband.engines.local import LocalRun

SCHEMA = pa.schema({"ts": pa.timestamp("us", "UTC"), "client": pa.int64()})
QUERY = {"kind": "distinct-count", "time": "ts", "item": "client", "windows": ["1 minute"], "every": "10 seconds"}


def main(pushes: int, rows: int) -> None:
    """Print medians and 99th percentiles."""
    run, random, times = LocalRun.start(QUERY, SCHEMA), np.random.default_rng(1), []
    for second in range(pushes):
        moments = np.sort(random.integers(second * 1_000_000, (second + 1) * 1_000_000, rows))
        columns = {"ts": pa.array(moments).cast(SCHEMA.field("ts").type), "client": random.integers(0, 10**6, rows)}
        batch = pa.record_batch(columns, SCHEMA)
        start = time.perf_counter()
        answers = run.push(batch)
        times.append((1000 * (time.perf_counter() - start), len(answers) > 0))
    for name, answered in (("without an answer", False), ("with an answer", True)):
        chosen = [taken for taken, has_answer in times[200:] if has_answer == answered]
        print(f"{name}: median {np.median(chosen):.1f} ms, p99 {np.quantile(chosen, 0.99):.1f} ms")  # noqa: T201


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pushes", type=int, default=3000)
    parser.add_argument("--rows", type=int, default=1000)
    given = parser.parse_args()
    main(given.pushes, given.rows)
