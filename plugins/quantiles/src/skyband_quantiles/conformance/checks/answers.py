"""Answers are right by definition, at any moment and for any way of asking."""

from typing import Any

import numpy as np
from skyband_specs.batching import fed, seeded, visible
from skyband_specs.check import Make, check, expect, expect_equal, expect_time_only_advances
from skyband_specs.counterexample import holds_for
from skyband_specs.driver import Case
from skyband_specs.together import TurnsTogether

from skyband_quantiles.conformance.driver import beginnings
from skyband_quantiles.conformance.plain_data import ABOVE, AT, asked_since, oracle_of, plain, times_of
from skyband_quantiles.conformance.streams import ODD_VALUES, NumberStream, stream

COUNT = 10


@check("oracle")
def check_answers_are_sound(make: Make, case: Case) -> None:
    """Whatever the guarantee: low <= value <= high, larger quantiles no smaller, shares from 0 to 1, no NaN."""

    def law(rows: NumberStream) -> None:
        backend = fed(make, case, rows)
        for since in beginnings(backend):
            count, low, high = backend.count(since)
            expect(0 <= low <= count <= high, f"rows since {since}: {low} <= {count} <= {high}")
            values, shares = backend.quantiles(since, AT), backend.shares(since, ABOVE)
            if not count:
                expect(
                    bool(np.isnan(values).all() and np.isnan(shares).all()), f"of no rows since {since} there is one"
                )
                continue
            for answers in (values, shares):
                within = (answers[:, 1] <= answers[:, 0]) & (answers[:, 0] <= answers[:, 2])
                expect(bool(within.all()), f"low <= value <= high does not hold since {since}: {plain(answers)}")
            expect(bool(((shares >= 0) & (shares <= 1)).all()), f"shares since {since}: {plain(shares)}")
            ordered = values[np.argsort(AT, kind="stable")]
            expect(bool((ordered[1:] >= ordered[:-1]).all()), f"quantiles fall since {since}: {plain(ordered)}")

    holds_for(case, seeded(case), law)


@check("oracle")
def check_order_of_questions_does_not_matter(make: Make, case: Case) -> None:
    """Quantiles and limits in any order, one of them twice, or singly: each has its own answer."""
    rows = case.driver.seeded(case, 1)
    backend = fed(make, case, rows)
    for since in beginnings(backend):
        values, shares = backend.quantiles(since, AT), backend.shares(since, ABOVE)
        for place, q in enumerate(AT):
            expect_equal(plain([backend.quantile(since, q)]), plain(values[place : place + 1]), f"{q} alone")
        for place, limit in enumerate(ABOVE):
            expect_equal(
                plain(backend.shares(since, [limit])), plain(shares[place : place + 1]), f"above {limit} alone"
            )
        expect_equal(plain(backend.quantiles(since, AT[::-1])), plain(values[::-1]), "the other way round")


@check("oracle")
def check_few_rows_are_exact(make: Make, case: Case) -> None:
    """Over as few rows as the query answers without backends, every backend is exact, whatever the numbers."""

    def law(rows: NumberStream) -> None:
        few = rows.take(np.arange(min(len(rows), make().exact_up_to, 200)))
        backend = fed(make, case, few)
        oracle = oracle_of(backend, few, len(few))
        for since in beginnings(backend):
            count, *expected = oracle.answer(since, 2**64, AT, ABOVE)
            expect_equal(asked_since(backend, since)[1:], ((count,) * 3, *expected), f"since {since}")

    everything = stream(np.zeros(len(ODD_VALUES)), ODD_VALUES)
    holds_for(case, [everything, *seeded(case)], law)


@check("oracle")
def check_shares_are_the_decimals_they_are_written_as(make: Make, case: Case) -> None:
    """0.07 of 100 rows is the seventh, although 0.07 * 100 is above 7; likewise for every whole percentage."""
    for rows in (1, 25, 50, 100):
        if rows > make().exact_up_to:
            continue
        backend = make(longest=1000)
        values = stream(np.zeros(rows), np.arange(1.0, rows + 1))
        case.driver.feed(backend, values, 0, rows)
        for percent in range(101):
            q = percent / 100
            rank = max(1, -(-percent * rows // 100))
            expect_equal(backend.quantile(0, q)[0], float(rank), f"the {q}-quantile of 1 to {rows}")


@check("edges")
def check_since_any_moment(make: Make, case: Case) -> None:
    """Moments between two borders are allowed, and a row counts since its own time, but not since the next."""
    for time in (0, 7, -7, 10**15 + 1):
        backend = make(longest=1000)
        if backend.by == "rows":
            return
        case.driver.feed(backend, stream([time, time + 2], [3.0, 4.0]), 0, 2)
        for begin, count, median in ((time, 2, 3.0), (time + 1, 1, 4.0), (time + 2, 1, 4.0), (time + 3, 0, None)):
            got = backend.count(begin)[0], plain([backend.quantile(begin, 0.5)])[0][0]
            expect_equal(got, (count, median), f"rows and median since {begin}, rows at {time} and {time + 2}")


@check("edges")
def check_an_empty_window_has_no_answer(make: Make, case: Case) -> None:
    """Before the first row and after all have expired, answers are empty, which is not an error."""
    backend = make()
    nothing = [(None,) * 3]
    answers = [plain(backend.quantiles(0, [0.5])), plain(backend.shares(0, [1.0]))]
    rows = case.driver.seeded(case, 1)
    case.driver.feed(backend, rows, 0, len(rows))
    end = backend.now + backend.longest + 1
    backend.advance(end)
    answers += [plain(backend.quantiles(end, [0.5])), plain(backend.shares(end - backend.longest, [1.0]))]
    expect_equal(answers, [nothing] * 4, "an empty window")
    expect_equal(backend.count(end - backend.longest), (0.0, 0.0, 0.0), "rows of an empty window")
    expect_equal(len(backend), 0, "items retained when all has expired")


@check("edges")
def check_advance_is_idempotent(make: Make, case: Case) -> None:
    """Advancing twice is the same as once; going back is refused."""
    rows = case.driver.seeded(case, 1)
    backend = fed(make, case, rows)
    expect_time_only_advances(backend, lambda: visible(case, backend, rows, len(rows)))


@check("batch-split")
def check_answers_are_update_and_quantiles(make: Make, case: Case) -> None:
    """Answers within a batch are the same as when stopping at each moment."""

    def law(rows: NumberStream) -> None:
        backend, other = make(), make()
        times = times_of(backend, rows, 0, len(rows))
        if not len(times):
            return
        last = int(times[-1]) + backend.longest + 2
        at_moments = np.unique(np.linspace(int(times[0]), last, 60).astype(np.int64))
        border = (int(times[len(times) // 2]) - backend.offset) // backend.every * backend.every + backend.offset
        at_moments = np.unique(np.append(at_moments, border)) if border >= int(times[0]) else at_moments
        windows = [max(1, backend.longest // 4), backend.longest, backend.longest // 2 + 1]
        answers = backend.answers(times, rows.values, moments=at_moments, windows=windows, at=AT, above=ABOVE)
        start = 0
        for number, at in enumerate(at_moments.tolist()):
            stop = int(np.searchsorted(times, at))
            case.driver.feed(other, rows, start, stop)
            start = stop
            other.advance(at)
            for place, window in enumerate(windows):
                since = at - window
                got = (
                    answers.rows[number, place],
                    plain(answers.values[number, place]),
                    plain(answers.shares[number, place]),
                )
                expected = other.count(since)[0], plain(other.quantiles(since, AT)), plain(other.shares(since, ABOVE))
                expect_equal(got, expected, f"window {window} at {at}")
        case.driver.feed(other, rows, start, len(rows))
        expect_equal(visible(case, backend, rows, len(rows)), visible(case, other, rows, len(rows)), "at the end")

    holds_for(case, seeded(case, (1, 2)), law)


@check("memory")
def check_ten_rows_are_small(make: Make, case: Case) -> None:
    """The state of a sketch of ten rows takes less than 1 KB, however many rows were before them."""
    if not case.has("snapshot"):
        return
    for before in (0, 5000):
        backend = make(longest=10)
        rows = stream(np.arange(before + 10), np.arange(before + 10) * 0.1)
        case.driver.feed(backend, rows, 0, len(rows))
        if backend.by == "time":
            backend.advance(before + 11)
        size = len(backend.snapshot())
        expect(before > 0 or size < 1024, f"a state of 10 rows takes {size} bytes")
        expect(size < 4096, f"a state of 10 rows after {before} others takes {size} bytes")


class _Together(TurnsTogether):
    """The turns of quantile sketches."""

    def columns(self, backend: Any, stream: Any, start: int, stop: int) -> tuple[Any, ...]:
        return times_of(backend, stream, start, stop), stream.values[start:stop]

    def moments(self, backend: Any, times: Any, until: int) -> Any:
        marks = np.unique(np.append(times[::3], until - 1) + 1)
        return marks[marks <= until]

    def alone(self, backend: Any, columns: Any, moments: Any) -> list[Any]:
        return _entries(backend.answers(*columns, moments=moments, **_questions(backend)))

    def together(self, backends: list[Any], columns: Any, spans: Any, moments: Any) -> list[Any]:
        call = type(backends[0]).answers_together
        return _entries(call(backends, *columns, spans=spans, moments=moments, **_questions(backends[0])))


def _questions(backend: Any) -> dict[str, Any]:
    return {"windows": [max(1, backend.longest // 4), backend.longest], "at": AT, "above": ABOVE}


def _entries(answers: Any) -> list[Any]:
    """An entry for each moment."""
    rows, values, shares = answers
    return [(rows[at].tolist(), [*map(plain, values[at])], [*map(plain, shares[at])]) for at in range(len(rows))]


@check("batch-split")
def check_several_together_answer_as_each(make: Make, case: Case) -> None:
    """Sketches that have their turns in one call, each with its rows and moments, are the same as called singly."""
    holds_for(case, seeded(case, (1, 2)), lambda rows: _Together().expect_as_each(make, case, rows))
