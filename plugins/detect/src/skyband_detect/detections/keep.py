"""What is kept for rules to come: counters, and the keys that rows are sent by."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs
from attrs import frozen
from skyband.config.durations import Duration
from skyband.config.literals import literal
from skyband.config.parameters import checked
from skyband.errors import Problem, suggest

from skyband_detect.detections.rule import Rule, rule_or_faults
from skyband_detect.detections.rule_checks import key_names, key_problem
from skyband_detect.detections.sequences.steps import Step
from skyband_detect.role import ROWS, UNSEEN


@frozen(repr=False)
class Keep:
    """A counter that is kept for rules to come: they hold as if they had always been there."""

    longest: Duration
    """The longest window of such a rule."""
    most: int | None = None
    """The largest bound; none for unseen keys."""
    key: tuple[str, ...] = ()
    where: str | None = None
    measure: str = ROWS
    steps: tuple[Step, ...] = ()
    any_order: bool = False

    @property
    def as_rule(self) -> Rule:
        """The rule that asks most of it."""
        same = {name: getattr(self, name) for name in ("key", "where", "measure", "steps", "any_order")}
        return Rule("", self.longest, self.most, **same)

    def to_dict(self) -> dict[str, Any]:
        """The keys that are set, as users write them."""
        values = self.as_rule.to_dict()
        return {_OF_A_RULE.get(key, key): value for key, value in values.items() if key != "name"}

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
    most = None if rule.at_least is None else int(rule.at_least)
    return Keep(rule.window, most, rule.key, rule.where, rule.measure, rule.steps, rule.any_order)


_OF_A_RULE = {"window": "longest", "at_least": "most"}
"""Keys of a rule, and what they are called for a counter that is kept."""


def _as_if_a_rule(table: Mapping[str, Any]) -> dict[str, Any]:
    values = {key: table[named] for key, named in _OF_A_RULE.items() if named in table}
    unseen = {"after": "1970-01-01"} if table.get("measure") == UNSEEN else {}
    others = {key: value for key, value in table.items() if key not in _OF_A_RULE.values()}
    return {"name": "kept", **others, **values, **unseen}


def _faults_of(table: Any) -> list[tuple[str, str]]:
    """What is wrong with a counter to keep, as (key, message)."""
    if not isinstance(table, Mapping):
        return [("", f"must be a table with key, longest and most (got {literal(table)})")]
    names = [field.name for field in attrs.fields(Keep)]
    unknown = [(str(key), f"unknown; {suggest(str(key), names)}") for key in table if key not in names]
    rule = [] if unknown else rule_or_faults(_as_if_a_rule(table))
    faults = [] if isinstance(rule, Rule) else rule
    if isinstance(rule, Rule) and rule.number is not None:
        faults = [("measure", f"must be of rows, distinct values, unseen keys or a sequence (got {rule.measure!r})")]
    return unknown + [(_OF_A_RULE.get(key, key), message) for key, message in faults]


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
