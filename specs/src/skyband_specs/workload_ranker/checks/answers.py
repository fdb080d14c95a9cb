"""Queries answered within batches and in silence, what is retained for them, and changed queries."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from skyband import ConfigError
from skyband.arrays import TIME_MIN
from skyband.roles import TopKQuery

from skyband_specs.batching import fed, random_cuts, seeded
from skyband_specs.check import Make, check, expect, expect_equal
from skyband_specs.counterexample import holds_for
from skyband_specs.driver import Case
from skyband_specs.together import OwnTurn, TurnsTogether
from skyband_specs.workload_ranker.driver import horizon, plain, reached, rows_of, workload_of
from skyband_specs.workload_ranker.oracle import SmallGroupAnswers, Workload, answers, moments, retained
from skyband_specs.workload_ranker.streams import WorkloadStream

COUNT = 11
SILENCE = 3000
FAR = 2**63 - 1


def update(backend: Any, stream: Any, start: int, stop: int) -> list[SmallGroupAnswers]:
    """Feed some rows and return what was answered."""
    part = slice(start, stop)
    return [plain(answer) for answer in backend.update(stream.times[part], stream.objects[part], stream.scores[part])]


def cuts_of(stream: Any, seed: int) -> list[tuple[int, int]]:
    """Consecutive non-empty sections of a stream."""
    ends = sorted({*random_cuts(len(stream), seed), len(stream)} - {0})
    return list(zip([0, *ends[:-1]], ends, strict=True)) if len(stream) else []


@check("oracle", guarantees=("exact",))
def check_answers_on_the_way_equal_the_oracle(make: Make, case: Case) -> None:
    """Every update returns the answers of the moments it passed: each once, ordered by (at, query), even empty ones."""

    def law(stream: Any) -> None:
        for seed in range(3):
            backend, passed = make(), int(stream.times[0]) if len(stream) else 0
            for start, stop in cuts_of(stream, seed):
                got, now = update(backend, stream, start, stop), reached(case, stream, stop)
                expected = answers(workload_of(backend), rows_of(stream, stop), passed, now)
                expect_equal(got, expected, f"answers of rows {start} to {stop}")
                passed = now

    holds_for(case, seeded(case), law)


@check("oracle", guarantees=("exact",))
def check_advancing_equals_the_oracle(make: Make, case: Case) -> None:
    """While time passes without rows, in small steps or one long one, each moment is answered once."""

    def law(stream: Any) -> None:
        if not len(stream):
            return
        for stop in sorted({1, len(stream) // 2 + 1, len(stream)}):
            backend, whole = (fed(make, case, stream.take(np.arange(stop))) for _ in range(2))
            now = backend.now
            end = now + horizon(backend.queries) + 3
            expected = answers(workload_of(backend), rows_of(stream, stop), now, end)
            got = [plain(answer) for moment in range(now, end + 1) for answer in backend.advance(moment)]
            expect_equal(got, expected, f"answers from {now} to {end}, moment by moment")
            expect_equal([plain(answer) for answer in whole.advance(end)], expected, f"answers from {now} to {end}")
            expect_equal(list(backend.advance(end)), [], "answers of advancing to where it was")

    holds_for(case, seeded(case), law)


@check("edges")
def check_nothing_is_answered_before_the_first_row(make: Make, case: Case) -> None:
    """A ranker that has only been advanced answers nothing; its first moment is the first after its first row."""

    def law(stream: Any) -> None:
        backend = make()
        if case.parameters.get("by") == "rows" or not len(stream):
            expect_equal(list(backend.update([], [], [])), [], "answers of no rows")
            return
        first = int(stream.times[0])
        expect_equal(list(backend.advance(first - 50)) + list(backend.advance(first)), [], "answers before any row")
        got = [at for at, *_ in update(backend, stream, 0, len(stream))]
        expected = [at for query in backend.queries for at in moments(query, first, backend.now)]
        expect_equal(got, sorted(expected), "moments answered")

    holds_for(case, seeded(case), law)


@check("edges", guarantees=("exact",))
def check_silence_is_answered(make: Make, case: Case) -> None:
    """After a long silence every moment in it has been answered, even empty ones, and the ranker continues."""
    if case.parameters.get("by") == "rows":
        return

    def law(stream: Any) -> None:
        half = len(stream) // 2
        if not half:
            return
        times = stream.times.copy()
        times[half:] += SILENCE
        broken = WorkloadStream(times, stream.objects, stream.scores)
        backend = make()
        got = update(backend, broken, 0, half) + update(backend, broken, half, len(broken))
        expected = answers(workload_of(backend), rows_of(broken, len(broken)), int(times[0]), int(times[-1]))
        expect_equal(got, expected, f"answers around a silence of {SILENCE}")

    holds_for(case, seeded(case, (1,)), law)


@check("edges", guarantees=("exact",))
def check_ends_of_time(make: Make, case: Case) -> None:
    """Rows at the first and the last moments of 64 bits."""
    if case.parameters.get("by") == "rows":
        return
    for start in (-(2**63), FAR - 40):
        times = np.array([start, start, start + 3, start + 9, start + 20, start + 38])
        stream = WorkloadStream(times, np.arange(6), np.array([3.0, 1.0, 2.0, 5.0, 4.0, 6.0]))
        backend, end = make(), min(start + 60, FAR - 1)
        got = update(backend, stream, 0, 6) + [plain(answer) for answer in backend.advance(end)]
        expected = answers(workload_of(backend), rows_of(stream, 6), start, end)
        expect_equal(got, expected, f"answers from {start} on")


@check("memory", guarantees=("exact",))
def check_retains_what_it_must(make: Make, case: Case) -> None:
    """At least the union of the views' tops, without which some future would be answered wrongly.

    Exactly that, if the backend declares to be `minimal`.
    """

    def law(stream: Any) -> None:
        backend = make()
        for start, stop in cuts_of(stream, 1):
            update(backend, stream, start, stop)
            least = len(retained(workload_of(backend), rows_of(stream, stop), backend.now))
            count = len(backend)
            expect(count >= least, f"retains {count} objects after {stop} rows; {least} are needed")
            minimal = getattr(backend, "minimal", False)
            expect(count == least or not minimal, f"retains {count} objects after {stop} rows; only {least} are needed")

    holds_for(case, seeded(case), law)


@check("memory")
def check_no_object_outlives_its_last_view(make: Make, case: Case) -> None:
    """Objects in no future window are not retained: nothing at the end, and no more than the open views' rows."""

    def law(stream: Any) -> None:
        backend = fed(make, case, stream)
        if not len(stream):
            return
        rows = rows_of(stream, len(stream))
        for now in range(backend.now, backend.now + horizon(backend.queries) + 2):
            backend.advance(now)
            most = sum(sum(time >= _oldest(query, now) for time, _, _ in rows) for query in backend.queries)
            expect(len(backend) <= most, f"retains {len(backend)} objects at {now}; {most} rows are in a future view")
        expect_equal(len(backend), 0, "objects retained when every window is empty")

    holds_for(case, seeded(case), law)


def _oldest(query: TopKQuery, now: int) -> int:
    """Where the next window to answer starts."""
    return now + 1 + (query.phase - now - 1) % query.slide - query.window


@check("oracle", guarantees=("exact",))
def check_changed_queries_equal_the_oracle(make: Make, case: Case) -> None:
    """Queries that stay are not disturbed by others; new ones answer only over windows of their own time."""

    def law(stream: Any) -> None:
        backend, passed = make(), int(stream.times[0]) if len(stream) else 0
        workload = workload_of(backend)
        for turn, (start, stop) in enumerate(cuts_of(stream, 2)):
            got, now = update(backend, stream, start, stop), reached(case, stream, stop)
            expect_equal(
                got, answers(workload, rows_of(stream, stop), passed, now), f"answers of rows {start} to {stop}"
            )
            passed = now
            if turn % 4 == 0:
                changed = _changed(workload, turn // 4, max(now, int(stream.times[stop - 1]) + 1))
                if not _reconfigured(backend, changed.queries):
                    return
                workload = changed
        ahead = [plain(answer) for answer in backend.advance(passed + horizon(backend.queries))] if passed else []
        until = passed + horizon(backend.queries)
        expected = answers(workload, rows_of(stream, len(stream)), passed, until) if passed else []
        expect_equal(ahead, expected, "future answers")

    holds_for(case, seeded(case), law)


@check("snapshot", needs=("snapshot",), guarantees=("exact",))
def check_changed_queries_are_restored(make: Make, case: Case) -> None:
    """A snapshot taken after the queries changed restores the new ones, and since when each runs."""

    def law(stream: Any) -> None:
        half = len(stream) // 2
        backend = make()
        case.driver.feed(backend, stream, 0, half)
        changed = _changed(workload_of(backend), 0, 0).queries
        if not half or not _reconfigured(backend, changed):
            return
        restored = case.restore(backend.snapshot())
        expect_equal(list(restored.queries), list(changed), "queries restored")
        expected, got = update(backend, stream, half, len(stream)), update(restored, stream, half, len(stream))
        expect_equal(got, expected, "answers of the restored ranker")
        expect_equal(restored.snapshot() == backend.snapshot(), True, "whether both have the same bytes at the end")

    holds_for(case, seeded(case), law)


@check("bad-input")
def check_wrong_queries_change_nothing(make: Make, case: Case) -> None:
    """Invalid queries raise ConfigError with every problem, at the start and while running."""
    stream = case.driver.seeded(case, 1)
    backend = fed(make, case, stream)
    before = case.driver.answers(backend, stream, len(stream)), list(backend.queries)
    wrong = [(0, 1, 1), (4, 2, 1), (4, 0, 0), (4, 2, 1, -1)]
    calls: dict[str, Callable[[], Any]] = {
        "from the start": lambda: case.make(queries=wrong),
        "while running": lambda: backend.reconfigure(wrong),
    }
    for label, call in calls.items():
        try:
            call()
        except ConfigError as error:
            for place in ("queries[0].window", "queries[2].slide", "queries[2].k", "queries[3].phase"):
                expect(place in str(error), f"{label}: {place} is not named in: {error}")
            continue
        raise AssertionError(f"wrong queries were accepted {label}")
    after = case.driver.answers(backend, stream, len(stream)), list(backend.queries)
    expect_equal(after, before, "after refused queries")


class _Together(TurnsTogether):
    """Turns of workload rankers, each with all its answers as one."""

    def columns(self, backend: Any, stream: Any, start: int, stop: int) -> list[Any]:
        part = slice(start, stop)
        times = np.arange(start, stop) if backend.by == "rows" else stream.times[part]
        return [times, stream.objects[part], stream.scores[part]]

    def moments(self, backend: Any, times: Any, until: int) -> Any:  # noqa: ARG002
        return np.array([until])

    def wrong_turns(self, backend: Any, turn: OwnTurn) -> Iterator[tuple[str, Any, Any]]:
        """Only wrong rows: a ranker that has reached a moment stays there."""
        return super().wrong_turns(backend, turn._replace(moments=turn.moments[:0]))

    def alone(self, backend: Any, columns: Any, moments: Any) -> list[Any]:
        each = list(backend.update(*columns))
        if len(moments) and moments[-1] > backend.now:
            each += backend.advance(int(moments[-1]))
        return [[plain(answer) for answer in each]]

    def together(self, backends: list[Any], columns: Any, spans: Any, moments: Any) -> list[Any]:
        until = [own[-1] if len(own) else TIME_MIN for own in moments]
        cuts, each = type(backends[0]).answers_together(backends, *columns, spans=spans, until=until)
        return [[plain(answer) for answer in each[start:stop]] for start, stop in pairwise(cuts.tolist())]


@check("batch-split")
def check_several_together_answer_as_each(make: Make, case: Case) -> None:
    """Rankers that take their turns in one call, each with its rows and a moment, equal those called alone."""
    holds_for(case, seeded(case, (1, 2)), lambda stream: _Together().expect_as_each(make, case, stream))


def _changed(workload: Workload, turn: int, joined: int) -> Workload:
    """Another list of queries: some stay, in another order, some leave, two join; those run since `joined`."""
    stay = [(query, since) for query, since in zip(workload.queries, workload.since, strict=True)][turn % 2 :][::-1]
    queries = {query for query, _ in stay}
    fresh = [TopKQuery(6 + turn, 2, 2, turn % 2), TopKQuery(3, 2 + turn, 70)]
    both = stay + [(query, joined) for query in fresh if query not in queries]
    return Workload([query for query, _ in both], [since for _, since in both], workload.repeats)


def _reconfigured(backend: Any, queries: Any) -> bool:
    """Change the queries; False where the backend declares that it cannot, and is unchanged."""
    before = list(backend.queries)
    try:
        backend.reconfigure(queries)
    except ConfigError as error:
        expect("cannot change" in str(error), f"refused to change its queries: {error}")
        expect_equal(list(backend.queries), before, "queries after a refused change")
        return False
    expect_equal(list(backend.queries), list(queries), "queries after the change")
    return True
