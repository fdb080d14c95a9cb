"""The rows of answers that alerts and falls become."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen
from skyband.arrays import Array, Int64
from skyband.columns.rows import Rows
from skyband.columns.rows_behind_answers import carried_values
from skyband.queries.time_columns import moments

from skyband_detect.detections.batch_entries import column_of
from skyband_detect.detections.falling_keys import FallenKeys
from skyband_detect.detections.key_texts import key_texts
from skyband_detect.detections.versions import ActiveRules

if TYPE_CHECKING:
    from skyband_detect.detections.query import Detections


class Alerts(NamedTuple):
    """Rows that cross the bound of a rule: int64[n] of rows and rules, and numbers."""

    rows: Int64
    rules: Int64
    value: Array
    low: Array
    high: Array
    """The bounds are floats or whole numbers; `high` is NaN if only the lower end is known."""

    def filter(self, stays: Array) -> "Alerts":
        """Those of bool[n]."""
        return Alerts(*(column[stays] for column in self))


def joined_alerts(pieces: Sequence[Alerts]) -> Alerts:
    """The alerts of several counters."""
    return Alerts(
        *(np.concatenate(column) for column in zip(Alerts(*[np.empty(0, np.int64)] * 5), *pieces, strict=True))
    )


def rows_by_rule(rules: Int64, order: Int64) -> dict[int, Int64]:
    """The places of each rule in int64[n], in this order."""
    places = np.lexsort((order, rules))
    different, begins = np.unique(rules[places], return_index=True)
    return dict(zip(different.tolist(), np.split(places, begins[1:]), strict=True)) if len(rules) else {}


@frozen
class AnswerTable:
    """Makes answers of a schema. carry: the fields of carried columns."""

    query: "Detections"
    schema: pa.Schema
    carry: Sequence[pa.Field]

    def of(self, rows: Rows, active: ActiveRules, alerts: Alerts, falls: FallenKeys | None) -> pa.RecordBatch | None:
        """The answers, in order of time, rule and key; None if there are none."""
        pieces = [self._of_rows(rows, active, alerts)] if len(alerts.rows) else []
        if falls is not None and len(falls.times):
            numbers = {"value": falls.value, "low": falls.value, "high": falls.value}
            own = {"time": falls.times, "rule": falls.rules, "key": falls.columns[0], **numbers}
            pieces.append(_answer_columns(own, falls.columns[1:]))
        if not pieces:
            return None
        table = pa.concat_tables(pieces).combine_chunks()
        order = pc.sort_indices(table, [(name, "ascending") for name in ("0", "1", "2")])
        times, rules, *others = (column.combine_chunks() for column in table.take(order).columns)
        names = pa.array([rule.name for rule in active.rules], pa.string())
        columns = [moments(times.to_numpy(), self.schema.field("time").type), names.take(rules), *others]
        return pa.RecordBatch.from_arrays([pa.array(column) for column in columns], schema=self.schema)

    def _of_rows(self, rows: Rows, active: ActiveRules, alerts: Alerts) -> pa.Table:
        """The answers that rows stand for, with times and rules as numbers."""
        crossing = rows.take(alerts.rows)
        high = pa.array(alerts.high.astype(np.float64), from_pandas=True)  # null for NaN
        numbers = {"value": alerts.value, "low": alerts.low, "high": high}
        own = {"time": crossing.times, "rule": alerts.rules, "key": self._key_texts(rows, active, alerts), **numbers}
        numbered = (self.query.carried_names.index(name) for name in self.query.carry)
        carry = zip(numbered, self.carry, strict=True)
        return _answer_columns(own, [carried_values(crossing, number, field.type) for number, field in carry])

    def _key_texts(self, rows: Rows, active: ActiveRules, alerts: Alerts) -> pa.Array:
        """string[n]: the key of each alert as JSON."""
        keys = [rule.key for rule in active.rules]
        different = list(dict.fromkeys(keys))
        number = np.array([different.index(key) for key in keys])[alerts.rules]
        pieces, places = [], []
        for place, key in enumerate(different):
            own = np.flatnonzero(number == place)
            if len(own):
                pieces.append(
                    key_texts(key, [column_of(self.query, rows, name, alerts.rows[own]) for name in key], len(own))
                )
                places.append(own)
        return pa.concat_arrays(pieces).take(pa.array(np.argsort(np.concatenate(places), kind="stable")))


def _answer_columns(own: Mapping[str, Any], carry: Sequence[pa.Array]) -> pa.Table:
    """The columns of answers, numbers as float64, with the times and rules as int64."""
    columns = [pa.array(column) for column in own.values()]
    columns[3:] = [column.cast(pa.float64()) for column in columns[3:]]
    return pa.Table.from_arrays([*columns, *carry], [str(number) for number in range(len(columns) + len(carry))])
