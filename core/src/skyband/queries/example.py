"""An example of a query: keys and rows that `skyband verify query/KIND` tries it on, and its page shows."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from attrs import field, frozen


def _check_rows(example: "QueryExample", _: Any, rows: Any) -> None:
    if not isinstance(rows, pa.Table):
        raise TypeError(f"rows must be a pyarrow Table (got {type(rows).__name__})")
    missing = {example.keys.get("time")} - {*rows.column_names}
    if missing:
        raise ValueError(f"rows must have the column {example.keys.get('time')!r}, which the key `time` names")


@frozen(eq=False)
class QueryExample:
    """A query's keys without `kind` and `by`, and some hundred rows of a source in the order they come.

    Rows may come late by less than the key `delay`, which should be there, with ties in time, repeated values and
    windows that run empty. None of the columns that the query reads holds a null: the checks put them there.

    backends: by role, as in a job; an exact one, or the role's default, where it is missing.

    nullable: columns in which a null has a meaning, as the query's docstring says; in others it leaves its row out.
    """

    keys: Mapping[str, Any]
    rows: pa.Table = field(validator=_check_rows)
    backends: Mapping[str, Any] = field(factory=dict)
    nullable: tuple[str, ...] = ()


@frozen
class JobExample:
    """A small job that a query's page shows: what it asks, a file of rows, and the job that reads it.

    JOB in the module of `QueryInfo.examples`.
    """

    lead: str
    file: str
    rows: str
    query: str

    @property
    def files(self) -> dict[str, str]:
        """The files beside the job."""
        return {self.file: self.rows}

    @property
    def job(self) -> str:
        """The job file: the source, the query and the console."""
        return f'{self.query.strip()}\n\n[sink]\nformat = "console"\n'
