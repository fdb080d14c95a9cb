"""What rules answer, by definition: every moment of every version of every rule looked at, every row of its window."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa


class Rule(NamedTuple):
    """A row of a table of rules, its times in seconds: window None ends the rule, after None is when it comes."""

    name: str
    window: int | None
    slide: int = 1
    k: int = 1
    after: int | None = None
    until: int | None = None


def versions_of(came: list[tuple[int | None, list[Rule]]]) -> list[tuple[str, Rule, int, int]]:
    """(name, rule, begin, end) of each version: it answers later than `begin`, up to `end`.

    came: the tables of rules in the order in which they came, each with the moment up to which all was answered.
    """
    known: dict[tuple[str, int], Rule] = {}
    for answered, rules in came:
        floor = -(10**9) if answered is None else answered
        for rule in rules:
            known[rule.name, max(floor, floor if rule.after is None else rule.after)] = rule
    versions = []
    for (name, begin), rule in known.items():
        later = [other for other_name, other in known if other_name == name and other > begin]
        end = min([10**9 if rule.until is None else rule.until, *later])
        if rule.window is not None:
            versions.append((name, rule, begin, end))
    return versions


def windows_of(
    rows: list[tuple], versions: list[tuple[str, Rule, int, int]], last: int
) -> Iterator[tuple[Any, int, str, Rule, list[tuple]]]:
    """(group, at, name, rule, rows inside) of every moment up to `last` whose window has rows.

    rows: (time, …, group).
    """
    for group in {row[-1] for row in rows}:
        own = [row for row in rows if row[-1] == group]
        first, latest = min(row[0] for row in own), max(row[0] for row in own)
        for name, rule, begin, end in versions:
            for at in range(first, latest + rule.window + 1):
                if at % rule.slide or not begin < at <= end or at > last:
                    continue
                inside = [row for row in own if at - rule.window <= row[0] < at]
                if inside:
                    yield group, at, name, rule, inside


def answers(
    rows: list[tuple[int, int, float, Any]], versions: list[tuple[str, Rule, int, int]], last: int
) -> set[tuple[Any, int, str, int, int, float]]:
    """(group, at, rule, rank, object, score) at every moment up to `last`; rows: (time, object, score, group)."""
    found = set()
    for group, at, name, rule, inside in windows_of(rows, versions, last):
        best = sorted(inside, key=lambda row: (-row[2], row[1]))[: rule.k]
        found |= {(group, at, name, rank, row[1], row[2]) for rank, row in enumerate(best, 1)}
    return found


def rules_table(rules: list[Rule], k: bool = True) -> pa.Table:
    """Rules as rows of a table; k: whether they have one."""

    def length(seconds: int | None) -> str | None:
        return None if seconds is None else f"{seconds} seconds"

    def instants(values: list[int | None]) -> pa.Array:
        micros = [None if value is None else value * 1_000_000 for value in values]
        return pa.array(micros, pa.int64()).cast(pa.timestamp("us"))

    columns = {
        "name": pa.array([rule.name for rule in rules], pa.string()),
        "window": pa.array([length(rule.window) for rule in rules], pa.string()),
        "slide": pa.array([length(rule.slide) for rule in rules], pa.string()),
        **({"k": pa.array([rule.k for rule in rules], pa.int64())} if k else {}),
        "after": instants([rule.after for rule in rules]),
        "until": instants([rule.until for rule in rules]),
    }
    return pa.table(columns)


def random_rules(
    random: np.random.Generator, now: int, live: set[str], later: set[str], longest: int, most: int
) -> list[Rule]:
    """A few rules that come together, no two of one name: some new, some changed, some ended.

    live: names that hold on for sure, which alone are ended. later: names that have had a version of a time to come.
    """
    rules = []
    for name in random.choice(list("abcdef"), random.integers(1, 4), replace=False).tolist():
        after = None if random.random() < 0.5 else int(now + random.integers(-3, 10))
        start = now if after is None else max(after, now)
        if after is not None and after > now:
            later.add(name)
        if name in live and random.random() < 0.3:
            rules.append(Rule(name, None, after=after))
            live.discard(name)
            continue
        until = None if random.random() < 0.6 else int(start + random.integers(1, 20))
        window, slide = int(random.integers(1, longest + 1)), int(random.integers(1, 7))
        if random.random() < 0.2:
            window = longest
        rules.append(Rule(name, window, slide, int(random.integers(1, most + 1)), after, until))
        holds_on = until is None and name not in later
        live.add(name) if holds_on else live.discard(name)
    return rules
