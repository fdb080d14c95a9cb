"""Checks of row-aggregates: a value depends on what is in its window alone, in the type that is promised."""

from typing import Any

import numpy as np
import pyarrow as pa
from skyband.arrays import Int64
from skyband_specs.batching import sampled, seeded
from skyband_specs.check import Make, check, expect_equal
from skyband_specs.counterexample import holds_for
from skyband_specs.driver import Case

from skyband_totals.row_aggregates.conformance.driver import LENGTHS
from skyband_totals.row_aggregates.conformance.streams import ValueStream, stream
from skyband_totals.row_aggregates.role import ROWS, RowAggregate

COUNT = 6
MOST_TINY = 60


def values_over(aggregate: RowAggregate, rows: ValueStream, first: Int64, stop: Int64, at: Int64) -> list[list[Any]]:
    """The values of windows over all rows of a stream without nulls, one list for each window."""
    copy = aggregate.__class__(**aggregate.parameters())
    copy.update(np.sort(rows.times), rows.column(0, len(rows)))
    kind = type_of(rows)
    flat = copy.as_column(copy._over(copy._items(), first, stop, rows.times, at), kind).to_pylist()
    return [flat[len(stop) * window : len(stop) * (window + 1)] for window in range(len(first))]


def type_of(rows: ValueStream) -> pa.DataType:
    """The type of the column; null without one."""
    column = rows.column(0, len(rows))
    return pa.null() if column is None else column.type


def windows_of(rows: ValueStream) -> tuple[Int64, Int64, Int64]:
    """A question after each moment of a stream, over several windows: first, stop and at."""
    at = np.unique(rows.times) + 1
    stop = np.searchsorted(rows.times, at)
    return np.array([np.searchsorted(rows.times, at - length) for length in LENGTHS]), stop, at


def whole(rows: ValueStream) -> ValueStream:
    """The rows that are not null."""
    return rows.take(np.flatnonzero(rows.there))


@check("oracle")
def check_other_groups_change_nothing(make: Make, case: Case) -> None:
    """Groups one after the other in one call; each begins at the time at which the one before ends."""

    def law(rows: ValueStream) -> None:
        rows = whole(rows)
        if not len(rows):
            return
        first, stop, at = windows_of(rows)
        alone = values_over(make(), rows, first, stop, at)
        times = rows.times - rows.times[0]
        span, size = int(times[-1]), len(rows)
        groups = [stream(times + span * copy, rows.values) for copy in range(3)]
        several = stream(
            np.concatenate([group.times for group in groups]), np.concatenate([group.values for group in groups])
        )
        together = values_over(
            make(),
            several,
            np.concatenate([first + size * copy for copy in range(3)], axis=1),
            np.concatenate([stop + size * copy for copy in range(3)]),
            np.concatenate([at - rows.times[0] + span * copy for copy in range(3)]),
        )
        expect_equal(together, [window * 3 for window in alone], "three times the same group")

    holds_for(case, [*sampled(case, MOST_TINY), *seeded(case)], law)


@check("oracle")
def check_history_changes_nothing(make: Make, case: Case) -> None:
    """What came before a window, and other windows and questions, do not change its value."""

    def law(rows: ValueStream) -> None:
        rows = whole(rows)
        if not len(rows):
            return
        first, stop, at = windows_of(rows)
        together = values_over(make(), rows, first, stop, at)
        for window in range(len(first)):
            for question in range(0, len(stop), max(1, len(stop) // 7)):
                begin, end = int(first[window, question]), int(stop[question])
                part = rows.take(np.arange(begin, end))
                own = values_over(make(), part, np.array([[0]]), np.array([end - begin]), at[question : question + 1])
                expect_equal(own, [[together[window][question]]], f"places {begin} to {end} alone, and with others")

    holds_for(case, [*sampled(case, MOST_TINY), *seeded(case)], law)


@check("oracle")
def check_nulls_are_nothing(make: Make, case: Case) -> None:
    """Rows with null are as if they were not there."""
    if make().keeps == ROWS:
        return

    def law(rows: ValueStream) -> None:
        with_nulls, without = make(), make()
        case.driver.feed(with_nulls, rows, 0, len(rows))
        part = whole(rows)
        case.driver.feed(without, part, 0, len(part))
        got, expected = (case.driver.answers(one, rows, len(rows)) for one in (with_nulls, without))
        expect_equal(got, expected, "with nulls, and without")

    holds_for(case, seeded(case), law)


@check("edges")
def check_values_have_the_type_that_is_given(make: Make, case: Case) -> None:
    """The type of its values is the one that `gives` names, also for windows without rows."""

    def law(rows: ValueStream) -> None:
        aggregate = make()
        case.driver.feed(aggregate, rows, 0, len(rows))
        kind = aggregate.gives(type_of(rows))
        last = int(rows.times[-1])
        values = aggregate.over([last + 5, last + 6], [last + 5, last + 7])
        expect_equal(values.type, kind, "the type of values")
        expect_equal(values[0].as_py(), aggregate.definition([], [], last + 5), "a window without rows")

    holds_for(case, seeded(case), law)


@check("edges")
def check_forgotten_rows_are_not_read(make: Make, case: Case) -> None:
    """After `forget` the values are those of a stream that began there."""

    def law(rows: ValueStream) -> None:
        forgetful, fresh = make(), make()
        middle = int(rows.times[len(rows) // 2])
        case.driver.feed(forgetful, rows, 0, len(rows))
        forgetful.forget(middle)
        forgetful.forget(middle)
        rest = rows.take(np.flatnonzero(rows.times >= middle))
        case.driver.feed(fresh, rest, 0, len(rest))
        got, expected = (case.driver.answers(one, rows, len(rows)) for one in (forgetful, fresh))
        expect_equal(got, expected, f"rows from {middle} on")
        expect_equal(len(forgetful), len(fresh), "items retained")

    holds_for(case, seeded(case), law)


@check("oracle")
def check_empty_columns_are_answered(make: Make, case: Case) -> None:
    """Without any row, all windows are empty."""
    aggregate = make()
    values = aggregate.over([0, 1], [0, 9]).to_pylist()
    expect_equal(values, [aggregate.definition([], [], 9)] * 2, "windows before any row")
    if aggregate.keeps != ROWS:
        aggregate.update([3], pa.array([None]))
        expect_equal(aggregate.over([0], [9]).to_pylist(), values[:1], "a window with a null of no type")
