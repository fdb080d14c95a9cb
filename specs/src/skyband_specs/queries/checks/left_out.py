"""Rows that say nothing are left out and counted, each once and under a reason that the query names."""

import numpy as np
import pyarrow as pa

from skyband_specs.check import expect, expect_equal
from skyband_specs.queries.case import QueryCase, cut, gathered
from skyband_specs.queries.check import equal_answers, holds, query_check

COUNT = 2


@query_check("left-out")
def check_nulls_are_left_out_and_counted(case: QueryCase) -> None:
    """A null in any column leaves its row out, as if it had not come, unless the example says that it has a meaning."""
    query = case.query()
    for name in query.columns:
        if name in case.example.nullable:
            continue

        def law(rows: pa.Table, name: str = name) -> None:
            null = np.arange(len(rows)) % 3 == 1
            place = rows.column_names.index(name)
            holed = rows.set_column(place, rows.schema.field(name), _with_nulls(rows.column(name), null))
            run = case.run(rows)
            given = [run.push(batch) for batch in cut(holed, range(7, len(rows), 7))]
            dropped = run.operator.take_metrics().dropped
            expect_equal(sum(dropped.values()) >= int(null.sum()), True, f"all rows with a null {name!r} are counted")
            unknown = set(dropped) - set(query.all_drop_reasons)
            expect(not unknown, f"counted under {sorted(unknown)}, which is none of {list(query.all_drop_reasons)}")
            without = case.answers(rows.filter(pa.array(~null)), _same_cuts(null))
            latest = gathered(run, [*given, run.finish()])
            equal_answers(latest, without, f"with nulls in {name!r}, as if those rows had not come")

        holds(case, law)


@query_check("left-out")
def check_every_row_is_counted_once(case: QueryCase) -> None:
    """Rows in are those that came, rows left out among them; a row with several nulls is left out once."""
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
        expect(first >= int(null.sum()), f"{int(null.sum())} rows are all null, and {first} were left out")
        expect_equal(run.operator.take_metrics().rows_in, 0, "rows in, after they were told")

    holds(case, law)


def _with_nulls(column: pa.ChunkedArray, null: np.ndarray) -> pa.ChunkedArray:
    places = pa.array(np.arange(len(column)), mask=null)
    return column.combine_chunks().take(places) if len(column) else column


def _same_cuts(null: np.ndarray) -> list[int]:
    """The places of cuts at every seventh row, once these rows are gone."""
    kept = np.cumsum(~null)
    return [int(kept[place - 1]) for place in range(7, len(null), 7)]
