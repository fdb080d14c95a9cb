"""Which rows a request is about, by the values that their group has."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from skyband.config.literals import literal
from skyband.errors import InputError, suggest
from skyband_jobs.formats.json_rows import json_value

from skyband_serve.published_states import Group, PublishedStates
from skyband_serve.web.query_string import GROUP

_MOST_NAMED, _LETTERS = 1_000, 1_000
"""Values of a column among which an error names the nearest, and the letters in which it names all."""


def text_of(value: Any) -> str:
    """A value of a column as it is written in a request: as in the JSON of an answer, text without quotes."""
    return value if isinstance(value, str) else json.dumps(json_value(value), default=str).strip('"')


def _is_one_of(value: Any, texts: Sequence[str]) -> bool:
    return text_of(value) in texts or (hasattr(value, "isoformat") and value.isoformat() in texts)


def groups_with(
    states: PublishedStates, texts_by_column: Mapping[str, Sequence[str]]
) -> Mapping[Group, tuple[int, Any]]:
    """The groups that have these values. Raises InputError with what may be asked if there are none. O(groups)."""
    groups = dict(states.groups)
    for name, texts in texts_by_column.items():
        place = _place(name, states.grouping)
        there = [key[place] for key in groups]
        groups = {key: state for key, state in groups.items() if _is_one_of(key[place], texts)}
        if not groups:
            raise InputError(f"{GROUP}{name}", f"no group has {_joined(texts)}; {_nearest(texts[0], there)}")
    return groups


def rows_with(answers: pa.Table, columns: Sequence[str], texts_by_column: Mapping[str, Sequence[str]]) -> pa.Table:
    """The rows that have these values, which may be none. Raises InputError for a column that is not of the group."""
    for name, texts in texts_by_column.items():
        _place(name, columns)
        column = answers.column(name)
        values = [value for value in column.unique().to_pylist() if _is_one_of(value, texts)]
        answers = answers.filter(pc.is_in(column, value_set=pa.array(values, _plain(column.type))))
    return answers


def _plain(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _place(name: str, columns: Sequence[str]) -> int:
    if name in columns:
        return columns.index(name)
    remedy = suggest(name, [GROUP + column for column in columns]) if columns else "the query has no `by`"
    raise InputError(f"{GROUP}{name:.100}", f"no grouping column of this name; {remedy}")


def _nearest(text: str, values: Iterable[Any]) -> str:
    names = sorted({text_of(value) for value in values})[:_MOST_NAMED]
    remedy = suggest(text, names)
    return remedy if len(remedy) < _LETTERS else f"there are {len(names):,}, such as {', '.join(names[:3])}"


def _joined(texts: Sequence[str]) -> str:
    return " or ".join(literal(text) for text in texts)
