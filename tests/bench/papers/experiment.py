"""Repeats the experiments of a paper: prints each table next to the paper's claim and what we found, and draws it."""

import argparse
import sys
import textwrap
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from attrs import frozen
from skyband.text_tables import table

from ..pictures import Measured, draw

RUNS = 3
"""Runs of what is timed, of which the median counts."""
_WIDTH = 100


@frozen
class Experiment:
    """One experiment, by its name on the command line.

    claim: the paper's, in one sentence, with its place. finding: whether our figures agree, and if not, why.
    full, quick: measure it, in the sizes of the page or in small ones for a test.
    """

    name: str
    claim: str
    finding: str
    full: Callable[[], Measured]
    quick: Callable[[], Measured]


def seconds(call: Callable[[], object], runs: int = RUNS) -> float:
    """The median of the CPU time of this thread that a call takes, after one to warm up."""
    call()
    taken = []
    for _ in range(runs):
        start = time.thread_time()
        call()
        taken.append(time.thread_time() - start)
    return sorted(taken)[runs // 2]


def main(module: str, paper: str, experiments: Sequence[Experiment], arguments: Sequence[str] | None = None) -> None:
    """Run the experiments of a module that are named on the command line, or all."""
    by_name = {experiment.name: experiment for experiment in experiments}
    parser = argparse.ArgumentParser(description=f"Repeats experiments of {paper}.")
    parser.add_argument("names", nargs="*", choices=[[], *by_name], metavar="name", help=", ".join(by_name))
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it works")
    parser.add_argument("--out", type=Path, help="a folder for the plots, one SVG an experiment")
    given = parser.parse_args(arguments)
    for name in given.names or by_name:
        experiment = by_name[name]
        measured = (experiment.quick if given.quick else experiment.full)()
        notes = [*_lines("Paper: ", experiment.claim), *_lines("Here: ", experiment.finding)]
        sys.stdout.write("\n".join(["", f"{name}: {measured.title}; {measured.unit}", *notes, "", ""]))
        table(measured.headers, [[_short(value) for value in row] for row in measured.rows])
        sys.stdout.flush()
        if given.out:
            draw(measured, given.out / f"{Path(module).stem}-{name}.svg", notes)


def _lines(label: str, text: str) -> list[str]:
    return textwrap.wrap(label + text, _WIDTH)


def _short(value: Any) -> Any:
    """Numbers with three digits."""
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return "" if value is None else f"{value:,}" if isinstance(value, int) else value
