"""The distribution of a count of uncertain tuples beside scipy and, where it is installed, fast_poibin.

    python tests/bench/uncertain.py

Milliseconds of CPU for the whole distribution function, and by how much the others are off. Windows, sums and joins are
measured next to their paper's figures: `python -m tests.bench.papers.uncertain` and `… uncertain_join`.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.stats import poisson_binom
from skyband.text_tables import table
from skyband_specs.window.streams import existences
from skyband_uncertain.poisson_binomial import cdf


def milliseconds(call: Callable[[], Any], runs: int = 3) -> str:
    """The median CPU time of a call, after one to warm up."""
    call()
    taken = []
    for _ in range(runs):
        started = time.thread_time()
        call()
        taken.append(time.thread_time() - started)
    return f"{sorted(taken)[runs // 2] * 1e3:.3g}"


def main() -> None:
    """Print a line for each number of tuples."""
    try:
        from fast_poibin import PoiBin
    except ImportError:
        PoiBin = None
    rows: list[list[Any]] = []
    for count in (100, 1000, 10_000):
        p, counts = existences(2, count, 0.1), np.arange(count + 1)
        ours = cdf(p)
        row: list[Any] = [count, milliseconds(lambda p=p: cdf(p)), None, None, None, None]
        if count <= 1000:
            row[2] = milliseconds(lambda p=p, counts=counts: poisson_binom.cdf(counts, p), 1)
            row[4] = f"{np.abs(ours - poisson_binom.cdf(counts, p)).max():.0e}"
        if PoiBin is not None:
            row[3] = milliseconds(lambda p=p: PoiBin(p.tolist()).cdf)
            row[5] = f"{np.abs(ours - PoiBin(p.tolist()).cdf).max():.0e}"
        rows.append(row)
    table(["tuples", "skyband", "scipy", "fast_poibin", "scipy is off by", "fast_poibin is off by"], rows)


if __name__ == "__main__":
    main()
