"""The supported functions and operators: each with the function that binds its arguments."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import pyarrow as pa

from skyband_expressions import arithmetic, comparison, logic, nested, patterns, texts, times
from skyband_expressions.bound import Bind, Bound
from skyband_expressions.syntax import Tree

Function = Callable[[Sequence[Bound]], Bound]

OPERATORS: Mapping[str, Function] = {
    **{name: partial(comparison.compare, name) for name in ("=", "<>", "<", "<=", ">", ">=", "<=>")},
    **{name: partial(arithmetic.combine, name) for name in ("+", "-", "*")},
    "/": arithmetic.divide,
    "div": arithmetic.divide_whole,
    "%": arithmetic.remainder,
    "negative": arithmetic.negative,
    "and": partial(logic.join, "and"),
    "or": partial(logic.join, "or"),
    "not": logic.negate,
    "case": logic.case,
    "in": logic.among,
    "like": texts.like,
    "rlike": patterns.matches,
    "||": texts.concat,
    "[]": nested.item,
}
"""Operators, by the parser's names; `field` is bound by `binding`."""

HIGHER_ORDER: Mapping[str, Callable[[Sequence[Tree], Bind, Callable[[dict[str, pa.DataType]], Bind]], Bound]] = {
    name: nested.each(name) for name in ("filter", "transform")
}
"""Functions that take a lambda."""

GENERATORS = ("explode", "explode_outer")
"""Functions that make several rows of one, only in `source.select`."""

FUNCTIONS: Mapping[str, Function | None] = {
    "abs": arithmetic.positive_size,
    "floor": partial(arithmetic.rounded, "floor"),
    "ceil": partial(arithmetic.rounded, "ceil"),
    "sqrt": arithmetic.square_root,
    "mod": arithmetic.remainder,
    "isnan": arithmetic.is_nan,
    "greatest": partial(comparison.extreme, "greatest"),
    "least": partial(comparison.extreme, "least"),
    "coalesce": logic.coalesce,
    "ifnull": logic.coalesce,
    "nvl": logic.coalesce,
    "nullif": logic.null_if,
    "if": logic.if_else,
    "isnull": logic.is_null,
    "isnotnull": logic.is_not_null,
    "lower": texts.lower,
    "lcase": texts.lower,
    "upper": texts.upper,
    "ucase": texts.upper,
    **{name: texts.trim(name) for name in ("trim", "ltrim", "rtrim")},
    **dict.fromkeys(("length", "char_length", "character_length"), texts.length),
    "concat": texts.concat,
    "concat_ws": texts.concat_with,
    "substring": texts.substring,
    "substr": texts.substring,
    "left": texts.left_part,
    "right": texts.right_part,
    "reverse": texts.reverse,
    "replace": texts.replace,
    **{name: texts.has(name) for name in ("startswith", "endswith", "contains")},
    "regexp_like": patterns.matches,
    "regexp_extract": patterns.extract,
    "regexp_replace": patterns.substitute,
    "split": patterns.split,
    **{name: times.field(name) for name in times.FIELDS},
    "date_trunc": times.truncate,
    "from_utc_timestamp": times.from_utc,
    "to_timestamp": times.to_timestamp,
    "to_date": times.to_date,
    "timestamp_seconds": times.since_1970("timestamp_seconds", 1_000_000),
    "timestamp_millis": times.since_1970("timestamp_millis", 1_000),
    "timestamp_micros": times.since_1970("timestamp_micros", 1),
    "unix_seconds": times.until_now("unix_seconds", 1_000_000),
    "unix_millis": times.until_now("unix_millis", 1_000),
    "unix_micros": times.until_now("unix_micros", 1),
    "array": nested.make_array,
    "array_contains": nested.contains,
    "array_distinct": nested.distinct,
    "element_at": nested.element_at,
    "size": nested.size,
    **dict.fromkeys(HIGHER_ORDER),
    **dict.fromkeys(GENERATORS),
}
"""Functions, by their names in lower case; None for those that are bound specially."""

SYNTAX = (
    "columns", "numbers", "text in quotes", "`TRUE`, `FALSE`, `NULL`", "`DATE '…'`, `TIMESTAMP '…'`", "`+ - * / DIV %`",
    "`= == <> != < <= > >= <=>`", "`AND OR NOT`", "`IN BETWEEN LIKE RLIKE`", "`IS NULL`, `IS TRUE`", "`CASE WHEN`",
    "`CAST`, `TRY_CAST`, `::`", "`||`", "`struct.field`, `list[0]`, `map['key']`",
)  # fmt: skip
"""Syntax other than functions, for documentation."""
