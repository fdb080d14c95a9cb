"""Columns of Spark whose text is compared by a collation, which Skyband does not do: it counts bytes."""

from typing import TYPE_CHECKING, Any

from skyband.errors import Problem
from skyband.queries.query import Query

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

_BINARY = "UTF8_BINARY"


def collation_problems(query: Query, schema: "StructType") -> list[Problem]:
    """A problem for each column that tells things apart by a collation: upper and lower case, or trailing blanks."""
    kinds = {field.name: field.dataType for field in schema.fields}
    named = [("by", name) for name in query.group_columns] + [(each.key, each.column) for each in query.inputs()]
    named += [] if query.source is None else [("source", query.source)]
    problems = []
    for key, column in dict.fromkeys(named):
        collation = _collation_of(kinds.get(column))
        if collation != _BINARY:
            remedy = f"collation_key({column}), lower({column}) or collate({column}, '{_BINARY}')"
            message = f"column {column!r} has the collation {collation}, and is told apart by its bytes here"
            problems.append(Problem(key, f"{message}: make one of it that says what you mean, such as {remedy}"))
    return problems


def _collation_of(kind: Any) -> str:
    """That of text, or of the text in a list."""
    kind = getattr(kind, "elementType", kind)
    return str(getattr(kind, "collation", _BINARY))
