"""Sequences by their definition: in each window, steps are looked for one after the other in all its rows."""

from collections.abc import Callable, Iterator
from random import Random

Event = tuple[float, ...]


def random_steps(random: Random, conditions: list[str]) -> dict:
    """The keys of a rule that make it a sequence."""

    def step():
        if random.random() < 0.7:
            return random.choice(conditions)
        table = {"window": f"{random.choice((2, 10, 60))} seconds", "at_least": random.choice((1, 2, 3))}
        table |= {"measure": random.choice(("rows", "distinct host")), "tell": random.choice(("crossing", "each"))}
        return table | ({"where": random.choice(conditions)} if random.random() < 0.7 else {})

    steps = [step() for _ in range(random.choice((2, 2, 3, 4)))]
    return {"measure": "sequence", "steps": steps, "tell": random.choice(("crossing", "each"))} | (
        {"any_order": True} if random.random() < 0.3 else {}
    )


def step_times(step: str | dict, rows: list[dict], meets: Callable[[str | None, dict], bool]) -> set[float]:
    """The times at which a key, whose rows these are, takes a step."""
    if isinstance(step, str):
        return {row["ts"] for row in rows if meets(step, row)}
    own = [row for row in rows if meets(step.get("where"), row)]
    column = step["measure"].removeprefix("distinct ") if step["measure"] != "rows" else "id"
    own = [row for row in own if row[column] is not None]
    span = int(step["window"].split()[0])
    times = set()
    for time in {row["ts"] for row in own}:
        before = {row[column] for row in own if time - span < row["ts"] < time}
        after = {row[column] for row in own if time - span < row["ts"] <= time}
        if len(after) >= step["at_least"] and (len(before) < step["at_least"] or step.get("tell", "each") == "each"):
            times.add(time)
    return times


def completed(rule: dict, rows: list[dict], meets: Callable[[str | None, dict], bool]) -> Iterator[Event]:
    """The times at which a rule answers for a key, whose rows these are, with the seconds that it took."""
    times = [sorted(step_times(step, rows, meets)) for step in rule["steps"]]
    silent, span = -1e18, int(rule["window"].split()[0])
    silence = int(rule["silence"].split()[0]) if "silence" in rule else 0
    for time in sorted({moment for own in times for moment in own}):
        before = [[moment for moment in own if time - span < moment < time] for own in times]
        until = [[moment for moment in own if time - span < moment <= time] for own in times]
        if rule.get("any_order"):
            had, has = all(before), all(until)
            began = min(own[-1] for own in until) if has else 0
        else:
            had = in_order(before) is not None
            began = in_order([*before[:-1], [time] if time in times[-1] else []])
            has = began is not None
        if has and (not had or rule["tell"] == "each") and time >= silent and ("until" not in rule or time <= 1200):
            silent = time + silence
            yield time, time - began, time - began


def in_order(times: list[list[float]]) -> float | None:
    """The latest time of the first step from which all others follow, each later than the one before."""
    for began in reversed(times[0]):
        moment = began
        for own in times[1:]:
            moment = next((later for later in own if later > moment), None)
            if moment is None:
                break
        else:
            return began
    return None
