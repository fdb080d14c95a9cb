"""Measures rules that come while a stream runs, beside the same queries known from the start.

    python tests/bench/rules.py [--rows 400000]

One stream without groups in this process, a row every 10 ms, uniform scores, in micro-batches of 10,000 rows (100 s).
Rules have windows up to an hour and slides from 10 s to 10 min. Thread CPU: microseconds a row by the number of rules,
rules beside `queries`; milliseconds of the micro-batch in which 100 rules come beside those before and after it; and
bytes of a snapshot for k = 10 and 100 beside all events of the widest window at 24 bytes each (time, object, score).
"""

import argparse
import sys
import time

import numpy as np
import pyarrow as pa
from skyband.engines.local import LocalRun

STEP, BATCH = 10_000, 10_000
LONGEST = 3_600
KEYS = {"kind": "top-k-workload", "time": "ts", "object": "what", "score": "points"}


def batches(rows: int) -> list[pa.RecordBatch]:
    """The stream, cut into micro-batches."""
    random = np.random.default_rng(1)
    ts = pa.array(np.arange(rows) * STEP, pa.timestamp("us"))
    table = pa.table({"ts": ts, "what": np.arange(rows), "points": random.random(rows)})
    return table.combine_chunks().to_batches(max_chunksize=BATCH)


def rules(count: int, first: int = 0, most: int = 10) -> list[dict]:
    """Rules with windows of a minute to an hour, slides of ten seconds to ten minutes, and k up to `most`."""
    random = np.random.default_rng(first)
    windows, slides = random.integers(60, LONGEST + 1, count), random.integers(1, 61, count) * 10
    return [
        {"name": f"r{first + place}", "window": f"{window} seconds", "slide": f"{slide} seconds", "k": int(k)}
        for place, (window, slide, k) in enumerate(
            zip(windows, slides, random.integers(1, most + 1, count), strict=True)
        )
    ]


def spent(run: LocalRun, parts: list[pa.RecordBatch]) -> tuple[list[float], int]:
    """Seconds of thread CPU of each micro-batch, and the rows of all answers."""
    seconds, answers = [], 0
    for part in parts:
        start = time.thread_time()
        answers += len(run.push(part))
        seconds.append(time.thread_time() - start)
    return seconds, answers


def tell(*parts: str) -> None:
    """Write a line."""
    sys.stdout.write(" ".join(parts) + "\n")
    sys.stdout.flush()


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=800_000)
    parts = batches(parser.parse_args().rows)
    limits, schema = {"longest": f"{LONGEST} seconds", "most": 10}, parts[0].schema
    spent(LocalRun.start({**KEYS, **limits, "queries": rules(3)}, schema), parts[:3])  # compiles
    spent(LocalRun.start({**KEYS, "queries": rules(3)}, schema), parts[:3])
    warm = len(parts) // 2
    tell("rules   µs a row: rules  queries   answers a row")
    for count in (1, 10, 100, 1000):
        with_rules = LocalRun.start({**KEYS, **limits}, schema)
        with_rules.broadcast(pa.Table.from_pylist(rules(count)))
        seconds, answers = spent(with_rules, parts)
        others, same = spent(LocalRun.start({**KEYS, "queries": rules(count)}, schema), parts)
        assert same == answers
        each = [1e6 * sum(one[warm:]) / (BATCH * len(one[warm:])) for one in (seconds, others)]
        tell(f"{count:5}  {each[0]:14.2f} {each[1]:8.2f} {answers / (BATCH * len(parts)):15.1f}")
    run = LocalRun.start({**KEYS, **limits}, schema)
    run.broadcast(pa.Table.from_pylist(rules(1000)))
    before = spent(run, parts[:warm])[0][-5:]
    start = time.thread_time()
    run.broadcast(pa.Table.from_pylist(rules(100, 1000)))
    taking = time.thread_time() - start
    after = spent(run, parts[warm : warm + 5])[0]
    tell("1000 rules, 100 more at once, ms a micro-batch:", *(f"{1e3 * one:.0f}" for one in before),
          f"| taking them {1e3 * taking:.1f} |", *(f"{1e3 * one:.0f}" for one in after))  # fmt: skip
    start = time.thread_time()
    LocalRun.start({**KEYS, **limits}, schema).broadcast(pa.Table.from_pylist(rules(100_000)))
    tell(f"100,000 rules taken in {time.thread_time() - start:.1f} s")
    window = min(LONGEST * 1_000_000 // STEP, BATCH * len(parts))
    for most in (10, 100):
        run = LocalRun.start({**KEYS, **limits, "most": most}, schema)
        spent(run, parts)
        size, retained = len(run.operator.snapshot()), run.operator.take_metrics().retained
        theory = most * (1 + np.log(window / most))
        tell(f"k = {most}: {size:,} bytes, {retained:,} rows kept (theory {theory:.0f}) of {window:,}, "
              f"whose events take {24 * window:,} bytes")  # fmt: skip


if __name__ == "__main__":
    main()
