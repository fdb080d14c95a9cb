"""A writer that is killed has written all of its answers or none."""

from pathlib import Path

from attrs import evolve

from skyband_specs.check import expect_equal
from skyband_specs.formats import kills
from skyband_specs.formats.check import ADDS, SHOWS, Rows, exactly, expect_rows, format_check, give, ordered, rows_of
from skyband_specs.formats.checks.current import newest_after, newest_rows
from skyband_specs.formats.trial import FormatSubject


@format_check("kills", SHOWS, ADDS, "streams")
def check_a_writer_killed_while_it_makes_the_table(subject: FormatSubject, folder: Path) -> None:
    """Killed from the first line of `write` to Spark's commit, and repeated, the answers are written once."""
    _make_through_kills(kills.Moment(subject, str(folder / "whole"), 0), folder)


@format_check("kills", SHOWS, ADDS, "streams")
def check_a_writer_killed_while_it_adds_to_the_table(subject: FormatSubject, folder: Path) -> None:
    """The same for an existing table: each micro-batch is killed at another place."""
    give(subject.sink(folder), subject.trials().answers(0), kills.STREAM, 0)
    _go_on_through_kills(kills.Moment(subject, str(folder), 1))


@format_check("kills", SHOWS, "current")
def check_a_writer_killed_while_it_changes_a_table_of_the_newest(subject: FormatSubject, folder: Path) -> None:
    """Killed from the first line of `apply` to Spark's commit, and repeated, nothing is written twice."""
    moment = kills.Moment(subject, str(folder / "whole"), 0, current=True)
    _make_through_kills(moment, folder)
    _go_on_through_kills(evolve(moment, batch=1))


@format_check("kills", SHOWS, ADDS, "writes")
def check_a_batch_whose_writer_is_killed_is_there_or_not(subject: FormatSubject, folder: Path) -> None:
    """Killed while it appends or replaces answers, `append` leaves the table in its old or its new state."""
    _append_through_kills(subject, folder, current=False)


@format_check("kills", SHOWS, "current")
def check_a_table_of_the_newest_whose_writer_is_killed_is_as_before_or_after(
    subject: FormatSubject, folder: Path
) -> None:
    """The same for `apply`, which changes a table of the newest answers, or replaces all of it."""
    _append_through_kills(subject, folder, current=True)


def _make_through_kills(whole: kills.Moment, folder: Path) -> None:
    """Each kill while a table is created."""
    for number, place in enumerate(kills.places(whole)):
        _give_after_a_kill(whole.killed_at(place, folder / str(number), 0), place)


def _go_on_through_kills(moment: kills.Moment) -> None:
    """Each kill at its own micro-batch, which finds what the earlier ones have left."""
    for number, place in enumerate(kills.places(moment)):
        _give_after_a_kill(moment.killed_at(place, Path(moment.folder), moment.batch + 1 + number), place)


def _give_after_a_kill(moment: kills.Moment, place: str) -> None:
    subject, folder, batch, current = moment.subject, Path(moment.folder), moment.batch, moment.current
    folder.mkdir(exist_ok=True)
    killed, trial = kills.kill(moment), subject.trials()
    give(subject.sink(folder, current), trial.log(batch) if current else trial.answers(batch), kills.STREAM, batch)
    what = f"after the writer of micro-batch {batch} {'was killed' if killed else 'ended'} at its {place}"
    if not current or "streams" in subject.can:  # otherwise micro-batches are applied again
        expect_equal(subject.sink(folder, current).latest(kills.STREAM), batch, f"latest() {what}")
    expected = newest_after(subject, range(batch + 1)) if current else rows_of(subject, range(batch + 1))
    expect_rows(subject, newest_rows(subject, folder) if current else subject.rows(folder), expected, f"rows {what}")


def _append_through_kills(subject: FormatSubject, folder: Path, current: bool) -> None:
    """Each kill of a batch that appends, and of one that replaces; then another batch replaces the rows."""
    trial = subject.trials()
    for act in ("append", "replace"):
        moment = kills.Moment(subject, str(folder / act), 1, act, current)
        Path(moment.folder).mkdir()
        for number, place in enumerate(kills.places(moment)):
            batch, table = 2 + number, folder / act
            before = ordered(subject.rows(table))
            kills.kill(moment.killed_at(place, table, batch))
            rows, expected = ordered(subject.rows(table)), _appended(subject, before, batch, act, current)
            if exactly(rows) != exactly(before):
                expect_rows(subject, rows, expected, f"rows after {act} of batch {batch} was killed at its {place}")
            again = trial.log(batch) if current else trial.answers(batch)
            subject.sink(table, current).append(again, replace=True)
            whole = _appended(subject, [], batch, act, current)
            expect_rows(subject, ordered(subject.rows(table)), whole, f"rows replaced after a kill at {place}")


def _appended(subject: FormatSubject, before: Rows, batch: int, act: str, current: bool) -> Rows:
    rows = before if act == "append" else []
    if current:
        return newest_after(subject, range(batch, batch + 1), rows)
    return ordered([*rows, *subject.trials().answers(batch).to_pylist()])
