"""Repeats figures 4, 5 and 9 to 12 of Dallachiesa et al. (KAIS 2015): windows over uncertain tuples, and their sums.

    python -m tests.bench.papers.uncertain [accuracy windows deviations alphas betas sums] [--quick] [--out DIR]

Probabilities are drawn as in section 7.1, with a standard deviation of 0.1 unless stated. The sums are over series of
`ucr17_train.parquet`, in the folder named by SKYBAND_DATA, perturbed as there; without it, over a random walk.
Figures 6 and 13 to 15, of the join: `python -m tests.bench.papers.uncertain_join`.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import skyband
from skyband.engines import local
from skyband.queries import make_query
from skyband_specs.window.streams import existences
from skyband_uncertain.poisson_binomial import cdf
from skyband_uncertain.windows.poisson_binomial_moments_kernels import fewer_than, sums_of

from ..pictures import Measured
from .experiment import Experiment, main, seconds
from .perturbed_series import uncertain

WINDOWS = ("exact", "rf1", "poisson", "normal", "refined-normal")
APPROXIMATIONS = WINDOWS[2:]
_UNIT = 2.0**45
"""The resolution of the sums that the approximations are computed from."""


def accuracy(sizes: Sequence[int]) -> Measured:
    """Figure 4."""
    rows: list[list[Any]] = []
    for size in sizes:
        p = existences(3, size, 0.1, "normal")
        exact, sums = cdf(p)[:-1], sums_of(p, _UNIT)
        wrong = [
            exact - [fewer_than(kind, count + 1, sums, _UNIT) for count in range(size)]
            for kind in range(len(APPROXIMATIONS))
        ]
        rows.append([size, *(np.sqrt(np.mean(w**2)) for w in wrong), *(np.abs(w).max() for w in wrong)])
    headers = ["tuples", *APPROXIMATIONS, *(f"{name}, largest" for name in APPROXIMATIONS)]
    return Measured("errors of the distribution function", headers, rows, "root mean square error", 3)


def windows(sizes: Sequence[int]) -> Measured:
    """Figure 5."""
    rows: list[list[Any]] = []
    for size in sizes:
        p = existences(1, 4 * size + 40_000, 0.1)
        times = [_time_of(name, size, p) for name in WINDOWS]
        rows.append([size, *times, times[1] / times[0], times[1] / times[4]])
    headers = ["size", *WINDOWS, "rf1 / exact", "rf1 / refined-normal"]
    return Measured("time of a window by its size", headers, rows, "microseconds an arrival", len(WINDOWS))


def _time_of(name: str, size: int, p: Any) -> float:
    """Of a full window. What rf1 keeps is what exact keeps, which takes less time to fill."""
    full = skyband.create("window", "exact", size=size, alpha=0.95)
    full.append(p[: 2 * size])
    window = skyband.create("window", name, size=size, alpha=0.95)
    window.append(p[full.start : 2 * size])
    more = p[2 * size :][: 100 if name == "rf1" else None]
    return seconds(lambda: window.append(more)) / len(more) * 1e6


def _kept(size: int, deviation: float, alpha: float = 0.95, beta: float | None = None) -> float:
    """The mean number of tuples in a full window."""
    p = existences(6, 20 * size, deviation)
    starts = skyband.create("window", "exact", size=size, alpha=alpha, beta=beta).append(p)
    return float((np.arange(len(p)) + 1 - starts)[4 * size :].mean())


def deviations(values: Sequence[float], sizes: Sequence[int] = (100, 200, 500, 1000)) -> Measured:
    """Figure 10."""
    printed = {0.025: 6.12, 0.25: 82.97}
    rows: list[list[Any]] = []
    for value in values:
        more = [_kept(size, value) / size * 100 - 100 for size in sizes]
        rows.append([value, *more, float(np.mean(more)), printed.get(value)])
    headers = ["deviation", *(f"size {size}" for size in sizes), "mean", "paper, mean"]
    return Measured(
        "tuples kept beyond the size, alpha .95", headers, rows, "percent of the size", len(sizes), "linear"
    )


def alphas(values: Sequence[float], size: int = 500) -> Measured:
    """Figure 11."""
    given = (0.05, 0.1, 0.15, 0.2)
    rows: list[list[Any]] = [[value, *(_kept(size, deviation, value) for deviation in given)] for value in values]
    for row in rows:
        row.append(float(np.mean(np.divide(row[1:5], rows[0][1:5]))) * 100 - 100)
    headers = ["alpha", *(f"deviation {deviation}" for deviation in given), "more than in the first row, %"]
    return Measured(f"tuples kept, size {size}", headers, rows, "tuples", len(given), "linear")


def betas(shortfalls: Sequence[float], size: int = 500) -> Measured:
    """Figure 12."""
    given = (0.1, 0.5, 0.9)
    rows: list[list[Any]] = []
    for short in shortfalls:
        without = _kept(size, 0.1, 1 - short)
        rows.append([f"1 - {short:g}", *(_kept(size, 0.1, 1 - short, beta) / without for beta in given)])
    headers = ["alpha", *(f"beta {beta}" for beta in given)]
    return Measured(
        f"tuples kept by uncert-evict-beta, size {size}", headers, rows, "share of uncert-evict", 3, "linear"
    )


def sums(values: Sequence[float], sizes: Sequence[int] = (200, 400, 600, 800, 1000)) -> Measured:
    """Figure 9."""
    stream = uncertain("Coffee", 2 * max(sizes), 7)
    rows = [[str(alpha), *(_change(stream, size, alpha) for size in sizes)] for alpha in values]
    headers = ["alpha", *(f"size {size}" for size in sizes)]
    return Measured("change of the sum against a regular window, Coffee", headers, rows, "mean, percent", len(sizes))


def _change(stream: Any, size: int, alpha: float) -> float:
    """By how many percent the sum differs from that of the last `size` averages."""
    averages = np.array([np.average(v, weights=p) for v, p in zip(stream.values, stream.probabilities, strict=True)])
    plain = np.convolve(averages, np.ones(size), "valid")
    columns = {"values": list(stream.values), "probabilities": list(stream.probabilities)}
    data = pa.table({"row": np.arange(len(stream)), **columns})
    keys = {"time": "row", "values": "values", "probabilities": "probabilities"}
    got = local.apply(data, make_query({"kind": "uncertain-sum", **keys, "size": size, "alpha": alpha}))
    return float(np.mean(np.abs(np.asarray(got["sum"])[size - 1 :] - plain) / np.abs(plain) * 100))


EXPERIMENTS = [
    Experiment(
        "accuracy",
        "Refined normal has the smallest error, below 0.002 from 100 tuples on; all three are worse with fewer "
        "(figure 4).",
        "Agrees: refined normal's is 0.0005 at 100 tuples, and the smallest at each size.",
        partial(accuracy, [10, 20, 50, 100, 200, 500, 1000]),
        partial(accuracy, [20, 100]),
    ),
    Experiment(
        "windows",
        "The time of RF1 grows with the square of the size, that of the approximations linearly; Poisson is the "
        "slowest of them, and refined normal is nearly 100 times as fast as RF1 (figure 5).",
        "Agrees on RF1: 62 times the time for 10 times the size. Differs on the approximations, which keep running "
        "sums, so that their time does not grow and Poisson is the fastest. Refined normal is 124 to 11,700 times as"
        " fast as RF1.",
        partial(windows, [100, 200, 500, 1000]),
        partial(windows, [50, 100]),
    ),
    Experiment(
        "deviations",
        "A window keeps 6.12 % more tuples than its size at a deviation of 0.025, and 82.97 % at 0.25 (figure 10).",
        "Agrees: 6.2 % and 84.8 % at a size of 500; smaller windows keep a larger share.",
        partial(deviations, [0.025, 0.05, 0.1, 0.15, 0.2, 0.25]),
        partial(deviations, [0.025, 0.25], (100, 200)),
    ),
    Experiment(
        "alphas",
        "A window hardly depends on alpha: it keeps 4.83 % more at 0.98 than at 0.5, and far more only at 1 "
        "(figure 11).",
        "Agrees: 4.1 % more at 0.98, by the exact distribution.",
        partial(alphas, [0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.999]),
        partial(alphas, [0.5, 0.98], 100),
    ),
    Experiment(
        "betas",
        "uncert-evict-beta keeps up to 18 % less than uncert-evict, and saves the most at a large alpha (figure 12).",
        "Agrees that a large alpha saves the most. The share is smaller: 1 to 5 % at 0.95, and 11 to 15 % at 1 − "
        "1e-12.",
        partial(betas, [0.5, 0.2, 0.05, 0.01, 1e-6, 1e-12]),
        partial(betas, [0.5, 1e-6], 100),
    ),
    Experiment(
        "sums",
        "The sum differs from that of a regular window by up to 1,800 % at a size of 200, and by less in larger ones "
        "(figure 9).",
        "Agrees on the order: 209 to 846 %. Differs on larger windows, which change as much. The values average 0, "
        "so the mean follows the moments at which the regular sum is nearly 0.",
        partial(sums, [0.5, 0.8, 0.95, 0.99, 0.999]),
        partial(sums, [0.5, 0.95], (100, 200)),
    ),
]

if __name__ == "__main__":
    main(__file__, "Sliding Windows over Uncertain Data Streams", EXPERIMENTS)
