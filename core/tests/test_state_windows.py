"""States compared with plain counting on small streams with rows, moments and windows that touch."""

import datetime
from itertools import combinations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from skyband import create, snapshot, states
from skyband.engines import local
from skyband.errors import ConfigError, InputError, SnapshotError
from skyband.states.coverage import Coverage
from skyband.states.state import encode_state, read_state
from skyband_jobs.files.states_table import StatesTable
from state_streams import EVERY, SECOND, START, WINDOW, by_moment, counting, edges, items, stream, table, totals


@pytest.mark.parametrize("backend", ["exact", "k-skb", "pcsa-ml", "se-pcsa"])
@pytest.mark.parametrize("seed", range(1))
def test_one_state_and_several_from_every_moment_that_they_cover(backend, seed):
    rows = stream(seed)
    moments = by_moment(local.apply(table(rows), counting(), {"sketch": backend}))
    for at, held in list(moments.items())[::3]:
        there = {group for time, group, _ in rows if at - WINDOW <= time < at}
        assert set(held) == there, "a row at the moment is after it, one at the window's begin is in it"
        for group, state in held.items():
            told = states.describe(state)
            latest = max(time for time, of, _ in rows if of == group and time < at)
            assert (told.at, told.since, told.latest, told.nbytes) == (at, at - WINDOW, latest, len(state))
            for since in edges(rows, at - WINDOW, at):
                expected = (float(len(items(rows, [group], since, at))),) * 3
                assert states.estimate(state, since=since) == expected
                if since < at:
                    assert states.estimate(state, last=f"{at - since} microseconds") == expected
            assert states.estimate(state) == states.estimate(state, since=at - WINDOW)
            for asked, said in (
                ({"since": at - WINDOW - 1}, "is before"),
                ({"since": at + 1}, "is after"),
                ({"last": f"{WINDOW + 1} microseconds"}, "at most the last 1 minute"),
            ):
                with pytest.raises(InputError, match=said):
                    states.estimate(state, **asked)
        blobs = list(held.values())
        united = states.union(blobs)
        assert states.describe(united).since == at - WINDOW
        for since in edges(rows, at - WINDOW, at)[::2]:
            expected = (float(len(items(rows, held, since, at))),) * 3
            assert states.estimate(blobs, since=since) == states.estimate(united, since=since) == expected
        assert states.estimate(blobs).count == len(items(rows, held, at - WINDOW, at))


@pytest.mark.parametrize("backend", ["exact", "k-skb"])
def test_what_windows_of_one_moment_or_of_two_have_in_common(backend):
    rows = stream(1)
    moments = by_moment(local.apply(table(rows), counting(), {"sketch": backend}))
    pairs = [((at, one), (at, other)) for at in list(moments)[::4] for one, other in combinations(moments[at], 2)]
    pairs += [
        ((at, "a"), (later, "a"))
        for at, later in zip(list(moments), list(moments)[2:], strict=False)
        if "a" in moments[at] and "a" in moments[later]
    ]
    assert len(pairs) > 10
    for (at, one), (later, other) in pairs:
        for length in (1, EVERY, EVERY + 1, WINDOW):
            found = states.overlap(moments[at][one], moments[later][other], last=f"{length} microseconds")
            left, right = items(rows, [one], at - length, at), items(rows, [other], later - length, later)
            expected = [left, right, left | right, left & right, left - right, right - left]
            assert [part.count for part in found[:6]] == [len(part) for part in expected]
            assert all(part.low <= part.count <= part.high for part in found[:7])
            assert found.method == "exact" and found.intersection.low == found.intersection.high


def test_states_of_other_lengths_answer_together_from_when_both_do():
    rows = stream(2)
    short, long = (
        by_moment(local.apply(table(rows), counting(windows=[length]), {"sketch": "exact"}))
        for length in ("1 minute", "100 seconds")
    )
    at = next(at for at in list(short)[5:] if {"a", "b"} <= short[at].keys())
    for pair in ([short[at]["a"], long[at]["b"]], [long[at]["a"], short[at]["b"]]):
        united = states.union(pair)
        assert (states.describe(united).since, states.describe(united).at) == (at - WINDOW, at)
        expected = len(items(rows, "ab", at - WINDOW, at))
        assert states.estimate(pair).count == states.estimate(united).count == expected
        for both in (pair, united):
            with pytest.raises(InputError, match="is before"):
                states.estimate(both, since=at - WINDOW - 1)


@pytest.mark.parametrize(
    ("asked", "right"),
    [
        ({"k": 0}, False),
        ({"k": 1}, True),
        ({"k": True}, False),
        ({"k": 1.0}, False),
        ({"share": 0}, False),
        ({"share": 1e-300}, True),
        ({"share": 1}, True),
        ({"share": 1.0000001}, False),
        ({"share": True}, False),
    ],
)
def test_the_limits_of_how_many_objects_are_asked_for(asked, right):
    rows = [(START + second, "a", 1) for second in range(5)]
    state = local.apply(table(rows), totals(), {"total-ranker": "exact"})["state"][0].as_py()
    if right:
        assert states.heavy_hitters(state, **asked)["object"].to_pylist() == [1]
        return
    with pytest.raises(
        InputError, match=r"must be a whole number \(|must be at least 1|must be a number|must be above 0 and at most 1"
    ):
        states.heavy_hitters(state, **asked)


@pytest.mark.parametrize("start", [START, -EVERY])
@pytest.mark.parametrize("latest", [0, -1])
@pytest.mark.parametrize("role", ["sketch", "total-ranker"])
def test_a_state_holds_just_what_it_covers(role, latest, start):
    """Rows up to a microsecond before its moment, and none that was forgotten since it begins to cover."""
    state = local.apply(
        table([(start + EVERY + latest, "a", 1), (start + 5 * EVERY, "a", 1)]),
        counting() if role == "sketch" else totals(),
        {role: "exact"},
    )["state"][0].as_py()
    held = read_state(state)
    decoded = snapshot.decode(state)
    begin = held.earliest
    for at, since, right in (
        (held.latest, begin, False),
        (held.latest + 1, begin, True),
        (held.latest + 1, begin - 1, False),
        (held.latest + 1, begin + 1, True),
    ):
        blob = encode_state(role, "exact", held.parameters, decoded.arrays, Coverage(at, since))
        if right:
            assert (states.describe(blob).at, states.describe(blob).since) == (at, since)
        else:
            with pytest.raises(SnapshotError, match="does not hold exactly what it covers"):
                states.describe(blob)


def test_a_state_whose_last_row_is_of_the_moment_0_covers_that_row():
    sketch = create("sketch", "exact")
    sketch.update(np.array([0]), np.array([1], np.uint64))
    for at in (1, 0, -1):
        blob = encode_state("sketch", "exact", {}, sketch.dump_state(), Coverage(at, at - 5))
        if at == 1:
            assert states.describe(blob).at == 1
        else:
            with pytest.raises(SnapshotError, match="does not hold exactly what it covers"):
                states.describe(blob)


@pytest.mark.parametrize(
    "header",
    [
        {"at": 1, "since": 2},
        {"at": 2.0, "since": 1},
        {"at": True, "since": 0},
        {"at": 2**63, "since": 0},
        {"at": 0, "since": -(2**63) - 1},
        {"rows": 1},
        {"changed": None},
    ],
)
def test_what_can_be_no_coverage_is_refused(header):
    good = {"at": 2, "since": 2, "rows": False, "changed": True}
    assert Coverage.from_header({"covers": good}) == Coverage(2, 2, False, True)
    with pytest.raises(SnapshotError, match="it cannot cover"):
        Coverage.from_header({"covers": {**good, **header}})


@pytest.mark.parametrize(
    "moment",
    [
        "2026-03-29 01:30",
        datetime.datetime(2026, 3, 29, 1, 30),
        np.datetime64("2026-03-29T01:30"),
        datetime.datetime(2026, 3, 29, 7, tzinfo=datetime.timezone(datetime.timedelta(hours=5, minutes=30))),
        "2026-03-29T07:00:00+05:30",
        1774747800000000,
        pa.scalar(datetime.datetime(2026, 3, 29, 1, 30), pa.timestamp("us")),
    ],
)
def test_every_way_to_write_a_moment_is_that_moment(moment):
    """Without a zone it is of UTC, wherever the process runs."""
    assert states.since_or_last.moment_of(moment) == 1774747800000000


@pytest.mark.parametrize("last", ["0 seconds", "0 rows"])
def test_a_window_without_a_length_is_refused(last):
    state = local.apply(table([(START, "a", 1)]), counting(), {"sketch": "exact"})["state"][0].as_py()
    with pytest.raises(InputError, match=f"last: must be longer than 0 .*{last}"):
        states.estimate(state, last=last)


def test_a_snapshot_without_a_moment_answers_from_what_it_has_not_forgotten():
    sketch = create("sketch", "exact")
    sketch.update(np.array([5, 9]), np.array([1, 2], np.uint64))
    sketch.forget(5)
    floor = states.describe(sketch.snapshot()).since
    assert states.describe(create("sketch", "exact").snapshot()).since is None
    for since, right in ((4, floor is None), (5, True), (9, True), (10, True)):
        if right:
            assert states.estimate(sketch.snapshot(), since=since).count == sum(time >= since for time in (5, 9))
        else:
            with pytest.raises(InputError, match="older rows are forgotten"):
                states.estimate(sketch.snapshot(), since=since)


def test_a_state_that_just_reaches_is_enough_to_begin_with(tmp_path):
    """The next answers need rows from a window before them: a state that covers them, and not a microsecond less."""
    from skyband.operator.bind_backends import bind
    from skyband.operator.operator import Operator
    from skyband.queries import make_query
    from skyband_spark.savepoints.first_states import begin_with_states

    rows = [(START + second * SECOND, "a", 1) for second in range(50)]
    pq.write_table(local.apply(table(rows), counting(), {"sketch": "exact"}), tmp_path / "states.parquet")
    cut = START + 2 * EVERY
    for window, right in (("80 seconds", True), ("80000001 microseconds", False), ("1 minute", True)):
        query = make_query(counting(windows=[window], emit=None))
        operator = Operator(query, bind(query, table(rows).schema, {"sketch": "exact"}), table(rows).schema)
        if right:  # the next moment is 20 seconds later, and a state covers 60 seconds
            assert begin_with_states(operator, StatesTable(str(tmp_path)), cut) == cut
            assert operator.watermark == cut and operator.progress.newest == cut - SECOND
        else:
            with pytest.raises(ConfigError, match=r"query.windows: the states cover 1 minute, without rows before"):
                begin_with_states(operator, StatesTable(str(tmp_path)), cut)
