"""Each group is its own stream: answered as if it were alone, and dropped when its windows are empty."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from skyband.arrays import TIME_MIN
from skyband.queries.grouping_sets import GROUPING
from skyband.queries.time_columns import microseconds

from skyband_specs.check import expect, expect_equal
from skyband_specs.queries.case import GROUP, QueryCase, cut, gathered, lines, random_cuts
from skyband_specs.queries.check import NotApplicable, equal_answers, holds, query_check

COUNT = 5
MANY, ROWS_OF_EACH = 120, 16


@query_check("groups")
def check_a_group_is_answered_as_if_alone(case: QueryCase) -> None:
    """Groups in one operator have the same answers as each in its own."""
    query = case.query(by=[GROUP])

    def law(rows: pa.Table) -> None:
        together = case.answers(rows, random_cuts(1, len(rows)), query)
        latest = _latest(case, rows)
        for name in ("a", "b", "c"):
            run = case.run(rows, query)
            own = rows.filter(pc.equal(rows.column(GROUP), name))
            answers = [run.push(batch) for batch in cut(own, random_cuts(2, len(own)))] if len(own) else []
            alone = gathered(run, [*answers, run.operator.finish(latest)])
            mine = together.filter(pc.equal(together.column(GROUP), name))
            equal_answers(mine, alone, f"group {name!r} next to others, as if alone")
            equal_answers(mine.drop_columns([GROUP]), _without_by(case, own, latest), f"group {name!r}, without `by`")

    # one group in ten is small, which some queries store differently
    names = np.random.default_rng(5).choice(["a", "b", "c"], len(case.rows), p=[0.5, 0.4, 0.1])
    holds(case, law, case.rows.append_column(GROUP, pa.array(names.tolist(), pa.string())))


@query_check("groups")
def check_each_of_many_groups_has_the_answers_of_one(case: QueryCase) -> None:
    """More than a hundred groups with the same rows have the same answers, through a snapshot."""
    query, names = case.query(by=[GROUP]), [f"group {number}" for number in range(MANY)]

    def law(rows: pa.Table) -> None:
        many = rows.take(np.repeat(np.arange(len(rows)), MANY))
        named = many.append_column(GROUP, pa.array(names * len(rows), pa.string()))
        run, other = case.run(named, query), case.run(named, query)
        first, second = cut(named, [len(named) // 2])
        answers = [run.push(first)]
        other.operator.restore(run.operator.snapshot())
        together = gathered(other, [*answers, other.push(second), other.operator.finish(_latest(case, rows))])
        expected = lines(_without_by(case, rows, _latest(case, rows)))
        for name in names:
            mine = lines(together.filter(pc.equal(together.column(GROUP), name)).drop_columns([GROUP]))
            expect_equal(mine, expected, f"answers of {name!r}, of {MANY} groups with the same rows")

    holds(case, law, case.rows.slice(0, ROWS_OF_EACH))


@query_check("groups")
def check_one_group_is_answered_as_all_rows_are(case: QueryCase) -> None:
    """If every row is in one group, the answers equal those without groups."""
    query = case.query(by=[GROUP])

    def law(rows: pa.Table) -> None:
        named = rows.append_column(GROUP, pa.array(["all"] * len(rows), pa.string()))
        grouped = case.answers(named, random_cuts(4, len(rows)), query).drop_columns([GROUP])
        equal_answers(grouped, case.answers(rows, random_cuts(4, len(rows))), "one group of all rows, not without `by`")

    holds(case, law)


@query_check("groups")
def check_groupings_are_answered_as_if_each_were_alone(case: QueryCase) -> None:
    """By a column and over all rows at once, with a snapshot in between: as by the column, and as without `by`."""
    query = case.query(by=[[GROUP], []])

    def law(rows: pa.Table) -> None:
        run, other = case.run(rows, query), case.run(rows, query)
        first, second = cut(rows, [len(rows) // 2])
        answers = [run.push(first)]
        counted = run.operator.take_metrics().rows_in
        other.operator.restore(run.operator.snapshot())
        answers += [other.push(second), other.operator.finish(_latest(case, rows))]
        expect_equal(counted + other.operator.take_metrics().rows_in, len(rows), "rows in, each in two groups")
        together = gathered(other, answers)
        for by, name in (([GROUP], GROUP), ([], "()")):
            alone = case.answers(rows, [len(rows) // 2], case.query(by=by))
            mine = together.filter(pc.equal(together.column(GROUPING), name)).select(alone.column_names)
            equal_answers(mine, alone, f"by {name} next to another grouping, as if alone")

    names = np.arange(len(case.rows)) % 3  # the empty text, and a null group, which is not that of all rows
    texts = [("", "b", None)[name] for name in names]
    holds(case, law, case.rows.append_column(GROUP, pa.array(texts, pa.string())))


@query_check("groups")
def check_a_group_is_forgotten_when_its_windows_are_empty(case: QueryCase) -> None:
    """A stream with ever new groups does not grow for ever."""
    if case.query().rows:
        raise NotApplicable("rows: a window of rows never runs empty")
    query = case.query(by=[GROUP])

    def law(rows: pa.Table) -> None:
        named = rows.append_column(GROUP, pa.array([f"group {place % 40}" for place in range(len(rows))], pa.string()))
        run = case.run(named, query)
        for batch in cut(named, []):
            run.push(batch)
        metrics = run.operator.take_metrics()
        expect(not metrics.groups or metrics.retained > 0, f"{metrics.groups} groups are held, but no items")
        run.operator.advance(_latest(case, rows) + 100 * 365 * 86_400_000_000)
        metrics = run.operator.take_metrics()
        expect_equal((metrics.groups, metrics.retained), (0, 0), "groups and items held a century after the last row")

    holds(case, law)


def _without_by(case: QueryCase, rows: pa.Table, latest: int) -> pa.Table:
    """The answers to the rows of one group, as from a query without `by`."""
    run = case.run(rows)
    return gathered(run, [*(run.push(batch) for batch in cut(rows, []) if len(rows)), run.operator.finish(latest)])


def _latest(case: QueryCase, rows: pa.Table) -> int:
    times = microseconds(case.query().time, rows.column(case.query().time).combine_chunks())
    return int(times.max()) if len(times) else TIME_MIN
