"""The key `carry`: further columns of the rows behind an answer, given with it."""

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from skyband.columns.carried_rows import carried
from skyband.columns.frames import plain_type
from skyband.columns.hashing import hash_columns
from skyband.columns.ids import PLAIN, is_plain
from skyband.config.parameters import checked
from skyband.errors import Problem
from skyband.queries.query import Input

TIE = "carry.tie"
"""The frame column that orders rows which differ in what they carry only: a hash of it."""


def carry_parameter(*, help: str) -> Any:
    """The field `carry`."""
    return checked((), type="columns", check=_check, converter=_as_names, help=help)


def _as_names(value: Any) -> Any:
    if isinstance(value, str):
        return (value,)
    return tuple(value) if isinstance(value, list) else value


def _check(value: Any) -> str | None:
    if not isinstance(value, tuple) or not all(isinstance(name, str) and name for name in value):
        return f"must be a column name or a list of them (got {value!r})"
    return "names a column twice" if len(set(value)) < len(value) else None


def name_problems(key: str, columns: tuple[str, ...], taken: Iterable[str]) -> list[Problem]:
    """Columns of the source named by `key`, to be in the answers, that are called as others there are."""
    known = set(taken)
    said = "is what another column of the answers is called: rename it in the source"
    return [Problem(key, f"{name!r} {said}") for name in columns if name in known]


def carry_inputs(carry: tuple[str, ...]) -> tuple[Input, ...]:
    """The columns to carry, as a query reads them."""
    return tuple(Input("carry", name, PLAIN, is_plain) for name in carry)


def carry_columns(carry: tuple[str, ...], batch: pa.RecordBatch) -> dict[str, pa.Array]:
    """The frame columns of what is carried; none where nothing is."""
    columns = {carried(number): batch.column(name) for number, name in enumerate(carry)}
    return {**columns, TIE: pa.array(hash_columns(list(columns.values())))} if columns else {}


def carry_fields(carry: tuple[str, ...], schema: pa.Schema) -> list[pa.Field]:
    """The columns of the answers."""
    return [pa.field(name, plain_type(schema.field(name).type)) for name in carry]
