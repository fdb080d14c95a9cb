"""Calendar windows with a column of time zones: "today in {zone}" is today by each group's own clock."""

from collections.abc import Iterable, Mapping
from typing import Any

import attrs
import numpy as np
import pyarrow as pa

from skyband.arrays import Array, Int64
from skyband.columns.keyed_frames import decoded
from skyband.config.calendar_lengths import CalendarLength, Length, zone_columns
from skyband.config.literals import literal
from skyband.config.time_zone_conversion import time_zone
from skyband.errors import NO_COLUMN, InputError, Problem
from skyband.queries.shared_keys import no_column

_REMEDY = 'it must name a zone, such as "Europe/Paris": correct such rows or filter them'


def zone_column_problems(
    lengths: Mapping[str, Length], groupings: Iterable[tuple[str, ...]], schema: pa.Schema
) -> list[Problem]:
    """Problems of columns that name zones; lengths: by their keys; groupings: the columns of each set."""
    columns = zone_columns(lengths.values())
    first = next((column for column in columns if column in schema.names), None)
    problems = []
    if first is not None and not all(first in names for names in groupings):
        message = f"must name {first!r}, the column with the zone of each group, in every set"
        problems.append(Problem("by", f"{message}: add it"))
    for key, length in lengths.items():
        column = length.column if isinstance(length, CalendarLength) else None
        if column is None:
            continue
        if column not in schema.names:
            problems.append(Problem(key, f"takes zones from a column: {no_column(column, schema)}", NO_COLUMN))
        elif column != first:
            message = f"takes zones from the column {column!r}, and another window from {first!r}: use one for all"
            problems.append(Problem(key, f"{message} (got {length})"))
        elif not _is_text(schema.field(column).type):
            kind = schema.field(column).type
            problems.append(Problem(key, f"takes zones from the column {column!r}, which must be text (it is {kind})"))
    return problems


def check_zones(column: str, values: pa.Array) -> None:
    """Raise InputError at the first row that does not name a zone."""
    codes = decoded(values).dictionary_encode()
    names = [*codes.dictionary.to_pylist(), None]
    numbers = codes.indices.fill_null(len(names) - 1).to_numpy(zero_copy_only=False)
    wrong: Array = np.array([not is_zone(name) for name in names], bool)[numbers]
    if wrong.any():
        row = int(wrong.argmax())
        got = "null" if names[numbers[row]] is None else literal(names[numbers[row]])
        raise InputError(column, f"{_REMEDY} (got {got})", row, rows=np.flatnonzero(wrong), reason=_REMEDY)


def is_zone(name: str | None) -> bool:
    """Whether this machine knows a time zone of this name."""
    if name is None:
        return False
    try:
        time_zone(name)
    except ValueError:
        return False
    return True


def in_zone(query: Any, zone: str) -> Any:
    """The query for the groups of one zone; its windows keep their names."""
    changes: dict[str, Any] = {}
    for entry in attrs.fields(type(query)):
        if entry.init:
            value = getattr(query, entry.name)
            changed = tuple(_in_zone(part, zone) for part in value) if type(value) is tuple else _in_zone(value, zone)
            changes |= {} if changed == value else {entry.name: changed}
    return attrs.evolve(query, **changes)


def ends_by_zone(query: Any, zones: pa.Array, latest: int) -> Int64:
    """int64[n]: for each zone its first moment later than `latest`."""
    codes = decoded(zones).dictionary_encode()
    ends = [in_zone(query, zone).schedule.each_after(latest).max() for zone in codes.dictionary.to_pylist()]
    return np.array(ends, np.int64)[codes.indices.to_numpy(zero_copy_only=False)]


def _in_zone(value: Any, zone: str) -> Any:
    if isinstance(value, CalendarLength) and value.column is not None:
        return attrs.evolve(value, zone=zone, column=None)
    return value


def _is_text(kind: pa.DataType) -> bool:
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(plain) or pa.types.is_large_string(plain))
