"""A query that runs for long keeps only what its windows need, and nothing from before them."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from skyband.queries.time_columns import microseconds

from skyband_specs.check import expect
from skyband_specs.queries.case import GROUP, QueryCase, cut
from skyband_specs.queries.check import NotApplicable, query_check
from skyband_specs.reachable_memory import weight

COUNT = 2
LAPS = 24
"""How often the example's rows are repeated, later each time; the size after half of them counts as settled."""
FEW = 4
"""A column with at most this many texts may be named by a key, such as a stream or a side, and stays unchanged."""
FACTOR, SLACK = 1.1, 512
"""How much a snapshot may grow: leaking a number per name makes it half as large again."""
FACTOR_IN_MEMORY, SLACK_IN_MEMORY = 1.3, 1 << 15
"""The same for everything reachable from the operator, some of which grows by doubling."""


@query_check("memory")
def check_new_names_are_forgotten(case: QueryCase) -> None:
    """Over hundreds of windows with their own names, the state and memory keep their size."""
    _expect_steady(case, [])


@query_check("memory")
def check_new_groups_are_forgotten(case: QueryCase) -> None:
    """The same with groups that appear a few times and never again, small and larger ones."""
    if case.query().rows:
        raise NotApplicable("rows: a window of rows never runs empty")
    _expect_steady(case, [GROUP])


def _expect_steady(case: QueryCase, by: list[str]) -> None:
    query = case.query(by=by) if by else case.query()
    table = case.rows
    if not len(table):
        raise NotApplicable("the example has no rows")
    times = microseconds(query.time, table.column(query.time).combine_chunks())
    span = int(times.max() - times.min()) + query.delay.length + 3_600_000_000
    run, sizes = None, []
    for lap in range(LAPS):
        rows = _again(table, query.time, lap, span // 1_000_000 * 1_000_000)
        if by:
            small = np.random.default_rng(5).choice([0, 1, 2], len(rows), p=[0.5, 0.4, 0.1])
            rows = rows.append_column(GROUP, pa.array([f"group {lap:03} {one}" for one in small]))
        run = case.run(rows, query) if run is None else run
        for batch in cut(rows, [len(rows) // 2]):
            run.push(batch)
        if lap + 1 in (LAPS // 2, LAPS):
            state = len(run.operator.snapshot())
            sizes.append((state, weight(run.operator)))
    (before, light), (after, heavy) = sizes
    message = f"over {LAPS // 2} times the example's rows under new names"
    expect(after <= FACTOR * before + SLACK, f"a snapshot grew from {before} to {after} bytes {message}")
    most = FACTOR_IN_MEMORY * light + SLACK_IN_MEMORY
    expect(heavy <= most, f"what the operator holds grew from {light} to {heavy} bytes {message}")


def _again(rows: pa.Table, time: str, lap: int, span: int) -> pa.Table:
    """The rows again, later by this much per lap, with all texts and integers new except those with few values."""
    columns = []
    for name, column in zip(rows.column_names, rows.columns, strict=True):
        one = column.combine_chunks()
        if name == time:
            moved = pc.add(one.cast(pa.timestamp("us", one.type.tz)).cast(pa.int64()), lap * span)
            columns.append(moved.cast(pa.timestamp("us", one.type.tz)).cast(one.type))
        elif pa.types.is_list(one.type) or pa.types.is_large_list(one.type):
            values = _renamed(one.values, lap)
            columns.append(type(one).from_arrays(one.offsets, values) if values is not one.values else one)
        else:
            columns.append(_renamed(one, lap))
    return pa.table(columns, names=rows.column_names)


def _renamed(values: pa.Array, lap: int) -> pa.Array:
    if pa.types.is_string(values.type) and pc.count_distinct(values).as_py() > FEW:
        return pc.binary_join_element_wise(values, pa.scalar(f" {lap:03}"), "")
    if pa.types.is_int64(values.type) and pc.count_distinct(values).as_py() > FEW:
        return pc.add(values, lap * 1_000_000)
    return values
