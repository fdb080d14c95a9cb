"""Repeats figures 9.1 to 9.12 of MTopS (Shastri, master's thesis, WPI 2011): many top-k queries at once.

    python -m tests.bench.papers.workload [k every few] [--quick] [--out DIR]

Workloads, windows and uniform scores are those of chapter 9. A time is the CPU time an object, answers included.
MinTopK answers each query alone, so with more than 40 queries it is measured on 40 of them. Figures 9.3 to 9.8 and
other scores: `python tests/bench/one_process/workload.py`.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from skyband.roles import TopKQuery
from skyband_workload.analyser import analyse
from skyband_workload.scheduler import Scheduler
from thesis_workload import thesis_workload

from ..one_process.workload import BACKENDS, OBJECTS, measure, warm_up
from ..pictures import Measured
from .experiment import Experiment, main

HEADERS = [*BACKENDS, "mintopk / list", "band / list", "objects, mintopk", "objects, list", "MB, band / list", "views"]


def figures(varied: str, queries: int, steps: int, shrink: int) -> list[Any]:
    """The columns of HEADERS for the first of a thousand queries; all sizes are divided by `shrink`."""
    parts = [(each.window, each.slide, each.k) for each in thesis_workload(varied, 1000, steps)[:queries]]
    workload = [TopKQuery(*(max(1, part // shrink) for part in query)) for query in parts]
    warm_up()
    scores = np.random.default_rng(3).random(OBJECTS // shrink)
    views = len(Scheduler(analyse(workload)).plan(len(scores), len(scores)).start)
    found = {name: measure(name, workload, scores, views) for name in BACKENDS}
    alone, band, shared = (found[name] for name in BACKENDS[:3])
    return [
        *(each.nanoseconds for each in found.values()),
        alone.nanoseconds / shared.nanoseconds,
        band.nanoseconds / shared.nanoseconds,
        *(alone.retained, shared.retained, band.megabytes / shared.megabytes, views),
    ]


def _table(title: str, along: str, rows: list[list[Any]]) -> Measured:
    return Measured(title, [along, *HEADERS], rows, "nanoseconds of CPU an object", len(BACKENDS))


def k(numbers: Sequence[int], shrink: int = 1) -> Measured:
    """Figures 9.1 and 9.2."""
    rows = [[number, *figures("k", number, 1, shrink)] for number in numbers]
    return _table("time by the number of queries, of which only k varies", "queries", rows)


def every(steps: Sequence[int], queries: int = 1000, shrink: int = 1) -> Measured:
    """Figures 9.9 and 9.10."""
    rows = [[step, *figures("all", queries, step, shrink)] for step in steps]
    return _table(f"time by the steps of windows and slides, {queries} queries, all parameters vary", "steps", rows)


def few(numbers: Sequence[int], shrink: int = 1) -> Measured:
    """Figures 9.11 and 9.12."""
    rows = [[number, *figures("all", number, 1, shrink)] for number in numbers]
    return _table("time by the number of queries, all parameters vary", "queries", rows)


EXPERIMENTS = [
    Experiment(
        "k",
        "If only k varies, MinTopK's time grows with the queries, MTopList's 3 times from 10 to 1000 queries and "
        "MTopBand's 6 times; memory 99, 2.5 and 6 times (figures 9.1 and 9.2).",
        "Agrees on MinTopK: 65 times the time and 91 times the objects. The others differ less: 2.2 times the time "
        "for MTopList and 1.7 for MTopBand, as all queries share 10 views, and hardly more objects.",
        partial(k, [10, 100, 1000]),
        partial(k, [10, 100], 50),
    ),
    Experiment(
        "every",
        "If all parameters vary, 1000 queries take MTopList 330 times less than MinTopK, and 30 to 40 times less than "
        "MTopBand; it is never slower than that (figures 9.9 and 9.10).",
        "Differs by the steps of windows and slides, which the thesis leaves open. In steps of 10,000, 1000, 100 and"
        " 1, MTopList takes 121, 27, 5.8 and 4.3 times less than MinTopK, and 1.3, 2.8, 3.3 and 4.6 times less than "
        "MTopBand. It is never slower.",
        partial(every, [10_000, 1000, 100, 1]),
        partial(every, [10_000, 1000], 50, 50),
    ),
    Experiment(
        "few",
        "A single query takes MTopList 2.8 ms an object and MinTopK 1.3, two queries 3.1 and 3.8, five 3.7 and 8.5; "
        "MinTopK then needs 5 times its memory (figures 9.11 and 9.12).",
        "Agrees in part: one query takes MTopList 1.2 times as long as MinTopK (2.2), two 1.1 (0.8), five 0.85 "
        "(0.44). Five queries alone keep 2.1 times as many objects.",
        partial(few, [1, 2, 5]),
        partial(few, [1, 5], 50),
    ),
]

if __name__ == "__main__":
    main(__file__, "MTopS: Multi-Query Optimization for Continuous Top-K Query Workloads", EXPERIMENTS)
