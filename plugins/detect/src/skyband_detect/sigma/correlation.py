"""A correlation of Sigma as a rule of detections, or why it cannot be one."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from skyband_detect.detections.rule import Rule, rule_or_faults
from skyband_detect.detections.sequences.steps import both
from skyband_detect.sigma.condition_text import sql_of
from skyband_detect.sigma.documents import Document, Library
from skyband_detect.sigma.field_matches import joined, selection
from skyband_detect.sigma.mapping import FieldMapping
from skyband_detect.sigma.refusals import RefusedError

_TIMESPAN = re.compile(r"(\d+)\s*([smhdw])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_COUNTS = ("event_count", "value_count")
_NUMBERS = {"value_sum": "sum", "value_avg": "mean", "value_median": "median of", "value_percentile": "p"}
_ORDERS = ("temporal", "temporal_ordered")
_KEYS = {"type", "rules", "group-by", "timespan", "condition", "generate"}


class Translation(NamedTuple):
    """A rule of a correlation, and what is different in it."""

    rule: dict[str, Any]
    notes: tuple[str, ...]


class Correlations:
    """Makes rules of the correlations of a library.

    edge: a rule answers when it crosses its bound; else at each event, and then is silent for its timespan, as Sigma's
    engines are.
    """

    def __init__(self, library: Library, mapping: FieldMapping, edge: bool) -> None:
        self._library, self._mapping, self._edge = library, mapping, edge

    def rule_of(self, document: Document) -> Translation:
        """The rule of a correlation. Raises RefusedError, naming the key that cannot be said."""
        notes = list[str]()
        body = self._body(document)
        kind, window, key = self._kind(body), _length(body), self._key(body)
        rule: dict[str, Any] = {"name": document.title, "key": key, "window": window}
        if kind in _ORDERS:
            rule |= self._steps(body, kind, key)
        else:
            rule |= {"where": self._where(body, notes), **self._measured(body, kind, notes)}
        if not self._edge and "below" not in rule:
            rule |= {"tell": "each", "silence": window}
        checked = rule_or_faults(rule)
        if not isinstance(checked, Rule):
            raise RefusedError(*checked[0])
        return Translation(rule, tuple(notes))

    def _body(self, document: Document) -> Mapping[str, Any]:
        body = document.content["correlation"]
        if not isinstance(body, Mapping):
            raise RefusedError("correlation", f"must have type, rules and timespan (got {body!r})")
        if body.get("aliases"):
            remedy = "give both columns one name in source.select, and group by that"
            raise RefusedError("correlation.aliases", f"names a field differently by rule: {remedy}")
        for name in body:
            if name not in {*_KEYS, "aliases"}:
                raise RefusedError(f"correlation.{name}", "is not supported")
        return body

    def _kind(self, body: Mapping[str, Any]) -> str:
        kind = body.get("type")
        kinds = (*_COUNTS, *_NUMBERS, *_ORDERS)
        if kind not in kinds:
            raise RefusedError("correlation.type", f"must be one of {', '.join(kinds)} (got {kind!r})")
        return str(kind)

    def _key(self, body: Mapping[str, Any]) -> list[str]:
        fields = body.get("group-by") or []
        fields = [fields] if isinstance(fields, str) else fields
        if not isinstance(fields, list) or not all(isinstance(field, str) and field for field in fields):
            raise RefusedError("correlation.group-by", f"must be a list of fields (got {fields!r})")
        return [self._mapping.column_of(field) for field in fields]

    def _named(self, body: Mapping[str, Any]) -> list[Document]:
        names = body.get("rules")
        names = [names] if isinstance(names, str) else names
        if not isinstance(names, list) or not names:
            raise RefusedError("correlation.rules", f"must be names of rules (got {names!r})")
        return [self._library.named(name) for name in names]

    def _where(self, body: Mapping[str, Any], notes: list[str]) -> str:
        """The condition that an event of any of the rules meets."""
        documents = self._named(body)
        if any(document.is_correlation for document in documents):
            message = "counts what another correlation finds; only temporal ones may name correlations"
            raise RefusedError("correlation.rules", message)
        if len(documents) > 1:
            notes.append("an event that several of its rules match counts once")
        return joined("OR", [self._event(document) for document in documents])

    def _event(self, document: Document) -> str:
        """The condition of a detection's events."""
        try:
            return self._detected(document)
        except RefusedError as error:
            raise RefusedError(f"rule {document.title!r}", str(error)) from error

    def _detected(self, document: Document) -> str:
        detection = document.content.get("detection")
        if not isinstance(detection, Mapping):
            raise RefusedError("detection", "is missing")
        if "timeframe" in detection:
            raise RefusedError("detection.timeframe", "is of old rules: write a correlation")
        texts = detection.get("condition")
        texts = [texts] if isinstance(texts, str) else texts
        if not isinstance(texts, list) or not texts or not all(isinstance(text, str) for text in texts):
            raise RefusedError("detection.condition", f"must be a condition, or a list of such (got {texts!r})")
        selections = {
            str(name): selection(str(name), content, self._mapping.column_of)
            for name, content in detection.items()
            if name != "condition"
        }
        own = joined("OR", [sql_of(text, selections) for text in texts])
        return both(self._mapping.rows_of(document.content.get("logsource")), own) or own

    def _measured(self, body: Mapping[str, Any], kind: str, notes: list[str]) -> dict[str, Any]:
        """The measure and the bound."""
        condition = body.get("condition")
        if not isinstance(condition, Mapping):
            raise RefusedError("correlation.condition", f"must be such as {{gte: 10}} (got {condition!r})")
        measure = {"measure": self._measure(condition, kind)} if kind != "event_count" else {}
        if kind in ("value_median", "value_percentile"):
            notes.append("a quantile is the value of an event, not one between two")
        return measure | _bound(condition, kind, notes)

    def _measure(self, condition: Mapping[str, Any], kind: str) -> str:
        fields = condition.get("field")
        fields = [fields] if isinstance(fields, str) else fields
        if not isinstance(fields, list) or not fields or not all(isinstance(field, str) for field in fields):
            raise RefusedError("correlation.condition.field", f"is required for {kind} (got {fields!r})")
        columns = [self._mapping.column_of(field) for field in fields]
        if kind == "value_count":
            return f"distinct {', '.join(columns)}"
        if len(columns) > 1:
            raise RefusedError("correlation.condition.field", f"must be one field for {kind} (got {fields!r})")
        if kind != "value_percentile":
            return f"{_NUMBERS[kind]} {columns[0]}"
        percent = condition.get("percentile")
        if isinstance(percent, bool) or not isinstance(percent, int | float):
            message = "is required: without it the specification means how rare a value is, which is not supported"
            raise RefusedError("correlation.condition.percentile", message)
        return f"p{percent} of {columns[0]}"

    def _steps(self, body: Mapping[str, Any], kind: str, key: Sequence[str]) -> dict[str, Any]:
        """The steps of a temporal correlation."""
        documents = self._named(body)
        condition = body.get("condition")
        if condition is not None and condition != {"gte": len(documents)}:
            message = "must be left out of temporal correlations: all their rules have to match"
            raise RefusedError("correlation.condition", f"{message} (got {condition!r})")
        steps = [self._step(document, key) for document in documents]
        order = {"any_order": True} if kind == "temporal" else {}
        return {"measure": "sequence", "steps": steps, **order}

    def _step(self, document: Document, key: Sequence[str]) -> Any:
        if not document.is_correlation:
            return self._event(document)
        body = self._body(document)
        kind, window, own_key = self._kind(body), _length(body), self._key(body)
        if kind not in _COUNTS:
            raise RefusedError("correlation.rules", f"{document.title!r} is a {kind}, and a step may only count")
        if list(own_key) != list(key):
            raise RefusedError("correlation.rules", f"{document.title!r} has another group-by: {own_key}, not {key}")
        where = self._where(body, [])
        counted = {"window": window, **self._measured(body, kind, [])}
        if "below" in counted:
            raise RefusedError(
                "correlation.rules", f"{document.title!r} counts fewer than a bound, which is not a step"
            )
        return counted | ({} if where is None else {"where": where})


def _length(body: Mapping[str, Any]) -> str:
    text = body.get("timespan", body.get("timeframe"))
    match = _TIMESPAN.fullmatch(text) if isinstance(text, str) else None
    if match is None or int(match[1]) < 1:
        message = "must be a number and s, m, h, d or w, such as 10m; months and years differ in length"
        raise RefusedError("correlation.timespan", f"{message} (got {text!r})")
    number = int(match[1])
    return f"{number} {_UNITS[match[2]][: -1 if number == 1 else None]}"


def _bound(condition: Mapping[str, Any], kind: str, notes: list[str]) -> dict[str, Any]:
    """`at_least` or `below` of a condition such as {gte: 10}."""
    others = {"field", "percentile"} if kind != "event_count" else set()
    operators = [name for name in condition if name not in others]
    if len(operators) != 1 or operators[0] not in ("gte", "gt", "lt", "lte"):
        message = "must be one of gte, gt, lt and lte: a rule has one bound"
        raise RefusedError("correlation.condition", f"{message} (got {', '.join(map(str, operators)) or 'none'})")
    operator, number = operators[0], condition[operators[0]]
    key = f"correlation.condition.{operator}"
    if isinstance(number, bool) or not isinstance(number, int | float):
        raise RefusedError(key, f"must be a number (got {number!r})")
    if kind in _COUNTS and number != int(number):
        raise RefusedError(key, f"must be a whole number, as it is a count (got {number!r})")
    if operator in ("lt", "lte"):
        if kind != "event_count":
            raise RefusedError(key, f"is for event_count only, as falling below is: {kind} can be gte or gt")
        notes.append("answers when too few events are left of a key that had enough; a key never seen is not missed")
        return {"below": int(number) + (operator == "lte")}
    if kind in _COUNTS:
        return {"at_least": int(number) + (operator == "gt")}
    if operator == "gt" and kind != "value_sum":
        notes.append(f"answers at {number} too: gt became gte")
    elif operator == "gt":
        if number != int(number):
            raise RefusedError(key, "is a fraction: write gte with the next whole multiple of the query's unit")
        notes.append(f"gt {number} became gte {int(number) + 1}, for a unit of 1")
        return {"at_least": int(number) + 1}
    return {"at_least": number}
