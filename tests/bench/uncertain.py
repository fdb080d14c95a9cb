"""Uncertain windows and joins against their paper: figures 4 to 15 of Dallachiesa et al. (KAIS 2015) as tables.

    python tests/bench/uncertain.py windows | cdf | accuracy | memory | sum | join [--pictures DIR]

windows   time an arrival by backend and size; rf1 recomputes everything, as the paper does (figure 5 is its C++)
cdf       the whole distribution of n tuples beside scipy and, where it is installed, fast_poibin
accuracy  RMSE and largest error of the approximations (figure 4), F1 of the join they lead to (figure 6, eq. 30)
memory    tuples kept beyond `size` by deviation and alpha (figures 10, 11), and what beta saves of them (figure 12)
sum       change of the sum against a window of the last `size` tuples (figure 9), then its two readings by data set
join      time a tuple by matcher, over sizes, samples and data sets (figures 13 to 15), at a selectivity of 0.05 %

`sum` and `join` perturb the series of ucr17_train.parquet, in the folder named by SKYBAND_DATA, as section 7.1 does;
without it, a random walk. Times are those of this thread, the median of three runs.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import skyband
from pictures import Measured, draw
from skyband.engines import local
from skyband.queries import make_query
from skyband.text_tables import table
from skyband_specs.matcher.streams import MatcherStream, perturbed
from skyband_specs.window.streams import existences
from skyband_uncertain.poisson_binomial import cdf

WINDOWS = ("exact", "rf1", "poisson", "normal", "refined-normal")
APPROXIMATIONS = WINDOWS[2:]
MATCHERS = ("nested-loop", "index-match", "sort-match", "block")
SELECTIVITY = 0.0005
ROWS = 2000
Rows = list[list[Any]]


def seconds(call: Callable[[], Any], runs: int = 3) -> float:
    """The median time of a call, after one to warm up."""
    call()
    taken = []
    for _ in range(runs):
        started = time.thread_time()
        call()
        taken.append(time.thread_time() - started)
    return sorted(taken)[runs // 2]


def windows() -> list[Measured]:
    """Microseconds an arrival."""
    rows: Rows = []
    for size in (100, 500, 1000, 10_000):
        p = existences(1, 4 * size + 40_000, 0.1)
        times = []
        for name in WINDOWS:
            window = skyband.create("window", name, size=size, alpha=0.95)
            if name == "rf1" and size > 1000:
                times.append(None)
                continue
            # rf1 would take minutes to fill; what it then keeps is the same.
            filled = p[: 2 * size]
            full = skyband.create("window", "exact", size=size, alpha=0.95)
            full.append(filled)
            window.append(filled[full.start :])
            more = p[2 * size :][: 200 if name == "rf1" else None]
            times.append(seconds(lambda window=window, more=more: window.append(more)) / len(more) * 1e6)
        ratio = None if times[1] is None else times[1] / times[0]
        rows.append([size, *times, ratio])
    headers = ["size", *WINDOWS, "rf1 / exact"]
    return [Measured("time of a window (compare figure 5)", headers, rows, "microseconds an arrival", len(WINDOWS))]


def distribution() -> list[Measured]:
    """Milliseconds for the whole distribution."""
    from scipy.stats import poisson_binom

    try:
        from fast_poibin import PoiBin
    except ImportError:
        PoiBin = None
    rows: Rows = []
    for count in (100, 1000, 10_000):
        p, counts = existences(2, count, 0.1), np.arange(count + 1)
        ours = cdf(p)
        line: list[Any] = [count, seconds(lambda p=p: cdf(p)) * 1e3, None, None, None, None]
        if count <= 1000:
            line[2] = seconds(lambda p=p, counts=counts: poisson_binom.cdf(counts, p), 1) * 1e3
            line[4] = f"{np.abs(ours - poisson_binom.cdf(counts, p)).max():.0e}"
        if PoiBin is not None:
            line[3] = seconds(lambda p=p: PoiBin(p.tolist()).cdf) * 1e3
            line[5] = f"{np.abs(ours - PoiBin(p.tolist()).cdf).max():.0e}"
        rows.append(line)
    headers = ["tuples", "skyband", "scipy", "fast_poibin", "scipy is off by", "fast_poibin is off by"]
    return [Measured("the whole distribution function", headers, rows, "milliseconds", 3)]


def accuracy() -> list[Measured]:
    """Errors of the approximations, and what they do to a join."""
    errors: Rows = []
    for size in (10, 20, 50, 100, 200, 500, 1000):
        p = existences(3, size, 0.1, "normal")
        exact = cdf(p)[:-1]
        wrong = [exact - [_below(name, p, count + 1) for count in range(size)] for name in APPROXIMATIONS]
        errors.append([size, *(np.sqrt(np.mean(w**2)) for w in wrong), *(np.abs(w).max() for w in wrong)])
    scores: Rows = []
    for size in (20, 50, 100, 200):
        data, epsilon = _two_sides(5 * size + 500), 0.35
        right = _joined(data, size, epsilon, "exact")
        scores.append([size, *(_f1(right, _joined(data, size, epsilon, name)) for name in APPROXIMATIONS), len(right)])
    largest = [f"{name}, largest" for name in APPROXIMATIONS]
    return [
        Measured(
            "errors of the distribution function (figure 4)",
            ["tuples", *APPROXIMATIONS, *largest],
            errors,
            "root mean square error",
            3,
        ),
        Measured("F1 of the join (figure 6)", ["size", *APPROXIMATIONS, "matches"], scores, "F1", 3, "linear"),
    ]


def _below(name: str, p: Any, size: int) -> float:
    """The backend's own P(fewer than size of p exist), without its guard, by asking for one more tuple."""
    from skyband_uncertain.windows.poisson_binomial_moments_kernels import fewer_than, sums_of

    kind = APPROXIMATIONS.index(name)
    return float(fewer_than(kind, size, sums_of(p, 2.0**45), 2.0**45))


def _two_sides(rows: int, dataset: str = "Coffee") -> pa.Table:
    stream = perturbed(_series(dataset, rows), 4)
    sides = np.random.default_rng(5).integers(0, 2, rows)
    columns = {"values": list(stream.values), "probabilities": list(stream.probabilities)}
    return pa.table({"row": np.arange(rows), "side": sides, **columns})


def _joined(data: pa.Table, size: int, epsilon: float, window: str) -> dict[tuple[int, int], float]:
    columns = {"time": "row", "id": "row", "side": "side", "values": "values", "probabilities": "probabilities"}
    asked = make_query({"kind": "uncertain-join", **columns, "size": size, "epsilon": epsilon, "beta": 0.3})
    found = local.apply(data, asked, {"window": window}).to_pydict()
    return dict(zip(zip(found["left"], found["right"], strict=True), found["probability"], strict=True))


def _f1(right: dict[Any, float], got: dict[Any, float]) -> float:
    """Eq. 30: each match counts less by how far its probability is off."""
    weight = sum(1 - abs(right[pair] - got[pair]) for pair in right.keys() & got.keys())
    precision, recall = weight / max(len(got), 1), weight / max(len(right), 1)
    return 2 * precision * recall / (precision + recall) if weight else 0.0


def memory() -> list[Measured]:
    """Overhead by deviation and size, by alpha, and with beta."""
    sizes = (100, 200, 500, 1000)
    by_deviation: Rows = []
    for deviation, printed in ((0.025, 6.12), (0.05, None), (0.1, None), (0.15, None), (0.2, None), (0.25, 82.97)):
        kept = [_kept(size, deviation, 0.95) / size * 100 - 100 for size in sizes]
        by_deviation.append([deviation, *kept, printed])
    deviations, alphas = (0.05, 0.1, 0.15, 0.2), (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.999)
    by_alpha: Rows = [[str(alpha), *(_kept(500, deviation, alpha) for deviation in deviations)] for alpha in alphas]
    growth = np.mean(np.divide(by_alpha[alphas.index(0.98)][1:], by_alpha[0][1:])) * 100 - 100
    by_beta: Rows = []
    for short in (0.5, 0.2, 0.05, 0.01, 1e-6, 1e-12):
        alpha = 1 - short
        without = _kept(500, 0.1, alpha)
        name = f"{alpha:g}" if short > 1e-3 else f"1 - {short:g}"
        by_beta.append([name, *(_kept(500, 0.1, alpha, beta) / without for beta in (0.1, 0.5, 0.9))])
    growing = f"tuples kept, size 500 (figure 11): {growth:.2f} % more at .98 than at .5 (paper: 4.83 %)"
    return [
        Measured(
            "overhead of a window (figure 10)",
            ["deviation", *(f"size {size}" for size in sizes), "paper"],
            by_deviation,
            "percent of the size",
            5,
            "linear",
        ),
        Measured(
            growing, ["alpha", *(f"deviation {deviation}" for deviation in deviations)], by_alpha, "tuples", 4, "linear"
        ),
        Measured(
            "tuples kept with beta (figure 12)",
            ["alpha", "beta .1", "beta .5", "beta .9"],
            by_beta,
            "share of those kept without",
            3,
            "linear",
        ),
    ]


def _kept(size: int, deviation: float, alpha: float, beta: float | None = None) -> float:
    p = existences(6, 20 * size, deviation)
    starts = skyband.create("window", "exact", size=size, alpha=alpha, beta=beta).append(p)
    return float((np.arange(len(p)) + 1 - starts)[4 * size :].mean())


def sums() -> list[Measured]:
    """Absolute change against the plain window, in percent: of the paper's sum, and of the expectation."""
    sizes, data = (200, 400, 600, 800, 1000), _uncertain("Coffee")
    rows: Rows = [
        [str(alpha), *(float(np.mean(_changes(data, size, alpha)["sum"])) for size in sizes)]
        for alpha in (0.5, 0.8, 0.95, 0.99, 0.999)
    ]
    by_set: Rows = []
    for name in _datasets():
        changes = _changes(_uncertain(name), 500, 0.95)
        by_set.append([name, *(float(np.median(changes[kind])) for kind in changes), float(np.mean(changes["sum"]))])
    return [
        Measured(
            "change of the sum, Coffee (figure 9)",
            ["alpha", *(f"size {size}" for size in sizes)],
            rows,
            "mean, percent",
            len(sizes),
        ),
        Measured(
            "change of the sum by data set, size 500, alpha .95",
            ["data set", "sum", "expected", "sum, mean"],
            by_set,
            "median, percent",
            2,
            "linear",
        ),
    ]


def _uncertain(dataset: str) -> MatcherStream:
    return perturbed(_series(dataset, ROWS), 7)


def _changes(stream: MatcherStream, size: int, alpha: float) -> dict[str, Any]:
    """By how many percent the sum, and the expected sum, differ from the sum of the last `size` averages."""
    averages = np.array([np.average(v, weights=p) for v, p in zip(stream.values, stream.probabilities, strict=True)])
    plain = np.convolve(averages, np.ones(size), "valid")
    columns = {"values": list(stream.values), "probabilities": list(stream.probabilities)}
    data = pa.table({"row": np.arange(len(stream)), **columns})
    keys = {"time": "row", "values": "values", "probabilities": "probabilities"}
    got = local.apply(data, make_query({"kind": "uncertain-sum", **keys, "size": size, "alpha": alpha}))
    return {
        name: np.abs(np.asarray(got[name])[size - 1 :] - plain) / np.abs(plain) * 100 for name in ("sum", "expected")
    }


def join() -> list[Measured]:
    """Microseconds a probe."""
    headers = [*MATCHERS, "nested-loop / sort-match", "nested-loop / block", "epsilon", "selectivity, %"]
    by_size: Rows = [[size, *_probed("Coffee", size, 10)] for size in (100, 250, 500, 1000)]
    by_samples: Rows = [[samples, *_probed("Coffee", 500, samples)] for samples in (2, 5, 10, 20, 30)]
    by_set: Rows = [[name, *_probed(name, 500, 10)] for name in _datasets()]
    parts = (
        ("join by size, 10 samples, Coffee (figure 13)", "size", by_size),
        ("join by samples, size 500, Coffee (figure 14)", "samples", by_samples),
        ("join by data set, size 500, 10 samples (figure 15)", "data set", by_set),
    )
    return [
        Measured(title, [varied, *headers], rows, "microseconds a probe", len(MATCHERS))
        for title, varied, rows in parts
    ]


def _probed(dataset: str, size: int, samples: int) -> list[Any]:
    held, probes = (
        perturbed(_series(dataset, rows, seed), seed, samples=samples) for rows, seed in ((2 * size, 8), (500, 9))
    )
    window = skyband.create("window", size=size, alpha=0.95, beta=0.5)
    start = int(window.append([min(1.0, float(p.sum())) for p in held.probabilities])[-1])
    kept = MatcherStream(held.values[start:], held.probabilities[start:])
    low, high = 0.0, 8.0
    for _ in range(12):
        middle = (low + high) / 2
        low, high = (low, middle) if _selected("block", kept, probes, middle)[0] > SELECTIVITY else (middle, high)
    found = [_selected(name, kept, probes, high) for name in MATCHERS]
    times = [taken * 1e6 for _, taken in found]
    return [*times, times[0] / times[2], times[0] / times[3], high, found[0][0] * 100]


def _selected(name: str, held: MatcherStream, probes: MatcherStream, epsilon: float) -> tuple[float, float]:
    """The share of pairs that match, and the time a probe."""
    matcher = skyband.create("matcher", name, epsilon=epsilon, beta=0.5)
    matcher.append(*held.flat(0, len(held)))
    given = probes.flat(0, len(probes))
    share = len(matcher.match_all(*given)[0]) / len(held) / len(probes)
    return share, seconds(lambda: matcher.match_all(*given)) / len(probes)


def _file() -> Path | None:
    folder = os.environ.get("SKYBAND_DATA")
    return Path(folder) / "ucr17_train.parquet" if folder else None


def _datasets() -> list[str]:
    path = _file()
    return pc.unique(pq.read_table(path, columns=["dataset"])["dataset"]).to_pylist() if path else ["random walk"]


def _series(dataset: str, rows: int, seed: int = 0) -> Any:
    """`rows` values of a data set: its series in random order, end to end."""
    rng, path = np.random.default_rng(seed), _file()
    if path is None:
        walk = rng.normal(0, 1, rows).cumsum()
        return (walk - walk.mean()) / walk.std()
    held = pq.read_table(path, filters=[("dataset", "=", dataset)])["values"].to_pylist()
    return np.resize(np.concatenate([held[place] for place in rng.permutation(len(held))]), rows)


def _short(value: Any) -> Any:
    """Four digits."""
    return float(f"{value:.4g}") if isinstance(value, float) else value


PARTS = {"windows": windows, "cdf": distribution, "accuracy": accuracy, "memory": memory, "sum": sums, "join": join}


def main() -> int:
    """Run the parts asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=list(PARTS), help="what to measure (all)")
    parser.add_argument("--pictures", type=Path, help="a folder to draw the tables in")
    given = parser.parse_args()
    for name in given.parts or PARTS:
        for number, measured in enumerate(PARTS[name](), 1):
            sys.stdout.write(f"\n{measured.title}; {measured.unit}\n\n")
            table(measured.headers, [[_short(value) for value in row] for row in measured.rows])
            sys.stdout.flush()
            if given.pictures:
                draw(measured, given.pictures / f"{name}-{number}.png")
    return 0


if __name__ == "__main__":
    sys.exit(main())
