"""Vector matchers against a plain product of numpy: arrivals a second, by how the vectors lie.

    python tests/bench/one_process/near_vectors.py [--window 10000] [--threshold 0.9] [--only text]

text      as of texts: a few directions hold most of a vector, a tenth are near copies; 384 dimensions
sphere    even in all directions, a tenth near copies; 768 dimensions
cone      all point one way (median cosine .7), as embeddings of some models do; 384 dimensions

A window of rows is filled, then the ways take turns with the same 64 arrivals: `exact`, `flat`, and numpy's `@` of
the arrivals with the window, of vectors of length 1, followed by `nonzero`. CPU time of this thread, the least of the
turns: machines are noisy. Run with OPENBLAS_NUM_THREADS=1. That both matchers report the same is checked.
"""

import argparse
import time

import numpy as np
import skyband
from skyband.text_tables import table

AT_ONCE, TURNS = 64, 20


def vectors_of(kind: str, rows: int) -> np.ndarray:
    """float32[rows, d]."""
    rng = np.random.default_rng([72, len(kind)])
    dimensions = 768 if kind == "sphere" else 384
    spread = 1.0 if kind == "sphere" else (1.0 + np.arange(dimensions)) ** -0.5
    vectors = rng.standard_normal((rows, dimensions)).astype(np.float32) * np.float32(1) * spread
    if kind == "cone":
        vectors[:, 0] += 1.55 * np.sqrt((vectors**2).sum(axis=1).mean())
    copies = np.flatnonzero(rng.random(rows) < 0.1)[1:]
    noise = rng.standard_normal((len(copies), dimensions)) * spread * 0.3
    vectors[copies] = vectors[(copies * rng.random(len(copies))).astype(int)] + noise
    turned, _ = np.linalg.qr(rng.standard_normal((dimensions, dimensions)))
    return np.ascontiguousarray(vectors @ turned, np.float32)


def measure(kind: str, window: int, threshold: float) -> list[str]:
    """A line of the table: microseconds of an arrival by each way, and what they say of each other."""
    vectors = vectors_of(kind, window + 2 * AT_ONCE * (TURNS + 1))
    shape = {"dimensions": vectors.shape[1], "window": window, "threshold": threshold, "by": "rows"}
    matchers = {name: skyband.create("vector-matcher", name, **shape) for name in ("exact", "flat")}
    start = len(vectors) - AT_ONCE * TURNS
    for matcher in matchers.values():
        for row in range(0, start, 256):
            stop = min(row + 256, start)
            matcher.update(np.arange(row, stop), vectors[row:stop])
    directions = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    took: dict[str, list[float]] = {"exact": [], "flat": [], "numpy @": []}
    for row in range(start, len(vectors), AT_ONCE):
        answers, some = [], slice(row, row + AT_ONCE)
        for name, matcher in matchers.items():
            begin = time.thread_time()
            answers.append(matcher.update(np.arange(row, row + AT_ONCE), vectors[some]))
            took[name].append(time.thread_time() - begin)
        assert all(np.array_equal(one, other) for one, other in zip(*answers, strict=True)), "matchers differ"
        begin = time.thread_time()
        np.nonzero(directions[some] @ directions[row - window : row].T >= threshold)
        took["numpy @"].append(time.thread_time() - begin)
    least = {name: min(times) / AT_ONCE * 1e6 for name, times in took.items()}
    prefix = matchers["exact"]._prefix
    return [
        f"{kind} {vectors.shape[1]}", "all" if prefix is None else str(len(prefix)),
        *(f"{value:.1f}" for value in least.values()),
        f"{least['flat'] / least['exact']:.2f}", f"{least['numpy @'] / least['exact']:.2f}",
    ]  # fmt: skip


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--window", type=int, default=10_000)
    parser.add_argument("--threshold", type=float, default=0.9)
    parser.add_argument("--only", nargs="+", default=["text", "sphere", "cone"])
    options = parser.parse_args()
    names = ["vectors", "p", "exact us", "flat us", "numpy @ us", "flat / exact", "@ / exact"]
    lines = [measure(kind, options.window, options.threshold) for kind in options.only]
    print(f"window of {options.window:,} rows, cosine {options.threshold}")  # noqa: T201
    table(names, lines)


if __name__ == "__main__":
    main()
