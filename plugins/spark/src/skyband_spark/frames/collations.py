"""Refuses Spark columns with a collation, because Skyband compares text by its bytes."""

from typing import TYPE_CHECKING, Any

from skyband.errors import Problem
from skyband.queries.grouping_sets import source_columns
from skyband.queries.query import Query

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

_BINARY = "UTF8_BINARY"


def collation_problems(query: Query, schema: "StructType") -> list[Problem]:
    """A problem for each column that distinguishes values by a collation, which may ignore case or blanks."""
    kinds = {field.name: field.dataType for field in schema.fields}
    named = [("by", name) for name in source_columns(query.by)] + [(each.key, each.column) for each in query.inputs()]
    named += [] if query.source is None else [("source", query.source)]
    problems = []
    for key, column in dict.fromkeys(named):
        collation = _collation_of(kinds.get(column))
        if collation != _BINARY:
            remedy = f"collation_key({column}), lower({column}) or collate({column}, '{_BINARY}')"
            message = f"column {column!r} has the collation {collation}, but Skyband compares bytes"
            problems.append(Problem(key, f"{message}: select a column with the intended order, such as {remedy}"))
    return problems


def _collation_of(kind: Any) -> str:
    """The collation of text, or of the text in a list."""
    kind = getattr(kind, "elementType", kind)
    return str(getattr(kind, "collation", _BINARY))
