"""A threshold or new-terms rule of Elastic as a rule of detections, or why it cannot be one."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from skyband_detect.detections.rule import Rule, rule_or_faults
from skyband_detect.elastic.documents import Document
from skyband_detect.elastic.kuery import condition_of
from skyband_detect.sigma.mapping import FieldMapping
from skyband_detect.sigma.refusals import RefusedError

KINDS = ("threshold", "new_terms")
_AGO = re.compile(r"now-(\d+)([smhdw])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_DEFAULT_FROM = "now-6m"


class Translation(NamedTuple):
    """A rule, and what is different in it."""

    rule: dict[str, Any]
    notes: tuple[str, ...]


def rule_of(document: Document, mapping: FieldMapping, after: str | None) -> Translation:
    """The rule of a document; after: until when rules about new terms learn. Raises RefusedError, naming the key."""
    content, notes = document.content, list[str]()
    language = content.get("language", "kuery")
    if language != "kuery":
        raise RefusedError("language", f"must be kuery (got {language!r})")
    for key in ("filters", "exceptions_list"):
        if content.get(key):
            raise RefusedError(key, "narrows the query by other terms: write them into it")
    where = condition_of(str(content.get("query", "")), mapping.column_of)
    rule: dict[str, Any] = {"name": str(content.get("name") or document.place)}
    rule |= {} if where is None else {"where": where}
    if document.kind == "threshold":
        rule |= _threshold(content, mapping, notes)
    else:
        rule |= _new_terms(content, mapping, after)
    rule |= _silence(content, rule["key"], mapping)
    checked = rule_or_faults(rule)
    if not isinstance(checked, Rule):
        raise RefusedError(*checked[0])
    return Translation(rule, tuple(notes))


def _threshold(content: Mapping[str, Any], mapping: FieldMapping, notes: list[str]) -> dict[str, Any]:
    threshold = content.get("threshold")
    if not isinstance(threshold, Mapping) or not isinstance(value := threshold.get("value"), int):
        raise RefusedError("threshold", f"must have field and value (got {threshold!r})")
    key = _columns("threshold.field", threshold.get("field") or [], mapping)
    if "from" not in content:
        notes.append(f"without `from` it looks back 6 minutes, as {_DEFAULT_FROM} does")
    rule = {"key": key, "window": _length("from", content.get("from", _DEFAULT_FROM))}
    cardinality = threshold.get("cardinality") or []
    if not cardinality:
        return {**rule, "at_least": value}
    if not isinstance(cardinality, list) or len(cardinality) > 1 or not isinstance(cardinality[0], Mapping):
        raise RefusedError("threshold.cardinality", f"must be of one field (got {cardinality!r})")
    (column,) = _columns("threshold.cardinality.field", cardinality[0].get("field"), mapping)
    distinct = cardinality[0].get("value")
    if not isinstance(distinct, int) or value > distinct:
        message = f"asks for {value} rows and {distinct} different values together: write two rules"
        raise RefusedError("threshold.cardinality", message)
    return {**rule, "measure": f"distinct {column}", "at_least": distinct}


def _new_terms(content: Mapping[str, Any], mapping: FieldMapping, after: str | None) -> dict[str, Any]:
    own = content.get("new_terms") or {}  # as in files of TOML; exports have both keys in the rule
    fields = own.get("value", content.get("new_terms_fields"))
    starts = own.get("history_window_start") or [{"value": content.get("history_window_start")}]
    if not isinstance(starts, list) or len(starts) != 1 or not isinstance(starts[0], Mapping):
        raise RefusedError("new_terms.history_window_start", f"must be one start (got {starts!r})")
    if after is None:
        raise RefusedError(
            "new_terms", "needs --after TIME: until then terms are learnt, else the first of all are new"
        )
    window = _length("new_terms.history_window_start", starts[0].get("value"))
    key = _columns("new_terms.value", fields, mapping)
    return {"key": key, "measure": "unseen", "window": window, "after": after}


def _silence(content: Mapping[str, Any], key: list[str], mapping: FieldMapping) -> dict[str, Any]:
    """The time for which alerts of a key are suppressed."""
    suppression = content.get("alert_suppression")
    if not suppression:
        return {}
    fields = suppression.get("group_by")
    if fields is not None and {*_columns("alert_suppression.group_by", fields, mapping)} != {*key}:
        raise RefusedError("alert_suppression.group_by", f"must be the key of the rule, {key} (got {fields!r})")
    duration = suppression.get("duration")
    if not isinstance(duration, Mapping) or duration.get("unit") not in _UNITS:
        raise RefusedError("alert_suppression.duration", f"must have value and unit (got {duration!r})")
    return {"silence": f"{duration.get('value')} {_UNITS[duration['unit']]}"}


def _columns(key: str, fields: Any, mapping: FieldMapping) -> list[str]:
    fields = [fields] if isinstance(fields, str) else fields
    if not isinstance(fields, list) or not all(isinstance(field, str) and field for field in fields):
        raise RefusedError(key, f"must be fields (got {fields!r})")
    return [mapping.column_of(field) for field in fields]


def _length(key: str, value: Any) -> str:
    match = _AGO.fullmatch(str(value))
    if match is None:
        raise RefusedError(key, f"must be such as now-10m (got {value!r})")
    return f"{match[1]} {_UNITS[match[2]]}"
