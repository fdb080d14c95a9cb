"""The steps of a sequence as users write them: conditions, or counts that reach a bound."""

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import attrs
from attrs import frozen
from skyband.config.durations import Duration, length_text, parse
from skyband.config.literals import literal
from skyband.errors import suggest
from skyband_expressions.row_conditions import condition_problem

from skyband_detect.detections.rule_checks import (
    CROSSING,
    DISTINCT_MEASURE,
    EACH,
    SEQUENCE,
    choice_problem,
    count_problem,
    key_names,
    length_problem,
    measure_problem,
)
from skyband_detect.role import DISTINCT, ROWS

FEWEST, MOST = 2, 16
"""The number of steps of a sequence."""
_FORM = "must be a list of steps, each a condition, or a table with where, at_least and window"


@frozen(repr=False)
class Step:
    """A row of the key that meets `where`; with `at_least`, a time at which such rows or values reach it."""

    where: str | None = None
    at_least: int | None = None
    window: Duration | None = None
    measure: str = ROWS
    tell: str = EACH

    def __repr__(self) -> str:
        """As it is written, with lengths in their largest units: equal for equal steps."""
        return repr(self.as_written)

    @property
    def as_written(self) -> str | dict[str, Any]:
        """The step as `steps_of` reads it."""
        if self.window is None:
            return self.where or ""
        values = attrs.asdict(self, recurse=False, filter=lambda field, value: value != field.default)
        return values | {"window": length_text(self.window.length, False)}

    @property
    def values(self) -> tuple[str, ...]:
        """The columns whose distinct values it counts, if it does."""
        match = DISTINCT_MEASURE.fullmatch(self.measure)
        return () if match is None else key_names(match[1])


def steps_of(value: Any) -> tuple[Step, ...]:
    """The steps of a list without faults."""
    return tuple(_step(step) for step in _as_list(value))


def _step(step: Any) -> Step:
    if isinstance(step, Step):
        return step
    table = _table(step)
    values = {key: value for key, value in table.items() if value is not None}
    values |= {"window": parse(values["window"])} if "window" in values else {}
    if values.get("measure", ROWS).startswith(DISTINCT):
        values["measure"] = f"{DISTINCT} {', '.join(key_names(values['measure'].removeprefix(DISTINCT)))}"
    return Step(**values)


def step_faults(value: Any) -> list[tuple[str, str]]:
    """What is wrong with the steps of a rule, as (key, message)."""
    steps = _as_list(value)
    if not isinstance(steps, list | tuple):
        return [("steps", f"{_FORM} (got {literal(value)})")]
    if not FEWEST <= len(steps) <= MOST:
        return [("steps", f'must be {FEWEST} to {MOST} (got {len(steps)}); for one, use measure = "{ROWS}"')]
    return [
        (f"steps[{place}]{'.' if key else ''}{key}", message)
        for place, step in enumerate(steps)
        for key, message in ([] if isinstance(step, Step) else _faults(step))
    ]


def _faults(step: Any) -> list[tuple[str, str]]:
    table = _table(step)
    if not isinstance(table, Mapping):
        return [("", f"must be a condition or a table with where, at_least and window (got {literal(step)})")]
    values = {key: value for key, value in table.items() if value is not None}
    names = [field.name for field in attrs.fields(Step)]
    faults = [(str(key), f"unknown; {suggest(str(key), names)}") for key in values if key not in names]
    for key, check in _CHECKS.items():
        message = check(values[key]) if key in values else None
        faults += [] if message is None else [("" if isinstance(step, str) else key, message)]
    counts = [key for key in ("at_least", "window", "measure", "tell") if key in values]
    if not counts and "where" not in values:
        faults.append(("where", "is required: the condition of the step; or `at_least` and `window`, to count rows"))
    missing = [key for key in ("at_least", "window") if counts and key not in values]
    return faults + [(key, f"is required for a step that counts, as it has `{counts[0]}`") for key in missing]


def _measure_problem(measure: Any) -> str | None:
    problem = measure_problem(measure)
    if problem is None and measure != ROWS and not DISTINCT_MEASURE.fullmatch(measure):
        return f'must be "{ROWS}" or "{DISTINCT} COLUMN" in a step (got {literal(measure)})'
    return problem


_CHECKS: dict[str, Any] = {
    "where": condition_problem,
    "at_least": count_problem,
    "window": length_problem,
    "measure": _measure_problem,
    "tell": choice_problem(CROSSING, EACH),
}


def _as_list(value: Any) -> Any:
    """The list; of text that is JSON, as in a file of CSV, what it says."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _table(step: Any) -> Any:
    """A step as a table; a text is its condition, or an object of JSON, as in a column of text."""
    if not isinstance(step, str):
        return step
    if step.lstrip().startswith("{"):
        return _as_list(step)
    return {"where": step}


@frozen
class Steps:
    """What sequences have in common that share their state."""

    steps: tuple[Step, ...]
    any_order: bool

    @property
    def measure(self) -> str:
        """A text with all that it says: "sequence", and JSON."""
        return f"{SEQUENCE} {json.dumps([[step.as_written for step in self.steps], self.any_order])}"

    @property
    def longest(self) -> int:
        """The longest window of a step that counts; 0 without such."""
        return max((step.window.length for step in self.steps if step.window is not None), default=0)


@lru_cache(maxsize=1024)
def steps_in(measure: str) -> Steps:
    """The steps of `Steps.measure`."""
    steps, any_order = json.loads(measure.removeprefix(SEQUENCE))
    return Steps(steps_of(steps), any_order)


def both(one: str | None, two: str | None) -> str | None:
    """The condition that two conditions are true; None stands for all rows."""
    return f"({one}) AND ({two})" if one is not None and two is not None else two if one is None else one
