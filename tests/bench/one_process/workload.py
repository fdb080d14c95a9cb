"""Measures the workload rankers as the thesis does (figures 9.1–9.12).

    python tests/bench/one_process/workload.py [--quick] [--only 9.9] [--scores falling] [--pictures DIR]

Thread CPU nanoseconds an object (answers read out included), objects retained and megabytes of state, one run, so that
the ratios hold on a noisy machine too. Windows are in rows; scores are uniform, as the thesis has them, or rise or fall
all along by 16 times as much as they scatter. The granularity says in which steps windows
and slides were drawn, which the thesis leaves open and which decides how many views there are. `--pictures` draws each
figure of the thesis for each granularity, with the default next to the thesis's three.

`mintopk` answers every query alone, so for many queries it is measured on SAMPLE of them and multiplied (marked ~).
"""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import skyband
from skyband.roles import TopKQuery
from skyband_workload.analyser import analyse
from skyband_workload.scheduler import Scheduler
from thesis_workload import thesis_workload

OBJECTS = 1_600_000
BATCH = 16_384
SAMPLE = 40
DRIFT = {"uniform": 0, "rising": 16, "falling": -16}
SHRINK = 16
BACKENDS = ("mintopk", "mtopband", "mtoplist", "paneband")
MANY, FEW = (10, 100, 1000), (1, 2, 5)


class Experiment(NamedTuple):
    """One experiment of the thesis's chapter 9: its figures of time and of memory, and what it varies."""

    time_figure: str
    memory_figure: str | None
    varied: str
    steps: int
    sizes: tuple[int, ...]


EXPERIMENTS = (
    Experiment("9.1", "9.2", "k", 1, MANY),
    Experiment("9.3", "9.4", "slide", 100_000, MANY),
    Experiment("9.5", None, "win", 100_000, MANY),
    Experiment("9.7", "9.8", "win, slide", 10_000, MANY),
    Experiment("9.9", "9.10", "all", 10_000, MANY),
    Experiment("9.9", "9.10", "all", 1_000, MANY),
    Experiment("9.9", "9.10", "all", 1, MANY),
    Experiment("9.11", "9.12", "all", 1, FEW),
)
ZOOMED = ("9.6", "9.5", ("mtopband", "mtoplist"))
"""Figure 9.6 is 9.5 once more, without the baseline."""

SLOW_VIEWS = 5_000
"""With more views than this, backends that look at every view are measured on the last sixteenth of the stream."""


class Measured(NamedTuple):
    """One backend on one workload."""

    nanoseconds: float
    retained: int
    megabytes: float
    exact: bool


class Row(NamedTuple):
    """Every backend on one workload."""

    experiment: Experiment
    queries: int
    views: int
    found: dict[str, Measured]


def main() -> None:
    """Print every table, and draw it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="everything a sixteenth as large")
    parser.add_argument("--only", help="one figure, such as 9.9")
    parser.add_argument("--scores", choices=DRIFT, default="uniform")
    parser.add_argument("--pictures", type=Path, help="a folder to draw the figures in")
    given = parser.parse_args()
    shrink = SHRINK if given.quick else 1
    wanted = [one for one in EXPERIMENTS if given.only in (None, one.time_figure, one.memory_figure)]
    warm_up()
    say("figures    varied      steps  queries  views | " + " | ".join(f"{name:^24}" for name in BACKENDS))
    say(" " * 45 + "| " + " | ".join(f"{'ns':>9} {'held':>7} {'MB':>6}" for _ in BACKENDS) + " | vs mintopk")
    scores = np.random.default_rng(3).random(OBJECTS // shrink) + np.linspace(0, DRIFT[given.scores], OBJECTS // shrink)
    rows = [row(experiment, queries, shrink, scores) for experiment in wanted for queries in experiment.sizes]
    if given.pictures:
        draw(rows, given.pictures)


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def row(experiment: Experiment, queries: int, shrink: int, scores: np.ndarray) -> Row:
    """Measure, and print as a line: every backend, and how much faster the default is than the baseline."""
    workload = [
        TopKQuery(max(1, query.window // shrink), max(1, query.slide // shrink), max(1, query.k // shrink))
        for query in thesis_workload(experiment.varied, max(experiment.sizes), experiment.steps)[:queries]
    ]
    views = len(Scheduler(analyse(workload)).plan(len(scores), len(scores)).start)
    found = {name: measure(name, workload, scores, views) for name in BACKENDS}
    cells = [
        f"{'' if one.exact else '~'}{one.nanoseconds:.0f}".rjust(9) + f" {one.retained:>7} {one.megabytes:>6.1f}"
        for one in found.values()
    ]
    ratio = found["mintopk"].nanoseconds / found["paneband"].nanoseconds
    figures = ", ".join(filter(None, (experiment.time_figure, experiment.memory_figure)))
    head = f"{figures:<10} {experiment.varied:<10} {experiment.steps:>6} {queries:>8} {views:>6} | "
    say(head + " | ".join(cells) + f" | {ratio:.1f}")
    return Row(experiment, queries, views, found)


def measure(name: str, workload: list[TopKQuery], scores: np.ndarray, views: int) -> Measured:
    """Run a backend over the stream."""
    times, objects = 1.0, len(scores)
    if name == "mintopk" and len(workload) > SAMPLE:
        times = len(workload) / SAMPLE
        workload = workload[:: len(workload) // SAMPLE][:SAMPLE]
    part = objects
    if name in ("mtopband", "mtoplist") and views > SLOW_VIEWS:
        part = objects // 16
    ranker = skyband.create("workload-ranker", name, queries=workload, by="rows")
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


def draw(rows: Sequence[Row], folder: Path) -> None:
    """Every figure of the thesis that `rows` hold, a file for each granularity."""
    zoom, of, zoomed = ZOOMED
    for experiment in dict.fromkeys(one.experiment for one in rows):
        mine = [one for one in rows if one.experiment == experiment]
        picture(folder, experiment.time_figure, "ns of CPU an object", mine, BACKENDS, "nanoseconds")
        if experiment.time_figure == of:
            picture(folder, zoom, "ns of CPU an object", mine, zoomed, "nanoseconds")
        if experiment.memory_figure:
            picture(folder, experiment.memory_figure, "megabytes of state", mine, BACKENDS, "megabytes")


def picture(
    folder: Path, name: str, measure: str, rows: Sequence[Row], backends: Sequence[str], attribute: str
) -> None:
    """One figure: queries along, a line for each backend."""
    sys.path.append(str(Path(__file__).parents[2]))
    from bench import pictures

    (experiment,) = {one.experiment for one in rows}
    lines = [[one.queries, *(getattr(one.found[backend], attribute) for backend in backends)] for one in rows]
    title = f"Figure {name}: {experiment.varied} in steps of {experiment.steps:,}"
    measured = pictures.Measured(title, ["queries", *backends], lines, measure, len(backends))
    views = ", ".join(f"{one.queries:,} queries have {one.views:,} views" for one in rows)
    pictures.draw(measured, folder / f"figure-{name}-{experiment.steps}.svg", [views])


def warm_up() -> None:
    """Compile every kernel."""
    for name in BACKENDS:
        for rows in (40, 3000):
            ranker = skyband.create("workload-ranker", name, queries=[(5, 2, 2), (300, 100, 200)], by="rows")
            ranker.update(np.arange(rows), np.arange(rows), np.arange(rows) % 7.0)


if __name__ == "__main__":
    main()
