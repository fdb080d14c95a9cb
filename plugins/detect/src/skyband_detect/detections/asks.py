"""What the rules of a counter ask its backend."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from skyband.arrays import Array, Int64

from skyband_detect.detections.counters import Counter
from skyband_detect.detections.number_measures import in_units
from skyband_detect.detections.rule import Rule
from skyband_detect.detections.rule_checks import EACH
from skyband_detect.role import UNSEEN, Below
from skyband_detect.total_role import MEAN, QUANTILE, SUM


class Asks(NamedTuple):
    """The windows and bounds of a counter's rules, and the places of these rules among all."""

    reached: Int64
    """int64[a]: of the rules that answer when a bound is reached."""
    limits: dict[str, Array]
    """The arguments of the backend's `update` for these."""
    falling: Int64
    """int64[f]: of the rules that answer when a key falls below a bound."""
    below: Below


def asks_of(counter: Counter, rules: Sequence[Rule], unit: float) -> Asks:
    """What the rules of a counter ask; rules: all of them."""
    places = np.array(counter.rules, np.int64)
    reached, limits, below = _asks(counter.kind, tuple(rules[place] for place in counter.rules), unit)
    return Asks(places[reached], limits, places[~reached], below)


@lru_cache(maxsize=1 << 14)
def _asks(kind: str, rules: tuple[Rule, ...], unit: float) -> tuple[Array, dict[str, Array], Below]:
    """bool[n]: which rules answer when a bound is reached; what these ask, and what the others do."""
    reached = np.array([rule.below is None for rule in rules], np.bool_)
    falling = [rule for rule in rules if rule.below is not None]
    below = Below(_windows(falling), np.array([rule.bound for rule in falling], np.int64))
    own = [rule for rule in rules if rule.below is None]
    limits: dict[str, Array] = {
        "windows": _windows(own),
        "each": np.array([rule.tell == EACH for rule in own], np.bool_),
    }
    if kind in (SUM, MEAN, QUANTILE):
        return reached, limits | _number_limits(kind, own, unit), below
    at_least = [] if kind == UNSEEN else [rule.bound for rule in own]
    return reached, limits | {"at_least": np.array(at_least, np.int64)}, below


def _windows(rules: Sequence[Rule]) -> Int64:
    return np.array([rule.window.length for rule in rules], np.int64)


def _number_limits(kind: str, rules: Sequence[Rule], unit: float) -> dict[str, Any]:
    """The bounds of sums, means or quantiles, in units."""
    least = {} if kind == SUM else {"least": np.array([rule.least or 1 for rule in rules], np.int64)}
    if kind == QUANTILE:
        return {"billionths": np.array([rule.number.billionths for rule in rules if rule.number], np.int64), **least}
    bounds = [in_units(rule.at_least or 0, unit) for rule in rules]
    above = [whole + (kind == SUM and part > 0) for whole, part in bounds]  # sums are whole units
    parts = {"billionths": np.array([part for _, part in bounds], np.int64)} if kind == MEAN else {}
    return {"at_least": np.array(above, np.int64), **parts, **least}
