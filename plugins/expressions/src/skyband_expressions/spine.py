"""with_spine: the rows of a source and the moments of a second table, a spine, as one table for a query with `asks`."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from skyband.errors import InputError
from skyband.queries import make_query
from skyband.queries.grouping_sets import source_columns

if TYPE_CHECKING:
    from skyband.queries.query import Query

_UNITS = ("s", "ms", "us", "ns")
"""Of times, the coarsest first."""


def with_spine(rows: Any, spine: Any, query: "Query | Mapping[str, Any]") -> Any:
    """Rows, and the moments of a second table as questions: what a query with `asks` answers just before each moment.

    Parameters
    ----------
    rows : pyarrow.Table or DataFrame of Spark
        the rows whose features are asked; a stream too, if `spine` is one. `source` and `sources` of the query then
        give each its own watermark: with asks = "asked", source = "asked" and sources = [False, True]
    spine : pyarrow.Table or DataFrame of Spark
        the moments: the columns of the query's `time`, `by` and `carry`, such as a label; others are left out
    query : Query or mapping
        a query of row-features with `asks`, the name of a column that the result adds

    Returns
    -------
    pyarrow.Table or DataFrame of Spark
        both together, with the columns that the query reads. Of a moment all other columns are null.

    Raises
    ------
    InputError
        the spine lacks one of its columns, or has it with values of another type than the rows; the query has no
        `asks`, or the rows have a column of this name

    Examples
    --------
    >>> import pyarrow as pa
    >>> from skyband.engines import local
    >>> paid = pa.table({"ts": pa.array([0, 20], pa.timestamp("s")), "card": ["a", "a"], "paid": [5, 7]})
    >>> labels = pa.table({"ts": pa.array([20, 30], pa.timestamp("s")), "card": ["a", "a"], "fraud": [False, True]})
    >>> query = {"kind": "row-features", "time": "ts", "by": "card", "windows": ["1 minute"], "sums": "paid"}
    >>> query |= {"asks": "asked", "carry": "fraud"}
    >>> local.apply(with_spine(paid, labels, query), query).select(["paid_sum_1_minute", "fraud"]).to_pylist()
    [{'paid_sum_1_minute': 5.0, 'fraud': False}, {'paid_sum_1_minute': 12.0, 'fraud': True}]
    """
    own = make_query(query)
    asks = asks_of(own)
    if hasattr(rows, "unionByName"):
        return _of_spark(rows, spine, own, asks)
    of_rows, of_spine = split_columns(own, asks, rows.schema.names, spine.schema.names)
    schema = united_schema(rows.schema, spine.schema, of_rows, of_spine, asks)
    tables = [as_asked(rows.select(of_rows), schema, asks, False), as_asked(spine.select(of_spine), schema, asks, True)]
    return pa.concat_tables(tables)


def asks_of(query: "Query") -> str:
    """The column that says which rows are questions. Raises InputError if the query has none."""
    asks: str | None = getattr(query, "asks", None)
    if asks is None:
        message = f"a {query.kind} answers a spine only with `asks`, the name for a column that marks its moments"
        raise InputError("query", f'{message}: add asks = "asked"')
    return asks


def split_columns(
    query: "Query", asks: str, rows: Sequence[str], spine: Sequence[str]
) -> tuple[list[str], list[str]]:  # fmt: skip
    """The columns to take of both. Raises InputError if the spine lacks one of them, or the rows have `asks`."""
    if asks in rows:
        message = f"have a column {asks!r}, which marks the moments of the spine"
        raise InputError("rows", f"{message}: name another in `asks`")
    carry: tuple[str, ...] = getattr(query, "carry", ())
    of_source = [] if query.source in (None, asks) else [query.source]
    needed = list(dict.fromkeys([query.time, *source_columns(query.by), *carry, *of_source]))
    for name in needed:
        if name not in spine:
            keys = {query.time: "time", query.source: "source"}
            key = keys.get(name, "carry" if name in carry else "by")
            message = f"has no column {name!r}, which the query names in `{key}`"
            raise InputError("spine", f"{message}: rename one of {', '.join(spine)}, or add it")
    carried = {name for name in carry if name not in (query.time, *source_columns(query.by))}
    inputs = {column.column for column in query.inputs() if column.key != "carry"}
    of_rows = [name for name in query.columns if name in rows and (name not in carried or name in inputs)]
    return of_rows, needed


def united_schema(
    rows: pa.Schema, spine: pa.Schema, of_rows: Sequence[str], of_spine: Sequence[str], asks: str
) -> pa.Schema:
    """The columns of both. Raises InputError for one that has another type in the spine than in the rows."""
    fields = {name: pa.field(name, _plain(rows.field(name).type)) for name in of_rows}
    for name in of_spine:
        kind = _plain(spine.field(name).type)
        if name in fields:
            kind = _both(name, fields[name].type, kind)
        fields[name] = pa.field(name, kind)
    return pa.schema([*fields.values(), pa.field(asks, pa.bool_())])


def as_asked(table: Any, schema: pa.Schema, asks: str, is_spine: bool) -> Any:
    """A table or record batch with all of these columns: null where it lacks one, and `asks` true for a spine.

    Raises InputError for a value that its column's type cannot hold, such as an instant after 2262 in nanoseconds.
    """

    def column_of(field: pa.Field) -> Any:
        if field.name == asks:
            return pa.repeat(pa.scalar(is_spine), len(table))
        if field.name not in table.schema.names:
            return pa.nulls(len(table), field.type)
        try:
            return table.column(field.name).cast(field.type)
        except pa.ArrowInvalid as error:
            message = f"column {field.name!r} does not fit the type of both tables, {field.type}: {error}"
            raise InputError("spine" if is_spine else "rows", f"{message}; cast one of them") from error

    return type(table).from_arrays([column_of(field) for field in schema], schema=schema)


def _plain(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _both(name: str, of_rows: pa.DataType, of_spine: pa.DataType) -> pa.DataType:
    """The type for values of both. Raises InputError if they are not of one kind."""
    if pa.types.is_timestamp(of_rows) and pa.types.is_timestamp(of_spine) and _sort(of_rows) == _sort(of_spine):
        return pa.timestamp(max(of_rows.unit, of_spine.unit, key=_UNITS.index), of_rows.tz)
    message = f"column {name!r} must be {of_rows}, as it is in the rows (it is {of_spine}): cast one of them"
    if _sort(of_rows) != _sort(of_spine) and not pa.types.is_null(of_spine):
        raise InputError("spine", message)
    try:
        both = [pa.schema([(name, kind)]) for kind in (of_rows, of_spine)]
        return pa.unify_schemas(both, promote_options="permissive").field(name).type
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise InputError("spine", message) from error


def _sort(kind: pa.DataType) -> Any:
    """What values of two types must share: their kind, and for instants whether they have a zone."""
    if pa.types.is_timestamp(kind):
        return "instants", kind.tz is None
    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_date)
    return next((test.__name__ for test in tests if test(kind)), str(kind).removeprefix("large_"))


def _of_spark(rows: Any, spine: Any, query: "Query", asks: str) -> Any:
    of_rows, of_spine = split_columns(query, asks, rows.columns, spine.columns)
    for name in of_spine:
        if name in of_rows:
            types = [frame.schema[name].dataType for frame in (rows, spine)]
            whole = {"byte", "short", "integer", "long"}
            if types[0] != types[1] and not {kind.typeName() for kind in types} <= whole:
                kinds = [kind.simpleString() for kind in types]
                message = f"column {name!r} must be {kinds[0]}, as it is in the rows (it is {kinds[1]})"
                raise InputError("spine", f"{message}: cast one of them")
    quoted = f"`{asks.replace('`', '``')}`"
    marked = [
        frame.select(*(f"`{name.replace('`', '``')}`" for name in names)).selectExpr("*", f"{mark} AS {quoted}")
        for frame, names, mark in ((rows, of_rows, "false"), (spine, of_spine, "true"))
    ]
    return marked[0].unionByName(marked[1], allowMissingColumns=True)
