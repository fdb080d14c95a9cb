"""Any window and k within the largest of the queries, answered on demand."""

from typing import Any

import numpy as np
from skyband import InputError

from skyband_specs.batching import seeded
from skyband_specs.check import Make, check, expect_equal
from skyband_specs.counterexample import holds_for
from skyband_specs.driver import Case
from skyband_specs.workload_ranker.checks.answers import cuts_of
from skyband_specs.workload_ranker.driver import plain, reached, rows_of
from skyband_specs.workload_ranker.oracle import top

COUNT = 2


@check("oracle", needs=("any-subquery",), guarantees=("exact",))
def check_any_subquery_equals_the_oracle(make: Make, case: Case) -> None:
    """On demand it answers exactly what it is asked, for any window and k within the largest of its queries.

    However rows and questions are cut into calls, and through a snapshot in the middle.
    """

    def law(stream: Any) -> None:
        if not len(stream):
            return
        repeats = case.parameters.get("repeats", "each")
        for seed in range(2):
            random, backend = np.random.default_rng(seed), make(on_demand=True)
            now = int(stream.times[0]) - 2
            for start, stop in cuts_of(stream, seed):
                rows = rows_of(stream, stop)
                at, since, k = _questions(random, backend.queries, now, reached(case, stream, stop))
                part = slice(start, stop)
                got = backend.ask(
                    stream.times[part], stream.objects[part], stream.scores[part], at=at, since=since, k=k
                )
                expected = [
                    (end, number, *_best(rows, begin, end, most, repeats))
                    for number, (end, begin, most) in enumerate(zip(*(x.tolist() for x in (at, since, k)), strict=True))
                ]
                expect_equal([plain(answer) for answer in got], expected, f"answers with rows {start} to {stop}")
                now = backend.now
                if "snapshot" not in case.info.lacks:
                    backend = case.restore(backend.snapshot())
            expect_equal(list(backend.advance(now + 50)), [], "answers without a question")

    holds_for(case, seeded(case, range(4)), law)


@check("bad-input", needs=("any-subquery",))
def check_questions_beyond_what_is_kept_change_nothing(make: Make, case: Case) -> None:
    """A longer window, a larger k, a k of 0, a moment before now or before another: refused, each by its name."""
    stream, backend = case.driver.seeded(case, 1), make(on_demand=True)
    case.driver.feed(backend, stream, 0, len(stream))
    now, longest = backend.now, max(query.window for query in backend.queries)
    most, before = max(query.k for query in backend.queries), backend.snapshot()
    calls = {
        "since": {"at": [now + 1], "since": [now - longest], "k": [1]},
        "k": {"at": [now + 1], "since": [now], "k": [most + 1]},
        "k of 0": {"at": [now + 1], "since": [now], "k": [0]},
        "at": {"at": [now], "since": [now - 1], "k": [1]},
        "at, descending": {"at": [now + 2, now + 1], "since": [now, now], "k": [1, 1]},
    }
    for label, question in calls.items():
        try:
            backend.ask([], [], [], **question)
        except InputError as error:
            expect_equal(error.argument, label.split(" ")[0].strip(","), "the argument that was named")
            continue
        raise AssertionError(f"a wrong question was accepted: {label}")
    expect_equal(backend.snapshot() == before, True, "whether it is unchanged by refused questions")


def _questions(random: Any, queries: Any, now: int, until: int) -> tuple[Any, Any, Any]:
    """at, since and k of a few questions later than `now`, and at most `until`; none where there is no such moment."""
    longest, most, count = max(q.window for q in queries), max(q.k for q in queries), 6 if now < until else 0
    at = np.sort(random.integers(now + 1, max(until, now + 1) + 1, count))
    lengths = np.where(random.random(count) < 0.3, longest, random.integers(0, longest + 1, count))
    return at, at - lengths, np.where(random.random(count) < 0.3, most, random.integers(1, most + 1, count))


def _best(rows: Any, since: int, at: int, k: int, repeats: str) -> tuple[tuple[int, ...], tuple[float, ...]]:
    best = top(rows, since, at, k, repeats)
    return tuple(rows[arrival][1] for arrival in best), tuple(rows[arrival][2] for arrival in best)
