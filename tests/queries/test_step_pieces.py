"""Steps with many moments: answered in pieces they give the same, take little memory, and are refused when too many."""

import datetime as dt
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from skyband import EngineError
from skyband.columns import keyed_frames
from skyband.columns.grouped_rows import GroupedRows
from skyband.engines import local
from skyband.operator import step_pieces
from skyband.windows.schedule import Regular, Schedule
from small_group_queries import CALENDAR, SPECS, at_most, distinct, heavy, numbers_of, over_days, query, run, stream

FOR_EVER = [
    distinct(["20 seconds"], "4 seconds", empty="zero"),
    distinct(["ever"], "4 seconds"),
    heavy("rows", ["today in Europe/Paris", "30 hours"], k=2, every="7 hours", empty="zero", rest=True),
]
CASES = [SPECS[number] for number in numbers_of(SPECS, rows=False)[::4]] + FOR_EVER
IN_ROWS = [SPECS[number] for number in numbers_of(SPECS, rows=True)[::4]]
CASES += IN_ROWS


@pytest.mark.parametrize("number", range(len(CASES)))
def test_a_step_in_pieces_gives_the_same_answers_and_state(number, monkeypatch):
    spec, calls = CASES[number], []
    table = over_days(stream(number)) if spec in CALENDAR or spec is FOR_EVER[2] else stream(number)
    cuts = [(), (60,), (20, 90)][number % 3]
    by = [[], ["group"]][number % 2]
    at_most([6, 512][number // 2 % 2], monkeypatch)
    whole = run(query(spec, by=by), table, cuts)
    monkeypatch.setattr(step_pieces, "AT_ONCE", 2)
    make = step_pieces._cuts
    monkeypatch.setattr(step_pieces, "_cuts", lambda *spans: calls.append(made := make(*spans)) or made)
    row_ends = step_pieces.row_piece_ends
    monkeypatch.setattr(step_pieces, "row_piece_ends", lambda *rows: calls.append(made := row_ends(*rows)) or made)
    pieces = run(query(spec, by=by), table, cuts)
    assert pieces[0] == whole[0]
    assert pieces[2] == whole[2]
    assert pieces[1].keys() == whole[1].keys()
    assert all(np.array_equal(pieces[1][key], whole[1][key]) for key in whole[1])
    rare = spec["kind"] in ("near-duplicates", "near-vectors") or spec.get("every", "").startswith("1 day")
    assert any(calls) or rare, "the step must have been cut"


def frames(groups, times):
    columns = {keyed_frames.GROUP: pa.array(groups, pa.uint64()), keyed_frames.TIME: pa.array(times, pa.int64())}
    return GroupedRows([pa.RecordBatch.from_pydict(columns)])


@settings(max_examples=200, deadline=None)
@given(
    rows=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 10_000)), min_size=1, max_size=30),
    every=st.integers(1, 50),
    window=st.integers(1, 4000),
    after=st.integers(1, 5000),
)
def test_each_piece_has_about_as_many_moments(rows, every, window, after):
    """Counted one by one, no piece has more than AT_ONCE, give or take a moment for each group and row."""
    groups, times = (np.array(column) for column in zip(*rows, strict=True))
    schedule, end = Regular(every, window), int(times.max()) + after
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(step_pieces, "AT_ONCE", 40)
        cuts = step_pieces.piece_ends(schedule, 0, None, frames(groups, times), end)
    moments = np.arange(0, end + 1, every)
    due = np.zeros(len(moments))
    for group in np.unique(groups):
        own = np.sort(times[groups == group])
        last = np.searchsorted(own, moments) - 1
        due += (last >= 0) & (moments - own[np.maximum(last, 0)] <= window)
    assert cuts == sorted(set(cuts))
    for begin, stop in zip([-1, *cuts], [*cuts, end], strict=True):
        inside = (moments > begin) & (moments <= stop)
        assert due[inside].sum() <= 40 + 2 * (4 + len(rows))


def test_silence_costs_no_pieces():
    year = 365 * 86_400_000_000
    times = np.arange(0, 1000 * year, year)
    assert step_pieces.piece_ends(Regular(1, 10), 0, None, frames(np.zeros(1000, int), times), int(times[-1])) == []


NOON = dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC)


def rows(groups, hours=0):
    times = [NOON] * groups + [NOON + dt.timedelta(hours=hours)] * (hours > 0)
    columns = {"object": ["a"] * len(times), "score": [1.0] * len(times), "stream": ["a"] * len(times)}
    columns |= {"words": [["a"]] * len(times), "place": [*range(groups), 0][: len(times)]}
    return pa.table({"ts": pa.array(times, pa.timestamp("us", "UTC")), **columns})


FINE = {
    "distinct-count": {"item": "object", "windows": ["1 hour"]},
    "heavy-hitters": {"object": "object", "k": 1, "windows": ["1 hour"]},
    "quantiles": {"value": "score", "at": [0.5], "windows": ["1 hour"]},
    "top-k": {"object": "object", "stream": "stream", "value": "score", "streams": ["a"], "k": 1, "window": "1 hour"},
    "top-k-pairs": {"id": "object", "tokens": "words", "similarity": "overlap", "k": 1, "window": "1 hour"},
}


@pytest.mark.parametrize("by", [[], ["place"]], ids=["all", "by"])
@pytest.mark.parametrize("kind", [*FINE, "top-k-workload"])
def test_moments_of_all_groups_beyond_the_most_are_refused_at_once(kind, by):
    """A workload that answers each microsecond of two hours, and a hundred groups that share the limit of one."""
    each = {"name": "q", "window": "2 hours", "slide": "1 microsecond", "k": 1}
    keys = FINE.get(kind, {"object": "object", "score": "score", "queries": [each]})
    asked = {"kind": kind, "time": "ts", "by": by, **keys}
    if kind in FINE:
        asked["every"] = "1 millisecond" if by else "10 microseconds"
    table = rows(100, 1)
    before, started = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    with pytest.raises(EngineError, match=r"moments are due from 2026-01-01 12:00:00 to .*query.ahead.*latest row"):
        local.apply(table, asked)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000, "kilobytes"
    assert time.process_time() - started < 10


LIMITED = """
import resource, sys
import test_step_pieces as own
from skyband.engines import local
asked = {"time": "ts", "kind": sys.argv[1], "by": sys.argv[2].split(), **own.FINE[sys.argv[1]]}
local.apply(own.rows(1, 1), asked | {"every": "1 minute"})  # compiled, and so in memory
(pages, *_) = map(int, open("/proc/self/statm").read().split())
resource.setrlimit(resource.RLIMIT_AS, (limit := pages * resource.getpagesize() + (600 << 20), limit))
run = local.LocalRun.start(asked | {"every": "1 millisecond"}, own.rows(1).schema)
run.add(own.rows(1, 1).to_batches()[0])
print(len(run.finish()))
"""


@pytest.mark.parametrize("by", ["", "place"], ids=["all", "by"])
@pytest.mark.parametrize("kind", ["heavy-hitters", "quantiles"])
def test_millions_of_moments_take_little_memory_beside_their_answers(kind, by):
    """3.6 million answers of 140 to 230 MB, within 600 MB of addresses: a processor's lists of all took more."""
    folders = os.pathsep.join(map(str, [Path(__file__).parent, Path(__file__).parents[1]]))
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, kind, by],
        env=os.environ | {"PYTHONPATH": folders, "ARROW_DEFAULT_MEMORY_POOL": "system"},
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.stdout.split() == ["3600001"], done.stderr[-2000:]


def test_a_schedule_says_how_many_moments_it_has():
    schedule = Schedule([10, 20], [4, 8], [0, 1])
    assert schedule.rate == pytest.approx(len(schedule.within(np.array([0]), np.array([8000])).at) / 8000)
