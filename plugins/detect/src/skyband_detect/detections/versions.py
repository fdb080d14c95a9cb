"""The versions of rules, which hold from one time to another, and what each counter has to answer."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from attrs import evolve, field, frozen
from skyband.arrays import TIME_MAX, TIME_MIN, Array, Int64

from skyband_detect.detections.asks import Asks, asks_of
from skyband_detect.detections.counters import Counter, Shared, shared_by
from skyband_detect.detections.rule import Rule

Opening = tuple[Shared, int]
"""What a counter counts that was opened for rules to come, and the watermark then: it has all rows from there on."""
Silence = tuple[str, tuple[str, ...], int]
"""The name and key of rules that share their silence, and when the first of them began."""


class Limits(NamedTuple):
    """How far an opened counter reaches: its longest window, its largest bound, the longest window with `below`."""

    longest: int
    most: int
    falls: int

    @classmethod
    def of(cls, rule: Rule) -> "Limits":
        """What a rule needs."""
        return cls(rule.longest, rule.bound, rule.falls)

    def covers(self, other: "Limits") -> bool:
        """Whether a rule that needs the other limits fits in."""
        return all(own >= least for own, least in zip(self, other, strict=True))

    def with_room_for(self, other: "Limits") -> "Limits":
        """Limits that cover both."""
        return Limits(*map(max, self, other))


FIXED = TIME_MIN
"""The beginning of the fixed rules."""


@frozen
class Version:
    """What a name means from a time on: a rule, or no longer any."""

    name: str
    start: int
    """It was asked for from here on."""
    holds: int
    """It answers at times later than this."""
    life: int
    """The start of the first version since the name last ended."""
    rule: Rule | None
    opening: Opening | None
    """Its counter, if no permanent one covers it."""

    @property
    def until(self) -> int:
        """The last time at which it may answer."""
        return TIME_MAX if self.rule is None else self.rule.span[1]


def with_ends(versions: Sequence[Version]) -> list[tuple[Version, int]]:
    """The versions of a name, in order of start, each with the last time at which it holds: until a later one does."""
    ends, following = [], TIME_MAX
    for version in reversed(versions):
        ends.append((version, min(version.until, following)))
        following = min(following, version.holds)
    return ends[::-1]


@frozen(eq=False)
class ActiveRules:
    """The rules in force and the counters that they ask: those in bits of rows first, then opened ones."""

    rules: tuple[Rule, ...]
    """The fixed ones as listed, then the others by name and time."""
    begins: Int64
    ends: Int64
    """int64[v]: a rule answers at begins < time <= ends."""
    lives: tuple[int, ...]
    permanent: tuple[Counter, ...]
    opened: Mapping[Opening, Counter]
    unit: float
    """Of sums and means."""
    _asks: dict[Counter, Asks] = field(factory=dict, init=False)

    @classmethod
    def of(
        cls,
        fixed: Sequence[Rule],
        permanent: Sequence[Counter],
        versions: Sequence[tuple[Version, int]] = (),
        limits: "Mapping[Opening, Limits] | None" = None,
        *,
        unit: float,
    ) -> "ActiveRules":
        """versions: with their ends. limits: those of each opened counter."""
        rules, spans, lives = list(fixed), [rule.span for rule in fixed], [FIXED] * len(fixed)
        places: dict[Shared | Opening, list[int]] = {counter.shared: list(counter.rules) for counter in permanent}
        places |= {opening: [] for opening in limits or ()}
        for version, end in versions:
            assert version.rule is not None
            of = version.opening or shared_by(version.rule)
            places[of].append(len(rules))
            rules.append(version.rule)
            spans.append((version.holds, end))
            lives.append(version.life)
        begins, ends = np.array(spans, np.int64).reshape(-1, 2).T
        opened = {
            opening: Counter(*opening[0], tuple(places[opening]), *own) for opening, own in (limits or {}).items()
        }
        return cls(
            tuple(rules), begins, ends, tuple(lives),
            tuple(evolve(counter, rules=tuple(places[counter.shared])) for counter in permanent), opened, unit,
        )  # fmt: skip

    def asks(self, counter: Counter) -> Asks:
        """What the rules of one of these counters ask."""
        if counter not in self._asks:
            self._asks[counter] = asks_of(counter, self.rules, self.unit)
        return self._asks[counter]

    def holds(self, rules: Int64, when: Int64) -> Array:
        """bool[n]: whether each rule answers at a time."""
        inside: Array = (when > self.begins[rules]) & (when <= self.ends[rules])
        return inside

    @property
    def _counters(self) -> tuple[Counter, ...]:
        return (*self.permanent, *self.opened.values())

    @cached_property
    def longest(self) -> int:
        """The longest window of a counter; 0 if there is none."""
        return max((counter.longest for counter in self._counters), default=0)

    @cached_property
    def silences(self) -> dict[Silence, list[int]]:
        """The rules that share a silence, by their places, in order of time."""
        shared: dict[Silence, list[int]] = {}
        for place, (rule, life) in enumerate(zip(self.rules, self.lives, strict=True)):
            if rule.silence is not None:
                shared.setdefault((rule.name, rule.key, life), []).append(place)
        return {silence: sorted(places, key=self.begins.tolist().__getitem__) for silence, places in shared.items()}

    @cached_property
    def names(self) -> frozenset[tuple[str, int]]:
        """The name and life of each rule."""
        return frozenset(zip((rule.name for rule in self.rules), self.lives, strict=True))
