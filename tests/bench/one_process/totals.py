"""Measures the total-rankers on Zipf streams, beside what people write by hand.

    python tests/bench/one_process/totals.py [--quick]

Thread CPU seconds, in one run, so that ratios hold on a noisy machine. `moment` is to close a pane, let an old one go
and rank, by itself; rows/s are of the second half of a stream, the windows being full, with an answer at every pane.
"""

import argparse
import sys
import time
from collections import Counter, deque
from collections.abc import Callable
from typing import Any

import numpy as np
import skyband

PANES = 100


def zipf(rows: int, keys: int, exponent: float, seed: int = 0) -> Any:
    """Objects by Zipf's law over so many keys, which are any 63-bit numbers: int64[rows]."""
    rng = np.random.default_rng(seed)
    ranks = np.searchsorted(np.cumsum(1 / np.arange(1, keys + 1) ** exponent), rng.random(rows) * _mass(keys, exponent))
    return rng.integers(-(2**62), 2**62, keys)[ranks]


def _mass(keys: int, exponent: float) -> float:
    return float((1 / np.arange(1, keys + 1) ** exponent).sum())


def main() -> None:
    """Print every table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="everything a tenth as large")
    scale = 10 if parser.parse_args().quick else 1
    measure("exact", [10], 100, zipf(2000, 100, 1.0), 10)  # compiles
    measure("exact", [10], 100, zipf(2000, 100, 1.0), 10, total="distinct")
    say(f"{'exact, rows; 100 panes, k = 100':44} {'M rows/s':>9} {'moment µs':>10} {'MB':>7} {'B/entry':>8}")
    for keys in (10_000, 100_000, 1_000_000):
        for exponent in (0.8, 1.0, 1.3):
            objects = zipf(4_000_000 // scale, keys, exponent)
            show(f"K = {keys:,}, s = {exponent}, 10,000 rows a pane", "exact", [PANES], 10_000 // scale, objects)
    objects = zipf(20_000_000 // scale, 100_000, 1.0)
    show("windows of 1, 6, 24 h every minute, K = 100,000", "exact", [60, 360, 1440], 5000 // scale, objects)
    objects = zipf(4_000_000 // scale, 100_000, 1.0)
    show("distinct values, K = 100,000", "exact", [PANES], 10_000 // scale, objects, total="distinct")
    bounded(scale)
    peers(1_000_000 // scale)


def show(label: str, name: str, windows: list[int], pane: int, objects: Any, **parameters: Any) -> None:
    """Measure and print one line."""
    speed, moment, ranker = measure(name, windows, pane, objects, 100, **parameters)
    size = ranker.nbytes
    say(f"{label:44} {speed:9.1f} {moment:10.0f} {size / 1e6:7.1f} {size / max(1, len(ranker)):8.1f}")


def measure(
    name: str, windows: list[int], pane: int, objects: Any, k: int, total: str = "rows", **parameters: Any
) -> tuple[float, float, Any]:
    """(million rows a second, microseconds a moment, the ranker)."""
    times, half = np.arange(len(objects)) // pane, len(objects) // pane // 2 * pane
    moments = np.arange(1, int(times[-1]) + 2)
    middle = half // pane
    ranker: Any = skyband.create("total-ranker", name, windows=windows, every=1, k=k, total=total, **parameters)
    columns: dict[str, Any] = {}
    if total == "distinct":
        columns["values"] = np.random.default_rng(1).integers(0, 1000, len(objects)).astype(np.uint64)

    def rows(start: int, stop: int) -> dict[str, Any]:
        part = slice(start, stop)
        return {
            "times": times[part],
            "objects": objects[part],
            **{key: column[part] for key, column in columns.items()},
        }

    ranker.answers(**rows(0, half), moments=moments[: middle - 20])
    spent = 0.0
    last = ranker
    seconds = timed(lambda: last.answers(**rows(half, len(objects)), moments=moments[middle:]))
    for turn in range(20):  # after the stream: panes of their own
        more = rows(half, half + pane) | {"times": np.full(pane, int(times[-1]) + 2 + turn)}
        ranker.update(**more)
        spent += timed(lambda at=int(times[-1]) + 3 + turn: (ranker.advance(at), ranker.top(0)))
    return (len(objects) - half) / seconds / 1e6, spent / 20 * 1e6, ranker


def bounded(scale: int) -> None:
    """The backends that estimate, on 8 M rows since any moment."""
    say(f"\n{'since any moment, epsilon 0.01':44} {'M rows/s':>9} {'answer µs':>10} {'MB':>7} {'worst of top':>13}")
    for name, total, keys, exponent in (
        ("misra-gries", "rows", 1_000_000, 0.8),
        ("misra-gries", "rows", 1_000_000, 1.0),
        ("misra-gries", "rows", 10_000, 1.3),
        ("k-skb", "rows", 100_000, 1.0),
        ("k-skb", "distinct", 100_000, 1.0),
    ):
        objects = zipf(8_000_000 // scale, keys, exponent)
        columns = {"values": np.arange(len(objects), dtype=np.uint64)} if total == "distinct" else {}
        for rows in (10_000, len(objects)):  # the first compiles
            ranker: Any = skyband.create(
                "total-ranker", name, windows=[2**40], every=1, k=100, total=total, epsilon=0.01
            )
            times = np.arange(rows)
            part = {key: column[:rows] for key, column in columns.items()}
            seconds = timed(lambda: (ranker.update(times, objects[:rows], **part), len(ranker)))  # noqa: B023
            ranker.since(0)
        asked = timed(lambda: ranker.since(0))  # noqa: B023
        names, counts = np.unique(objects, return_counts=True)
        top = ranker.since(0)
        truth = dict(zip(names.tolist(), counts.tolist(), strict=True))
        error = max(abs(truth[key] - total) for key, total in zip(top.objects.tolist(), top.totals, strict=True))
        label = f"{name}, {total}, K = {keys:,}, s = {exponent}"
        worst = f"{error / len(objects):.4f} N"
        say(f"{label:44} {rows / seconds / 1e6:9.1f} {asked * 1e6:10.0f} {ranker.nbytes / 1e6:7.2f} {worst:>13}")


def peers(rows: int) -> None:
    """The top 10 of 100 panes at every pane, K = 100,000, s = 1, by hand and by the default."""
    objects, pane = zipf(rows, 100_000, 1.0), rows // 200
    names, dense = np.unique(objects, return_inverse=True)
    ways: dict[str, Callable[[], Any]] = {
        "total-ranker/exact": lambda: exactly(objects, pane),
        "numpy, ids already dense: bincount, argpartition": lambda: by_numpy(dense, len(names), pane),
        "Counter, panes added and subtracted": lambda: by_counter(objects[: rows // 10].tolist(), pane // 10),
    }
    exactly(objects[: 2 * pane], pane)
    say(f"\n{'top 10 of 100 panes at every pane':52} {'M rows/s':>9}")
    for label, way in ways.items():
        count = rows // 10 if "Counter" in label else rows
        say(f"{label:52} {count / timed(way) / 1e6:9.2f}")


def exactly(objects: Any, pane: int) -> Any:
    """By the default backend."""
    times = np.arange(len(objects)) // pane
    ranker: Any = skyband.create("total-ranker", "exact", windows=[PANES], every=1, k=10)
    return ranker.answers(times, objects, moments=np.arange(1, int(times[-1]) + 2))


def by_numpy(dense: Any, keys: int, pane: int) -> Any:
    """A ring of counts, one array a pane."""
    totals, ring, tops = np.zeros(keys, np.int64), deque[Any](), []
    for start in range(0, len(dense), pane):
        ring.append(np.bincount(dense[start : start + pane], minlength=keys))
        totals += ring[-1]
        if len(ring) > PANES:
            totals -= ring.popleft()
        best = np.argpartition(totals, keys - 10)[-10:]
        tops.append(best[np.lexsort((best, -totals[best]))])
    return tops


def by_counter(objects: list[int], pane: int) -> Any:
    """A Counter of the window, and one a pane."""
    totals, ring, tops = Counter[int](), deque[Counter[int]](), []
    for start in range(0, len(objects), pane):
        ring.append(Counter(objects[start : start + pane]))
        totals.update(ring[-1])
        if len(ring) > PANES:
            totals.subtract(ring.popleft())
        tops.append(totals.most_common(10))
    return tops


def timed(work: Callable[[], Any]) -> float:
    """Seconds of this thread."""
    start = time.thread_time()
    work()
    return time.thread_time() - start


def say(line: str) -> None:
    """Print a line."""
    sys.stdout.write(line + "\n")


if __name__ == "__main__":
    main()
