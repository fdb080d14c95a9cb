"""Measures the sketches against their figures and their peers: `python tests/bench/one_process/distinct.py [--quick]`.

Thread CPU seconds, medians of five, everything in one run, so that the ratios hold on a noisy machine too.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import skyband
from skyband.columns.hashing import hash_column
from skyband.roles import Sketch
from skyband_distinct.k_skb.sweep_kernel import hash_all
from skyband_distinct.salts import salt
from skyband_distinct.sketch_sizes import skyband_size, subsketches

SKETCHES = ("pcsa-ml", "exact", "k-skb", "se-pcsa", "se-fm")
ROWS = 1_000_000
TREE_ROWS = 300_000
SLOW = {"se-fm": 100_000}
TARGETS = {"k-skb": 3e6, "se-pcsa": 3e6, "se-fm": 2e5}


def main() -> None:
    """Print every figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer seeds for the errors")
    quick = parser.parse_args().quick
    throughput()
    trees()
    default()
    for name in ("pcsa-ml", "k-skb", "se-pcsa"):
        errors(name, 3 if quick else 12, ROWS)
    errors("se-fm", 2 if quick else 6, 100_000)


def throughput() -> None:
    """Keys a second: distinct integers in time order, whole batches, small ones, and the peer one call an item."""
    import datasketches
    import pyarrow as pa

    numbers = np.arange(ROWS)
    items = numbers.tolist()

    def one_call_an_item() -> None:
        update = datasketches.hll_sketch(13).update
        for item in items:
            update(item)

    peer = ROWS / median(one_call_an_item)
    hashed = hash_column(pa.array(numbers))
    hashing = median(lambda: hash_column(pa.array(numbers)))
    say("DataSketches HLL, one call an item", f"{peer / 1e6:.1f} M keys/s")
    say("hashing an int64 column", f"{ROWS / hashing / 1e6:.0f} M keys/s")
    for name in SKETCHES:
        keys = hashed[: SLOW.get(name, ROWS)]
        whole = rate(name, keys, len(keys))
        small, few = rate(name, keys, 10_000), rate(name, keys % np.uint64(300), 10_000)
        until = f"; until {TARGETS[name] / 1e6:g}" if name in TARGETS else ""
        figures = (
            f"{whole / 1e6:.2f} M keys/s, {small / 1e6:.2f} in batches of 10,000, {few / 1e6:.2f} of 300 keys{until}"
        )
        say(f"{name}, {len(keys):,} keys", figures)
        if name == "pcsa-ml":
            with_hash = len(keys) / (len(keys) / whole + hashing)
            say("  against DataSketches", f"{whole / peer:.1f} times, {with_hash / peer:.1f} with hashing; until 10")


def trees() -> None:
    """k-skb, three subsketches in batches of 10,000, against as many of the paper's trees over the same keys."""
    sys.path.append(str(Path(__file__).parents[2]))  # numba's cache knows the module by the name the tests give it
    from bench.one_process.das_tree import kept_rows

    salts = [salt(0, index) for index in range(subsketches(0.05))]
    k = skyband_size(0.02, 0.05, len(salts))
    kept_rows(spread(0, 1_000), k)
    for share in (0.2, 0.9, 0.99):
        keys = repeating(share, TREE_ROWS)
        hashes = [hash_all(keys, word) for word in salts]
        start = time.thread_time()
        for some in hashes:
            kept_rows(some, k)
        tree, sweep = TREE_ROWS / (time.thread_time() - start), rate("k-skb", keys, 10_000)
        figures = f"{sweep / 1e6:.2f} M keys/s, trees {tree / 1e6:.3f}: {sweep / tree:.0f} times"
        say(f"k-skb, {TREE_ROWS:,} keys, {share:.0%} repeated", figures)


def rate(name: str, keys: np.ndarray, batch: int) -> float:
    """Keys a second."""
    times = np.arange(len(keys))
    return len(keys) / median(lambda: fed(name, times, keys, batch))


def repeating(share: float, count: int) -> np.ndarray:
    """Keys of which a share has been there before."""
    rng = np.random.default_rng(0)
    fresh = np.cumsum(rng.random(count) >= share)
    return spread(0, count + 1)[np.where(np.diff(fresh, prepend=0) > 0, fresh, (rng.random(count) * fresh).astype(int))]


def default() -> None:
    """The default's estimate, merge, snapshot and restore, after a million keys with microseconds for times."""
    times = np.arange(ROWS) * 3_600_000
    sketches = [fed("pcsa-ml", times, spread(at * ROWS, ROWS), ROWS) for at in range(64)]
    sketch, blob = sketches[0], sketches[0].snapshot()

    def merge() -> None:
        union = skyband.create("sketch", "pcsa-ml")
        for other in sketches:
            union.merge(other)

    moments = iter(np.linspace(0, ROWS - 500, 1_000).astype(int) * 3_600_000)
    say("estimate", f"{median(lambda: sketch.estimate(int(next(moments))), 500) * 1e3:.3f} ms, until 0.2")
    say("merge 64 sketches of a million keys each", f"{median(merge) * 1e3:.1f} ms, until 10")
    say("snapshot", f"{len(blob) / 1e3:.0f} KB, until 600; {median(sketch.snapshot) * 1e3:.2f} ms")
    say("restore", f"{median(lambda: skyband.restore(blob)) * 1e3:.2f} ms, until 5")


def errors(name: str, seeds: int, most: int) -> None:
    """Rms error over log-uniform counts from 50 on, at random moments of streams with a fifth of repeated keys."""
    found, beyond = [], 0
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        keys = spread(seed * most, most)
        repeated = rng.random(most) < 0.2
        keys[repeated] = keys[rng.integers(0, most, int(repeated.sum()))]
        sketch = skyband.create("sketch", name, seed=seed)
        sketch.update(np.arange(most), keys)
        last = np.sort(last_times(keys))
        counts = np.exp(rng.uniform(np.log(50), np.log(len(last)), 150)).astype(int)
        error = np.array([sketch.estimate(int(last[len(last) - count])) / count - 1 for count in counts])
        found.append(error)
        beyond += int((np.abs(error) > 0.02).sum())
    rms = 100 * float(np.sqrt(np.mean(np.square(found))))
    say(f"{name}, rms error of {seeds * 150} answers from 50 to {most:,}", f"{rms:.2f} %; {beyond} beyond 2 %")


def last_times(keys: np.ndarray) -> np.ndarray:
    """The last row of each distinct key."""
    _, first = np.unique(keys[::-1], return_index=True)
    return len(keys) - 1 - first


def fed(name: str, times: np.ndarray, keys: np.ndarray, batch: int) -> Sketch:
    """A sketch of the keys, asked once, so that nothing is left undone."""
    sketch = skyband.create("sketch", name)
    for start in range(0, len(keys), batch):
        sketch.update(times[start : start + batch], keys[start : start + batch])
    sketch.estimate(0)
    return sketch


def spread(first: int, count: int) -> np.ndarray:
    """Distinct keys."""
    return np.arange(first, first + count, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)


def median(call: Callable[[], object], times: int = 5) -> float:
    """CPU seconds of a call."""
    call()
    taken = []
    for _ in range(times):
        start = time.thread_time()
        call()
        taken.append(time.thread_time() - start)
    return statistics.median(taken)


def say(what: str, figure: str) -> None:
    """One line of the table."""
    print(f"{what:<58} {figure}")  # noqa: T201


if __name__ == "__main__":
    main()
