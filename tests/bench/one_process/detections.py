"""Key-counters: nanoseconds of a row and bytes of a key, of rows, distinct values and unseen keys.

    python tests/bench/one_process/detections.py

Rows over an hour, keys uniform or of a Zipf distribution, in batches of 100,000. CPU time of this thread, least of the
second half of the batches: machines are noisy.
"""

import time

import numpy as np
import skyband

HOUR = 3_600_000_000
ROWS, BATCH = 2_000_000, 100_000


def main() -> None:
    """Print a line for each case."""
    print("measure   keys       most  asked  ns a row   bytes a key")  # noqa: T201
    for keys in (1_000, 50_000, 1_000_000):
        measure("rows", keys, 10)
    measure("rows", 50_000, 10, zipf=True)
    measure("rows", 50_000, 10, bounds=range(1, 11))
    measure("rows", 50_000, 10, seconds=True)
    for keys in (50_000, 1_000_000):
        measure("unseen", keys, 1)
    measure("distinct", 1_000, 100, window=240_000_000)
    measure("distinct", 1_000, 100, window=240_000_000, values=50)
    measure("distinct", 50_000, 10, values=50)


def measure(
    kind: str, keys: int, most: int, window: int = HOUR // 6, bounds: range | None = None, zipf: bool = False,
    seconds: bool = False, values: int = 0,
) -> None:  # fmt: skip
    """values: how many distinct ones; 0: all are new. seconds: times are whole seconds, so that many rows share one."""
    rng = np.random.default_rng(1)
    asked = [most] if bounds is None else list(bounds)
    counter = skyband.create("key-counter", measure=kind, longest=window, most=most)
    moments = np.sort(rng.integers(0, HOUR, ROWS)) + np.arange(ROWS)
    moments = moments // 1_000_000 * 1_000_000 if seconds else moments
    names = (rng.zipf(1.1, ROWS) % keys if zipf else rng.integers(0, keys, ROWS)).astype(np.uint64)
    names *= np.uint64(0x9E3779B97F4A7C15)
    items = (rng.integers(0, values, ROWS) if values else np.arange(ROWS)).astype(np.uint64)
    further = {} if kind == "unseen" else {"at_least": asked}
    took, start = [], 0
    while start < ROWS:
        stop = int(np.searchsorted(moments, moments[min(start + BATCH, ROWS) - 1], side="right"))
        own = items[start:stop] if kind == "distinct" else None
        begin = time.thread_time()
        counter.update(moments[start:stop], names[start:stop], own, windows=[window] * len(asked), **further)
        took.append((time.thread_time() - begin) / (stop - start))
        start = stop
    label = f"{kind:9} {keys:<9,} {most:5} {len(asked):6}"
    print(f"{label} {min(took[len(took) // 2 :]) * 1e9:9.0f} {counter.nbytes / keys:13.0f}")  # noqa: T201


if __name__ == "__main__":
    main()
