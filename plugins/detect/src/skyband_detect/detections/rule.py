"""A rule as a user writes it: a table with a name, a key, a condition, a measure, a window and a bound."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
from attrs import frozen
from skyband.arrays import TIME_MAX, TIME_MIN
from skyband.config.durations import Duration, length_text, parse
from skyband.config.literals import literal
from skyband.config.parameters import checked
from skyband.errors import Problem, suggest
from skyband_expressions.row_conditions import condition_problem

from skyband_detect.detections.number_measures import NumberMeasure, bound_problem, number_measure
from skyband_detect.detections.rule_checks import (
    CROSSING,
    DISTINCT_MEASURE,
    EACH,
    SEQUENCE,
    choice_problem,
    count_problem,
    flag_problem,
    key_names,
    key_problem,
    length_problem,
    measure_problem,
    microseconds,
    name_problem,
    time_problem,
    utc_time,
)
from skyband_detect.detections.rule_file import rules_in_file
from skyband_detect.detections.sequences.steps import Step, Steps, step_faults, steps_of
from skyband_detect.role import DISTINCT, ROWS, UNSEEN
from skyband_detect.total_role import QUANTILE, SUM

_ROWS_ONLY = f'is for measure = "{ROWS}" only: when rows become too old is known for them alone'
_REFUSED = {
    "windows": "a rule has one `window`: write a rule for each length",
    "every": "a rule answers at the row that crosses its bound: remove it",
    "k": "a rule has `at_least`, not `k`",
    "by": "the columns that a rule counts by are its `key`",
}


@frozen(repr=False, cache_hash=True)
class Rule:
    """Answers when the rows of a key that meet `where` reach `at_least` within `window`, or fall below `below`."""

    name: str
    window: Duration
    at_least: int | float | None = None
    """The bound; none for unseen keys, and for keys that fall below one."""
    below: int | None = None
    """It answers when fewer rows of a key remain."""
    key: tuple[str, ...] = ()
    where: str | None = None
    measure: str = ROWS
    least: int | None = None
    """A mean or quantile of fewer values does not count."""
    steps: tuple[Step, ...] = ()
    """Of a sequence: what a key does, in this order."""
    any_order: bool = False
    """The steps may happen in any order, and at one time."""
    tell: str = CROSSING
    silence: Duration | None = None
    after: str | None = None
    """It answers at later times only."""
    until: str | None = None
    """It answers up to this time."""

    def __repr__(self) -> str:
        """The keys that are set, with lengths in their largest units: equal for equal rules."""
        values = attrs.asdict(self, recurse=False, filter=lambda field, value: value != field.default)
        texts = {key: length_text(value.length, False) if isinstance(value, Duration) else value
                 for key, value in values.items()}  # fmt: skip
        return f"{{{', '.join(f'{key} = {value!r}' for key, value in texts.items())}}}"

    def to_dict(self) -> dict[str, Any]:
        """The keys that are set, as `rule_or_faults` reads them."""
        values = attrs.asdict(self, recurse=False, filter=lambda field, value: value != field.default)
        values |= {"steps": [step.as_written for step in self.steps]} if self.steps else {}
        return {key: str(value) if isinstance(value, Duration) else value for key, value in values.items()}

    @property
    def counts(self) -> str:
        """What it counts: rows, distinct, or unseen keys; sum, mean, or quantile and the number that it must reach.

        Of a sequence: its steps.
        """
        if self.steps:
            return Steps(self.steps, self.any_order).measure
        if self.number is not None:
            return f"{QUANTILE} {float(self.at_least or 0)!r}" if self.number.kind == QUANTILE else self.number.kind
        return DISTINCT if self.measure.startswith(DISTINCT) else self.measure

    @property
    def bound(self) -> int:
        """`at_least` or `below`; 1 for unseen keys and for numbers."""
        return int(self.at_least or self.below or 1) if self.number is None else 1

    @property
    def number(self) -> NumberMeasure | None:
        """The measure, if it is of numbers."""
        return number_measure(self.measure)

    @property
    def longest(self) -> int:
        """Its window, or that of a step that counts, if longer."""
        return max(self.window.length, Steps(self.steps, self.any_order).longest)

    @property
    def falls(self) -> int:
        """Its window, if keys fall below its bound, else 0."""
        return 0 if self.below is None else self.window.length

    @property
    def reach(self) -> int:
        """How much older than an answer the rows may be that it depends on."""
        return self.window.length + Steps(self.steps, self.any_order).longest

    @property
    def conditions(self) -> tuple[tuple[str, str], ...]:
        """The key of each condition, and its text."""
        steps = ((f"steps[{place}]", step.where) for place, step in enumerate(self.steps))
        return tuple((key, where) for key, where in (("where", self.where), *steps) if where is not None)

    @property
    def span(self) -> tuple[int, int]:
        """`after` and `until`, in microseconds since the epoch."""
        return (
            TIME_MIN if self.after is None else microseconds(self.after),
            TIME_MAX if self.until is None else microseconds(self.until),
        )

    @property
    def values(self) -> tuple[str, ...]:
        """The columns whose distinct values it counts, if it does, or the column of its numbers."""
        if self.number is not None:
            return (self.number.column,)
        match = DISTINCT_MEASURE.fullmatch(self.measure)
        own = () if match is None else key_names(match[1])
        return (*own, *dict.fromkeys(name for step in self.steps for name in step.values))


def rule_or_faults(table: Mapping[str, Any]) -> Rule | list[tuple[str, str]]:
    """The rule of a table, or what is wrong with it, as (key, message)."""
    faults = _faults(table)
    if faults:
        return faults
    rule: Rule = _rule(table)
    return rule


NO_RULES = "must be a list of tables, each a rule with name, window and at_least"


def rules_parameter(*, help: str) -> Any:
    """The field of a query for its rules."""
    return checked((), type="list of rules, or a file", check=_wrong, help=help, converter=_as_rules)


def _as_rules(rules: Any) -> Any:
    """Convert the rules to Rule; a wrong one stays as it is, for the check to report."""
    if isinstance(rules, str | Path):
        rules = rules_in_file(Path(rules))
    if not isinstance(rules, Iterable) or isinstance(rules, Mapping):
        return rules
    return tuple(_rule(table) for table in rules)


def _rule(table: Any) -> Any:
    if isinstance(table, Rule) or not isinstance(table, Mapping) or _faults(table):
        return table
    values = {key: value for key, value in table.items() if value is not None}
    values |= {key: parse(values[key]) for key in ("window", "silence") if key in values}
    values |= {key: utc_time(values[key]).isoformat() for key in ("after", "until") if key in values}
    values |= {"steps": steps_of(values["steps"])} if "steps" in values else {}
    values["key"] = key_names(values["key"]) if values.get("key") else ()
    if values.get("measure", ROWS).startswith(DISTINCT):
        values["measure"] = f"{DISTINCT} {', '.join(key_names(values['measure'].removeprefix(DISTINCT)))}"
    return Rule(**values)


def _wrong(value: Any) -> Sequence[Problem]:
    if not isinstance(value, tuple):
        return [Problem("", f"{NO_RULES} (got {literal(value)})")]
    problems = [
        Problem(f"[{number}]{'.' if key else ''}{key}", message)
        for number, table in enumerate(value)
        for key, message in ([] if isinstance(table, Rule) else _faults(table))
    ]
    names = [rule.name if isinstance(rule, Rule) else _name_of(rule) for rule in value]
    counts = Counter(names)
    return problems + [
        Problem(f"[{number}].name", f"{name!r} is the name of {counts[name]} rules: give each its own")
        for number, name in enumerate(names)
        if name is not None and counts[name] > 1
    ]


def _name_of(table: Any) -> str | None:
    name = table.get("name") if isinstance(table, Mapping) else None
    return name if isinstance(name, str) else None


def _faults(table: Any) -> list[tuple[str, str]]:
    """What is wrong with one rule, as (key, message)."""
    if not isinstance(table, Mapping):
        return [("", f"must be a table with name, window and at_least (got {literal(table)})")]
    values = {key: value for key, value in table.items() if value is not None}
    names = [field.name for field in attrs.fields(Rule)]
    faults = [(str(key), _unknown(str(key), names)) for key in values if key not in names]
    faults += [(key, "is required") for key in ("name", "window") if key not in values]
    is_number = "measure" in values and measure_problem(values["measure"]) is None and number_measure(values["measure"])
    for key, check in (_CHECKS | ({"at_least": bound_problem} if is_number else {})).items():
        message = check(values[key]) if key in values else None
        faults += [] if message is None else [(key, message)]
    faults += step_faults(values["steps"]) if "steps" in values else []
    return faults or _faults_together(values)


def _faults_together(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Which keys of one rule, each right alone, do not fit together."""
    number, faults = number_measure(values.get("measure", ROWS)), list[tuple[str, str]]()
    if number is not None:
        return _faults_of_numbers(values, number)
    if "least" in values:
        return [("least", "is for means and quantiles: remove it")]
    if values.get("measure") == SEQUENCE or "steps" in values or values.get("any_order"):
        return _faults_of_sequences(values)
    if values.get("measure") != UNSEEN:
        return _faults_of_bounds(values)
    if "below" in values:
        faults.append(("below", _ROWS_ONLY))
    if "at_least" in values:
        faults.append(("at_least", "is not for unseen keys, which have no rows to count: remove it"))
    if values.get("tell", CROSSING) != CROSSING:
        faults.append(("tell", f'must be "{CROSSING}": a key that was seen is not unseen (got {literal(EACH)})'))
    if "after" not in values:
        message = "is required for unseen keys: the end of a time in which keys are learnt, else the first rows of all"
        faults.append(("after", f'{message} keys are answers; such as "2026-01-31T00:00:00Z"'))
    return faults


def _faults_of_numbers(values: Mapping[str, Any], number: NumberMeasure) -> list[tuple[str, str]]:
    """What is wrong with the bounds of a rule about numbers."""
    if "below" in values:
        return [("below", f"{_ROWS_ONLY} (got measure = {literal(values['measure'])})")]
    if "at_least" not in values:
        return [("at_least", "is required: the bound, such as 10")]
    if "least" in values and number.kind == SUM:
        return [("least", "is for means and quantiles, and a sum counts from its first value: remove it")]
    return []


def _faults_of_sequences(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What is wrong with a rule that has steps, or that needs them."""
    if values.get("measure") != SEQUENCE:
        key = "steps" if "steps" in values else "any_order"
        got = literal(values.get("measure", ROWS))
        return [("measure", f'must be "{SEQUENCE}" for a rule with `{key}` (got {got})')]
    if "steps" not in values:
        return [("steps", 'is required for a sequence: a list of conditions, such as ["NOT ok", "ok"]')]
    bounds = [key for key in ("at_least", "below") if key in values]
    return [(key, "is not for a sequence, which is complete or not: give it to a step") for key in bounds]


def _faults_of_bounds(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What is wrong with `at_least` and `below` of a rule that counts."""
    if "below" not in values:
        return [] if "at_least" in values else [("at_least", "is required: the bound, such as 10; or `below`")]
    if "at_least" in values:
        return [("below", "a rule has one bound: write two rules, one with `at_least` and one with `below`")]
    if values.get("measure", ROWS) != ROWS:
        return [("below", f"{_ROWS_ONLY} (got measure = {literal(values['measure'])})")]
    if values.get("tell", CROSSING) != CROSSING:
        return [("tell", f'must be "{CROSSING}": no row comes when a key falls below (got {literal(EACH)})')]
    return []


def _unknown(key: str, names: Sequence[str]) -> str:
    return _REFUSED.get(key) or f"unknown; {suggest(key, names)}"


_CHECKS: dict[str, Callable[[Any], str | None]] = {
    "name": name_problem,
    "window": length_problem,
    "at_least": count_problem,
    "below": count_problem,
    "least": count_problem,
    "key": key_problem,
    "where": condition_problem,
    "measure": measure_problem,
    "any_order": flag_problem,
    "tell": choice_problem(CROSSING, EACH),
    "silence": length_problem,
    "after": time_problem,
    "until": time_problem,
}
