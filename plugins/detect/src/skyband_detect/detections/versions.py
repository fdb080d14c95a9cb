"""The versions of rules, which hold from one time to another, and what each counter has to answer."""

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
from attrs import evolve, frozen
from skyband.arrays import TIME_MAX, TIME_MIN, Array, Int64

from skyband_detect.detections.counters import Counter, Shared, bounds_of, reached_by, shared_by
from skyband_detect.detections.rule import Rule
from skyband_detect.role import Bounds

Opening = tuple[Shared, int]
"""What a counter counts that was opened for rules to come, and the watermark then: it has all rows from there on."""
Silence = tuple[str, tuple[str, ...], int]
"""The name and key of rules that share their silence, and when the first of them began."""
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

    @classmethod
    def of(
        cls,
        fixed: Sequence[Rule],
        permanent: Sequence[Counter],
        versions: Sequence[tuple[Version, int]] = (),
        limits: Mapping[Opening, tuple[int, int]] | None = None,
    ) -> "ActiveRules":
        """versions: with their ends. limits: the largest bound and the longest window of each opened counter."""
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
            opening: Counter(*opening[0], tuple(places[opening]), longest, most)
            for opening, (most, longest) in (limits or {}).items()
        }
        return cls(
            tuple(rules), begins, ends, tuple(lives),
            tuple(evolve(counter, rules=tuple(places[counter.shared])) for counter in permanent), opened,
        )  # fmt: skip

    @cached_property
    def bounds(self) -> dict[tuple[int, ...], Bounds]:
        """What the rules of each counter ask that answer when a bound is reached, by the places of its rules."""
        return {counter.rules: bounds_of(counter, self.rules) for counter in self._counters}

    @cached_property
    def reached(self) -> dict[tuple[int, ...], Int64]:
        """int64[a]: the places of these rules, by those of all rules of their counter."""
        return {counter.rules: np.array(reached_by(counter, self.rules), np.int64) for counter in self._counters}

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
