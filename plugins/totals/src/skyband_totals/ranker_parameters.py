"""The parameters of total-rankers, each a field of an attrs class; loads no compiled code."""

import math
from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np
from attrs import define
from skyband.config.literals import literal
from skyband.config.parameters import checked, choice, integer, number
from skyband.errors import ConfigError, Problem

LONGEST = 2**61
"""The longest window, and half the largest absolute time, so that sums of two fit 64 bits."""
MOST_WINDOWS = 60
TOTALS = ("rows", "sum", "distinct")


def _as_lengths(value: Any) -> Any:
    if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str):
        return tuple(int(length) if isinstance(length, np.integer) else length for length in value)
    return value


def _check_windows(value: Any) -> list[Problem]:
    if not isinstance(value, tuple) or not 1 <= len(value) <= MOST_WINDOWS:
        return [Problem("", f"must be a list of 1 to {MOST_WINDOWS} lengths (got {literal(value)})")]
    return [
        Problem(f"[{place}]", f"must be a whole number from 1 to 2**61 (got {literal(length)})")
        for place, length in enumerate(value)
        if isinstance(length, bool) or not isinstance(length, int) or not 1 <= length <= LONGEST
    ]


def windows() -> Any:
    """The lengths of the windows."""
    return checked(
        type="list of int",
        check=_check_windows,
        bounds="1 to 60 lengths, each at least 1",
        help="lengths of the windows, in the unit of the times or in rows",
        converter=_as_lengths,
    )


def every() -> Any:
    """The step between answers."""
    return integer(at_least=1, at_most=LONGEST, help="the step between answers; they are at its multiples")


def k() -> Any:
    """The number of objects in an answer."""
    return integer(None, at_least=1, help="the most objects in an answer")


def share() -> Any:
    """The least share of an object."""
    return number(None, above=0, at_most=1, help="the least part of the grand total that an object of an answer has")


def at_least() -> Any:
    """The least total of an object."""
    return number(None, above=0, help="the least total of an object of an answer")


def total() -> Any:
    """The kind of total."""
    message = "the total of an object: its rows, the sum of its weights, or its distinct values"
    return choice(*TOTALS, default="rows", help=message)


def unit() -> Any:
    """The unit of weights."""
    return number(1.0, above=0, help="weights are whole multiples of this")


def epsilon() -> Any:
    """The error of shares."""
    return number(0.01, at_least=0.001, below=1, help="the error of shares, as a part of the grand total")


def delta() -> Any:
    """The share of answers that may exceed it."""
    return number(0.05, at_least=1e-9, below=1, help="share of the answers that may be off by more than epsilon")


def seed() -> Any:
    """The seed of the random numbers."""
    return integer(
        0, at_least=0, at_most=2**63 - 1, help="seed of the random numbers; only rankers with equal seeds merge"
    )


def limit_problems(k: int | None, share: float | None, at_least: float | None, total: str) -> list[Problem]:
    """Problems if nothing limits the objects of an answer, or `at_least` is a total that all objects have."""
    if k is None and share is None and at_least is None:
        return [Problem("k", "is required without `share` or `at_least`: set at least one of them")]
    if at_least is not None and at_least < 1 and total != "sum":
        part = f"for a part of the grand total set share = {literal(at_least)}"
        message = f"must be at least 1 with total = {literal(total)}, which every object of an answer has: {part}"
        return [Problem("at_least", f"{message} (got {literal(at_least)})")]
    return []


def check_limits(k: int | None, share: float | None, at_least: float | None, total: str) -> None:
    """Raise ConfigError if `limit_problems` finds any."""
    if problems := limit_problems(k, share, at_least, total):
        raise ConfigError(*problems)


def pane_of(windows: Sequence[int], every: int) -> int:
    """The longest step at whose multiples all windows begin and end: their greatest common divisor with `every`."""
    return reduce(math.gcd, windows, every)


@define
class RankerParameters:
    """The parameters of a total-ranker whose state is read."""

    windows: tuple[int, ...] = windows()
    every: int = every()
    k: int | None = k()
    share: float | None = share()
    at_least: float | None = at_least()
    total: str = total()
    unit: float = unit()
    by: str = choice("time", "rows", default="time", help="whether windows are times or row counts")

    def __attrs_post_init__(self) -> None:
        check_limits(self.k, self.share, self.at_least, self.total)


@define
class SampleParameters(RankerParameters):
    """The parameters of a ranker that samples."""

    epsilon: float = epsilon()
    delta: float = delta()
    seed: int = seed()
