"""A query resumes from a snapshot, taken after any row, as if nothing had happened."""

import os

import pyarrow as pa

from skyband_specs.check import expect
from skyband_specs.queries.case import GROUP, QueryCase, cut, gathered, random_cuts, with_large_numbers
from skyband_specs.queries.check import equal_answers, holds, query_check
from skyband_specs.queries.state_trial import fault

COUNT = 4

STATES = "SKYBAND_SPECS_STATES"
"""The environment variable with the number of mutated states to try, as for backends."""

_FEW = 40


@query_check("snapshot")
def check_goes_on_from_a_snapshot_after_any_row(case: QueryCase) -> None:
    """Saved and restored after every row: the answers equal those of a run that never stopped.

    So do those to numbers beyond 32 bits, where the query takes them.
    """
    holds(case, lambda rows: _stop_and_go(case, rows, list(range(1, len(rows)))))
    large = with_large_numbers(case.rows, case.query())
    holds(case, lambda rows: _stop_and_go(case, rows, list(range(9, len(rows), 9))), large)


@query_check("snapshot")
def check_groups_go_on_from_a_snapshot(case: QueryCase) -> None:
    """The same with groups, including small and silent ones."""
    names = [f"group {place % 3 if place % 11 else place % 17}" for place in range(len(case.rows))]
    named = case.rows.append_column(GROUP, pa.array(names, pa.string()))
    holds(case, lambda rows: _stop_and_go(case, rows, list(range(9, len(rows), 9)), by=[GROUP]), named)


@query_check("snapshot")
def check_a_restored_state_is_the_state(case: QueryCase) -> None:
    """Saved again at once, it has the same bytes."""

    def law(rows: pa.Table) -> None:
        run = case.run(rows)
        for batch in cut(rows, random_cuts(6, len(rows))):
            run.push(batch)
            state = run.operator.snapshot()
            again = case.run(rows)
            again.operator.restore(state)
            expect(again.operator.snapshot() == state, "a restored state saves to other bytes")

    holds(case, law)


@query_check("snapshot")
def check_mutated_states_and_logs_are_refused_or_work(case: QueryCase) -> None:
    """Changed with a valid checksum, a state, its waiting rows and those of a log are refused, or do no harm.

    Without and with groups, in their own process: a crash or a hang fails the check. A query checks its own rows in
    `check_frame`. The environment can set more: `SKYBAND_SPECS_STATES=10000`.
    """
    wrong = fault(case, int(os.environ.get(STATES, _FEW)), {**os.environ})
    expect(wrong is None, f"a mutated state does harm: {wrong}")


def _stop_and_go(case: QueryCase, rows: pa.Table, cuts: list[int], **keys: object) -> None:
    query = case.query(**keys)
    run = case.run(rows, query)
    answers = []
    for batch in cut(rows, cuts):
        answers.append(run.push(batch))
        resumed = case.run(rows, query)
        resumed.restore(run.snapshot())
        run = resumed
    equal_answers(
        gathered(run, [*answers, run.finish()]), case.answers(rows, [], query), "saved and restored on the way"
    )
