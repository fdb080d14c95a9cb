"""What rules answer, by definition: every moment of every version of every rule looked at, every row of its window."""

from typing import Any, NamedTuple


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


def answers(
    rows: list[tuple[int, int, float, Any]], versions: list[tuple[str, Rule, int, int]], last: dict[Any, int] | int
) -> set[tuple[Any, int, str, int, int, float]]:
    """(group, at, rule, rank, object, score) at every moment up to `last`; rows: (time, object, score, group)."""
    found = set()
    for group in {row[3] for row in rows}:
        own = [row for row in rows if row[3] == group]
        for name, rule, begin, end in versions:
            first, latest = min(row[0] for row in own), max(row[0] for row in own)
            for at in range(first, latest + rule.window + 1):
                if at % rule.slide or not begin < at <= end or at > last:
                    continue
                inside = [row for row in own if at - rule.window <= row[0] < at]
                best = sorted(inside, key=lambda row: (-row[2], row[1]))[: rule.k]
                found |= {(group, at, name, rank, row[1], row[2]) for rank, row in enumerate(best, 1)}
    return found
