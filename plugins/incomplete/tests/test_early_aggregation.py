"""Early aggregation keeps exactly the k-dominance set, for any batches."""

from itertools import pairwise

import numpy as np
import pytest
import skyband
from hypothesis import given, settings
from hypothesis import strategies as st
from skyband_incomplete.eaa_arrays import HEAD, OBJECT, TAIL
from skyband_specs.object_ranker.oracle import ObjectOracle, Report
from skyband_specs.object_ranker.streams import ObjectStream, bursts, paper

SETTINGS = [
    {"k": 1, "window": 8, "streams": 2, "repeats": "never"},
    {"k": 3, "window": 30, "streams": 3, "repeats": "never", "by": "rows"},
    {"k": 2, "window": 20, "streams": 3, "aggregate": (2.0, 0.0, 1.0), "repeats": 3, "upper": 2.0},
    {"k": 2, "window": 15, "streams": 2, "aggregate": "min", "repeats": "per-window"},
    {"k": 4, "window": 25, "streams": 3, "aggregate": "max", "repeats": "never"},
    {"k": 2, "window": 20, "streams": 4, "aggregate": "mean", "repeats": "per-window", "by": "rows"},
]


def dyadic(stream):
    """The stream with values whose sums do not round, so that the order of summation makes no difference."""
    return ObjectStream(stream.times, stream.streams, stream.objects, np.round(stream.values * 16) / 16)


def feed(ranker, stream, start, stop):
    times = np.arange(start, stop) if ranker.by == "rows" else stream.times[start:stop]
    ranker.update(times, stream.streams[start:stop], stream.objects[start:stop], stream.values[start:stop])


def held(ranker):
    """(object, time, current, best) of every live instance, from the kernels' arrays."""
    len(ranker)
    span = range(int(ranker._cursor[HEAD]), int(ranker._cursor[TAIL]))
    reports, facts = ranker._reports, ranker._slots.facts
    return {
        (int(facts[reports.slot[at], OBJECT]), int(reports.time[at])): (reports.current[at], reports.best[at])
        for at in span
    }


@pytest.mark.parametrize("parameters", SETTINGS)
@pytest.mark.parametrize("step", [1, 7, 100])
def test_eaa_retains_exactly_the_k_dominance_set(parameters, step):
    stream = dyadic(bursts(3, parameters["streams"], parameters.get("upper", 1.0)))
    eaa, oracle = skyband.create("object-ranker", "eaa", **parameters), ObjectOracle(parameters)
    for start in range(0, len(stream), step):
        stop = min(start + step, len(stream))
        feed(eaa, stream, start, stop)
        oracle.feed(stream, start, stop)
        necessary = oracle.necessary(oracle.now)
        assert len(eaa) == len(necessary)
        assert {(instance.object, instance.time) for instance in necessary} <= set(held(eaa))


@pytest.mark.parametrize("parameters", SETTINGS)
def test_intervals_are_those_of_the_definition(parameters):
    stream = dyadic(bursts(4, parameters["streams"], parameters.get("upper", 1.0)))
    eaa, oracle = skyband.create("object-ranker", "eaa", **parameters), ObjectOracle(parameters)
    for start in range(0, len(stream), 10):
        feed(eaa, stream, start, start + 10)
        oracle.feed(stream, start, start + 10)
        found = held(eaa)
        for instance in oracle.necessary(oracle.now):
            current, best = found[instance.object, instance.time]
            assert current == instance.current
            assert instance.best <= best <= instance.best * (1 + 1e-12)


@pytest.mark.parametrize("parameters", SETTINGS)
def test_an_interval_only_shrinks_and_contains_the_later_score(parameters):
    stream = bursts(5, parameters["streams"], parameters.get("upper", 1.0))
    eaa = skyband.create("object-ranker", "eaa", **{**parameters, "k": 1000})
    oracle = ObjectOracle(parameters)
    before = {}
    for row in range(len(stream)):
        feed(eaa, stream, row, row + 1)
        oracle.feed(stream, row, row + 1)
        now = held(eaa)
        scores = oracle.scores(oracle.now)
        oldest = {}
        for (name, time), (current, best) in now.items():
            oldest[name] = min(time, oldest.get(name, time))
            if (name, time) in before:
                assert before[name, time][0] <= current <= best <= before[name, time][1]
        for name, time in oldest.items():
            assert now[name, time][0] == scores[name] <= now[name, time][1]
        before = now


@given(
    rows=st.lists(
        st.tuples(
            st.sampled_from([0, 0, 1, 2, 5, 9]),
            st.integers(0, 2),
            st.integers(-3, 3),
            st.sampled_from([0.0, 0.25, 0.5, 1.0, 0.1, 0.3]),
        ),
        max_size=40,
    ),
    k=st.integers(1, 4),
    window=st.integers(1, 12),
    repeats=st.sampled_from(["never", "per-window", 2, 3, "latest", "largest", "smallest", "mean"]),
    aggregate=st.sampled_from(["sum", "mean", "min", "max", (0.3, 0.0, 2.5)]),
    by=st.sampled_from(["time", "rows"]),
    cuts=st.lists(st.integers(0, 40), max_size=3),
)
@settings(max_examples=300, deadline=None)
def test_all_backends_answer_as_the_oracle(rows, k, window, repeats, aggregate, by, cuts):
    parameters = {"k": k, "window": window, "streams": 3, "repeats": repeats, "aggregate": aggregate, "by": by}
    columns = [list(column) for column in zip(*rows, strict=True)] or [[], [], [], []]
    stream = ObjectStream(
        np.cumsum(columns[0], dtype=np.int64),
        np.array(columns[1], np.int32),
        np.array(columns[2], np.int64),
        np.array(columns[3], np.float64),
    )
    oracle = ObjectOracle(parameters)
    rankers = [
        skyband.create("object-ranker", "eaa", **parameters),
        skyband.create("object-ranker", "sla", **parameters, kmax=k),
        skyband.create("object-ranker", "approx", **parameters, chance=1, refresh=3),
    ]
    edges = sorted({0, len(rows), *(min(cut, len(rows)) for cut in cuts)})
    for start, stop in pairwise(edges):
        oracle.feed(stream, start, stop)
        for ranker in rankers:
            feed(ranker, stream, start, stop)
            objects, scores = ranker.top()
            assert (objects.tolist(), scores.tolist()) == oracle.top(oracle.now)
            assert ranker.repeated == oracle.repeated


def test_a_function_is_scored_as_the_aggregate_it_computes_and_cannot_be_snapshotted():
    stream = paper(1, 600, 3)
    own = skyband.create("object-ranker", "eaa", k=5, window=80, streams=3, aggregate=lambda v: (v[0] + v[1]) + v[2])
    named = skyband.create("object-ranker", "eaa", k=5, window=80, streams=3)
    for start in range(0, 600, 50):
        feed(own, stream, start, start + 50)
        feed(named, stream, start, start + 50)
        assert [part.tolist() for part in own.top()] == [part.tolist() for part in named.top()]
        assert len(own) == len(named)
    with pytest.raises(skyband.SnapshotError, match="function"):
        own.snapshot()


def test_no_array_grows_with_the_stream_in_one_long_batch():
    stream = paper(2, 120_000, 3)
    eaa = skyband.create("object-ranker", "eaa", k=5, window=500, streams=3, repeats="never", by="rows")
    feed(eaa, stream, 0, len(stream))
    assert eaa.nbytes < 3_000_000
    assert len(eaa) <= 500


@pytest.mark.parametrize("name", ["eaa", "sla", "approx"])
@pytest.mark.parametrize("window", [1, 2**63 - 2, 2**63 - 1])
@pytest.mark.parametrize("repeats", ["per-window", "latest", "mean"])
def test_the_ends_of_time(name, window, repeats):
    low, high = -(2**63), 2**63 - 1
    parameters = {"k": 9, "window": window, "streams": 1, "repeats": repeats}
    rows = [(low, 1, 0.5), (-1, 2, 0.25), (0, 3, 0.75), (high - 1, 4, 1.0), (high, 1, 0.0), (high, 3, 0.5)]
    ranker, oracle = skyband.create("object-ranker", name, **parameters), ObjectOracle(parameters)
    inside = skyband.create("object-ranker", name, **parameters)
    times, objects, values = (list(column) for column in zip(*rows, strict=True))
    offsets, found, scores = inside.answers(times, [0] * len(rows), objects, values, moments=sorted({*times}))
    wanted = []
    for time, number, value in rows:
        ranker.update([time], [0], [number], [value])
        oracle.add(Report(time, 0, number, value))
        wanted.append(oracle.top(time))
        assert tuple(part.tolist() for part in ranker.top()) == wanted[-1]
    assert ranker.repeated == inside.repeated == oracle.repeated
    cuts = list(pairwise(offsets.tolist()))
    answered = [(found[start:stop].tolist(), scores[start:stop].tolist()) for start, stop in cuts]
    assert answered == [*wanted[:4], wanted[-1]]


@pytest.mark.parametrize(("repeats", "kept"), [("never", 2), ("per-window", 2), ("latest", 4)])
def test_a_snapshot_after_everything_expired_is_empty(repeats, kept):
    parameters = {"k": 1, "window": 10, "streams": 1, "repeats": repeats}
    asked, quiet = (skyband.create("object-ranker", "eaa", **parameters) for _ in range(2))
    for ranker in (asked, quiet):
        ranker.update(range(4), [0] * 4, range(4), [0.5, 0.25, 1.0, 0.75])
    assert len(asked) == kept
    for ranker in (asked, quiet):
        ranker.advance(100)
    assert asked.snapshot() == quiet.snapshot()
