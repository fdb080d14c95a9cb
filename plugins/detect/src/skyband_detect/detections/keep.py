"""What is kept for rules to come: counters, and the keys that rows are sent by."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs
from attrs import frozen
from skyband.config.durations import Duration
from skyband.config.literals import literal
from skyband.config.parameters import checked
from skyband.errors import Problem, suggest

from skyband_detect.detections.number_measures import NumberMeasure, bound_problem, number_measure
from skyband_detect.detections.rule import Rule, rule_or_faults
from skyband_detect.detections.rule_checks import flag_problem, key_names, key_problem, measure_problem
from skyband_detect.detections.sequences.steps import Step
from skyband_detect.role import ROWS, UNSEEN
from skyband_detect.total_role import QUANTILE


@frozen(repr=False)
class Keep:
    """A counter that is kept for rules to come: they hold as if they had always been there."""

    longest: Duration
    """The longest window of such a rule."""
    most: int | None = None
    """The largest bound; none for unseen keys and for numbers."""
    at_least: float | None = None
    """For quantiles: the bound that such rules have."""
    below: bool = False
    """Such a rule may have `below`: the last row of each key is kept too."""
    key: tuple[str, ...] = ()
    where: str | None = None
    measure: str = ROWS
    steps: tuple[Step, ...] = ()
    any_order: bool = False

    @property
    def as_rule(self) -> Rule:
        """The rule that asks most of it."""
        same = {name: getattr(self, name) for name in ("key", "where", "measure", "steps", "any_order")}
        bound = (
            {"below": self.most} if self.below else {"at_least": self.most if self.at_least is None else self.at_least}
        )
        return Rule("", self.longest, **bound, **same)

    def to_dict(self) -> dict[str, Any]:
        """The keys that are set, as users write them."""
        values = self.as_rule.to_dict()
        own = {
            "longest": values.pop("window"),
            "most": self.most,
            "at_least": self.at_least,
            "below": self.below or None,
        }
        return {key: value for key, value in {**values, **own}.items() if value is not None and key != "name"}

    def __repr__(self) -> str:
        return repr(self.as_rule)


def keep_parameter(*, help: str) -> Any:
    """The field of a query for counters that are kept for rules to come."""
    return checked((), type="list of counters", check=_wrong_keeps, converter=_as_keeps, kw_only=True, help=help)


def _as_keeps(tables: Any) -> Any:
    if not isinstance(tables, Iterable) or isinstance(tables, Mapping | str):
        return tables
    return tuple(table if isinstance(table, Keep) or _faults_of(table) else _keep(table) for table in tables)


def _keep(table: Mapping[str, Any]) -> Keep:
    rule = rule_or_faults(_as_if_a_rule(table))
    assert isinstance(rule, Rule)
    own = {key: table[key] for key in ("most", "at_least", "below") if table.get(key) is not None}
    return Keep(rule.window, **own, key=rule.key, where=rule.where, measure=rule.measure, steps=rule.steps,
                any_order=rule.any_order)  # fmt: skip


def _number(table: Mapping[str, Any]) -> NumberMeasure | None:
    """The measure, if it is of numbers."""
    measure = table.get("measure", ROWS)
    return number_measure(measure) if measure_problem(measure) is None else None


def _as_if_a_rule(table: Mapping[str, Any]) -> dict[str, Any]:
    """The rule that asks most of a counter."""
    number, bound = _number(table), "below" if table.get("below") is True else "at_least"
    values = {key: value for key, value in table.items() if key not in ("longest", "most", "below")}
    values |= {key: table[name] for key, name in (("window", "longest"), (bound, "most")) if name in table}
    values |= {"after": "1970-01-01"} if table.get("measure") == UNSEEN else {}
    if number is not None:
        values |= {} if number.kind == QUANTILE else {"at_least": 0}
    return {"name": "kept", **values}


def _faults_of(table: Any) -> list[tuple[str, str]]:
    """What is wrong with a counter to keep, as (key, message)."""
    if not isinstance(table, Mapping):
        return [("", f"must be a table with key, longest and most (got {literal(table)})")]
    names = [field.name for field in attrs.fields(Keep)]
    unknown = [(str(key), f"unknown; {suggest(str(key), names)}") for key in table if key not in names]
    faults = unknown or _faults_of_bounds(table)
    rule = [] if faults else rule_or_faults(_as_if_a_rule(table))
    return faults + [(_AS_KEPT.get(key, key), message) for key, message in ([] if isinstance(rule, Rule) else rule)]


_AS_KEPT = {"window": "longest", "at_least": "most", "below": "most"}
"""Keys of a rule, and what they are called for a counter that is kept."""


def _faults_of_bounds(table: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Which limits are not for this measure, as (key, message)."""
    number, problem = _number(table), flag_problem(table.get("below", False))
    if problem is not None:
        return [("below", problem)]
    if number is not None and "most" in table:
        return [("most", "is not for numbers, which are kept whatever the bound: remove it")]
    is_quantile = number is not None and number.kind == QUANTILE
    if is_quantile != ("at_least" in table):
        message = (
            "is required: the bound that rules of this quantile have" if is_quantile else "is for quantiles: use `most`"
        )
        return [("at_least", message)]
    problem = bound_problem(table["at_least"]) if is_quantile else None
    return [] if problem is None else [("at_least", problem)]


def _wrong_keeps(value: Any) -> Sequence[Problem]:
    if not isinstance(value, tuple):
        return [Problem("", f"must be a list of tables with key, longest and most (got {literal(value)})")]
    return [
        Problem(f"[{number}]{'.' if key else ''}{key}", message)
        for number, table in enumerate(value)
        for key, message in ([] if isinstance(table, Keep) else _faults_of(table))
    ]


def keys_parameter(*, help: str) -> Any:
    """The field of a query for the keys of rules to come."""
    return checked((), type="list of lists of columns", check=_wrong_keys, converter=_as_keys, kw_only=True, help=help)


def _as_keys(keys: Any) -> Any:
    if not isinstance(keys, list | tuple) or any(key_problem(key) for key in keys):
        return keys
    return tuple(dict.fromkeys(key_names(key) if key else () for key in keys))


def _wrong_keys(value: Any) -> Sequence[Problem]:
    if not isinstance(value, list | tuple):
        return [Problem("", f'must be a list of keys, such as [["user"], ["user", "host"]] (got {literal(value)})')]
    wrong = [(number, key_problem(key)) for number, key in enumerate(value)]
    return [Problem(f"[{number}]", message) for number, message in wrong if message is not None]
