"""The counters that rules need: rules with the same condition, key and measure share one."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from attrs import frozen
from skyband.arrays import Int64

from skyband_detect.detections.rule import EACH, Rule
from skyband_detect.role import UNSEEN, Below, Bounds

_Shared = tuple[str | None, tuple[str, ...], str, tuple[str, ...]]
"""Condition, key, measure and columns of values."""
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
    def parameters(self) -> dict[str, Any]:
        """The parameters of its backend."""
        return {"measure": self.measure, "longest": self.longest, "most": self.most}


@frozen
class Counters:
    """All counters of some rules, with the columns of a frame that they read."""

    all: tuple[Counter, ...]
    keys: tuple[tuple[str, ...], ...]
    """The different keys, without that of no columns."""
    values: tuple[tuple[str, ...], ...]
    """The different columns of values."""
    wheres: tuple[str, ...]
    """The different conditions."""
    carry: tuple[str, ...]
    """All columns of keys."""

    @property
    def words(self) -> int:
        """The number of columns of bits, one bit for each counter."""
        return -(-len(self.all) // WORD)


def bits_column(word: int) -> str:
    """The frame column whose bits say which counters a row is in, the first 64 of them for word 0."""
    return f"bits.{word}"


def key_column(number: int) -> str:
    """The frame column with the hashes of a key."""
    return f"key.{number}"


def value_column(number: int) -> str:
    """The frame column with the hashes of values."""
    return f"value.{number}"


@lru_cache(maxsize=64)
def counters_of(rules: tuple[Rule, ...]) -> Counters:
    """The counters of rules, in order of the first rule of each."""
    shared: dict[_Shared, list[int]] = {}
    for place, rule in enumerate(rules):
        shared.setdefault((rule.where, rule.key, rule.counts, rule.values), []).append(place)
    counters = []
    for (where, key, measure, columns), places in shared.items():
        longest = max(rules[place].window.length for place in places)
        counters.append(
            Counter(where, key, measure, columns, tuple(places), longest, max(rules[place].bound for place in places))
        )
    keys = dict.fromkeys(counter.key for counter in counters if counter.key)
    values = dict.fromkeys(counter.values for counter in counters if counter.values)
    wheres = dict.fromkeys(counter.where for counter in counters if counter.where is not None)
    carry = dict.fromkeys(name for key in keys for name in key)
    return Counters(tuple(counters), tuple(keys), tuple(values), tuple(wheres), tuple(carry))


def reached_by(counter: Counter, rules: Sequence[Rule]) -> list[int]:
    """The places of a counter's rules that answer when a bound is reached."""
    return [place for place in counter.rules if rules[place].below is None]


def below_of(counter: Counter, rules: Sequence[Rule]) -> tuple[Int64, Below]:
    """The places of a counter's rules that answer when a key falls below a bound, and what they ask."""
    places = [place for place in counter.rules if rules[place].below is not None]
    windows: Int64 = np.array([rules[place].window.length for place in places], np.int64)
    return np.array(places, np.int64), Below(windows, np.array([rules[place].bound for place in places], np.int64))


def bounds_of(counter: Counter, rules: Sequence[Rule]) -> Bounds:
    """What the rules of a counter ask that answer when a bound is reached."""
    own = [rules[place] for place in reached_by(counter, rules)]
    windows: Int64 = np.array([rule.window.length for rule in own], np.int64)
    at_least: Int64 = np.array([] if counter.measure == UNSEEN else [rule.bound for rule in own], np.int64)
    return Bounds(windows, at_least, np.array([rule.tell == EACH for rule in own], np.bool_))
