"""The window "ever": every answer is over all rows before its moment, and no group is forgotten."""

from contextlib import nullcontext
from datetime import datetime

import numpy as np
import pyarrow as pa
import pytest
from families import FAMILIES, events, family
from skyband.config.calendar_lengths import ALWAYS
from skyband.config.time_zone_conversion import YEARS
from skyband.engines import local
from skyband.engines.local import LocalRun
from skyband.errors import ConfigError, InputError
from skyband.operator.row_encoding import check_years

LONG = "3650 days"
"""Longer than the rows are apart."""
KINDS = {
    "distinct-count": ("sketch", ["pcsa-ml", "k-skb", "exact"]),
    "heavy-hitters": ("total-ranker", ["exact", "k-skb", "misra-gries", "frequent-items-panes"]),
    "quantiles": ("quantile-sketch", ["buckets", "exact"]),
    "top-k": ("object-ranker", ["eaa", "sla"]),
    "top-k-pairs": ("pair-ranker", ["swoop"]),
}
CASES = [(kind, role, backend) for kind, (role, backends) in KINDS.items() for backend in backends]


@pytest.mark.parametrize(("window", "first", "end"), [("ever", -ALWAYS, ALWAYS), ("today in Asia/Kolkata", *YEARS)])
def test_rows_are_taken_from_the_first_moment_that_a_calendar_reaches_and_before_its_end(window, first, end):
    query = over("distinct-count", window)
    for time, fits in ((first - 1, False), (first, True), (end - 1, True), (end, False)):
        with nullcontext() if fits else pytest.raises(InputError, match="correct such rows"):
            check_years(query, np.array([0, time]))


def over(kind, length, **keys):
    """A query of this kind over one window."""
    windows = {"windows": [length]} if "windows" in FAMILIES[kind] else {"window": length}
    return family(kind, **{"every": "1 minute", **windows, **keys})


def told(answers):
    """Answers as text, whatever their window is called."""
    places = [answers.column(name) for name in answers.column_names if name != "window"]
    return list(zip(*(column.to_pylist() for column in places), strict=True))


@pytest.mark.parametrize("by", [[], ["place"]])
@pytest.mark.parametrize(("kind", "role", "backend"), CASES)
def test_it_answers_as_a_window_longer_than_all_rows_are_apart(kind, role, backend, by):
    rows = events(11, rows=400, span=900)
    expected = local.apply(rows, over(kind, LONG, by=by), {role: backend})
    answers = local.apply(rows, over(kind, "ever", by=by), {role: backend})
    assert len(answers) and told(answers) == told(expected)


@pytest.mark.parametrize(("kind", "role", "backend"), CASES)
def test_it_goes_on_from_states_across_1970_and_after_years(kind, role, backend):
    rows = events(12, rows=300, span=300)
    years = np.where(np.arange(300) < 150, -200, 20 * 366 * 86_400) * 1_000_000
    times = pa.array(rows["ts"].cast(pa.int64()).to_numpy() + years, pa.timestamp("us", "UTC"))
    rows = rows.set_column(0, "ts", times)
    query = over(kind, "ever", every="1 year in UTC", by="place")
    run, answers = LocalRun.start(query, rows.schema, {role: backend}), []
    for start in range(0, 300, 60):
        (batch,) = rows.slice(start, 60).combine_chunks().to_batches()
        answers.append(run.push(batch))
        state, run = run.operator.snapshot(), LocalRun.start(query, rows.schema, {role: backend})
        run.operator.restore(state)
    answers.append(run.operator.finish(int(times.cast(pa.int64()).to_numpy().max())))
    expected = local.apply(rows, over(kind, "30000 days", every="1 year in UTC", by="place"), {role: backend})
    found = local.in_order(query, pa.Table.from_batches(answers))
    assert len(found) and sorted(map(repr, told(found))) == sorted(map(repr, told(expected)))


def test_a_total_is_kept_once_however_long_it_goes_on():
    run = LocalRun.start(over("heavy-hitters", "ever", every="1 hour", delay="0 seconds"), events(1, rows=1).schema)
    sizes = []
    for day in range(40):
        rows = events(day, rows=200)
        times = rows["ts"].cast(pa.int64()).to_numpy() + day * 86_400_000_000
        rows = rows.set_column(0, "ts", pa.array(np.sort(times), pa.timestamp("us", "UTC")))
        run.push(rows.combine_chunks().to_batches()[0])
        sizes.append(run.operator.take_metrics().retained)
    assert sizes[-1] == 60  # the names there are
    assert sizes[20:] == [60] * 20


def test_it_is_mixed_with_others_and_asked_by_a_calendar():
    at = [datetime(1850, 6, 1), datetime(1999, 12, 31), datetime(2026, 1, 1), datetime(2026, 1, 2)]
    rows = pa.table({"ts": at, "name": ["a", "b", "b", "c"]})
    query = {"kind": "distinct-count", "time": "ts", "item": "name", "windows": ["ever", "2 days"], "every": "1 year"}
    counts = {(row["at"].year, row["window"]): row["count"] for row in local.apply(rows, query).to_pylist()}
    assert counts[1851, "ever"] == 1.0 and counts[1900, "ever"] == 1.0
    assert (counts[2000, "ever"], counts[2000, "2 days"]) == (2.0, 1.0)
    assert (counts[2027, "ever"], counts[2027, "2 days"]) == (3.0, 0.0)


@pytest.mark.parametrize(
    ("keys", "field", "message"),
    [
        ({"windows": ["ever in Europe/Paris"]}, "windows[0]", 'begins before any row, in every zone: write "ever"'),
        ({"every": "ever"}, "every", 'is a window: give an interval, such as "10 minutes" or "1 day in UTC"'),
        ({"against": "previous"}, "windows[0]", 'with `against`, use whole units such as "1 day in UTC"'),
        ({"every": "10 rows"}, "every", "must be in time"),
    ],
)
def test_what_it_does_not_go_with(keys, field, message):
    query = {"kind": "distinct-count", "time": "ts", "item": "name", "windows": ["ever"], "every": "1 hour"}
    with pytest.raises(ConfigError) as error:
        local.apply(events(1, rows=5), query | keys)
    assert [problem.field.removeprefix("query.") for problem in error.value.problems] == [field]
    assert message in str(error.value)


def test_a_time_that_it_does_not_reach_is_refused():
    rows = pa.table({"ts": pa.array([0, -(2**60) - 1], pa.timestamp("us")), "name": ["a", "b"]})
    query = {"kind": "distinct-count", "time": "ts", "item": "name", "windows": ["ever"], "every": "1 hour"}
    with pytest.raises(InputError, match='a window "ever" begins 36,500 years before 1970'):
        local.apply(rows, query)
