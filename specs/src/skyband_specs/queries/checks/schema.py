"""A query's declarations of columns are true: those it reads, their types, and the columns of its answers."""

import pickle

import pyarrow as pa
from skyband.config.parameters import parameters_of
from skyband.errors import ConfigError
from skyband.operator.bind_backends import bind
from skyband.queries.query import Query

from skyband_specs.check import expect, expect_equal
from skyband_specs.queries.case import GROUP, QueryCase, cut, gathered
from skyband_specs.queries.check import check_of_all, equal_answers, holds, query_check

COUNT = 8


@query_check("schema")
def check_answers_have_the_declared_columns(case: QueryCase) -> None:
    """With and without groups, for batches and the end; the columns do not depend on the rows."""
    named = case.rows.append_column(GROUP, pa.array(["x"] * len(case.rows), pa.string()))
    for rows, query in ((case.rows, case.query()), (named, case.query(by=[GROUP]))):
        names = query.result_schema(rows.schema).names
        expect_equal(len(set(names)), len(names), f"different names of the columns {names}")
        expect(
            query.answer_fields(rows.schema) == query.answer_fields(rows.schema),
            "declares two schemas when called twice",
        )
        case.answers(rows, [len(rows) // 2], query)


@query_check("schema")
def check_an_empty_input_has_no_answers(case: QueryCase) -> None:
    """No rows, no answers, with the declared schema; empty batches among others change nothing."""
    empty = case.rows.slice(0, 0)
    expect_equal(case.answers(empty, [0]).num_rows, 0, "answers of an empty input")

    def law(rows: pa.Table) -> None:
        run = case.run(rows)
        answers = []
        for batch in cut(rows, [len(rows) // 3, len(rows) // 3, len(rows) // 2]):
            answers += [run.push(batch), run.push(batch.slice(0, 0))]
        equal_answers(gathered(run, [*answers, run.finish()]), case.answers(rows), "with empty batches")

    holds(case, law)


@query_check("schema")
def check_only_its_columns_are_read(case: QueryCase) -> None:
    """The answers are the same if the source has no other columns, or another order."""
    query = case.query()

    def law(rows: pa.Table) -> None:
        whole = case.answers(rows)
        equal_answers(case.answers(rows.select(query.columns)), whole, "with only `columns`")
        equal_answers(case.answers(rows.select(rows.column_names[::-1])), whole, "with columns in another order")

    holds(case, law)


@check_of_all("schema")
def check_each_key_is_given_by_an_example(cases: tuple[QueryCase, ...]) -> None:
    """Every key is set by an example; for others, an example names the test in `elsewhere`."""
    shared = {key.name for key in parameters_of(Query)}
    keys = [key.name for key in parameters_of(cases[0].factory) if key.name not in shared]
    set_keys = {key for case in cases for key in case.example.keys}
    elsewhere = {key: where for case in cases for key, where in case.example.elsewhere.items()}
    missing = [key for key in keys if key not in set_keys and key not in elsewhere]
    expect(missing == [], f"no example sets {', '.join(missing)}: add one, or name the test in `elsewhere`")
    needless = [key for key in elsewhere if key in set_keys or key not in keys or not elsewhere[key]]
    expect(needless == [], f"`elsewhere` names {', '.join(needless)}, which an example sets, or which needs a reason")


@query_check("schema")
def check_a_missing_column_is_told(case: QueryCase) -> None:
    """A missing column is reported with the key that names it, before a row is read."""
    query = case.query()
    keys = {query.time: "time", **{wanted.column: wanted.key for wanted in query.inputs()}}
    for column, key in keys.items():
        _refuses(case, case.rows.drop_columns([column]).schema, key, f"without the column {column!r}")


@query_check("schema")
def check_a_column_of_another_type_is_told(case: QueryCase) -> None:
    """A column of structs, which no query can read, is refused with the key that names it, before a row is read."""
    for column in case.query().inputs():
        place = case.rows.schema.get_field_index(column.column)
        odd = pa.field(column.column, pa.struct([("x", pa.struct([("y", pa.null())]))]))
        _refuses(case, case.rows.schema.set(place, odd), column.key, f"with {column.column!r} of {odd.type}")


@query_check("schema")
def check_columns_of_each_type_it_takes_are_answered_alike(case: QueryCase) -> None:
    """Integers of any width, large texts and dictionaries have the same answers, where `inputs` takes the type."""
    query, whole = case.query(), case.answers(case.rows)
    for one in query.inputs():
        place = case.rows.column_names.index(one.column)
        column = case.rows.column(place).combine_chunks()
        for kind in _alike(column.type):
            if not one.accepts(kind):
                continue
            try:
                rows = case.rows.set_column(place, one.column, column.cast(kind))
            except pa.ArrowInvalid:  # it does not hold these numbers
                continue
            equal_answers(case.answers(rows, [len(rows) // 2]), whole, f"with {one.column!r} of {kind}")


def _alike(kind: pa.DataType) -> tuple[pa.DataType, ...]:
    """Other types for the same values."""
    if pa.types.is_integer(kind):
        return (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())
    return (pa.large_string(), pa.dictionary(pa.int32(), pa.string())) if kind == pa.string() else ()


@query_check("schema")
def check_the_query_travels(case: QueryCase) -> None:
    """Pickled, as for Spark, it equals the original, and no other query; it cannot be changed."""
    query = case.query()
    expect(pickle.loads(pickle.dumps(query)) == query, "a pickled query is not equal to itself")
    expect(query == case.query(), "two queries of the same keys are not equal")
    expect(query != case.query(by=[GROUP]), "two queries of different keys are equal")
    try:
        query.delay = query.delay
    except AttributeError:
        return
    raise AssertionError("its keys can be changed: make them fields of skyband.config.parameters")


def _refuses(case: QueryCase, schema: pa.Schema, key: str, what: str) -> None:
    bindings = dict(case.bindings)
    try:
        bind(case.query(), schema, bindings)
    except ConfigError as error:
        fields = [problem.field for problem in error.problems]
        named = any(field == f"query.{key}" or field.startswith(f"query.{key}[") for field in fields)
        expect(named, f"{what}, says {fields}, not query.{key}")
        return
    raise AssertionError(f"{what}, it is accepted: declare in `inputs` what it reads as {key!r}")
