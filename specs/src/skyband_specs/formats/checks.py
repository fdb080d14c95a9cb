"""What a format must do, each as a function of the format and an empty folder."""

from collections.abc import Callable, Iterable
from pathlib import Path

import pyarrow as pa
from attrs import field, frozen
from skyband.errors import ConfigError, Problem
from skyband.tables import BatchSink, TableKeys

from skyband_specs.check import expect, expect_equal
from skyband_specs.formats import kills
from skyband_specs.formats.trial import FormatSubject

Body = Callable[[FormatSubject, Path], None]
Rows = list[dict[str, object]]


@frozen(eq=False)
class FormatCheck:
    """One thing a format must do, and what it must be able to for the check to say anything."""

    body: Body
    group: str
    needs: tuple[str, ...]
    name: str = field(init=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "name", self.body.__name__.removeprefix("check_"))

    def __call__(self, subject: FormatSubject, folder: Path) -> None:
        """Run it in an empty folder."""
        self.body(subject, folder)


SHOWS = "shows"
"""What a check needs that looks at the table: the format reads, or its trial does."""
ADDS = "adds"
"""What a check needs that adds answers: a format that says no more than "streams" and "current" replaces them alone."""

CHECKS: list[FormatCheck] = []
"""All of them, in order."""


def _check(group: str, *needs: str) -> Callable[[Body], Body]:
    def add(body: Body) -> Body:
        CHECKS.append(FormatCheck(body, group, needs))
        return body

    return add


def give(sink: BatchSink, answers: pa.Table, stream: str, batch: int) -> None:
    """A micro-batch as Spark gives one: written unless the sink says that it has it."""
    latest = sink.latest(stream)
    if latest is None or batch > latest:
        sink.write(answers, stream, batch)


@_check("keys")
def check_good_keys_have_no_problems(subject: FormatSubject, folder: Path) -> None:
    """The keys of the trial are fine on the local engine, before there is a table."""
    problems = list(subject.make().check(subject.trials().keys(folder), on_spark=False))
    expect(problems == [], f"the trial's own keys have problems: {[str(one) for one in problems]}")


@_check("keys")
def check_a_job_without_keys_is_told_what_it_needs(subject: FormatSubject, folder: Path) -> None:
    """Without any key there is no place: problems on both engines, each with a key and a sentence."""
    problems = subject.make().check(TableKeys(), on_spark=False)
    expect(bool(problems), "a job with no key but the format is taken: say which one is required")
    for one in [*problems, *subject.make().check(TableKeys(), on_spark=True)]:
        fine = isinstance(one, Problem) and bool(one.field) and bool(one.message)
        expect(fine, f"must be a Problem with a key and what to do (got {one!r})")


@_check("rows", "reads", "writes")
def check_answers_come_back_as_they_were(subject: FormatSubject, folder: Path) -> None:
    """What `append` wrote is read as it was; columns come in the order they are asked in."""
    answers = subject.trials().answers(0)
    subject.sink(folder).append(answers)
    table = subject.make().read(subject.trials().keys(folder))
    expect_equal(list(table.schema.names), answers.column_names, "columns")
    expect_equal(subject.rows(folder), answers.to_pylist(), "rows")
    names = answers.column_names[::-1][:2]
    table_read = pa.Table.from_batches(list(table.batches(names)))
    expect_equal(table_read.column_names, names, "columns of batches(names)")
    expect_equal(table_read.to_pylist(), answers.select(names).to_pylist(), "rows of batches(names)")


@_check("rows", SHOWS, "writes")
def check_a_batch_is_added_or_takes_the_place(subject: FormatSubject, folder: Path) -> None:
    """`append` adds; with `replace` it is all there is; a batch without answers makes the table."""
    answers, sink = subject.trials().answers, subject.sink(folder)
    sink.append(answers(0).slice(0, 0))
    expect_equal(subject.rows(folder), [], "rows of an empty batch")
    for batch in range(2):
        subject.sink(folder).append(answers(batch))
    expect_equal(subject.rows(folder), [*answers(0).to_pylist(), *answers(1).to_pylist()], "rows")
    subject.sink(folder).append(answers(2), replace=True)
    expect_equal(subject.rows(folder), answers(2).to_pylist(), "rows after replace")


@_check("rows", SHOWS, "writes")
def check_nothing_is_there_before_the_first_answers(subject: FormatSubject, folder: Path) -> None:
    """To look makes nothing: `exists` is false, and to read raises ConfigError."""
    sink = subject.sink(folder)
    sink.check(subject.trials().answers(0).schema)
    expect(not sink.exists(), "exists() is true of a table that nobody has written to")
    if "reads" in subject.can:
        _expect_unread(subject, folder)
    sink.append(subject.trials().answers(0))
    expect(subject.sink(folder).exists(), "exists() is false of a table that was written to")


def _expect_unread(subject: FormatSubject, folder: Path) -> None:
    try:
        subject.rows(folder)
    except ConfigError as error:
        expect(bool(error.problems), "ConfigError says no problem")
        return
    raise AssertionError("a table that is not there is read: raise ConfigError with the key that names it")


@_check("columns", SHOWS, "writes")
def check_other_columns_are_refused_before_anything_is_written(subject: FormatSubject, folder: Path) -> None:
    """`check` and `append` raise ConfigError for answers of other columns, and the table is as it was."""
    answers = subject.trials().answers(0)
    subject.sink(folder).append(answers)
    others = answers.rename_columns([f"other_{name}" for name in answers.column_names])
    subject.sink(folder).check(answers.schema)
    for act in (lambda sink: sink.check(others.schema), lambda sink: sink.append(others)):
        _expect_refused(act, subject.sink(folder))
    expect_equal(subject.rows(folder), answers.to_pylist(), "rows after answers of other columns")


@_check("columns", SHOWS, ADDS, "streams")
def check_a_micro_batch_of_other_columns_is_refused(subject: FormatSubject, folder: Path) -> None:
    """`write` raises ConfigError; neither the answers nor the number are there."""
    answers = subject.trials().answers(0)
    subject.sink(folder).write(answers, "one", 0)
    others = answers.rename_columns([f"other_{name}" for name in answers.column_names])
    _expect_refused(lambda sink: sink.write(others, "one", 1), subject.sink(folder))
    expect_equal(subject.sink(folder).latest("one"), 0, "latest() after a micro-batch that was refused")
    expect_equal(subject.rows(folder), answers.to_pylist(), "rows after a micro-batch that was refused")


def _expect_refused(act: Callable[[BatchSink], None], sink: BatchSink) -> None:
    try:
        act(sink)
    except ConfigError:
        return
    raise AssertionError("answers of other columns are taken: raise ConfigError that names both")


@_check("once", SHOWS, ADDS, "streams")
def check_a_micro_batch_that_is_given_again_is_there_once(subject: FormatSubject, folder: Path) -> None:
    """By this sink and by one made anew; also a micro-batch without answers has a number."""
    answers = subject.trials().answers
    expect_equal(subject.sink(folder).latest("one"), None, "latest() of a stream that wrote nothing")
    sink = subject.sink(folder)
    for batch in range(3):
        for again in (sink, subject.sink(folder)):
            give(again, answers(batch), "one", batch)
        expect_equal(subject.sink(folder).latest("one"), batch, "latest()")
    sink.write(answers(3).slice(0, 0), "one", 3)
    expect_equal(subject.sink(folder).latest("one"), 3, "latest() after a micro-batch without answers")
    expect_equal(subject.rows(folder), _rows(subject, range(3)), "rows")


@_check("once", SHOWS, ADDS, "streams")
def check_another_stream_with_the_same_numbers_is_written(subject: FormatSubject, folder: Path) -> None:
    """A stream begun anew counts from 0 again, and its answers are others."""
    answers = subject.trials().answers
    for number, stream in enumerate(("one", "two")):
        for batch in range(2):
            give(subject.sink(folder), answers(2 * number + batch), stream, batch)
    for stream in ("one", "two"):
        expect_equal(subject.sink(folder).latest(stream), 1, f"latest({stream!r})")
    expect_equal(subject.sink(folder).latest("three"), None, "latest() of a stream that wrote nothing")
    expect_equal(subject.rows(folder), _rows(subject, range(4)), "rows")


MOST_KILLS = 4
"""Of each of the two: a table that is made, and one that is there."""


@_check("kills", SHOWS, ADDS, "streams")
def check_a_writer_killed_while_it_makes_the_table(subject: FormatSubject, folder: Path) -> None:
    """Killed at steps from the first line of `write` to Spark's commit, and given again, the answers are there once."""
    steps = kills.steps(subject, folder / "whole", 0)
    for step in kills.spread(steps, MOST_KILLS):
        _write_through_a_kill(subject, folder / str(step), 0, step)


@_check("kills", SHOWS, ADDS, "streams")
def check_a_writer_killed_while_it_adds_to_the_table(subject: FormatSubject, folder: Path) -> None:
    """The same of a table that is there: each micro-batch is killed at another step."""
    give(subject.sink(folder), subject.trials().answers(0), kills.STREAM, 0)
    steps = kills.steps(subject, folder, 1)
    for number, step in enumerate(kills.spread(steps, MOST_KILLS)):
        _write_through_a_kill(subject, folder, 2 + number, step)


def _write_through_a_kill(subject: FormatSubject, folder: Path, batch: int, step: int) -> None:
    folder.mkdir(exist_ok=True)
    killed = kills.kill(subject, folder, batch, step)
    give(subject.sink(folder), subject.trials().answers(batch), kills.STREAM, batch)
    what = f"after the writer of micro-batch {batch} {'was killed' if killed else 'ended'} at step {step}"
    expect_equal(subject.sink(folder).latest(kills.STREAM), batch, f"latest() {what}")
    expect_equal(subject.rows(folder), _rows(subject, range(batch + 1)), f"rows {what}")


def _after(subject: FormatSubject, batches: range) -> Rows:
    """What a table of the newest answers holds after these micro-batches, in any order: each log applied by hand."""
    table: dict[tuple[object, ...], dict[str, object]] = {}
    trial = subject.trials()
    for batch in batches:
        for row in sorted(trial.log(batch).to_pylist(), key=lambda row: row["at"]):
            key = tuple(row[name] for name in trial.key)
            change = row.pop("change")
            table.pop(key, None)
            if change not in ("left", "emptied"):
                table[key] = row
    return _sorted(table.values())


def _current(subject: FormatSubject, folder: Path) -> Rows:
    return _sorted(subject.rows(folder))


def _sorted(rows: Iterable[dict[str, object]]) -> Rows:
    return sorted(rows, key=repr)


@_check("current", SHOWS, "current")
def check_the_newest_answers_are_what_the_table_holds(subject: FormatSubject, folder: Path) -> None:
    """A log in parts: rows enter, are replaced, and leave, whatever they are; `replace` leaves nothing from before."""
    for batch in range(6):
        subject.sink(folder, current=True).append(subject.trials().log(batch))
        expect_equal(_current(subject, folder), _after(subject, range(batch + 1)), f"rows after part {batch}")
    whole = pa.concat_tables([subject.trials().log(batch) for batch in range(2, 4)])
    subject.sink(folder, current=True).append(whole, replace=True)
    expect_equal(_current(subject, folder), _after(subject, range(2, 4)), "rows after replace")
    subject.sink(folder, current=True).append(whole.slice(0, 0))
    expect_equal(_current(subject, folder), _after(subject, range(2, 4)), "rows after a log without rows")


@_check("current", SHOWS, "current")
def check_rows_of_others_stay_in_a_table_of_the_newest(subject: FormatSubject, folder: Path) -> None:
    """What stands there by other keys is not this stream's to remove."""
    trial = subject.trials()
    log = trial.log(0)
    others = log.set_column(log.column_names.index("rank"), "rank", pa.array([7, 8, 9], pa.int64()))
    others = others.set_column(others.column_names.index("change"), "change", pa.array(["entered"] * 3))
    subject.sink(folder, current=True).append(others)
    before = _current(subject, folder)
    expect_equal(len(before), 3, "rows of others")
    for batch in range(3):
        subject.sink(folder, current=True).write(trial.log(batch), "one", batch)
    expect_equal(_current(subject, folder), _sorted([*before, *_after(subject, range(3))]), "rows")


@_check("current", SHOWS, "current")
def check_a_table_of_the_newest_refuses_other_columns(subject: FormatSubject, folder: Path) -> None:
    """`check`, `append` and `write` raise ConfigError for answers with a column more, and the table is as it was."""
    log = subject.trials().log(0)
    subject.sink(folder, current=True).append(log)
    others = log.append_column("more", pa.array([1.0] * len(log)))
    subject.sink(folder, current=True).check(log.schema)
    for act in (
        lambda sink: sink.check(others.schema),
        lambda sink: sink.append(others),
        lambda sink: sink.write(others, "one", 0),
    ):
        _expect_refused(act, subject.sink(folder, current=True))
    expect_equal(_current(subject, folder), _after(subject, range(1)), "rows after answers of other columns")


def _expect_number(subject: FormatSubject, folder: Path, stream: str, batch: int, what: str) -> None:
    """A format that does not say "streams" has no number: its micro-batches are applied again."""
    number = batch if "streams" in subject.can else None
    expect_equal(subject.sink(folder, current=True).latest(stream), number, f"latest() {what}")


@_check("current", SHOWS, "current")
def check_changes_that_are_given_again_change_nothing(subject: FormatSubject, folder: Path) -> None:
    """As of micro-batches that are added: by this sink and one made anew, another stream, one without rows."""
    trial = subject.trials()
    for batch in range(4):
        sink = subject.sink(folder, current=True)
        for again in (sink, sink, subject.sink(folder, current=True)):
            give(again, trial.log(batch), "one", batch)
        _expect_number(subject, folder, "one", batch, "of changes that were given again")
        expect_equal(_current(subject, folder), _after(subject, range(batch + 1)), "rows")
    subject.sink(folder, current=True).write(trial.log(4).slice(0, 0), "one", 4)
    _expect_number(subject, folder, "one", 4, "after a micro-batch without changes")
    give(subject.sink(folder, current=True), trial.log(4), "two", 0)
    expect_equal(_current(subject, folder), _after(subject, range(5)), "rows after another stream's")


@_check("kills", SHOWS, "current")
def check_a_writer_killed_while_it_changes_a_table_of_the_newest(subject: FormatSubject, folder: Path) -> None:
    """Killed at steps from the first line of `apply` to Spark's commit, and given again, nothing is there twice."""
    steps = kills.steps(subject, folder / "whole", 0, current=True)
    for step in kills.spread(steps, MOST_KILLS):
        _change_through_a_kill(subject, folder / str(step), 0, step)
    for number, step in enumerate(kills.spread(steps, MOST_KILLS)):
        _change_through_a_kill(subject, folder / "whole", 1 + number, step)


def _change_through_a_kill(subject: FormatSubject, folder: Path, batch: int, step: int) -> None:
    folder.mkdir(exist_ok=True)
    killed = kills.kill(subject, folder, batch, step, current=True)
    give(subject.sink(folder, current=True), subject.trials().log(batch), kills.STREAM, batch)
    what = f"after the writer of micro-batch {batch} {'was killed' if killed else 'ended'} at step {step}"
    _expect_number(subject, folder, kills.STREAM, batch, what)
    expect_equal(_current(subject, folder), _after(subject, range(batch + 1)), f"rows {what}")


def _rows(subject: FormatSubject, batches: range) -> list[dict[str, object]]:
    answers = subject.trials().answers
    return [row for batch in batches for row in answers(batch).to_pylist()]
