"""`source.explode`, `where` and `select` without Spark: they choose a source's rows and make its columns."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve, frozen
from skyband.config.literals import literal
from skyband.errors import ConfigError, InputError, Problem
from skyband_expressions.expression import Expression, exploded, parse_column, parse_condition
from skyband_expressions.syntax import UnknownExpressionError

from skyband_jobs.files.refused_rows import RefusedRows, without_rows
from skyband_jobs.tables.model import Source

_INSTEAD = "; use --engine spark"


class ExpressionError(InputError):
    """An expression that fails for a row; `place` is its key in the source, such as `where`."""

    def __init__(self, place: str, error: InputError, row: int | None) -> None:
        super().__init__(error.argument, error.message, row)
        self.place = place


class OnlySparkError(ConfigError):
    """Columns and values that the local engine cannot combine, although Spark's SQL might."""


@frozen
class Projection:
    """An entry of `source.select`: an expression and the column's name, or `*` for all columns of the source."""

    name: str
    expression: Expression | None


@frozen
class Shape:
    """The rows and columns of a source: elements of `explode`, filtered by `where`, with the columns of `select`."""

    where: Expression | None = None
    select: tuple[Projection, ...] | None = None
    explode: str | None = None

    @classmethod
    def of(cls, source: Source) -> "Shape":
        """The shape of a source. Raises ConfigError with what is unknown here."""
        return cls.parse(source.where, source.select, source.explode)

    @classmethod
    def parse(cls, where: str | None, select: Sequence[str] | None, explode: str | None = None) -> "Shape":
        """Raises ConfigError with what is unknown here."""
        problems, condition = [], None
        columns: list[Projection] = []
        try:
            condition = None if where is None else parse_condition(where)
        except UnknownExpressionError as error:
            problems.append(Problem("where", f"{error} (got {_short(where)}){_INSTEAD}"))
        for number, text in enumerate(select or ()):
            try:
                expression, name = parse_column(text)
                columns.append(Projection(name, expression))
            except UnknownExpressionError as error:
                problems.append(Problem(f"select[{number}]", f"{error} (got {_short(text)}){_INSTEAD}"))
        generators = [one.name for one in columns if one.expression is not None and one.expression.generator]
        if len(generators) > 1:
            problems.append(Problem("select", f"explodes {' and '.join(generators)}, but only one list is allowed"))
        if problems:
            raise ConfigError(*problems)
        return cls(condition, None if select is None else tuple(columns), explode)

    @property
    def is_plain(self) -> bool:
        """Whether rows stay as they are."""
        return self.where is None and self.select is None and self.explode is None

    def schema(self, source: pa.Schema) -> pa.Schema:
        """The columns made from a source's.

        Raises ConfigError where the source lacks columns, OnlySparkError where they have another type or case.
        """
        problems: list[Problem] = []
        only_spark: list[Problem] = []
        source = source if self.explode is None else _elements_schema(self.explode, source)
        projections = self._projections(source.names)
        places = [("where", self.where, True)] if self.where is not None else []
        places += [(f"select[{number}]", one, False) for number, one in self._expressions()]
        for place, expression, is_condition in places:
            missing = _missing(expression, source)
            if missing is not None:
                message, in_other_case = missing
                (only_spark if in_other_case else problems).append(Problem(place, message))
                continue
            problem = expression.condition_problem(source) if is_condition else expression.problem(source)
            if problem is not None and is_condition and expression.is_no_condition(source):
                problems.append(Problem(place, problem))
            elif problem is not None:
                only_spark.append(Problem(place, f"{problem}{_INSTEAD}"))
        counts = Counter(projection.name for projection in projections or ())
        twice = next((name for name, count in counts.items() if count > 1), None)
        if twice is not None:
            problems.append(Problem("select", f"makes two columns called {twice!r}: rename one with AS"))
        if problems:
            raise ConfigError(*problems, *only_spark)
        if only_spark:
            raise OnlySparkError(*only_spark)
        if projections is None:
            return source
        return pa.schema([(one.name, _expression(one).type_in(source)) for one in projections])

    def reads(self, columns: Sequence[str]) -> list[str]:
        """The source's columns that these columns need."""
        if self.explode is not None:
            return [self.explode]
        by_name = {one.name: one.expression for one in self.select or () if one.expression is not None}
        names = [by_name[name].columns if name in by_name else [name] for name in columns]
        always = [one for one in (self.where, *by_name.values()) if one is not None]
        names += [one.columns for one in always if one is self.where or one.generator is not None]
        return list(dict.fromkeys(name for some in names for name in some))

    def apply(
        self, batch: pa.RecordBatch, schema: pa.Schema, refused: RefusedRows | None = None
    ) -> tuple[pa.RecordBatch, Any]:
        """The rows with the columns of `schema`, and int64[m], where each was; None where all stay.

        Raises InputError at the first row for which an expression fails, unless `refused` takes such rows.
        """
        if self.is_plain:
            return batch.select(schema.names), None
        selected = None
        if self.explode is not None:
            elements, selected = exploded(batch.column(self.explode), outer=False)
            batch = pa.RecordBatch.from_arrays(elements.flatten(), names=[field.name for field in elements.type])
        try:
            return self._shaped(batch, selected, schema)
        except ExpressionError:
            if refused is None:
                raise
        places = np.arange(len(batch)) if selected is None else selected
        if self.where is not None:
            batch, places = _without_failing([self.where], batch, places, refused)
            rows = pc.indices_nonzero(self.where.evaluate(batch).fill_null(False)).to_numpy().astype("int64")
            batch, places = batch.take(pa.array(rows)), places[rows]
        expressions = {one.name: _expression(one) for one in self.select or () if one.expression is not None}
        needed = [one for name, one in expressions.items() if name in schema.names or one.generator is not None]
        batch, places = _without_failing(needed, batch, places, refused)
        return evolve(self, where=None)._shaped(batch, places, schema)

    def _shaped(self, batch: pa.RecordBatch, selected: Any, schema: pa.Schema) -> tuple[pa.RecordBatch, Any]:
        """The rows, or elements of `explode`, from the places `selected`, as `apply` returns them."""
        if self.where is not None:
            mask = _evaluated(self.where, "where", batch, selected).fill_null(False)
            places = pc.indices_nonzero(mask).to_numpy().astype("int64")
            selected = places if selected is None else selected[places]
            batch = batch.take(pa.array(places))
        by_name = {one.name: _expression(one) for one in self.select or () if one.expression is not None}
        elements, generator = None, next((one for one in by_name.values() if one.generator is not None), None)
        if generator is not None:
            name = next(name for name, one in by_name.items() if one is generator)
            lists = _evaluated(generator, f"select.{name}", batch, selected)
            elements, rows = exploded(lists, generator.generator == "explode_outer")
            batch = batch.take(pa.array(rows))
            selected = rows if selected is None else selected[rows]
        columns = []
        for field in schema:
            expression = by_name.get(field.name)
            if expression is None:
                columns.append(batch.column(field.name))
            else:
                place, is_generator = f"select.{field.name}", expression is generator
                columns.append(elements if is_generator else _evaluated(expression, place, batch, selected))
        return pa.RecordBatch.from_arrays(columns, schema=schema), selected

    def _expressions(self) -> list[tuple[int, Expression]]:
        """The expressions of `select`, with their places in it."""
        entries = enumerate(self.select or ())
        return [(number, one.expression) for number, one in entries if one.expression is not None]

    def _projections(self, names: Sequence[str]) -> list[Projection] | None:
        """The entries of `select`, with the columns of the source instead of `*`."""
        if self.select is None:
            return None
        return [
            projection
            for one in self.select
            for projection in ([_as_it_is(name) for name in names] if one.expression is None else [one])
        ]


def _as_it_is(name: str) -> Projection:
    return Projection(name, parse_column(f"`{name.replace('`', '``')}`")[0])


def _expression(projection: Projection) -> Expression:
    assert projection.expression is not None  # `*` was replaced by columns
    return projection.expression


def _short(text: str | None) -> str:
    return literal(text if text is None or len(text) <= 200 else f"{text[:199]}…")


def _missing(expression: Expression, source: pa.Schema) -> tuple[str, bool] | None:
    """The problem with the first column that a source lacks, and whether it has one in another case."""
    from skyband.queries.shared_keys import no_column

    name = next((name for name in expression.columns if name not in source.names), None)
    if name is None:
        return None
    return no_column(name, source), name.casefold() in {other.casefold() for other in source.names}


def _without_failing(
    expressions: Sequence[Expression], batch: pa.RecordBatch, places: Any, refused: RefusedRows
) -> tuple[pa.RecordBatch, Any]:
    """The rows for which no expression fails; the others go to `refused`. `places`: where each was."""
    for expression in expressions:
        errors = {error.row or 0: error for error in expression.failing(batch)}
        if errors:
            batch = without_rows(batch, errors, refused.shaped, places)
            places = np.delete(places, [*errors])
    return batch, places


def _evaluated(expression: Expression, place: str, batch: pa.RecordBatch, selected: Any) -> pa.Array:
    """The values of an expression. Raises ExpressionError with the row's place before `where`."""
    try:
        return expression.evaluate(batch)
    except InputError as error:
        row = error.row if selected is None or error.row is None else int(selected[error.row])
        raise ExpressionError(place, error, row) from error


def _elements_schema(explode: str, source: pa.Schema) -> pa.Schema:
    """The fields of the structs in a column of lists. Raises ConfigError where it is not one."""
    from skyband.queries.shared_keys import no_column

    if explode not in source.names:
        raise ConfigError(Problem("explode", no_column(explode, source)))
    kind = source.field(explode).type
    if not (pa.types.is_list(kind) and pa.types.is_struct(kind.value_type)):
        message = f"must be a list of structs (got {explode}, {kind})"
        raise ConfigError(
            Problem("explode", f'{message}: for other lists write select = ["explode({explode}) AS name"]')
        )
    return pa.schema(list(kind.value_type))
