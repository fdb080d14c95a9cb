"""The counters that rules need: rules with the same condition, key and measure share one."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from attrs import frozen
from skyband.arrays import Int64

from skyband_detect.detections.keep import Keep
from skyband_detect.detections.number_measures import in_units
from skyband_detect.detections.rule import EACH, Rule
from skyband_detect.role import UNSEEN, Below, Bounds
from skyband_detect.total_role import MEAN, QUANTILE, SUM

Shared = tuple[str | None, tuple[str, ...], str, tuple[str, ...]]
"""Condition, key, measure and columns of values: rules that are equal in these may share a counter."""
Numbers = tuple[str, bool]
"""A column of numbers, and whether they are floats, for quantiles, or whole units."""
WORD = 64
"""Counters to a column of bits."""


@frozen
class Counter:
    """What some rules count, in rows that meet a condition, by a key. Its limits are the largest of these rules."""

    where: str | None
    key: tuple[str, ...]
    measure: str
    values: tuple[str, ...]
    rules: tuple[int, ...]
    """The places of its rules."""
    longest: int
    most: int

    @property
    def shared(self) -> Shared:
        """What its rules have in common."""
        return self.where, self.key, self.measure, self.values

    @property
    def is_number(self) -> bool:
        """Whether it is a key-total, and not a key-counter."""
        return self.kind in (SUM, MEAN, QUANTILE)

    @property
    def kind(self) -> str:
        """The measure of its backend."""
        return self.measure.partition(" ")[0]

    @property
    def role(self) -> str:
        """The role of its backend."""
        return "key-total" if self.is_number else "key-counter"

    @property
    def numbers(self) -> Numbers:
        """The column of its numbers, and whether they are for quantiles."""
        return self.values[0], self.kind == QUANTILE

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of its backend."""
        if self.is_number:
            limit = {"limit": float(self.measure.partition(" ")[2])} if self.kind == QUANTILE else {}
            return {"measure": self.kind, "longest": self.longest, **limit}
        return {"measure": self.measure, "longest": self.longest, "most": self.most}


@frozen
class Counters:
    """All counters of some rules, with the columns of a frame that they read."""

    all: tuple[Counter, ...]
    keys: tuple[tuple[str, ...], ...]
    """The different keys, without that of no columns."""
    values: tuple[tuple[str, ...], ...]
    """The different columns of values."""
    numbers: tuple[Numbers, ...]
    """The different columns of numbers."""
    wheres: tuple[str, ...]
    """The different conditions."""
    carry: tuple[str, ...]
    """All columns of keys."""
    coming: tuple[tuple[str, ...], ...] = ()
    """The keys of rules to come, each with a bit after those of the counters: for rows without a null in the key."""

    @property
    def bits(self) -> int:
        """The number of bits of a row, one for each counter, and one for each key of rules to come."""
        return len(self.all) + len(self.coming)

    @property
    def words(self) -> int:
        """The number of columns of bits."""
        return -(-self.bits // WORD)

    @property
    def keys_of_bits(self) -> tuple[tuple[str, ...], ...]:
        """The key of each bit."""
        return (*(counter.key for counter in self.all), *self.coming)


def bits_column(word: int) -> str:
    """The frame column whose bits say which counters a row is in, the first 64 of them for word 0."""
    return f"bits.{word}"


def key_column(number: int) -> str:
    """The frame column with the hashes of a key."""
    return f"key.{number}"


def value_column(number: int) -> str:
    """The frame column with the hashes of values."""
    return f"value.{number}"


def number_column(number: int) -> str:
    """The frame column with numbers: whole units, or floats for quantiles."""
    return f"number.{number}"


def shared_by(rule: Rule) -> Shared:
    """What a rule has in common with those that share its counter."""
    return rule.where, rule.key, rule.counts, rule.values


@lru_cache(maxsize=64)
def counters_of(
    rules: tuple[Rule, ...], keep: tuple[Keep, ...] = (), coming: tuple[tuple[str, ...], ...] = ()
) -> Counters:
    """The counters of rules, in order of the first rule of each, then those to keep for rules to come."""
    shared: dict[Shared, list[tuple[int | None, Rule]]] = {}
    for place, rule in [*enumerate(rules), *((None, one.as_rule) for one in keep)]:
        shared.setdefault(shared_by(rule), []).append((place, rule))
    counters = []
    for of, both in shared.items():
        places = tuple(place for place, _ in both if place is not None)
        longest = max(rule.window.length for _, rule in both)
        counters.append(Counter(*of, places, longest, max(rule.bound for _, rule in both)))
    keys = dict.fromkeys(key for key in (*(counter.key for counter in counters), *coming) if key)
    values = dict.fromkeys(counter.values for counter in counters if counter.values and not counter.is_number)
    numbers = dict.fromkeys(counter.numbers for counter in counters if counter.is_number)
    wheres = dict.fromkeys(counter.where for counter in counters if counter.where is not None)
    carry = dict.fromkeys(name for key in keys for name in key)
    return Counters(tuple(counters), tuple(keys), tuple(values), tuple(numbers), tuple(wheres), tuple(carry), coming)


def reached_by(counter: Counter, rules: Sequence[Rule]) -> list[int]:
    """The places of a counter's rules that answer when a bound is reached."""
    return [place for place in counter.rules if rules[place].below is None]


def below_of(counter: Counter, rules: Sequence[Rule]) -> tuple[Int64, Below]:
    """The places of a counter's rules that answer when a key falls below a bound, and what they ask."""
    places = [place for place in counter.rules if rules[place].below is not None]
    windows: Int64 = np.array([rules[place].window.length for place in places], np.int64)
    return np.array(places, np.int64), Below(windows, np.array([rules[place].bound for place in places], np.int64))


def total_bounds_of(counter: Counter, rules: Sequence[Rule], unit: float) -> dict[str, Any]:
    """What the rules of a counter of numbers ask its backend."""
    own = [rules[place] for place in counter.rules]
    limits: dict[str, Any] = {"windows": np.array([rule.window.length for rule in own], np.int64)}
    limits["each"] = np.array([rule.tell == EACH for rule in own], np.bool_)
    if counter.kind != QUANTILE:
        bounds = [in_units(rule.at_least or 0, unit) for rule in own]
        above = [whole + (counter.kind == SUM and part > 0) for whole, part in bounds]  # sums are whole units
        limits["at_least"] = np.array(above, np.int64)
        limits |= {"billionths": np.array([part for _, part in bounds], np.int64)} if counter.kind == MEAN else {}
    else:
        limits["billionths"] = np.array([rule.number.billionths for rule in own if rule.number], np.int64)
    limits |= {} if counter.kind == SUM else {"least": np.array([rule.least or 1 for rule in own], np.int64)}
    return limits


def bounds_of(counter: Counter, rules: Sequence[Rule]) -> Bounds:
    """What the rules of a counter ask that answer when a bound is reached."""
    own = [rules[place] for place in reached_by(counter, rules)]
    windows: Int64 = np.array([rule.window.length for rule in own], np.int64)
    at_least: Int64 = np.array([] if counter.measure == UNSEEN else [rule.bound for rule in own], np.int64)
    return Bounds(windows, at_least, np.array([rule.tell == EACH for rule in own], np.bool_))
