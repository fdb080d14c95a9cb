"""`source.where` and `source.select` without Spark: which rows of a source stay, and which columns are made of them."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen

from skyband.config.literals import literal
from skyband.errors import ConfigError, InputError, Problem
from skyband.job.sources.column_functions import COLUMN_FUNCTIONS
from skyband.job.sources.conditions import columns_of
from skyband.job.sources.sql_reader import Projection, UnknownSqlError, parse_column, parse_condition


class OnlySparkError(ConfigError):
    """Columns and values that the local engine does not compare, though Spark's SQL may."""


@frozen
class Shape:
    """What a source makes of the rows it reads: those where `where` is true, with the columns of `select`."""

    where: Any = None
    select: tuple[Projection, ...] | None = None

    @classmethod
    def parse(cls, where: str | None, select: Sequence[str] | None) -> "Shape":
        """Raises ConfigError, naming what is beyond the common part."""
        problems, condition = [], None
        columns: list[Projection] = []
        try:
            condition = None if where is None else parse_condition(where)
        except UnknownSqlError as error:
            problems.append(Problem("where", f"{error}; use --engine spark"))
        for number, text in enumerate(select or ()):
            try:
                columns.append(parse_column(text))
            except UnknownSqlError:
                functions = ", ".join(COLUMN_FUNCTIONS)
                message = "the local engine knows columns, `column AS name`, `literal AS name` and of a column "
                message += f"{functions}; use --engine spark"
                problems.append(Problem(f"select[{number}]", f"{message} (got {literal(text)})"))
        if problems:
            raise ConfigError(*problems)
        return cls(condition, None if select is None else tuple(columns))

    @property
    def is_plain(self) -> bool:
        """Whether rows stay as they are."""
        return self.where is None and self.select is None

    def schema(self, source: pa.Schema) -> pa.Schema:
        """The columns it gives of a source.

        Raises ConfigError where it has not those that are read, OnlySparkError where they are of another type or case.
        """
        from skyband.queries.shared_keys import no_column

        problems: list[Problem] = []
        only_spark: list[Problem] = []
        names = set(source.names)
        alike = {name.casefold() for name in names}
        message = None if self.where is None else self.where.problem(source)
        if message is not None:
            all_there = all(name.casefold() in alike for name in columns_of(self.where))
            (only_spark if all_there else problems).append(Problem("where", message))
        for number, projection in enumerate(self.select or ()):
            if projection.column is not None and projection.column not in names:
                target = only_spark if projection.column.casefold() in alike else problems
                target.append(Problem(f"select[{number}]", no_column(projection.column, source)))
            elif (problem := projection.problem(source)) is not None:
                only_spark.append(Problem(f"select[{number}]", problem))
        counts = Counter(projection.name for projection in self.select or ())
        twice = next((name for name, count in counts.items() if count > 1), None)
        if twice is not None:
            problems.append(Problem("select", f"makes two columns called {twice!r}"))
        if problems:
            raise ConfigError(*problems, *only_spark)
        if only_spark:
            raise OnlySparkError(*only_spark)
        if self.select is None:
            return source
        return pa.schema([pa.field(projection.name, projection.type_in(source)) for projection in self.select])

    def reads(self, columns: Sequence[str]) -> list[str]:
        """The columns of the source that it needs for these of its own."""
        by_name = {projection.name: projection.column for projection in self.select or ()}
        names = [by_name.get(name, name) if self.select is not None else name for name in columns]
        tested = [] if self.where is None else columns_of(self.where)
        return list(dict.fromkeys([name for name in names if name is not None] + tested))

    def apply(self, batch: pa.RecordBatch, schema: pa.Schema) -> tuple[pa.RecordBatch, Any]:
        """The rows with the columns of `schema`, and int64[m], where each stood; None where all stay."""
        if self.is_plain:
            return batch.select(schema.names), None
        selected = None
        if self.where is not None:
            mask = self.where.evaluate(batch).fill_null(False)
            selected = pc.indices_nonzero(mask).to_numpy().astype("int64")
            batch = batch.take(pa.array(selected))
        by_name = {projection.name: projection for projection in self.select or ()}
        columns = []
        for field in schema:
            projection = by_name.get(field.name, Projection(field.name, field.name))
            if projection.column is None:
                columns.append(pa.repeat(pa.scalar(projection.value, field.type), len(batch)))
            elif projection.function is None:
                columns.append(batch.column(projection.column))
            else:
                columns.append(_evaluated(projection, batch, selected))
        return pa.RecordBatch.from_arrays(columns, schema=schema), selected


def _evaluated(projection: Projection, batch: pa.RecordBatch, mask: Any) -> pa.Array:
    """A function of a column. Raises InputError with the row as it stood before `where`."""
    assert projection.function is not None and projection.column is not None
    try:
        return COLUMN_FUNCTIONS[projection.function].evaluate(projection.column, batch.column(projection.column))
    except InputError as error:
        if mask is None or error.row is None:
            raise
        raise InputError(error.argument, error.message, int(mask[error.row])) from error
