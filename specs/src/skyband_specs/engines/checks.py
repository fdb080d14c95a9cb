"""What an engine must do: each check is a function of its trial and of a query with rows."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
from attrs import evolve
from skyband import SnapshotError
from skyband.columns.arrow_normalization import no_rows
from skyband.engines.engine import Run
from skyband.errors import InputError
from skyband.operator.row_encoding import encode
from skyband.queries.query import COUNT
from skyband.watermark import EventTimeProgress

from skyband_specs.check import expect, expect_equal
from skyband_specs.engines import kills
from skyband_specs.engines.cases import BY, PLAIN, RULES
from skyband_specs.engines.check import EngineCheck, engine_check, equal_rows
from skyband_specs.engines.trial import EngineCase, EngineTrial, InProcessTrial
from skyband_specs.queries.case import random_cuts
from skyband_specs.queries.checks.left_out import with_hostile_values


@engine_check("answers")
def check_a_batch_is_answered_as_by_the_reference(trial: EngineTrial, case: EngineCase) -> None:
    """All rows, then the end of the input."""
    equal_rows(trial.batch(case), case.batch_on(case.reference()), "a batch")


@engine_check("answers")
def check_a_stream_is_answered_as_by_the_reference(trial: EngineTrial, case: EngineCase) -> None:
    """Batches as they arrive, including rows after the watermark."""
    late = _with_late_rows(case)
    equal_rows(trial.stream(late), late.stream_on(late.reference()), "a stream")


@engine_check("answers")
def check_a_stream_that_stops_goes_on(trial: EngineTrial, case: EngineCase) -> None:
    """Rows after a stop are answered together with the rows from before it, once."""
    late = _with_late_rows(case)
    equal_rows(trial.stream(late, 3), late.stream_on(late.reference()), "a stream that stopped")


@engine_check("steps")
def check_each_step_is_answered_as_by_the_reference(trial: InProcessTrial, case: EngineCase) -> None:
    """However the rows are cut: the same answers after each batch, the same watermark, the same end."""
    for seed in (1, 2):
        late = _with_late_rows(case)
        cut = late.with_cuts(*random_cuts(seed, len(late.rows)))
        run, reference = cut.begun_on(trial.engine), cut.reference()
        expect_equal(run.result_schema, reference.result_schema, "the schema of the answers")
        _go(cut, run, reference)
        _end(cut, run, reference)


@engine_check("steps", BY, RULES)
def check_batches_added_before_one_step_are_answered_together(trial: InProcessTrial, case: EngineCase) -> None:
    """As in a job that takes several files at a time."""
    run, reference = case.begun_on(trial.engine), case.reference()
    together = [_added(one, case.batches[:5]) for one in (run, reference)]
    answers, expected = (one.step(progress) for one, progress in zip((run, reference), together, strict=True))
    equal_rows(case.in_order(answers), case.in_order(expected), "five batches in one step")
    _go(case, run, reference, case.batches[5:])
    _end(case, run, reference)


@engine_check("steps")
def check_flush_answers_to_the_end_and_goes_on(trial: InProcessTrial, case: EngineCase) -> None:
    """Answers up to the moment after the last row; later rows, late or not, are answered as by the reference."""
    run, reference = case.begun_on(trial.engine), case.reference()
    _go(case, run, reference, case.batches[:2])
    _flush(case, run, reference)
    _go(case, run, reference, case.batches[2:])
    _flush(case, run, reference)


@engine_check("rows", PLAIN, BY)
def check_no_rows_are_no_answers(trial: InProcessTrial, case: EngineCase) -> None:
    """An empty batch, a flush and the end before any row."""
    run, reference = case.begun_on(trial.engine), case.reference()
    expect_equal(run.watermark, None, "the watermark before the first row")
    _go(case, run, reference, [no_rows(case.rows.schema)])
    _flush(case, run, reference)
    _end(case, run, reference)


@engine_check("rows")
def check_metrics_add_up(trial: InProcessTrial, case: EngineCase) -> None:
    """Rows in, late and left out of each step, each row once; zero when read again."""
    late = _with_late_rows(_with_nulls(case))
    run, reference = late.begun_on(trial.engine), late.reference()
    for batch in late.batches:
        run.push(batch), reference.push(batch)
        metrics, expected = run.take_metrics(), reference.take_metrics()
        for name in ("rows_in", "rows_late", "late_by", "groups"):
            expect_equal(getattr(metrics, name), getattr(expected, name), name)
        expect_equal(_counts(metrics.dropped), _counts(expected.dropped), "rows left out")
        again = run.take_metrics()
        rows = again.rows_in, again.rows_late, again.late_by, sum(again.dropped.values())
        expect_equal(rows, (0, 0, 0, 0), "rows in, late, late by and left out, taken again")


@engine_check("rows", PLAIN, BY)
def check_late_rows_are_put_aside(trial: InProcessTrial, case: EngineCase) -> None:
    """Each row that arrives after the watermark, unchanged, in the order of its batch."""
    late = _with_late_rows(case)
    run, reference = late.begun_on(trial.engine), late.reference()
    got, expected = _watch(run, "on_late_rows"), _watch(reference, "on_late_rows")
    _go(late, run, reference)
    equal_rows(_together(got), _together(expected), "late rows")


@engine_check("rows", PLAIN, BY)
def check_bad_rows_are_counted_and_put_aside(trial: InProcessTrial, case: EngineCase) -> None:
    """With `bad_rows`: unchanged, with the reason; also unreadable rows, which are in no batch."""
    counting = evolve(case, query=evolve(case.query, bad_rows=COUNT))
    for rows in _with_bad_rows(case):
        bad = evolve(counting, rows=rows)
        run, reference = bad.begun_on(trial.engine), bad.reference()
        got, expected = _watch(run, "on_bad_rows"), _watch(reference, "on_bad_rows")
        for one in (run, reference):
            one.refuse([(InputError("file.csv", "has no end", None), "a text")])
        _go(bad, run, reference)
        equal_rows(_together(got), _together(expected), "bad rows")
        expect_equal(_counts(run.take_metrics().dropped), _counts(reference.take_metrics().dropped), "rows left out")
        _end(bad, run, reference)


@engine_check("rows", RULES)
def check_bad_rules_are_counted_once(trial: InProcessTrial, case: EngineCase) -> None:
    """An invalid row of the second table is refused, or counted and put aside as one bad row."""
    assert case.rules is not None
    place = case.rules.column_names.index("window")
    wrong = case.rules.slice(0, 1).set_column(place, "window", pa.array(["no length"]))
    run = case.begun_on(trial.engine)
    try:
        run.broadcast(wrong)
        expect(False, "an invalid rule is accepted")
    except InputError:
        pass
    counting = evolve(case, query=evolve(case.query, bad_rows=COUNT))
    run, reference = counting.begun_on(trial.engine), counting.reference()
    got, expected = _watch(run, "on_bad_rows"), _watch(reference, "on_bad_rows")
    for one in (run, reference):
        one.broadcast(wrong)
    equal_rows(_together(got), _together(expected), "bad rules")
    expect_equal(_counts(run.take_metrics().dropped), _counts(reference.take_metrics().dropped), "rows left out")


@engine_check("state")
def check_goes_on_from_a_snapshot_after_any_step(trial: InProcessTrial, case: EngineCase) -> None:
    """Saved and restored after each batch, it answers, counts and ends like a run that never stopped."""
    late = _with_late_rows(case)
    run, reference = late.begun_on(trial.engine), late.reference()
    for batch in late.batches:
        run = late.restored_on(trial.engine, run.snapshot())
        _go(late, run, reference, [batch])
    _end(late, late.restored_on(trial.engine, run.snapshot()), reference)


@engine_check("state")
def check_the_same_rows_give_the_same_bytes(trial: InProcessTrial, case: EngineCase) -> None:
    """Two runs of the same rows save the same bytes, and so does one that was just restored."""
    run, other = case.begun_on(trial.engine), case.begun_on(trial.engine)
    for batch in case.batches:
        run.push(batch), other.push(batch)
        blob = run.snapshot()
        expect(other.snapshot() == blob, "a second run of the same rows saves other bytes")
        expect(run.snapshot() == blob, "saved twice, a run gives other bytes")
        expect(case.restored_on(trial.engine, blob).snapshot() == blob, "a restored run saves other bytes")


@engine_check("state", BY)
def check_other_bytes_are_refused_and_change_nothing(trial: InProcessTrial, case: EngineCase) -> None:
    """Bytes that are not a snapshot, truncated, with a changed byte, or of another query raise SnapshotError."""
    run, reference = case.begun_on(trial.engine), case.reference()
    _go(case, run, reference, case.batches[:3])
    blob = run.snapshot()
    elsewhere = evolve(case, query=evolve(case.query, by=()))
    others = {"no bytes": b"", "a text": b"no snapshot", "a truncated snapshot": blob[: len(blob) // 2],
              "a snapshot of another query": elsewhere.begun_on(trial.engine).snapshot(),
              "a snapshot with a changed byte": blob[:-9] + bytes([blob[-9] ^ 1]) + blob[-8:]}  # fmt: skip
    for what, other in others.items():
        try:
            run.restore(other)
        except SnapshotError:
            expect(run.snapshot() == blob, f"{what} is refused, but has changed the run")
        else:
            expect(False, f"{what} is restored: raise SnapshotError")
    _go(case, run, reference, case.batches[3:])


@engine_check("kills", BY, RULES)
def check_a_killed_run_goes_on_from_its_last_snapshot(trial: InProcessTrial, case: EngineCase) -> None:
    """A process is killed while it answers, at several lines; a new one starts from the last snapshot."""
    late = _with_late_rows(case)
    equal_rows(kills.answers_of_killed(trial.engine, late), late.stream_on(late.reference()), "after kills")


def _go(case: EngineCase, run: Run, reference: Run, batches: list[pa.RecordBatch] | None = None) -> None:
    """Give both runs these batches, or all, and compare after each."""
    for number, batch in enumerate(case.batches if batches is None else batches):
        answers, expected = run.push(batch), reference.push(batch)
        equal_rows(case.in_order(answers), case.in_order(expected), f"the answers after batch {number}")
        expect_equal(run.watermark, reference.watermark, f"the watermark after batch {number}")


def _end(case: EngineCase, run: Run, reference: Run) -> None:
    equal_rows(case.in_order(run.finish()), case.in_order(reference.finish()), "the answers at the end of the input")


def _flush(case: EngineCase, run: Run, reference: Run) -> None:
    equal_rows(case.in_order(run.flush()), case.in_order(reference.flush()), "the answers of a flush")
    expect_equal(run.watermark, reference.watermark, "the watermark after a flush")


def _added(run: Run, batches: list[pa.RecordBatch]) -> EventTimeProgress:
    first, *others = [run.add(batch) for batch in batches]
    for progress in others:
        first.add(progress)
    return first


def _watch(run: Run, name: str) -> list[pa.RecordBatch]:
    rows: list[pa.RecordBatch] = []
    setattr(run, name, rows.append)
    return rows


def _together(batches: list[pa.RecordBatch]) -> pa.Table:
    return pa.Table.from_batches(batches) if batches else pa.table({})


def _counts(dropped: Mapping[str, int]) -> dict[str, int]:
    return {reason: count for reason, count in sorted(dropped.items()) if count}


def _with_late_rows(case: EngineCase) -> EngineCase:
    """Repeat some of the first rows at the end of the second half."""
    again = case.rows.take(pa.array(np.arange(0, 30, 3)))
    return evolve(case, rows=pa.concat_tables([case.rows.slice(0, 90), again, case.rows.slice(90)]))


def _with_nulls(case: EngineCase) -> EngineCase:
    """Remove some times: such rows are left out."""
    name = case.query.time
    column = case.rows.column(name).combine_chunks()
    holed = column.take(pa.array(np.arange(len(column)), mask=np.arange(len(column)) % 9 == 4))
    place = case.rows.column_names.index(name)
    return evolve(case, rows=case.rows.set_column(place, case.rows.schema.field(name), holed))


def _with_bad_rows(case: EngineCase) -> list[pa.Table]:
    """The rows with some that the query cannot take, in one way; unchanged where it takes everything."""
    places = np.isin(np.arange(len(case.rows)), [1, len(case.rows) // 2, len(case.rows) - 2])
    for _, rows in with_hostile_values(case.rows, places, tuple(case.query.columns)):
        try:
            encode(case.query, rows.combine_chunks().to_batches()[0])
        except InputError:
            return [rows]
    return [case.rows]


CHECKS: list[EngineCheck] = [check for check in list(vars().values()) if isinstance(check, EngineCheck)]
"""All checks, in order."""
