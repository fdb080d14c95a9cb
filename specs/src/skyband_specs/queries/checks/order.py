"""The order in which rows arrive, within the delay, changes nothing; later rows are counted."""

import numpy as np
import pyarrow as pa
from skyband.operator.row_encoding import encode
from skyband.queries.time_columns import microseconds

from skyband_specs.check import expect, expect_equal
from skyband_specs.queries.case import QueryCase, cut, gathered, random_cuts
from skyband_specs.queries.check import equal_answers, holds, query_check

COUNT = 4


@query_check("order")
def check_rows_may_be_shuffled_within_the_delay(case: QueryCase) -> None:
    """Three other orders of arrival, including ties in time, cut at random."""

    def law(rows: pa.Table) -> None:
        whole = case.answers(rows)
        for seed in range(3):
            shuffled = _shuffled(case, rows, seed)
            run = case.run(shuffled)
            answers = [run.push(batch) for batch in cut(shuffled, random_cuts(seed, len(rows)))]
            late = run.operator.take_metrics().rows_late
            expect_equal(late, 0, "late rows, of those that arrive within the delay")
            equal_answers(gathered(run, [*answers, run.finish()]), whole, f"in another order within the delay ({seed})")

    holds(case, law)


@query_check("order")
def check_a_bounded_input_may_come_in_any_order(case: QueryCase) -> None:
    """Read to its end before it is answered, it has no late rows."""

    def law(rows: pa.Table) -> None:
        run = case.run(rows)
        order = np.random.default_rng(3).permutation(len(rows))
        for batch in cut(rows.take(pa.array(order)), random_cuts(3, len(rows))):
            run.add(batch)
        equal_answers(gathered(run, [run.finish()]), case.answers(rows), "all rows in any order, answered at the end")

    holds(case, law)


@query_check("order")
def check_the_example_has_no_late_rows(case: QueryCase) -> None:
    """Rows of an example arrive within the key `delay`: the other checks rely on it."""
    run = case.run(case.rows)
    for batch in cut(case.rows, range(1, len(case.rows))):
        run.push(batch)
    metrics = run.operator.take_metrics()
    expect_equal(metrics.rows_late, 0, "rows of the example later than its key `delay` allows")
    expect_equal(metrics.dropped.get("null time", 0), 0, "rows of the example without a time")


@query_check("order")
def check_late_rows_are_counted_and_change_nothing(case: QueryCase) -> None:
    """Rows from before the watermark, mixed with the others, are counted and in no answer."""

    def law(rows: pa.Table) -> None:
        run = case.run(rows)
        answers, late = [], 0
        earliest = rows.slice(int(np.argmin(_times(case, rows))), 1) if len(rows) else rows
        accepted = sum(len(encode(case.query(), batch).frame) for batch in cut(earliest, []))  # 0 where it is left out
        for batch in cut(rows, range(10, len(rows), 10)):
            answers.append(run.push(batch))
            mark = run.operator.watermark
            if mark is not None and len(earliest) and _times(case, earliest)[0] < mark:
                answers += [run.push(again) for again in cut(earliest, [])]
                late += 1
        metrics = run.operator.take_metrics()
        expect_equal(metrics.rows_late, late * accepted, "rows late")
        expect_equal(metrics.rows_in, len(rows) + late, "rows in")
        equal_answers(gathered(run, [*answers, run.finish()]), case.answers(rows), "with late rows among them")

    expect(len(case.rows) > 20, f"the example has too few rows for a late one ({len(case.rows)})")
    holds(case, law)


def _times(case: QueryCase, rows: pa.Table) -> np.ndarray:
    """int64[n]: when each row happened, in microseconds."""
    time = case.query().time
    return microseconds(time, rows.column(time).combine_chunks())


def _shuffled(case: QueryCase, rows: pa.Table, seed: int) -> pa.Table:
    """The rows in another order, none later than the newest by more than the delay; equal times in any order."""
    rng = np.random.default_rng(seed)
    most = max(case.query().delay.length - 1, 0)
    order = np.lexsort((rng.permutation(len(rows)), _times(case, rows) + rng.integers(0, most + 1, len(rows))))
    return rows.take(pa.array(order))
