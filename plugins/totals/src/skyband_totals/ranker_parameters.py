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
"""No window is longer, and no time farther than twice this from 0, so that no sum of two leaves 64 bits."""
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
    return integer(at_least=1, at_most=LONGEST, help="answers are asked for at multiples of this")


def k() -> Any:
    """How many objects an answer has."""
    return integer(None, at_least=1, help="objects in an answer, at most")


def share() -> Any:
    """How large an object of an answer is."""
    return number(None, above=0, at_most=1, help="the part of the grand total from which on objects are in")


def at_least() -> Any:
    """How large an object's total is."""
    return number(None, above=0, help="the total from which on objects are in")


def total() -> Any:
    """What an object is ranked by."""
    return choice(*TOTALS, default="rows", help="what is counted or added up of an object")


def unit() -> Any:
    """What weights are multiples of."""
    return number(1.0, above=0, help="weights are whole multiples of this")


def epsilon() -> Any:
    """The error of shares."""
    return number(0.01, at_least=0.001, below=1, help="how far shares may be off, as part of the grand total")


def delta() -> Any:
    """How often it may be exceeded."""
    return number(0.05, at_least=1e-9, below=1, help="share of the answers that may be off by more than epsilon")


def seed() -> Any:
    """What the random numbers begin with."""
    return integer(
        0, at_least=0, at_most=2**63 - 1, help="seed of the random numbers; rankers merge only if theirs agree"
    )


def limit_problems(k: int | None, share: float | None, at_least: float | None, total: str) -> list[Problem]:
    """What is wrong where nothing says how many objects an answer has, or a total is asked for that all have."""
    if k is None and share is None and at_least is None:
        return [Problem("k", "is required where there is no `share` or `at_least`: give one of them, or several")]
    if at_least is not None and at_least < 1 and total != "sum":
        part = f"for a part of the grand total give share = {literal(at_least)}"
        message = f"must be at least 1 with total = {literal(total)}, as every object of an answer has one: {part}"
        return [Problem("at_least", f"{message} (got {literal(at_least)})")]
    return []


def check_limits(k: int | None, share: float | None, at_least: float | None, total: str) -> None:
    """Raise ConfigError where `limit_problems` finds one."""
    if problems := limit_problems(k, share, at_least, total):
        raise ConfigError(*problems)


def pane_of(windows: Sequence[int], every: int) -> int:
    """The longest step at whose multiples all windows begin and end: the common divisor of them and `every`."""
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
    """Those of a ranker that samples."""

    epsilon: float = epsilon()
    delta: float = delta()
    seed: int = seed()
