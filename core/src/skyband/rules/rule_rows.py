"""Reads a table of rules row by row: the rule of each, or what is wrong with it and the remedy."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa
from attrs import frozen

from skyband.arrays import TIME_MAX
from skyband.config.durations import Duration, length_text, parse
from skyband.errors import InputError, suggest
from skyband.groups.broadcast_state import RefusedRows
from skyband.rules.json_rules import VALUE, RuleError, is_json, rule_of, without_blank
from skyband.rules.rule_groups import GROUP_TYPE, GroupNames, group_column, group_keys, group_problem

_COLUMNS = {"name": "text", "window": "text", "slide": "text", "k": "a whole number", "phase": "text",
            "group": "a list of texts", "after": "a timestamp", "until": "a timestamp"}  # fmt: skip
"""The columns of a table of rules, and the type of each."""
_TYPES = {"text": pa.string(), "a whole number": pa.int64(), "a timestamp": pa.timestamp("us", "UTC"),
          "a list of texts": GROUP_TYPE}  # fmt: skip


@frozen
class Limits:
    """The limits for which the state is kept: the longest window, in microseconds, and the largest k, if any."""

    longest: int
    most: int | None = None
    every: tuple[int, int] | None = None
    """Slide and phase of rules that set none; None if each must."""
    k: int | None = None
    """The k of rules that set none; None if each must."""
    grain: int = 1
    """Windows and slides are multiples of this, as are phases relative to that of `every`."""

    @property
    def columns(self) -> dict[str, str]:
        """The columns that rules may have, and the type of each."""
        return {name: what for name, what in _COLUMNS.items() if name != "k" or self.most is not None}

    @property
    def required(self) -> list[str]:
        """The columns that are required."""
        k = [] if self.most is None or self.k is not None else ["k"]
        return ["name", "window", *([] if self.every else ["slide"]), *k]


def row_schema(limits: Limits) -> pa.Schema:
    """The columns of rules with their types."""
    return pa.schema([pa.field(name, _TYPES[what]) for name, what in limits.columns.items()])


@frozen
class Version:
    """The meaning of a name from a time on: a window, or none if window = 0. Times in microseconds."""

    name: str
    window: int
    slide: int
    k: int
    phase: int
    after: int
    until: int
    group: GroupNames | None = None
    """The group that it is for; None: all groups."""

    @property
    def key(self) -> tuple[str, int]:
        """A name has one version at a time."""
        return self.name, self.after


def read_rules(
    table: pa.Table,
    limits: Limits,
    by: pa.Schema,
    answered: int,
    fixed: Collection[str],
    before: Mapping[tuple[str, int], Version],
) -> tuple[dict[tuple[str, int], Version], RefusedRows]:
    """All versions, including those of the table, by name and time, and the rows that are not rules.

    table: with the columns of rules, or with a column `value`, lines of JSON with these keys.

    by: the grouping columns. answered: the earliest start of a version, up to which moments are answered.
    fixed: names that rules must not use. before: versions that came earlier. Of two for one time the later one wins; in
    one table both are rejected.
    """
    refused: dict[int, RuleError] = {}
    places: dict[tuple[str, int], list[int]] = {}
    came: dict[tuple[str, int], Version] = {}
    lengths: dict[str, Duration | str] = {}
    lines = is_json(table.schema)
    table = without_blank(table) if lines else table
    rows = [*_lines(table, limits, refused)] if lines else [*_rows(_columns(table, limits))]
    wrong_groups = _wrong_groups(by, [row["group"] for row in rows])
    for place, row in enumerate(rows):
        if place in refused:
            continue
        try:
            if place in wrong_groups:
                raise RuleError("group", f"of rule {row['name']!r} {wrong_groups[place]}")
            version = _version(row, limits, answered, fixed, lengths)
        except RuleError as error:
            refused[place] = error
            continue
        places.setdefault(version.key, []).append(place)
        if came.setdefault(version.key, version) != version:
            came[version.key] = _DUPLICATE
    wrong = {key: f"rule {key[0]!r} is given twice with different values for one time: set `after` of each"
             for key, version in came.items() if version is _DUPLICATE}  # fmt: skip
    versions = {**before, **{key: version for key, version in came.items() if version is not _DUPLICATE}}
    ends = {key for key, version in came.items() if version.window == 0 and key not in before} - {*wrong}
    for key in _ends_of_nothing(versions.values(), ends):
        wrong[key] = f"there is no rule {key[0]!r} to end: check the spelling"
    for key, message in wrong.items():
        versions.pop(key, None)
        if key in before:
            versions[key] = before[key]
        refused |= dict.fromkeys(places[key], RuleError("name", message))
    order = sorted(refused)
    texts = table.take(pa.array(order, pa.int64())).to_pylist()
    return versions, [
        (InputError(f"rules.{refused[place].column}", str(refused[place]), place), _as_text(text, lines))
        for place, text in zip(order, texts, strict=True)
    ]


_DUPLICATE = Version("", -1, 0, 0, 0, 0, 0)


def _ends_of_nothing(versions: Iterable[Version], ends: Collection[tuple[str, int]]) -> list[tuple[str, int]]:
    """The ends that no version of their name precedes. O(n log n)."""
    nothing, previous = [], _DUPLICATE
    for version in sorted(versions, key=lambda version: version.key):
        goes_on = previous.name == version.name and previous.window > 0 and previous.until > version.after
        if version.key in ends and not goes_on:
            nothing.append(version.key)
        previous = version
    return nothing


def _columns(table: pa.Table, limits: Limits) -> pa.Table:
    """The columns of rules with their types. Raises InputError if one is missing, or has another type."""
    columns = limits.columns
    for name in table.column_names:
        if name not in columns:
            message = f"is not a column of rules; {suggest(name, columns)}: select only the others"
            raise InputError(f"rules.{name}", message)
    for name in limits.required:
        if name not in table.column_names:
            raise InputError(f"rules.{name}", f"is missing: rules have the columns {', '.join(columns)}")
    arrays = [_column(name, table.column(name).combine_chunks()) for name in table.column_names]
    return pa.table(arrays, names=table.column_names)


def _column(name: str, column: pa.Array) -> pa.Array:
    kind, types = column.type, pa.types
    if types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    expected = _COLUMNS[name]
    if name == "group":
        return group_column(name, column)
    try:
        if expected == "text" and (
            types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind) or types.is_null(kind)
        ):
            return column.cast(pa.string())
        if expected == "a whole number" and (types.is_integer(kind) or types.is_null(kind)):
            return column.cast(pa.int64())
        if expected == "a timestamp" and not types.is_integer(kind) and not types.is_floating(kind):
            plain = column if types.is_timestamp(kind) else column.cast(pa.timestamp("us"))
            return plain.cast(pa.timestamp("us", plain.type.tz)).cast(pa.int64())
    except pa.ArrowException as error:
        raise InputError(f"rules.{name}", f"must be {expected}: {error}") from error
    raise InputError(f"rules.{name}", f"must be {expected} (it is {kind})")


def _wrong_groups(by: pa.Schema, groups: list[list[str | None] | None]) -> dict[int, str]:
    """Problems of the groups that rows name, by place; checked all at once if all are valid."""
    named = {place: tuple(names) for place, names in enumerate(groups) if names is not None}
    try:
        if all(len(names) == len(by) > 0 for names in named.values()):
            group_keys(by, [*named.values()])
            return {}
    except pa.ArrowException:  # found below
        pass
    problems = ((place, group_problem(by, names)) for place, names in named.items())
    return {place: problem for place, problem in problems if problem is not None}


def _lines(table: pa.Table, limits: Limits, refused: dict[int, RuleError]) -> Iterator[dict[str, Any]]:
    """The rows of lines of JSON; an invalid one is empty, with its error in `refused`."""
    nothing: dict[str, Any] = dict.fromkeys(_COLUMNS)
    for place, line in enumerate(table.column(VALUE).to_pylist()):
        row = nothing
        try:
            row = {**nothing, **rule_of(line, limits.columns)}
        except RuleError as error:
            refused[place] = error
        yield row


def _as_text(row: dict[str, Any], line: bool) -> str:
    return str(row[VALUE]) if line else json.dumps(row, default=str)


def _rows(table: pa.Table) -> Iterator[dict[str, Any]]:
    nothing = dict.fromkeys(_COLUMNS)
    return ({**nothing, **row} for row in table.to_pylist())


def _version(
    row: Mapping[str, Any], limits: Limits, answered: int, fixed: Collection[str], lengths: dict[str, Duration | str]
) -> Version:
    name = row["name"]
    if not name:
        raise RuleError("name", "must be a name, by which the rule can be changed and ended (got none)")
    if name in fixed:
        raise RuleError("name", f"{name!r} is a fixed window of the query: give the rule another name")
    after = answered if row["after"] is None else max(row["after"], answered)
    until = TIME_MAX if row["until"] is None else row["until"]
    if row["window"] is None:
        return Version(name, 0, 1, 0, 0, after, TIME_MAX)
    window, (slide, phase) = _length(row, "window", name, lengths), limits.every or (0, 0)
    if row["slide"] is not None or limits.every is None:
        slide = _length(row, "slide", name, lengths)
    begin = phase if row["phase"] is None else _length(row, "phase", name, lengths, 0)
    for key, length in (("window", window), ("slide", slide), ("phase", begin - phase)):
        if length % limits.grain:
            grain = length_text(limits.grain, False)
            message = f"of rule {name!r} must be a multiple of every = {grain!r}, the step in which the state is kept"
            raise RuleError(key, f"{message} (got {row[key]!r})")
    k = limits.k if row["k"] is None else row["k"]
    if window > limits.longest:
        longest = length_text(limits.longest, False)
        message = f"of rule {name!r} is above longest = {longest!r}, which the state is kept for: make it shorter, or "
        raise RuleError("window", f"{message}start over with a larger `longest` (got {row['window']!r})")
    if limits.most is not None and (k is None or not 1 <= k <= limits.most):
        message = f"of rule {name!r} must be from 1 to most = {limits.most}, which the state is kept for: make it "
        raise RuleError("k", f"{message}smaller, or start over with a larger `most` (got {k})")
    if until <= after:
        message = f"of rule {name!r} is not later than the start of the rule, which would never answer"
        raise RuleError("until", f"{message}; leave it out, or set a later one")
    group = None if row["group"] is None else tuple(row["group"])
    return Version(name, window, slide, k or 0, begin % slide, after, until, group)


def _length(row: Mapping[str, Any], key: str, rule: str, lengths: dict[str, Duration | str], least: int = 1) -> int:
    text = row[key]
    if text is None:
        raise RuleError(key, f"of rule {rule!r} is missing: a length of time such as '10 minutes'")
    if text not in lengths:
        try:
            lengths[text] = parse(text)
        except ValueError as error:
            lengths[text] = str(error)
    length = lengths[text]
    if isinstance(length, str):
        raise RuleError(key, f"of rule {rule!r} {length}")
    if length.rows or not least <= length.length <= 2**61:
        raise RuleError(key, f"of rule {rule!r} must be a length of time above 0 (got {text!r})")
    return length.length
