"""United histories: few rows span any moment, as the README proves, and every place has rows."""

import numpy as np
import pytest
import skyband
from skyband import snapshot
from skyband.state_validation import StateReader
from skyband_quantiles import varints
from skyband_quantiles.buckets import uniting
from skyband_quantiles.buckets.contents import keys_of, raw_rows
from skyband_quantiles.buckets.history import NODE_START, NODES
from skyband_quantiles.buckets.uniting import Nodes, Rules
from skyband_quantiles.conformance.checks.merging import most_across
from skyband_quantiles.conformance.streams import bursts, decades, silence_then_burst
from skyband_quantiles.rows_in_states import rows_from_state

SPAN = 10**6


def history(rng, epsilon):
    """Nodes of a stream with a constant rate, each with at most epsilon of younger rows, and then many rows at once."""
    pace = 0.01 * np.exp(rng.normal(0, 1.5))
    younger = int(raw_rows(epsilon) * np.exp(max(rng.uniform(-0.7, 3), 0)))
    recent, time, nodes = younger, SPAN * (1 - 0.01 * rng.random()), []
    while time > 0 and len(nodes) < 400:
        rows = max(int(epsilon * younger * rng.uniform(0.5, 1)), 1)
        nodes.append((int(time - rows / pace), int(time), rows))
        time, younger = nodes[-1][0] - 1, younger + rows
    return np.array(nodes[::-1], np.int64), recent


@pytest.mark.parametrize("epsilon", [0.02, 0.1, 0.5])
@pytest.mark.parametrize("parts", [2, 60])
def test_rows_that_span_any_moment_are_as_few_as_proved(epsilon, parts):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        histories = [history(rng, epsilon) for _ in range(parts)]
        first, last, rows = np.concatenate([nodes for nodes, _ in histories]).T
        recent, ones = sum(some for _, some in histories), np.ones(len(first), np.int64)
        nodes = uniting._sorted(Nodes(first, last, rows, np.empty((len(first), 0), np.int64), ones, 0 * ones, rows))
        rules = Rules(epsilon, raw_rows(epsilon), 46, None, np.empty(0))
        whole = uniting._summed(nodes, uniting._groups(nodes, recent, rules))
        for since in np.unique(np.append(whole.first + 1, whole.last)):
            across = whole.rows[(whole.first < since) & (whole.last >= since)].sum()
            surely = recent + nodes.rows[nodes.first >= since].sum()
            assert across <= most_across(epsilon, surely)


def unused(sketch):
    """Buckets in the state of a sketch without a node or a raw row."""
    arrays = snapshot.decode(sketch.snapshot()).arrays
    sizes = arrays["sizes"].astype(np.int64)
    steps = varints.from_bytes("entries", arrays["entries"])[::2] + 1
    starts = np.cumsum(sizes) - sizes
    along = np.cumsum(steps)
    places = along - np.repeat(along[starts] - steps[starts], sizes) - 1 if len(sizes) else along
    _, values = rows_from_state(StateReader(arrays), sketch.latest)
    of_nodes = arrays["ids"][np.unique(places)]
    return np.setdiff1d(arrays["ids"], [*of_nodes, *(keys_of(values) >> arrays["stand"][1])])


def sketch_of(rows, start, stop):
    sketch = skyband.create("quantile-sketch", "buckets", longest=300, every=50, epsilon=0.25)
    sketch.update(rows.times[start:stop], rows.values[start:stop])
    return sketch


@pytest.mark.parametrize("rows", [bursts(5, 6000), decades(9000, 8), silence_then_burst()])
def test_every_place_has_rows_at_any_time_and_in_unions(rows):
    """So that no look-up drops one, and none is missing in a state."""
    for stop in (*range(700, len(rows), 1111), len(rows)):
        sketch, later = sketch_of(rows, 0, stop), sketch_of(rows, stop // 2, len(rows))
        assert len(unused(sketch)) == 0
        sketch.merge(later)
        assert len(unused(sketch)) == 0


def test_an_expired_union_needs_no_more_room_than_none():
    """Its nodes unite with no others while they exist; later nodes do again."""
    rng, step = np.random.default_rng(1), 2000
    united, alone, other = (
        skyband.create("quantile-sketch", "buckets", longest=20_000, every=5000, epsilon=0.25) for _ in range(3)
    )
    other.update(np.sort(rng.integers(0, 20_000, 9000)), rng.random(9000))
    nodes = []
    for start in range(0, 90_000, step):
        times, values = np.arange(start, start + step), rng.random(step)
        united.update(times, values)
        alone.update(times, values)
        if start == 20_000 - step:
            united.merge(other)
        if start >= 50_000:
            nodes.append([sketch._history.numbers[NODES] for sketch in (united, alone)])
    most, wanted = np.sum(nodes, axis=0)
    assert most <= 1.1 * wanted


@pytest.mark.parametrize("name", ["exact", "buckets"])
@pytest.mark.parametrize("of_one_time", [1, 40])
def test_a_union_does_not_depend_on_the_order_of_parts_though_their_rows_have_the_same_times(name, of_one_time):
    """So that their nodes start and end alike and have as many rows."""
    times, states = np.arange(9000) // of_one_time, []
    for turn in (1, -1):
        parts = []
        for seed in (1, 2)[::turn]:
            keys = {"epsilon": 0.25} if name == "buckets" else {}
            sketch = skyband.create("quantile-sketch", name, longest=9000, every=50, **keys)
            sketch.update(times, np.random.default_rng(seed).lognormal(0, 3, 9000))
            parts.append(sketch)
        parts[0].merge(parts[1])
        states.append(parts[0].snapshot())
    assert states[0] == states[1]


def test_a_union_has_the_rows_at_its_oldest_moment_and_nothing_before():
    """At the last rows of nodes, just before and just after."""
    rows, longest = np.random.default_rng(7).lognormal(0, 3, (2, 6000)), 4000
    parts = []
    for values in rows:
        parts.append(skyband.create("quantile-sketch", "buckets", longest=longest, epsilon=0.25))
        parts[-1].update(np.arange(6000), values)
    history = parts[1]._history
    nodes = slice(history.numbers[NODE_START], history.numbers[NODE_START] + history.numbers[NODES])
    for last in (last for last in history.last[nodes][::4].tolist() if last > 6000 - longest):
        for oldest in (last - 1, last, last + 1):
            one = skyband.restore(parts[0].snapshot())
            one.advance(oldest + longest)
            one.merge(skyband.restore(parts[1].snapshot()))
            low, high = one.count(oldest)[1:]
            assert low <= 2 * (6000 - oldest) <= high
            assert skyband.restore(one.snapshot()).count(oldest) == one.count(oldest)
            low, high = one.quantiles(oldest, [0.5])[0, 1:]
            assert low <= np.quantile(rows[:, oldest:], 0.5, method="inverted_cdf") <= high


@pytest.mark.parametrize("name", ["exact", "buckets", "k-skb"])
@pytest.mark.parametrize("looks", [(), (99,), (99, 120), (120, 149, 150)])
def test_questions_without_new_rows_do_not_change_what_is_kept(name, looks):
    sketch = skyband.create("quantile-sketch", name, longest=50)
    sketch.update(np.arange(100), np.random.default_rng(6).random(100))
    for now in (99, 120, 149, 150):
        sketch.advance(now)
        if now in looks:
            assert len(sketch) <= 150 - now + 1
    plain = skyband.create("quantile-sketch", name, longest=50)
    plain.update(np.arange(100), np.random.default_rng(6).random(100))
    plain.advance(150)
    assert sketch.snapshot() == plain.snapshot()


@pytest.mark.parametrize("name", ["exact", "buckets", "k-skb"])
@pytest.mark.parametrize("seed", range(4))
def test_merged_and_later_rows_are_all_there_for_any_order_of_turns(name, seed):
    """Between any two questions, rows arrive in one of two ways, states are saved, and others merged."""
    rng, now = np.random.default_rng([71, seed]), 0
    sketches, rows = [], []
    for _ in range(4):
        sketches.append(skyband.create("quantile-sketch", name, longest=60, every=5, cuts=[0.5]))
        rows.append([])
    for _ in range(120):
        now += int(rng.integers(0, 3))
        one, other = rng.permutation(4)[:2].tolist()
        sketch, turn = sketches[one], rng.integers(6)
        if turn == 0:
            sketch.merge(sketches[other])
            rows[one] += rows[other]
            sketches[other] = skyband.create("quantile-sketch", name, longest=60, every=5, cuts=[0.5])
            rows[other] = []
        elif turn == 1:
            sketches[one] = sketch = skyband.restore(sketch.snapshot())
        elif turn == 2:
            sketch.advance(now)
        else:
            values = rng.random(int(rng.integers(1, 4)))
            times = np.full(len(values), now)
            rows[one] += [(now, value) for value in values.tolist()]
            if turn == 3:
                sketch.update(times, values)
            else:
                now += 1
                sketch.answers(times, values, moments=[now], windows=[5, 20], at=[0.5], above=[0.5])
        if rng.random() < 0.5:
            since = now - int(rng.integers(0, 60))
            inside = sorted(value for time, value in rows[one] if time >= since)
            assert sketch.count(since)[0] == len(inside)
            if inside:
                assert sketch.quantile(since, 0.5)[0] == inside[(len(inside) - 1) // 2]
                assert sketch.shares(since, [0.5])[0, 0] == np.mean(np.array(inside) > 0.5)
