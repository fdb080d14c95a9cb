"""Measures the workload rankers as the thesis does (figures 9.1–9.12): `python tests/bench/workload.py [--quick]`.

Thread CPU nanoseconds an object (answers read out included), objects retained and megabytes of state, one run, so that
the ratios hold on a noisy machine too. Windows are in rows, scores uniform. The granularity says in which steps windows
and slides were drawn, which the thesis leaves open and which decides how many views there are.

`mintopk` answers every query alone, so for many queries it is measured on SAMPLE of them and multiplied (marked ~).
"""

import argparse
import time
from typing import NamedTuple

import numpy as np
import skyband
from skyband.roles import TopKQuery
from skyband_specs.streams.workload_ranker import thesis_workload
from skyband_workload.analyser import analyse
from skyband_workload.scheduler import Scheduler

OBJECTS = 1_600_000
BATCH = 16_384
SAMPLE = 40
SHRINK = 16
BACKENDS = ("mintopk", "mtopband", "mtoplist", "paneband")
FIGURES = (
    ("9.1, 9.2", "k", 1, (10, 100, 1000)),
    ("9.3, 9.4", "slide", 100_000, (10, 100, 1000)),
    ("9.5, 9.6", "win", 100_000, (10, 100, 1000)),
    ("9.7, 9.8", "win, slide", 10_000, (10, 100, 1000)),
    ("9.9, 9.10", "all", 10_000, (10, 100, 1000)),
    ("9.9, 9.10", "all", 1_000, (1000,)),
    ("9.9, 9.10", "all", 1, (10, 100, 1000)),
    ("9.11, 9.12", "all", 1, (1, 2, 5)),
)
SLOW_VIEWS = 5_000
"""With more views than this, backends that look at every view are measured on the last sixteenth of the stream."""


class Measured(NamedTuple):
    """One backend on one workload."""

    nanoseconds: float
    retained: int
    megabytes: float
    exact: bool


def main() -> None:
    """Print every table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="everything a sixteenth as large")
    parser.add_argument("--only", help="one figure, such as 9.9")
    arguments = parser.parse_args()
    shrink = SHRINK if arguments.quick else 1
    warm_up()
    print("figure     varied      steps  queries  views | " + " | ".join(f"{name:^24}" for name in BACKENDS))  # noqa: T201
    print(" " * 44 + "| " + " | ".join(f"{'ns':>9} {'held':>7} {'MB':>6}" for _ in BACKENDS) + " | vs mintopk")  # noqa: T201
    for figure, varied, granularity, sizes in FIGURES:
        if arguments.only is None or arguments.only in figure.split(", "):
            for queries in sizes:
                row(figure, varied, granularity, queries, shrink)


def row(figure: str, varied: str, granularity: int, queries: int, shrink: int) -> None:
    """One line of the table: every backend on one workload, and how much faster the default is than the baseline."""
    workload = [
        TopKQuery(max(1, query.window // shrink), max(1, query.slide // shrink), max(1, query.k // shrink))
        for query in thesis_workload(varied, queries, granularity)
    ]
    objects = OBJECTS // shrink
    views = len(Scheduler(analyse(workload)).plan(objects, objects).start)
    found = {name: measure(name, workload, objects, views) for name in BACKENDS}
    cells = [
        f"{'' if one.exact else '~'}{one.nanoseconds:.0f}".rjust(9) + f" {one.retained:>7} {one.megabytes:>6.1f}"
        for one in found.values()
    ]
    ratio = found["mintopk"].nanoseconds / found["paneband"].nanoseconds
    head = f"{figure:<10} {varied:<10} {granularity:>6} {queries:>8} {views:>6} | "
    print(head + " | ".join(cells) + f" | {ratio:.1f}", flush=True)  # noqa: T201


def measure(name: str, workload: list[TopKQuery], objects: int, views: int) -> Measured:
    """Run a backend over the stream."""
    times = 1.0
    if name == "mintopk" and len(workload) > SAMPLE:
        times = len(workload) / SAMPLE
        workload = workload[:: len(workload) // SAMPLE][:SAMPLE]
    part = objects
    if name in ("mtopband", "mtoplist") and views > SLOW_VIEWS:
        part = objects // 16
    ranker = skyband.create("workload-ranker", name, queries=workload, by="rows")
    scores = np.random.default_rng(3).random(objects)
    numbers = np.arange(objects)
    if part < objects:
        ranker = caught_up(name, workload, numbers[:-part], scores[:-part])
    start = time.thread_time()
    for begin in range(objects - part, objects, BATCH):
        rows = slice(begin, begin + BATCH)
        ranker.update(numbers[rows], numbers[rows], scores[rows])
    taken = time.thread_time() - start
    return Measured(taken / part * 1e9 * times, round(len(ranker) * times), ranker.nbytes / 1e6 * times, times == 1.0)


def caught_up(name: str, workload: list[TopKQuery], numbers: np.ndarray, scores: np.ndarray) -> object:
    """A ranker that has seen these rows, by way of the default's state, which holds all that any backend needs."""
    quick = skyband.create("workload-ranker", "paneband", queries=workload, by="rows")
    for begin in range(0, len(numbers), BATCH):
        quick.update(numbers[begin : begin + BATCH], numbers[begin : begin + BATCH], scores[begin : begin + BATCH])
    state = quick._state()
    state["time"] = state.pop("pane")  # rows of one pane are in the same views, so its start stands for their times
    ranker = skyband.create("workload-ranker", name, queries=workload, by="rows")
    ranker._load(state)
    return ranker


def warm_up() -> None:
    """Compile every kernel."""
    for name in BACKENDS:
        for rows in (40, 3000):
            ranker = skyband.create("workload-ranker", name, queries=[(5, 2, 2), (300, 100, 200)], by="rows")
            ranker.update(np.arange(rows), np.arange(rows), np.arange(rows) % 7.0)


if __name__ == "__main__":
    main()
