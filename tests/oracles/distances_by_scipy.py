"""Compares distances of random windows with scipy: `python tests/oracles/distances_by_scipy.py --windows 1000000`.

    python tests/oracles/distances_by_scipy.py [--windows 10000] [--minutes M] [--seed N]

Each seed is two streams, and some pairs of windows of them. Bounds that do not hold print the seed, and `--seed` plays
it again. Minutes are of CPU time.
"""

import argparse
import math
import secrets
import sys
import time
from fractions import Fraction
from itertools import count
from typing import Any

import numpy as np
import scipy
import skyband
from skyband.states.state import read_state
from skyband_quantiles.distances import kolmogorov_smirnov, population_stability, steps_of, wasserstein
from skyband_quantiles.steps_in_bytes import from_bytes, to_bytes

PAIRS = 60
"""The pairs of windows of one seed."""
LONGEST = 1 << 20
_KINDS = 11


def values_of(rng: Any, rows: int, kind: int) -> Any:
    """Values of a kind: many different ones, few, equal ones, near each other, infinite, the largest, the smallest."""
    if kind == 0:
        return rng.lognormal(rng.normal() / 5, 1, rows)
    if kind == 1:
        return rng.integers(-50, 50, rows).astype(float)
    if kind == 2:
        return rng.choice([0.0, 0.1, 7.0], rows, p=[0.9, 0.07, 0.03])
    if kind == 3:
        return np.full(rows, float(rng.integers(3)))
    if kind == 4:
        return 1e9 + rng.normal(0, 1e-3, rows)
    if kind == 5:
        return np.where(rng.random(rows) < 0.1, rng.choice([-np.inf, np.inf], rows), rng.normal(0, 9, rows))
    if kind == 6:
        return rng.normal(0, 1, rows) * 10.0 ** rng.integers(-300, 307, rows)
    if kind == 7:
        return np.round(rng.normal(0, 30, rows), 1)
    if kind == 8:
        return np.where(rng.random(rows) < 0.6, 5.0, rng.lognormal(1.6, 0.2, rows))
    if kind == 9:
        return rng.choice([-5e-324, -0.0, 0.0, 5e-324, 1e-310, 1.0], rows)
    return np.where(rng.random(rows) < 0.3, 1.0, 1.0 + rng.exponential(10.0 ** rng.integers(-4, 2), rows))


class Stream:
    """Rows, a sketch of them, and the reader of its state."""

    def __init__(self, rng: Any, kind: int, backend: dict[str, Any], cuts: tuple[float, ...]) -> None:
        rows = int(rng.choice([1, 3, 60, 400, 1500, 4000], p=[0.07, 0.08, 0.15, 0.3, 0.25, 0.15]))
        spread = int(rng.choice([1, 300, LONGEST // 2]))
        self.times = np.sort(rng.integers(0, spread, rows))
        self.values = values_of(rng, rows, kind) + 0.0
        self.sketch = skyband.create("quantile-sketch", longest=LONGEST, cuts=cuts, **backend)
        for times, values in zip(*(np.array_split(of, 3) for of in (self.times, self.values)), strict=True):
            self.sketch.update(times, values)
        self.reader = read_state(self.sketch.snapshot()).reader

    def begin(self, rng: Any) -> int:
        """A moment since which there are rows: of any row, also of the first or last, or at a border."""
        row = int(rng.choice([0, len(self.times) - 1, rng.integers(len(self.times))], p=[0.15, 0.1, 0.75]))
        since = int(self.times[row])
        return max(since // 256 * 256 if rng.random() < 0.3 else since, 0)

    def steps(self, rng: Any, since: int) -> Any:
        """What is known of a window: by its state, by the sketch, or as remembered after it has ended."""
        way, cuts = rng.integers(3), self.sketch.cuts
        if way == 0:
            return steps_of(self.reader.read_windows([self.reader], [since]), cuts)
        steps = steps_of(self.sketch.readings([since])[0], cuts)
        return steps if way == 1 else from_bytes(*to_bytes(steps, cuts, self.sketch.keeps_rows), cuts)

    def window(self, since: int) -> Any:
        """The values in a window."""
        return self.values[self.times >= since]


def differences(seed: int) -> tuple[int, int, list[str]]:
    """Compares the windows of a seed: how many pairs, how many with unequal bounds, and what does not hold."""
    rng = np.random.default_rng(seed)
    name = str(rng.choice(["buckets", "exact"], p=[0.85, 0.15]))
    backend: dict[str, Any] = {"name": name, "every": int(rng.choice([1, 256, LONGEST // 64]))}
    if name == "buckets":
        backend |= {"alpha": float(rng.choice([0.01, 0.05, 0.2])), "epsilon": float(rng.choice([0.1, 0.5, 0.5]))}
    kind = int(rng.integers(_KINDS))
    cuts = tuple(sorted(set(rng.choice([-3.0, 0.0, 0.5, 1.0, 5.0, 7.0], 3).tolist()))) if rng.random() < 0.5 else ()
    one = Stream(rng, kind, backend, cuts)
    other = one if rng.random() < 0.1 else Stream(rng, int(rng.choice([kind, rng.integers(_KINDS)])), backend, cuts)
    unequal, wrong = 0, []
    for _ in range(PAIRS):
        since, other_since = one.begin(rng), other.begin(rng)
        if one is other and rng.random() < 0.5:
            other_since = since
        steps = one.steps(rng, since), other.steps(rng, other_since)
        rows = one.window(since), other.window(other_since)
        ends = np.array(cuts or sorted(set(rng.choice(np.concatenate(rows), 3).tolist())))
        found = kolmogorov_smirnov(*steps), wasserstein(*steps), population_stability(*steps, ends)
        unequal += found[0][1] < found[0][2]
        of_what = f"{name}, kind {kind}, since {since} and {other_since}"
        wrong += [f"{fault}: {of_what}" for fault in faults(found, rows, ends, steps)]
    return PAIRS, unequal, wrong


def faults(found: Any, rows: Any, ends: Any, steps: Any) -> list[str]:
    """What is wrong with the three distances of two windows with these rows."""
    known = all(own.exact for own in steps)
    faults = []
    with np.errstate(divide="ignore"):  # in its p-value
        statistic = float(scipy.stats.ks_2samp(*rows, method="asymp").statistic)
    truth = largest_gap(*rows)
    if abs(statistic - truth) > 1e-14:
        faults.append(f"scipy's ks is {statistic!r}, by whole numbers {truth!r}")
    faults += outside("ks", found[0], truth, 0.0, known)
    if not all(np.isfinite(own).all() for own in rows):
        if found[1] is not None:
            faults.append(f"wasserstein of infinite values is {found[1]}")
    elif max(np.abs(own).max() for own in rows) < 1e300:
        area = float(scipy.stats.wasserstein_distance(*rows))
        faults += outside("wasserstein", found[1], area, 1e-12, known)
    parts = [
        (np.bincount(np.searchsorted(ends, own), minlength=len(ends) + 1) + 0.5) / (len(own) + (len(ends) + 1) / 2)
        for own in rows
    ]
    index = math.fsum((parts[0] - parts[1]) * np.log(parts[0] / parts[1]))
    return faults + outside("psi", found[2], index, 1e-12, known)


def largest_gap(ours: Any, theirs: Any) -> float:
    """The largest difference of the two distribution functions, in whole numbers."""
    numbers = np.concatenate([ours, theirs])
    below = [np.searchsorted(np.sort(own), numbers, side="right") for own in (ours, theirs)]
    gap = int(np.abs(below[0] * len(theirs) - below[1] * len(ours)).max())
    return float(Fraction(gap, len(ours) * len(theirs)))


def outside(of: str, found: Any, truth: float, tolerance: float, known: bool) -> list[str]:
    """What is wrong with a distance: value, low, high. known: all values are, so that the bounds are equal."""
    if found is None:
        return [f"{of} is None"]
    value, low, high = found
    slack = tolerance * abs(truth) + (tolerance and 1e-300)
    if not (low <= truth + slack and truth - slack <= high and low <= value <= high):
        return [f"{of} is {truth!r}, outside of {low!r} to {high!r}, or {value!r} is"]
    return [f"{of} has the bounds {low!r} and {high!r}, though all values are known"] if known and low != high else []


def main(windows: int, minutes: float, seed: int | None) -> int:
    """Returns the exit status: 1 if bounds did not hold."""
    first, done, inexact, failed = secrets.randbits(40) if seed is None else seed, 0, 0, 0
    begin = time.process_time()
    for number in count():
        pairs, unequal, wrong = differences(first + number)
        for line in wrong:
            print(f"--seed {first + number}: {line}")  # noqa: T201
        done, inexact, failed = done + pairs, inexact + unequal, failed + len(wrong)
        seconds = time.process_time() - begin
        ends = seed is not None or done >= windows or seconds >= 60 * minutes
        if ends or number % 100 == 99:
            told = (
                f"{done:,} pairs of windows, {inexact:,} with unequal bounds of ks; {failed:,} wrong; {seconds:,.0f} s"
            )
            print(told, flush=True)  # noqa: T201
        if ends:
            break
    return int(failed > 0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--windows", type=int, default=10_000, help="how many pairs of windows (default: 10000)")
    parser.add_argument("--minutes", type=float, default=math.inf, help="at most so much CPU time")
    parser.add_argument("--seed", type=int, help="play this seed once, as a failure printed it")
    given = parser.parse_args()
    sys.exit(main(given.windows, given.minutes, given.seed))
