"""A table of the newest answers has the net result of a log of changes."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from skyband_specs.check import expect_equal
from skyband_specs.formats.check import SHOWS, Rows, expect_refused, expect_rows, format_check, give, ordered
from skyband_specs.formats.trial import FormatSubject

KEYS = (None, "", " ", "null", "NULL", "%null", "%", "%%null", "a", "A", "a:b", "a%3Ab", "a\\:b", "é", "e\u0301")
"""Different values of a text in a key."""
MANY = 2_500
"""Further keys of a large batch."""


def newest_after(subject: FormatSubject, batches: range, before: Rows | None = None) -> Rows:
    """The rows of a table of the newest answers after these micro-batches, in any order: each log applied by hand.

    before: the rows that were in it.
    """
    trial = subject.trials()
    table = {tuple(row[name] for name in trial.key): row for row in before or []}
    for batch in batches:
        for row in sorted(trial.log(batch).to_pylist(), key=lambda row: row["at"]):
            key = tuple(row[name] for name in trial.key)
            change = row.pop("change")
            table.pop(key, None)
            if change not in ("left", "emptied"):
                table[key] = row
    return ordered(table.values())


def newest_rows(subject: FormatSubject, folder: Path) -> Rows:
    """The rows of a table, sorted."""
    return ordered(subject.rows(folder))


@format_check("current", SHOWS, "current")
def check_the_newest_answers_are_what_the_table_holds(subject: FormatSubject, folder: Path) -> None:
    """A log in parts: rows enter, are replaced, and leave, whatever they are; `replace` removes all earlier rows."""
    for batch in range(6):
        subject.sink(folder, current=True).append(subject.trials().log(batch))
        expect_rows(
            subject, newest_rows(subject, folder), newest_after(subject, range(batch + 1)), f"rows after part {batch}"
        )
    whole = pa.concat_tables([subject.trials().log(batch) for batch in range(2, 4)])
    subject.sink(folder, current=True).append(whole, replace=True)
    expect_rows(subject, newest_rows(subject, folder), newest_after(subject, range(2, 4)), "rows after replace")
    subject.sink(folder, current=True).append(whole.slice(0, 0))
    expect_rows(
        subject, newest_rows(subject, folder), newest_after(subject, range(2, 4)), "rows after a log without rows"
    )


@format_check("current", SHOWS, "current")
def check_each_key_of_the_newest_is_of_one_row(subject: FormatSubject, folder: Path) -> None:
    """Null, the empty text and texts that look like a null or an escape are different keys: each row leaves alone."""
    many = _entered(subject, [*KEYS, *(f"key {number}" for number in range(MANY))])
    subject.sink(folder, current=True).append(many)
    rows = ordered(many.drop_columns(["change"]).to_pylist())
    expect_rows(subject, newest_rows(subject, folder), rows, f"rows of {len(rows)} keys")
    few = _entered(subject, KEYS)
    subject.sink(folder, current=True).append(few, replace=True)
    rows, place = ordered(few.drop_columns(["change"]).to_pylist()), few.column_names.index("change")
    for number, text in enumerate(KEYS):
        leaves = few.slice(number, 1).set_column(place, "change", pa.array(["left"]))
        subject.sink(folder, current=True).append(leaves)
        rows = [row for row in rows if row["place"] != text]
        expect_rows(subject, newest_rows(subject, folder), rows, f"rows after the one of {text!r} has left")


def _entered(subject: FormatSubject, places: Sequence[str | None]) -> pa.Table:
    """A log in which rows of these places enter that differ in nothing else."""
    log = subject.trials().log(0)
    rows = log.take([log.column("change").index("entered").as_py()] * len(places))
    return rows.set_column(rows.column_names.index("place"), "place", pa.array(places, pa.string()))


@format_check("current", SHOWS, "current")
def check_rows_of_others_stay_in_a_table_of_the_newest(subject: FormatSubject, folder: Path) -> None:
    """Rows with other keys are not this stream's to remove."""
    trial = subject.trials()
    log = trial.log(0)
    others = log.set_column(log.column_names.index("rank"), "rank", pa.array([7, 8, 9], pa.int64()))
    others = others.set_column(others.column_names.index("change"), "change", pa.array(["entered"] * 3))
    subject.sink(folder, current=True).append(others)
    before = newest_rows(subject, folder)
    expect_equal(len(before), 3, "rows of others")
    for batch in range(3):
        subject.sink(folder, current=True).write(trial.log(batch), "one", batch)
    expect_rows(subject, newest_rows(subject, folder), ordered([*before, *newest_after(subject, range(3))]), "rows")


@format_check("current", SHOWS, "current")
def check_a_table_of_the_newest_refuses_other_columns(subject: FormatSubject, folder: Path) -> None:
    """`check`, `append` and `write` raise ConfigError for answers with an additional column; the table is unchanged."""
    log = subject.trials().log(0)
    subject.sink(folder, current=True).append(log)
    others = log.append_column("more", pa.array([1.0] * len(log)))
    subject.sink(folder, current=True).check(log.schema)
    for act in (
        lambda sink: sink.check(others.schema),
        lambda sink: sink.append(others),
        lambda sink: sink.write(others, "one", 0),
    ):
        expect_refused(act, subject.sink(folder, current=True))
    expect_rows(
        subject, newest_rows(subject, folder), newest_after(subject, range(1)), "rows after answers of other columns"
    )


def _expect_number(subject: FormatSubject, folder: Path, stream: str, batch: int, what: str) -> None:
    """A format without "streams" has no number: its micro-batches are applied again."""
    number = batch if "streams" in subject.can else None
    expect_equal(subject.sink(folder, current=True).latest(stream), number, f"latest() {what}")


@format_check("current", SHOWS, "current")
def check_changes_that_are_given_again_change_nothing(subject: FormatSubject, folder: Path) -> None:
    """As for appended micro-batches: by this sink and a new one, another stream, one without rows."""
    trial = subject.trials()
    for batch in range(4):
        sink = subject.sink(folder, current=True)
        for again in (sink, sink, subject.sink(folder, current=True)):
            give(again, trial.log(batch), "one", batch)
        _expect_number(subject, folder, "one", batch, "of repeated changes")
        expect_rows(subject, newest_rows(subject, folder), newest_after(subject, range(batch + 1)), "rows")
    subject.sink(folder, current=True).write(trial.log(4).slice(0, 0), "one", 4)
    _expect_number(subject, folder, "one", 4, "after a micro-batch without changes")
    give(subject.sink(folder, current=True), trial.log(4), "two", 0)
    expect_rows(subject, newest_rows(subject, folder), newest_after(subject, range(5)), "rows after another stream's")
    _expect_number(subject, folder, "one", 4, "after another stream's changes")
