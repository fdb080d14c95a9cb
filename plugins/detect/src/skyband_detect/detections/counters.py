"""The counters that rules need: rules with the same condition, key and measure share one."""

from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from attrs import frozen

from skyband_detect.detections.keep import Keep
from skyband_detect.detections.rule import Rule
from skyband_detect.detections.rule_checks import SEQUENCE
from skyband_detect.detections.sequences.sequence import counter_parameters
from skyband_detect.detections.sequences.steps import Steps, both, steps_in
from skyband_detect.total_role import MEAN, QUANTILE, SUM

Shared = tuple[str | None, tuple[str, ...], str, tuple[str, ...]]
"""Condition, key, measure and columns of values: rules that are equal in these may share a counter."""
Numbers = tuple[str, bool]
"""A column of numbers, and whether they are floats, for quantiles, or whole units."""
WORD = 64
"""Counters to a column of bits."""


class Needs(NamedTuple):
    """Which rows have a bit set: those that meet a condition, without a null in the key and the values."""

    where: str | None
    key: tuple[str, ...]
    values: tuple[str, ...] = ()
    numbers: Numbers | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that must not be null, besides those of the key."""
        return self.values if self.numbers is None else self.numbers[:1]

    @property
    def is_of_values(self) -> bool:
        """Whether values or numbers are counted, and not rows."""
        return bool(self.columns)


@frozen(cache_hash=True)
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
    falls: int = 0
    """The longest window of rules with `below`, for which the last row of each key is there; 0 if there are none."""

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
    def steps(self) -> Steps | None:
        """The steps, if it is of sequences."""
        return steps_in(self.measure) if self.kind == SEQUENCE else None

    @property
    def needs(self) -> tuple[Needs, ...]:
        """The rows that it counts; of a sequence, those of each step."""
        if self.steps is not None:
            return tuple(Needs(both(self.where, step.where), self.key, step.values) for step in self.steps.steps)
        if self.is_number:
            return (Needs(self.where, self.key, numbers=self.numbers),)
        return (Needs(self.where, self.key, self.values),)

    @property
    def role(self) -> str | None:
        """The role of its backend, or of its steps that count; None for a sequence without such."""
        if self.steps is not None and not self.steps.longest:
            return None
        return "key-total" if self.is_number else "key-counter"

    @property
    def numbers(self) -> Numbers:
        """The column of its numbers, and whether they are for quantiles."""
        return self.values[0], self.kind == QUANTILE

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of its backend; of a sequence, that of its first step that counts."""
        if self.steps is not None:
            return next((counter_parameters(step) for step in self.steps.steps if step.window is not None), {})
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

    @cached_property
    def needs(self) -> tuple[Needs, ...]:
        """What each bit of a row stands for: one a counter, one a key of rules to come, then further steps."""
        later = (need for counter in self.all for need in counter.needs[1:])
        return (*(counter.needs[0] for counter in self.all), *(Needs(None, key) for key in self.coming), *later)

    @cached_property
    def step_bits(self) -> dict[int, tuple[int, ...]]:
        """The bits of the steps of each sequence."""
        bits, following = {}, len(self.all) + len(self.coming)
        for number, counter in enumerate(self.all):
            more = len(counter.needs) - 1
            if more:
                bits[number] = (number, *range(following, following + more))
            following += more
        return bits

    @property
    def bits(self) -> int:
        """The number of bits of a row."""
        return len(self.needs)

    @property
    def words(self) -> int:
        """The number of columns of bits."""
        return -(-self.bits // WORD)

    @property
    def keys_of_bits(self) -> tuple[tuple[str, ...], ...]:
        """The key of each bit."""
        return tuple(need.key for need in self.needs)


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
    for of, sharing in shared.items():
        places = tuple(place for place, _ in sharing if place is not None)
        longest = max(rule.longest for _, rule in sharing)
        most, falls = (max(getattr(rule, limit) for _, rule in sharing) for limit in ("bound", "falls"))
        counters.append(Counter(*of, places, longest, most, falls))
    keys = dict.fromkeys(key for key in (*(counter.key for counter in counters), *coming) if key)
    needs = [need for counter in counters for need in counter.needs]
    values = dict.fromkeys(need.values for need in needs if need.values)
    numbers = dict.fromkeys(need.numbers for need in needs if need.numbers is not None)
    wheres = dict.fromkeys(need.where for need in needs if need.where is not None)
    carry = dict.fromkeys(name for key in keys for name in key)
    return Counters(tuple(counters), tuple(keys), tuple(values), tuple(numbers), tuple(wheres), tuple(carry), coming)
