"""If objects may report any number of times, exactly the values that can still count are kept."""

import numpy as np
import pytest
import skyband
from skyband.roles.object_ranker import REDUCTIONS
from skyband_specs.object_ranker.oracle import ObjectOracle
from skyband_specs.object_ranker.streams import bursts, paper


def feed(ranker, stream, start, stop):
    part = slice(start, stop)
    ranker.update(stream.times[part], stream.streams[part], stream.objects[part], stream.values[part])


def necessary(oracle, repeats):
    """The number of valid reports that can still become a stream's value, by definition."""
    cells = {}
    for report in oracle.valid(oracle.now):
        cells.setdefault((report.object, report.stream), []).append(report.value)
    keeps = {
        "latest": lambda _, later: not later,
        "largest": lambda value, later: all(value > other for other in later),
        "smallest": lambda value, later: all(value < other for other in later),
        "mean": lambda *_: True,
    }
    return sum(
        keeps[repeats](value, values[place + 1 :]) for values in cells.values() for place, value in enumerate(values)
    )


@pytest.mark.parametrize("repeats", REDUCTIONS)
@pytest.mark.parametrize("step", [1, 7, 100])
def test_eaa_keeps_exactly_the_values_that_can_still_count(repeats, step):
    parameters = {"k": 2, "window": 40, "streams": 2, "repeats": repeats}
    stream = bursts(3, 2, 1.0)
    eaa, oracle = skyband.create("object-ranker", "eaa", **parameters), ObjectOracle(parameters)
    for start in range(0, len(stream), step):
        stop = min(start + step, len(stream))
        feed(eaa, stream, start, stop)
        oracle.feed(stream, start, stop)
        assert len(eaa) == necessary(oracle, repeats)


def test_latest_keeps_one_value_per_object_and_stream():
    eaa = skyband.create("object-ranker", "eaa", k=3, window=10**6, streams=2, repeats="latest")
    rows = 200_000
    eaa.update(np.arange(rows), np.arange(rows) % 2, np.arange(rows) // 2 % 50, np.arange(rows) / rows)
    assert len(eaa) == 100
    assert eaa.nbytes < 2_000_000


@pytest.mark.parametrize("repeats", REDUCTIONS)
@pytest.mark.parametrize("by", ["time", "rows"])
def test_sla_agrees_over_a_long_stream(repeats, by):
    """Long enough to move, grow and renumber every array many times."""
    rng = np.random.default_rng(4)
    rows, parameters = 12_000, {"k": 5, "window": 300, "streams": 3, "aggregate": (1.0, 0.3, 2.0), "repeats": repeats}
    times = np.arange(rows) if by == "rows" else np.cumsum(rng.choice([0, 1, 2, 400], rows, p=[0.4, 0.4, 0.198, 0.002]))
    streams, values = rng.integers(0, 3, rows).astype(np.int32), rng.random(rows)
    objects = np.arange(rows) // 8 + rng.integers(0, 40, rows)
    rankers = [skyband.create("object-ranker", name, **parameters, by=by) for name in ("eaa", "sla")]
    cuts = np.sort(rng.integers(0, rows, 60))
    for start, stop in zip([0, *cuts], [*cuts, rows], strict=True):
        answers = []
        for ranker in rankers:
            ranker.update(times[start:stop], streams[start:stop], objects[start:stop], values[start:stop])
            answers.append([column.tolist() for column in ranker.top()])
        assert answers[0] == answers[1]


def test_a_function_is_scored_as_the_aggregate_it_computes():
    stream = paper(1, 600, 3)
    parameters = {"k": 5, "window": 80, "streams": 3, "repeats": "mean"}
    own = skyband.create("object-ranker", "eaa", **parameters, aggregate=lambda v: (v[0] + v[1]) + v[2])
    named = skyband.create("object-ranker", "eaa", **parameters)
    for start in range(0, 600, 50):
        feed(own, stream, start, start + 50)
        feed(named, stream, start, start + 50)
        assert [part.tolist() for part in own.top()] == [part.tolist() for part in named.top()]


def test_a_score_falls_with_the_latest_report():
    ranker = skyband.create("object-ranker", "eaa", k=1, window=100, streams=1)
    ranker.update([0, 1], [0, 0], [7, 8], [0.5, 0.75])
    assert ranker.top()[0].tolist() == [8]
    ranker.update([2], [0], [8], [0.25])
    assert ranker.top()[0].tolist() == [7]
    assert ranker.repeated == 0


@pytest.mark.parametrize("k", [1, 7, 300])
@pytest.mark.parametrize("order", ["ascending", "descending", "shuffled"])
def test_smaller_objects_win_ties(order, k):
    rows, window = 1200, 250
    objects = {
        "ascending": np.arange(rows),
        "descending": -np.arange(rows),
        "shuffled": np.random.default_rng(1).permutation(rows),
    }[order]
    values = np.where(np.arange(rows) % 50 == 3, 0.75, 0.5)
    ranker = skyband.create("object-ranker", "eaa", k=k, window=window, streams=1)
    moments = np.arange(40, rows, 40)
    offsets, found, scores = ranker.answers(np.arange(rows), np.zeros(rows, np.int64), objects, values, moments)
    for number, at in enumerate(moments.tolist()):
        valid = range(max(0, at - window), at + 1)
        best = sorted((-values[row], objects[row]) for row in valid)[:k]
        assert found[offsets[number] : offsets[number + 1]].tolist() == [key for _, key in best]
        assert scores[offsets[number] : offsets[number + 1]].tolist() == [-score for score, _ in best]


def test_room_for_objects_follows_their_number():
    """Memory shrinks after a burst, and later answers do not scan expired objects."""
    ranker = skyband.create("object-ranker", "eaa", k=2, window=1000, streams=1)
    burst = 50_000
    ranker.update(np.full(burst, 5), np.zeros(burst, np.int64), np.arange(burst), np.arange(burst) / burst)
    held = ranker.nbytes
    times = np.arange(6000, 206_000)
    moments = np.arange(10_000, 206_000, 500)
    ranker.answers(times, np.zeros(len(times), np.int64), 10**6 + times, times % 7 / 7, moments)
    assert ranker._live.objects <= 4 * (1000 + ranker._piece)
    assert ranker.nbytes < 0.6 * held
    last = np.arange(205_000, 206_000)
    best = last[np.lexsort((last, -(last % 7)))][:2]
    ranker.advance(206_000)
    assert ranker.top()[0].tolist() == (10**6 + best).tolist()


def scored_by(name):
    """The aggregate with this name, or an equivalent function."""
    return (lambda values: (values[0] + values[1]) + values[2]) if name == "function" else name


@pytest.mark.parametrize("repeats", REDUCTIONS)
@pytest.mark.parametrize("aggregate", ["sum", "min", "function"])
@pytest.mark.parametrize("spare", [1, 3, None])
def test_each_answer_is_the_best_of_all_objects_for_any_bar(repeats, aggregate, spare, monkeypatch):
    """With few spare objects the bar falls and rises within a few answers; ties are on both sides."""
    if spare is not None:
        monkeypatch.setattr("skyband_incomplete.live_values.SPARE", spare)
    rng = np.random.default_rng(spare)
    rows, k = 4000, 2
    streams, objects = rng.integers(0, 3, rows), rng.integers(0, 300, rows)
    values = rng.integers(0, 4, rows) / 4
    values[1000:2000] = 1 - np.arange(1000) / 1000  # those before the bar fall behind it
    values[2000:2500] = 0.5
    parameters = {"k": k, "window": 350, "streams": 3, "repeats": repeats, "lower": 0.0}
    ranker = skyband.create("object-ranker", "eaa", **parameters, aggregate=scored_by(aggregate))
    lazy = skyband.create("object-ranker", "sla", **parameters, aggregate="min" if aggregate == "min" else "sum")
    steps = np.repeat([1, 7, 1, 40], 1000)
    for start, stop in ((0, 1500), (1500, 1600), (1600, rows)):
        moments = np.array([at for at in range(start, stop) if at % steps[at] == 0])
        given = np.arange(start, stop), streams[start:stop], objects[start:stop], values[start:stop], moments
        ours, theirs = ranker.answers(*given), lazy.answers(*given)
        assert [part.tolist() for part in ours] == [part.tolist() for part in theirs]
        front = ranker._live._top
        assert sorted(front.slot[: front.size[0]].tolist()) == np.flatnonzero(front.listed).tolist()
    restored = skyband.restore(ranker.snapshot()) if aggregate != "function" else ranker
    assert [part.tolist() for part in restored.top()] == [part.tolist() for part in lazy.top()]


def test_the_bar_exists_and_stays_with_frequent_answers():
    """The best expires with each answer: more objects mean more spare ones, so few answers list all."""
    rows, window = 20_000, 5000
    ranker = skyband.create("object-ranker", "eaa", k=1, window=window, streams=1)
    numbers = np.arange(rows)
    zeros = np.zeros(rows, np.int64)
    offsets, found, _ = ranker.answers(numbers, zeros, numbers, np.full(rows, 0.5), numbers[window:])
    assert found.tolist() == list(range(rows - window)) and len(offsets) == rows - window + 1
    front = ranker._live._top
    assert front.bar_score[0] == 0.5
    assert 0 < front.size[0] <= 129
    assert front.spare[0] == 128
    assert front.listed.sum() == front.size[0]


def test_the_bar_is_at_the_last_spare_object(monkeypatch):
    monkeypatch.setattr("skyband_incomplete.live_values.SPARE", 3)
    ranker = skyband.create("object-ranker", "eaa", k=2, window=100, streams=1)
    scores, zeros = np.random.default_rng(2).random(500), np.zeros(500, np.int64)
    ranker.update(zeros, zeros, np.arange(500), scores)
    best = np.argsort(-scores)
    assert ranker.top()[0].tolist() == best[:2].tolist()
    front = ranker._live._top
    assert (front.bar_score[0], front.bar_object[0]) == (scores[best[4]], best[4])


def test_the_bar_never_falls_to_an_object_behind_it(monkeypatch):
    """Unlisted objects may rank before that one; the bar may fall only after all objects are listed again."""
    monkeypatch.setattr("skyband_incomplete.live_values.SPARE", 3)
    ranker = skyband.create("object-ranker", "eaa", k=2, window=100, streams=1)
    turns = [
        {1: 0.9, 2: 0.8, 3: 0.7, 4: 0.69, 5: 0.68, 6: 0.65, 7: 0.64} | dict.fromkeys(range(11, 21), 0.5),
        dict.fromkeys(range(21, 26), 0.75),
        dict.fromkeys([2, 3, 4, 5, *range(21, 26)], 0.1) | {26: 0.95},
        {1: 0.05, 26: 0.05},
    ]
    answers = []
    for now, reports in enumerate(turns):
        zeros = np.zeros(len(reports), np.int64)
        ranker.update(zeros + now, zeros, list(reports), list(reports.values()))
        answers.append(ranker.top()[0].tolist())
    assert answers == [[1, 2], [1, 2], [26, 1], [6, 7]]
