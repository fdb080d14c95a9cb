"""The fingerprint that ties a checkpoint to a query, its column types and backends, and what of it may change."""

import json
import re
from collections.abc import Mapping
from typing import Any

import attrs
import pyarrow as pa

from skyband import snapshot
from skyband.columns import keyed_frames
from skyband.config.parameters import build
from skyband.errors import ConfigError, SnapshotError
from skyband.queries.query import FREE, Query
from skyband.registry import Binding

_LENGTH = re.compile(r"(?:Duration|CalendarLength)\([^()]*?text='([^']*)'[^()]*\)")
"""A length of time, rows or the calendar, as Python's repr shows it within a tuple."""


def fingerprint(query: Query, bindings: Mapping[str, Binding], schema: pa.Schema) -> dict[str, str]:
    """What must stay the same for a checkpoint to be resumed: keys of the query, types of its columns, backends."""
    keys = {
        f"query.{entry.name}": str(getattr(query, entry.name))
        for entry in attrs.fields(type(query))
        if entry.init and entry.name not in (*query.evolvable, *FREE)
    }
    own_keys = {
        f"backends.{role}": json.dumps({"name": binding.info.name, **binding.parameters}, sort_keys=True, default=str)
        for role, binding in bindings.items()
    }
    types = {f"column {name}": str(keyed_frames.plain_type(schema.field(name).type)) for name in query.columns}
    time = schema.field(query.time).type
    if pa.types.is_timestamp(time):  # the zone in which instants are shown may change, and their unit
        types[f"column {query.time}"] = "timestamp" if time.tz else "timestamp_ntz"
    return {"query.kind": query.kind, "windows": "rows" if query.rows else "time", **keys, **types, **own_keys}


def defaults_of(query: Query) -> dict[str, str]:
    """The fingerprint of the query's keys at their defaults, for states from a Skyband that did not know these keys."""
    defaults = {}
    for entry in attrs.fields(type(query)):
        default: Any = entry.default
        if entry.init and default is not attrs.NOTHING and not isinstance(default, attrs.Factory):  # type: ignore[arg-type]
            convert: Any = entry.converter
            defaults[f"query.{entry.name}"] = str(convert(default) if convert else default)
    return defaults


def check_same(recorded: Any, expected: Mapping[str, str], defaults: Mapping[str, str]) -> None:
    """Raise SnapshotError unless the `recorded` state fits what is `expected` now, saying what changed.

    Keys that an older Skyband did not know are at their `defaults`.
    """
    if not isinstance(recorded, dict):
        raise SnapshotError("the checkpoint was not made by Skyband; give this job its own checkpoint")
    changed = differences(recorded, expected, defaults)
    if changed:
        message = "; ".join(changed.values())
        remedy = "change it back, or give the changed job a new checkpoint"
        raise SnapshotError(f"the checkpoint was made by another job ({message}): {remedy}")


def differences(
    recorded: Mapping[str, Any], expected: Mapping[str, str], defaults: Mapping[str, str]
) -> dict[str, str]:
    """The differences between `recorded` and `expected`, by name, each as a sentence."""
    before = {**{name: defaults[name] for name in expected if name in defaults}, **recorded}
    return {
        name: f"{name} was {_readable(before.get(name))}, is {_readable(expected.get(name))}"
        for name in sorted({*before, *expected})
        if before.get(name) != expected.get(name)
    }


def _readable(value: Any) -> str:
    """Lengths within a list, as the user wrote them."""
    return _LENGTH.sub(r"'\1'", str(value))


def check_parameters(binding: Binding, recorded: Mapping[str, str], own: Mapping[str, Any]) -> None:
    """Raise SnapshotError unless a backend has the parameters its state was made with, or accepts more."""
    key = binding.info.key
    try:
        build(binding.backend_class, {**{name: json.loads(value) for name, value in recorded.items()}, **own})
    except ConfigError as error:
        raise SnapshotError(f"of {key} does not fit the installed version: {error}") from error
    current = binding.create(**own).parameters()
    for name, value in recorded.items():
        if snapshot.text(current[name]) != value:
            message = f"{name} was {value} by default, is {snapshot.text(current[name])}: set it to the old value"
            raise SnapshotError(f"of {key} does not fit the installed version: {message}")
