"""Quantile sketches beside numpy, sorted blocks and KLL by pane: rows alone, with answers, any moment, states, unions.

    python tests/bench/one_process/quantiles.py [--rows 1000000] [--streams lognormal millis]

Thread CPU time, the median of `--repeats` runs. KLL needs `pip install datasketches`.
"""

import argparse
import sys
import time
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from statistics import median

import numpy as np
import skyband
import sorted_blocks

AT = (0.5, 0.95, 0.99)
PANES = 100


def _say(text: str, end: str = "\n") -> None:
    sys.stdout.write(text + end)
    sys.stdout.flush()


def streams(rows: int) -> dict[str, Callable[[], np.ndarray]]:
    """Kind and unkind ones."""
    rng = np.random.default_rng(1)
    latencies = np.exp(rng.normal(np.log(40), 1, rows))
    return {
        "lognormal": lambda: latencies,
        "millis": lambda: np.rint(latencies),
        "20 values": lambda: rng.integers(0, 20, rows) * 1.0,
        "drift": lambda: latencies * np.exp(np.arange(rows) / rows * np.log(1e4)),
        "hang": lambda: np.where(rng.random(rows) < 1e-4, 1e9 * rng.random(rows), latencies / 10),
        "rising": lambda: np.arange(rows) * 1.0,
        "falling": lambda: rows - np.arange(rows) * 1.0,
        "both signs": lambda: rng.normal(0, 1, rows),
        "one ulp apart": lambda: (np.float64(1e5).view(np.int64) + rng.integers(0, 5000, rows)).view(np.float64),
    }


def timed(run: Callable[[], object], repeats: int) -> float:
    """Seconds of this thread, the median."""
    found = []
    for _ in range(repeats):
        start = time.thread_time()
        run()
        found.append(time.thread_time() - start)
    return median(found)


def answered(name: str, values: np.ndarray, windows: list[int], repeats: int) -> float:
    """ns a row of the second half of a stream, with an answer each 1,000th of a window; no window: rows alone."""
    rows = len(values) // 2
    times = np.arange(len(values))
    moments = np.arange(rows, 2 * rows, rows // 1000) + 1 if windows else np.empty(0, np.int64)

    def run() -> float:
        sketch = skyband.create("quantile-sketch", name, longest=rows, every=max(rows // PANES, 1))
        sketch.update(times[:rows], values[:rows])
        start = time.thread_time()
        sketch.answers(times[rows:], values[rows:], moments=moments, windows=windows or [rows], at=AT)
        return (time.thread_time() - start) / rows * 1e9

    return median(run() for _ in range(repeats))


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of a window")
    parser.add_argument("--streams", nargs="*", help="some of the streams")
    parser.add_argument("--united", type=int, default=1_000_000, help="rows of each state of a union")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    rows, made = options.rows, streams(2 * options.rows)
    for label in options.streams or made:
        values = made[label]()
        partition = timed(lambda values=values: np.partition(values[:rows], rows // 2), options.repeats)
        _say(f"{label}: a numpy partition of the window takes {partition * 1e3:.1f} ms")
        for name in ("buckets", "exact", "k-skb"):
            alone = answered(name, values, [], options.repeats)
            one = answered(name, values, [rows], options.repeats)
            three = answered(name, values, [rows, rows // 2, rows // 10], options.repeats)
            _say(f"  {name:8} {alone:5.0f} ns a row, {one:5.0f} with answers, {three:5.0f} over three windows", end="")
            sketch = skyband.create("quantile-sketch", name, longest=rows, every=rows // PANES)
            sketch.update(np.arange(2 * rows), values)
            moments = np.random.default_rng(2).integers(rows, 2 * rows, 40)
            any_moment = (
                timed(lambda sketch=sketch, moments=moments: [sketch.quantiles(m, AT) for m in moments], 3) / 40
            )
            _say(f"; any moment {any_moment * 1e6:.0f} us; {sketch.nbytes:,} bytes, a state {len(sketch.snapshot()):,}")
            errors = _errors(sketch, values, [2 * rows - rows // PANES * part for part in (1, 7, 40, 100)])
            _say(f"           at borders off by {errors[0]:.2%} on average, outside its bounds {errors[1]} times")
        if label in ("lognormal", "millis"):
            blocks = sorted_blocks.measured(values, AT, options.repeats)
            exact = answered("exact", values, [rows], options.repeats)
            _say(f"  sorted blocks {blocks:.0f} ns a row with answers, {blocks / exact:.1f} times exact's {exact:.0f}")
        if find_spec("datasketches"):
            _kll(values[rows:], rows)
    _union(options.united)


def _errors(sketch: object, values: np.ndarray, moments: list[int]) -> tuple[float, int]:
    off, outside = [], 0
    for since in moments:
        inside = np.sort(values[since:])
        for q, (value, low, high) in zip(AT, sketch.quantiles(since, AT), strict=True):  # type: ignore[attr-defined]
            true = inside[max(1, -(-int(q * 100) * len(inside) // 100)) - 1]
            off.append(abs(value - true) / max(abs(true), 1e-300))
            outside += not low <= true <= high
    return float(np.mean(off)), outside


def _union(rows: int) -> None:
    """64 and 100 states together, beside the sketch of all rows."""
    from skyband import states

    made = {}
    for part in range(100):
        made[part] = skyband.create("quantile-sketch", longest=rows, every=max(rows // PANES, 1))
        made[part].update(np.arange(rows), _part(part, rows))
    whole = skyband.create("quantile-sketch", longest=rows, every=max(rows // PANES, 1))
    one = skyband.create("quantile-sketch", longest=rows, every=max(rows // PANES, 1))
    start = time.thread_time()
    for part in range(64):
        whole.merge(made[part])
    whole.count(whole.now)
    united = time.thread_time() - start
    step = max(rows // PANES, 1)
    for start in range(0, rows, step):
        some = np.stack([_part(part, rows)[start : start + step] for part in range(64)]).T
        one.update(np.repeat(np.arange(start, start + len(some)), 64), some.ravel())
    nodes = [len(skyband.snapshot.decode(sketch.snapshot()).arrays["first"]) for sketch in (whole, one)]
    blobs = [sketch.snapshot() for sketch in made.values()]
    read = timed(lambda: states.quantiles(blobs, since=rows // 3, q=AT), 3)
    _say(f"union of 64 states of {rows:,} rows: {united * 1e3:.0f} ms, {nodes[0]} nodes, one stream's {nodes[1]}")
    _say(f"100 states of {rows:,} rows read and asked together: {read * 1e3:.0f} ms")


@cache
def _part(part: int, rows: int) -> np.ndarray:
    return np.exp(np.random.default_rng([3, part]).normal(np.log(40), 1, rows))


def _kll(values: np.ndarray, rows: int) -> None:
    from datasketches import kll_doubles_sketch

    start = time.thread_time()
    sketches = []
    for part in np.array_split(values, PANES):
        sketch = kll_doubles_sketch(200)
        sketch.update(part)
        sketches.append(sketch)
    cost = (time.thread_time() - start) / rows * 1e9
    whole = kll_doubles_sketch(200)
    for sketch in sketches:
        whole.merge(sketch)
    inside = np.sort(values)
    true = inside[-(-99 * rows // 100) - 1]
    size = sum(len(sketch.serialize()) for sketch in sketches)
    off = abs(whole.get_quantile(0.99) - true) / max(abs(true), 1e-300)
    _say(f"  KLL      {cost:5.0f} ns a row alone; {size:,} bytes by pane; its p99 off by {off:.1%}")


if __name__ == "__main__":
    main()
