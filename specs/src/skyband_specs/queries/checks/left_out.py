"""Unusable rows are left out and counted, each once and under a reason that the query names."""

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
from skyband.columns import record_batch_bytes
from skyband.errors import InputError
from skyband.instants import python_values
from skyband.operator.bad_rows import FIELD, REASON, VALUE
from skyband.queries.query import BAD
from skyband.queries.query import COUNT as COUNTED

from skyband_specs.check import expect, expect_equal
from skyband_specs.queries.case import QueryCase, cut, gathered, takes
from skyband_specs.queries.check import equal_answers, holds, query_check

COUNT = 4


@query_check("left-out")
def check_nulls_are_left_out_and_counted(case: QueryCase) -> None:
    """A null in any column leaves out its row, as if it had not arrived, unless the example gives it a meaning.

    So do the nulls of a batch that has nothing else.
    """
    query = case.query()
    for name in query.columns:
        if name in case.example.nullable:
            continue

        def law(rows: pa.Table, name: str = name) -> None:
            null = (np.arange(len(rows)) % 3 == 1) | (np.arange(len(rows)) // 7 == 1)
            place = rows.column_names.index(name)
            holed = rows.set_column(place, rows.schema.field(name), _with_nulls(rows.column(name), null))
            run = case.run(rows)
            answers = [run.push(batch) for batch in cut(holed, range(7, len(rows), 7))]
            dropped = run.operator.take_metrics().dropped
            expect_equal(sum(dropped.values()) >= int(null.sum()), True, f"all rows with a null {name!r} are counted")
            unknown = set(dropped) - set(query.all_drop_reasons)
            expect(not unknown, f"counted under {sorted(unknown)}, which is not one of {list(query.all_drop_reasons)}")
            without = case.answers(rows.filter(pa.array(~null)), _same_cuts(null))
            latest = gathered(run, [*answers, run.finish()])
            equal_answers(latest, without, f"with nulls in {name!r}, as if those rows had not arrived")

        holds(case, law)


@query_check("left-out")
def check_every_row_is_counted_once(case: QueryCase) -> None:
    """Rows in counts all rows, including those left out; a row with several nulls is left out once."""
    query = case.query()

    def law(rows: pa.Table) -> None:
        null = np.arange(len(rows)) % 4 == 2
        for name in query.columns:
            place = rows.column_names.index(name)
            rows = rows.set_column(place, rows.schema.field(name), _with_nulls(rows.column(name), null))
        run = case.run(rows)
        for batch in cut(rows, []):
            run.push(batch)
        metrics = run.operator.take_metrics()
        expect_equal(metrics.rows_in, len(rows), "rows in")
        expect(sum(metrics.dropped.values()) <= len(rows), f"{dict(metrics.dropped)} left out of {len(rows)} rows")
        first = sum(count for reason, count in metrics.dropped.items())
        expect(first >= int(null.sum()), f"{int(null.sum())} rows are all null, but {first} were left out")
        expect_equal(run.operator.take_metrics().rows_in, 0, "rows in, after they were reported")

    holds(case, law)


@query_check("left-out")
def check_bad_rows_are_put_aside_as_if_they_had_not_come(case: QueryCase) -> None:
    """With `bad_rows`, rows that would end a run are counted, reported unchanged with the reason, and in no answer.

    In each column, three rows have values that no query expects: numbers at the limits of their type and beyond any
    bounds, a time far away, an unknown name, lists that end too early. They are the first and the last of a batch, and
    then a batch each.
    """
    _bad_rows_are_put_aside(case, lambda count: [count // 2])
    _bad_rows_are_put_aside(case, lambda count: [1, count // 2, count // 2 + 1, count - 1] if count > 4 else [])


def _bad_rows_are_put_aside(case: QueryCase, cuts: Callable[[int], list[int]]) -> None:
    counted = case.query(bad_rows=COUNTED)

    def law(rows: pa.Table) -> None:
        half = len(rows) // 2
        hostile = np.isin(np.arange(len(rows)), [0, half, len(rows) - 1])
        without = case.answers(rows.filter(pa.array(~hostile)), query=counted)
        for name, holed in with_hostile_values(rows, hostile, case.query().columns):
            if takes(case.query(), holed):
                continue
            aside: list[pa.RecordBatch] = []
            run = case.run(rows, counted)
            run.on_bad_rows = aside.append
            answers = [run.push(batch) for batch in cut(holed, cuts(len(rows)))]
            bad = pa.Table.from_batches(aside)
            expect_equal(run.operator.take_metrics().dropped.get(BAD, 0), int(hostile.sum()), f"bad rows by {name!r}")
            came = holed.filter(pa.array(hostile))
            same = _as_bytes(bad, case.query().columns) == _as_bytes(came, case.query().columns)
            expect(same, f"rows with a bad {name!r} are put aside changed")
            expect(all(map(str.strip, bad.column(REASON).to_pylist())), f"rows with a bad {name!r} have no reason")
            # Lists of different lengths are at fault together.
            lists = {each.name for each in holed.schema if _is_list(each.type)}
            for place, (field, value) in enumerate(zip(*map(bad.column, (FIELD, VALUE)), strict=True)):
                named, allowed = field.as_py(), {name} | (lists if name in lists else set())
                expect(named in allowed, f"a bad {name!r} is reported as a bad {named!r}")
                (there,) = python_values(came.column(named).slice(place, 1))
                expect_equal(value.as_py(), None if there is None else str(there), f"the value reported as {named!r}")
            equal_answers(gathered(run, [*answers, run.finish()]), without, f"without the rows with a bad {name!r}")

    holds(case, law)


@query_check("left-out")
def check_rows_that_a_query_takes_are_refused_by_no_backend(case: QueryCase) -> None:
    """Rows that `encode_columns` accepts are answered: a later refusal would end a stream, whatever `bad_rows`.

    By then rows of one group are mixed with others, and a repeated micro-batch would fail again. Hostile values as
    above, in each column except the time.
    """
    counted = case.query(bad_rows=COUNTED)

    def law(rows: pa.Table) -> None:
        hostile = np.isin(np.arange(len(rows)), [1, len(rows) // 2, len(rows) - 2])
        for name, holed in with_hostile_values(rows, hostile, case.query().columns):
            if name == counted.time or not takes(case.query(), holed):
                continue
            run = case.run(rows, counted)
            try:
                for batch in cut(holed, []):
                    run.push(batch)
                run.finish()
            except InputError as error:
                value = holed.column(name)[1].as_py()
                expect(
                    False,
                    f"{name!r} of {value!r} is accepted, but refused later ({error}): refuse it in encode_columns",
                )

    holds(case, law)


def _as_bytes(rows: pa.Table, names: tuple[str, ...]) -> bytes:
    """The exact bytes of rows, including NaN and times without a name in Python."""
    (batch,) = rows.select(names).combine_chunks().to_batches()
    return record_batch_bytes.to_bytes(batch)


def with_hostile_values(rows: pa.Table, places: np.ndarray, names: tuple[str, ...]) -> Iterator[tuple[str, pa.Table]]:
    """The rows with each unexpected value that a column can hold, at these places, one column at a time."""
    for name in names:
        kind = rows.schema.field(name).type
        for value in _hostile(kind):
            column = rows.column(name).combine_chunks()
            both = pa.concat_arrays([column, pa.concat_arrays([value])])
            changed = both.take(pa.array(np.where(places, len(column), np.arange(len(column)))))
            yield name, rows.set_column(rows.column_names.index(name), rows.schema.field(name), changed)


def _hostile(kind: pa.DataType) -> list[pa.Array]:
    """Arrays of one value each."""
    if pa.types.is_integer(kind) or pa.types.is_timestamp(kind):
        width, signed = kind.bit_width, not pa.types.is_unsigned_integer(kind)
        ends = [2 ** (width - signed) - 1, -(2 ** (width - 1)) if signed else 0, 2]
        whole = {8: "int8", 16: "int16", 32: "int32", 64: "int64"}[width]
        return [pa.array([end], whole if signed else "u" + whole).view(kind) for end in ends]
    if pa.types.is_floating(kind):
        return [pa.array([value], kind) for value in (np.nan, np.inf, -np.inf, -1.0, 2.0, 1e300)]
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return [pa.array([text], kind) for text in ("", "a name that was not listed")]
    if _is_list(kind):
        inner = [value[0].as_py() for value in _hostile(kind.value_type)]
        return [pa.array([[]], kind), *(pa.array([[value]], kind) for value in inner)]
    return []


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def _with_nulls(column: pa.ChunkedArray, null: np.ndarray) -> pa.ChunkedArray:
    places = pa.array(np.arange(len(column)), mask=null)
    return column.combine_chunks().take(places) if len(column) else column


def _same_cuts(null: np.ndarray) -> list[int]:
    """The places of cuts at every seventh row, without these rows."""
    valid = np.cumsum(~null)
    return [int(valid[place - 1]) for place in range(7, len(null), 7)]
