"""approx: its chances, and their effects."""

import numpy as np
import pytest
import skyband
from skyband_incomplete import kernels
from skyband_incomplete.correlation import Appearance, join_sizes
from skyband_specs.object_ranker.oracle import ObjectOracle
from skyband_specs.object_ranker.streams import paper
from skyband_specs.object_ranker.trials import reports

GIVEN = {"repeats": "never", "k": 5, "window": 200, "streams": 3, "by": "rows"}
AT_ONCE = GIVEN | {"exact_reports": 0}


def feed(ranker, stream, start, stop):
    rows = slice(start, stop)
    times = stream.times if ranker.by == "time" else np.arange(len(stream))
    ranker.update(times[rows], stream.streams[rows], stream.objects[rows], stream.values[rows])


def test_it_equals_eaa_if_every_value_is_certain_to_arrive():
    stream = paper(1, 1500, 3)
    approx = skyband.create("object-ranker", "approx", **AT_ONCE, chance=1)
    eaa = skyband.create("object-ranker", "eaa", **GIVEN)
    for start in range(0, 1500, 30):
        feed(approx, stream, start, start + 30)
        feed(eaa, stream, start, start + 30)
        assert [part.tolist() for part in approx.top()] == [part.tolist() for part in eaa.top()]
        assert len(approx) == len(eaa)


def test_it_keeps_the_plain_skyband_if_no_value_ever_arrives():
    stream, given = paper(2, 300, 3), {**GIVEN, "window": 80}
    approx = skyband.create("object-ranker", "approx", **given, chance=0, refresh=1, exact_reports=0)
    oracle = ObjectOracle(given)
    for row in range(300):
        feed(approx, stream, row, row + 1)
        oracle.feed(stream, row, row + 1)
        every = oracle.instances(row + 1)
        kept = {
            (one.object, one.time)
            for one in every
            if len({other.object for other in every if other.time > one.time and other.current > one.current}) < 5
        }
        oldest = {name: min(time for other, time in kept if other == name) for name, _ in kept}
        # Later values of an object are still needed for the score of an older instance.
        oracle.reports = [report for report in oracle.reports if report.time >= oldest.get(report.object, 10**9)]
        assert len(approx) == len(kept)
        assert tuple(part.tolist() for part in approx.top()) == oracle.top(row + 1)


@pytest.mark.parametrize("sketch", ["exact", {"name": "pcsa-ml", "epsilon": 0.05}])
def test_the_sketch_comes_from_the_registry_and_travels_in_the_snapshot(sketch):
    stream = paper(3, 1200, 3)
    approx = skyband.create("object-ranker", "approx", **AT_ONCE, sketch=sketch)
    feed(approx, stream, 0, 650)
    twin = skyband.restore(approx.snapshot())
    for each in (approx, twin):
        feed(each, stream, 650, 1200)
    assert twin.snapshot() == approx.snapshot()
    eaa = skyband.create("object-ranker", "eaa", **GIVEN)
    feed(eaa, stream, 0, 1200)
    assert len(approx) < 0.8 * len(eaa)
    assert len(set(approx.top()[0].tolist()) & set(eaa.top()[0].tolist())) >= 3


@pytest.mark.parametrize("by", ["rows", "time"])
@pytest.mark.parametrize("chance", [None, 0.25])
def test_it_is_exact_until_the_window_holds_too_many_reports(by, chance):
    """For any batches, and without sketches until then; a report that breaks the promise does not count."""
    stream = reports(1, 600, 2, 40, 1.0)
    given = {"repeats": "per-window", "k": 2, "window": 60, "streams": 2, "by": by}
    chances = {"chance": chance, "refresh": 20, "exact_reports": 22, "sketch": "exact"}
    eaa = skyband.create("object-ranker", "eaa", **given)
    one_by_one, in_parts = (skyband.create("object-ranker", "approx", **given, **chances) for _ in range(2))
    oracle, most, fed, wrong = ObjectOracle(given), 0, 0, 0
    stops = {*np.random.default_rng(1).integers(0, 600, 40).tolist(), 600}
    for row in range(600):
        for ranker in (eaa, one_by_one):
            feed(ranker, stream, row, row + 1)
        oracle.feed(stream, row, row + 1)
        valid = sum(report.time >= oracle.now - 60 for report in oracle.reports)
        most = max(most, valid)
        state = one_by_one.dump_state()
        assert ("sketches" in state) == (most > 22 and chance is None)
        assert (len(state["since_refresh"]) == 1) == (most > 22)
        same = [part.tolist() for part in one_by_one.top()] == [part.tolist() for part in eaa.top()]
        assert same or most > 22
        wrong += not same
        if row + 1 in stops:
            feed(in_parts, stream, fed, row + 1)
            fed = row + 1
            assert in_parts.snapshot() == one_by_one.snapshot()
    assert wrong and oracle.repeated
    assert skyband.restore(one_by_one.snapshot()).snapshot() == one_by_one.snapshot()


@pytest.mark.parametrize("repeats", ["never", "per-window"])
def test_a_window_at_its_limit_is_processed_at_once(monkeypatch, repeats):
    """Rows that break the promise do not fill it: all are taken in at once, up to the one that is too many."""
    calls, replay = [], kernels.replay

    def counted(*arguments):
        calls.append(arguments)
        return replay(*arguments)

    monkeypatch.setattr(kernels, "replay", counted)
    given = GIVEN | {"repeats": repeats, "window": 1000, "exact_reports": 20, "chance": 0.25}
    ranker = skyband.create("object-ranker", "approx", **given)
    rows, objects = np.arange(920), np.r_[np.arange(820) % 20, np.arange(20, 120)]
    for some in (slice(0, 820), slice(820, 920)):
        assert not len(ranker.dump_state()["since_refresh"])
        ranker.update(rows[some], np.zeros(len(rows[some])), objects[some], rows[some] / 1000)
        assert len(calls) <= 4
        assert ranker.repeated == 800
    assert ranker.dump_state()["since_refresh"].tolist() == [20]


def test_expired_reports_are_not_relied_on_after_time_advances():
    """Whether a stream has reported an object is judged at `now`, and a snapshot retains the same reports."""
    stream = reports(3, 200, 3, 12, 1.0)
    given = {"repeats": 3, "k": 1, "window": 40, "streams": 3, "chance": 0.25, "refresh": 5, "exact_reports": 0}
    fewer = 0
    for stop in range(10, 200):
        ranker = skyband.create("object-ranker", "approx", **given)
        feed(ranker, stream, 0, stop)
        before = len(ranker)
        ranker.advance(ranker.now + 15)
        fewer += len(ranker) < before
        assert len(ranker) == len(skyband.restore(ranker.snapshot()))
    assert fewer > 100


def test_a_state_with_incomplete_chances_is_refused():
    ranker = skyband.create("object-ranker", "approx", **GIVEN)
    state = ranker.dump_state()
    for name, values in [("chances", [1.0, 1.0, 1.0]), ("since_refresh", [0, 0])]:
        fresh = skyband.create("object-ranker", "approx", **GIVEN)
        with pytest.raises(skyband.SnapshotError, match=name):
            fresh.load_state({**state, name: np.array(values)})


def test_join_sizes_are_those_of_sets():
    rng = np.random.default_rng(1)
    sets = [set(rng.integers(0, 40, 25).tolist()) for _ in range(4)]
    parts = [[sets[bit] for bit in range(4) if number >> bit & 1] for number in range(16)]
    unions = np.array([float(len(set().union(*part))) for part in parts])
    joins = [float(len(set.intersection(*part))) if part else 0.0 for part in parts]
    assert join_sizes(unions).tolist() == joins


def test_join_sizes_of_estimates_are_consistent():
    joins = join_sizes(np.array([0.0, 10.0, 12.0, 25.0]))
    assert joins[3] == 0.0
    joins = join_sizes(np.array([0.0, 10.0, 12.0, 11.0]))
    assert joins[3] == 10.0


def test_chances_are_shares_of_the_objects_seen():
    appearance = Appearance(3, "exact")
    streams = np.array([0, 0, 0, 0, 1, 1, 2], np.int32)
    appearance.update(np.arange(7), streams, np.array([1, 2, 3, 4, 1, 2, 1]))
    chances = appearance.chances(0)
    assert chances[0b001].tolist() == [1.0, 0.5, 0.25]
    assert chances[0b010].tolist() == [1.0, 1.0, 0.5]
    assert chances[0b011].tolist() == [1.0, 1.0, 0.5]
    assert chances[0b111].tolist() == [1.0, 1.0, 1.0]
    assert appearance.chances(5)[0b100].tolist() == [0.0, 0.0, 1.0]


@pytest.mark.parametrize(
    ("given", "field", "said"),
    [
        ({"sketch": "exat"}, "sketch.sketch", "exact"),
        ({"sketch": {"name": "exact", "epsilon": 1}}, "sketch.epsilon", "unknown"),
        ({"sketch": 3}, "sketch", "must be a sketch's name"),
        ({"refresh": 0}, "refresh", "at least 1"),
        ({"chance": 1.5}, "chance", "at most 1"),
        ({"streams": 11}, "streams", "at most 10"),
    ],
)
def test_wrong_parameters_are_named(given, field, said):
    with pytest.raises(skyband.ConfigError, match=said) as caught:
        skyband.create("object-ranker", "approx", **{**GIVEN, **given})
    assert [problem.field for problem in caught.value.problems] == [field]
