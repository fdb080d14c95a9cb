"""The cut into batches changes neither the answers nor the state."""

from collections import Counter

import pyarrow as pa

from skyband_specs.check import expect
from skyband_specs.queries.case import QueryCase, cut, gathered, lines, random_cuts
from skyband_specs.queries.check import equal_answers, expect_answers, holds, query_check

COUNT = 4


@query_check("batches")
def check_batches_may_be_cut_anywhere(case: QueryCase) -> None:
    """One batch, a batch per row and three random cuts have the same answers."""
    expect_answers(case.answers(case.rows), case)

    def law(rows: pa.Table) -> None:
        whole = case.answers(rows)
        for cuts in (range(1, len(rows)), *(random_cuts(seed, len(rows)) for seed in range(3))):
            equal_answers(case.answers(rows, list(cuts)), whole, f"cut into {len(cuts) + 1} batches, not one")

    holds(case, law)


@query_check("batches")
def check_state_is_the_same_however_rows_were_cut(case: QueryCase) -> None:
    """Equal bytes at the end of one batch, of a batch per row and of a random cut."""

    def law(rows: pa.Table) -> None:
        states = []
        for cuts in ([], list(range(1, len(rows))), random_cuts(1, len(rows))):
            run = case.run(rows)
            for batch in cut(rows, cuts):
                run.push(batch)
            states.append(run.operator.snapshot())
        for state in states[1:]:
            expect(state == states[0], f"the state of several batches ({len(state)} bytes) is not that of one")

    holds(case, law)


@query_check("batches")
def check_answers_wait_for_the_watermark(case: QueryCase) -> None:
    """A batch is answered up to the watermark, however much more is known: each answer is final."""
    query = case.query()
    column = len(query.by)

    def law(rows: pa.Table) -> None:
        run = case.run(rows)
        for batch in cut(rows, random_cuts(2, len(rows))):
            answers = run.push(batch)
            if query.rows or not len(answers):
                continue
            latest = max(answers.column(column).cast(pa.int64()).to_pylist())
            mark = run.operator.watermark
            expect(mark is not None and latest <= mark, f"answered the moment {latest} at the watermark {mark}")

    holds(case, law)


@query_check("batches")
def check_flush_answers_as_the_end_does(case: QueryCase) -> None:
    """A flushed stream (`finish`) has given exactly the answers of a bounded input, each once."""

    def law(rows: pa.Table) -> None:
        run = case.run(rows)
        answers = [*(run.push(batch) for batch in cut(rows, [len(rows) // 2])), run.flush()]
        flushed, ended = Counter(lines(gathered(run, answers))), Counter(lines(case.answers(rows)))
        missing, others = (sorted((one - two).elements()) for one, two in ((ended, flushed), (flushed, ended)))
        expect(not missing, f"flushed, it lacks {len(missing)} answers of the bounded input: {missing[:2]}")
        expect(not others, f"flushed, it has {len(others)} answers that the bounded input lacks: {others[:2]}")

    holds(case, law)
