"""A state is read without its sketch, and answers like the sketch; several answer like a sketch of all their rows."""

import numpy as np
import pytest
import skyband
from skyband import SnapshotError, snapshot
from skyband_quantiles.conformance.checks.merging import most_across
from skyband_quantiles.conformance.oracle import QuantileOracle
from skyband_quantiles.conformance.streams import bursts, lognormal, steady
from skyband_quantiles.quantile_reader import BucketsReader, ExactReader, KSkbReader
from skyband_quantiles.ranks import shares_of

AT, ABOVE = (0.0, 0.07, 0.5, 0.95, 0.99, 1.0), (0.0, 40.0, 400.0)
READERS = {"exact": ExactReader, "buckets": BucketsReader, "k-skb": KSkbReader}
PARTS, LIMITS = shares_of("at", AT), np.array(ABOVE)
CUTS = (40.0,)


def sketch_of(name, rows, **parameters):
    made = skyband.create("quantile-sketch", name, longest=600, every=50, cuts=CUTS, **parameters)
    made.update(rows.times, rows.values)
    return made


def reader_of(sketch):
    held = snapshot.decode(sketch.snapshot())
    return READERS[sketch.name](held.header["parameters"], held.arrays)


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("rows", [lognormal(1, 9000, 12), steady(5000, 8), bursts(3, 3000), lognormal(2, 30, 4)])
def test_a_reader_answers_like_the_sketch(name, rows):
    sketch = sketch_of(name, rows)
    read = reader_of(sketch)
    assert (read.latest, read.floor, read.retained) == (sketch.latest, sketch.now - 600, len(sketch))
    arrays = snapshot.decode(sketch.snapshot()).arrays
    edges = np.unique(np.concatenate([arrays[name] for name in ("first", "last") if name in arrays] or [[]]))
    edges = [edge for last in edges.tolist()[::9] for edge in (last, last + 1) if edge >= sketch.now - 600]
    for since in (*range(sketch.now - 600, sketch.now, 37), sketch.now, *edges):
        count, quantiles, shares = READERS[name].answer([read], [since], PARTS, LIMITS)
        assert count == tuple(sketch.count(since))
        np.testing.assert_array_equal(quantiles, sketch.quantiles(since, AT))
        np.testing.assert_array_equal(shares, sketch.shares(since, ABOVE))
        if name != "k-skb":
            _check_reading(sketch.readings([since])[0], READERS[name].read_windows([read], [since]))


def _check_reading(own, of_state):
    """What a sketch knows of a window is what its state does, but for the rounding of the likely rows."""
    assert (own.rows, own.sure, own.maybe) == (of_state.rows, of_state.sure, of_state.maybe)
    if of_state.sums is None:
        assert own.sums is None and own.raw.tolist() == of_state.raw.tolist()
        return
    for column, other in zip(own.sums[:4], of_state.sums[:4], strict=True):
        assert column.tolist() == other.tolist()
    assert own.sums.likely == pytest.approx(of_state.sums.likely)
    for above, other in zip(own.known_above, of_state.known_above, strict=True):
        assert above == (other and pytest.approx(other))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("changes", [[(40.0, 400.0)], [(), (40.0,)], [(400.0,), (40.0, 400.0), (40.0,)]])
def test_shares_above_cuts_that_came_later_are_certain_at_every_moment(seed, changes):
    """Of older nodes the rows above a new cut are not known; a moment may be in the last of these."""
    rows = lognormal(seed, 9000, 12)
    sketch, begin = sketch_of("buckets", rows.take(np.arange(3000))), 3000
    for number, cuts in enumerate(changes, 1):
        later = skyband.create("quantile-sketch", "buckets", longest=600, every=50, cuts=cuts)
        later.load_state(sketch.dump_state())
        end = 3000 + 6000 * number // len(changes)
        later.update(rows.times[begin:end], rows.values[begin:end])
        sketch, begin = later, end
        read = reader_of(sketch)
        arrays = snapshot.decode(sketch.snapshot()).arrays
        edges = [edge for last in arrays["last"].tolist()[::2] for edge in (last, last + 1)]
        for since in sorted({*edges, *range(sketch.now - 600, sketch.now, 43)}):
            if since < sketch.now - 600:
                continue
            shares = sketch.shares(since, ABOVE)
            np.testing.assert_array_equal(BucketsReader.answer([read], [since], PARTS, LIMITS)[2], shares)
            _check_reading(sketch.readings([since])[0], BucketsReader.read_windows([read], [since]))
            inside = rows.values[:end][rows.times[:end] >= since]
            for (value, low, high), limit in zip(shares.tolist(), ABOVE, strict=True):
                assert low <= np.mean(inside > limit) <= high and low <= value <= high


@pytest.mark.parametrize("stops", [(3000, 0), (3000, 3000), (0, 6000), (8000, 2000)])
def test_shares_of_a_union_are_certain_where_some_of_its_parts_do_not_know_a_cut(stops):
    """stops: how many rows of each part came before the cut was known."""
    cuts, parts, streams = (40.0, 400.0), [], []
    for seed, stop in enumerate(stops):
        rows = lognormal(seed, 9000, 12)
        before = sketch_of("buckets", rows.take(np.arange(stop)))
        later = skyband.create("quantile-sketch", "buckets", longest=600, every=50, cuts=cuts)
        later.load_state(before.dump_state())
        later.update(rows.times[stop:], rows.values[stop:])
        parts.append(later)
        streams.append(rows)
    readers = [reader_of(part) for part in parts]
    parts[0].merge(parts[1])
    united = snapshot.decode(parts[0].snapshot()).arrays
    edges = [edge for last in united["last"].tolist() for edge in (last, last + 1)]
    for since in sorted({*edges, *range(parts[0].now - 600, parts[0].now, 43)}):
        if since < parts[0].now - 600:
            continue
        inside = np.concatenate([rows.values[rows.times >= since] for rows in streams])
        for shares in (parts[0].shares(since, ABOVE), BucketsReader.answer(readers, [since] * 2, PARTS, LIMITS)[2]):
            for (value, low, high), limit in zip(shares.tolist(), ABOVE, strict=True):
                assert low <= np.mean(inside > limit) <= high and low <= value <= high


@pytest.mark.parametrize("name", ["exact", "buckets"])
def test_several_states_together_have_certain_bounds(name):
    parts = [lognormal(seed, 400 * seed, seed) for seed in range(1, 7)] + [steady(4000, 10)]
    readers = [reader_of(sketch_of(name, part)) for part in parts]
    oracle = _all(parts)
    for since in (10, 55, 100, 230):
        (rows, low, high), quantiles, shares = READERS[name].answer(readers, [since] * len(parts), PARTS, LIMITS)
        wanted, values, above = oracle.answer(since, 2**64, AT, ABOVE)
        assert low <= wanted <= high
        assert low <= rows <= high
        for found, truth in ((quantiles, values), (shares, above)):
            for (value, least, most), (true, *_) in zip(found.tolist(), truth, strict=True):
                assert least <= true <= most
                assert least <= value <= most
        if name == "exact":
            assert quantiles[:, 0].tolist() == [value for value, *_ in values]


def test_united_samples_are_the_sample_of_all_rows():
    parts = [lognormal(seed, 9000, 12) for seed in range(1, 4)]
    sketches = [sketch_of("k-skb", part) for part in parts]
    readers = [reader_of(sketch) for sketch in sketches]
    whole = sketches[0]
    for other in sketches[1:]:
        whole.merge(other)
    for since in (200, 500):
        count, quantiles, shares = KSkbReader.answer(readers, [since] * 3, PARTS, LIMITS)
        assert count == tuple(whole.count(since))
        np.testing.assert_array_equal(quantiles, whole.quantiles(since, AT))
        np.testing.assert_array_equal(shares, whole.shares(since, ABOVE))


@pytest.mark.parametrize(("rows", "least", "rates"), [(4000, 2, 7), (16_000, 8, 1), (16_000, 6, 6)])
def test_a_union_of_64_states_keeps_its_bounds_in_about_as_many_nodes_as_a_single_stream(rows, least, rates):
    parts = [lognormal(100 + seed, rows, least + seed % rates) for seed in range(64)]
    whole, one = (skyband.create("quantile-sketch", "buckets", longest=3000, every=50) for _ in range(2))
    sketches = []
    for part in parts:
        sketch = skyband.create("quantile-sketch", "buckets", longest=3000, every=50)
        sketch.update(part.times, part.values)
        sketches.append(sketch)
    for sketch in sketches:
        whole.merge(sketch)
    oracle = _all(parts)
    one.update(oracle.times, oracle.values)
    nodes = [len(snapshot.decode(sketch.snapshot()).arrays["first"]) for sketch in (whole, one)]
    assert nodes[0] <= 1.2 * nodes[1]
    turned = skyband.create("quantile-sketch", "buckets", longest=3000, every=50)
    for place, sketch in enumerate(reversed(sketches)):
        turned.merge(sketch)
        if place % 20 == 7:
            turned.count(turned.now)
    assert turned.snapshot() == whole.snapshot()
    for since in range(max(whole.now - 3000, 0), whole.now, 101):
        rows, values, _ = oracle.answer(since, 2**64, AT, ())
        _, low, high = whole.count(since)
        assert low <= rows <= high
        assert high - low <= most_across(0.02, rows)
        for (_, least, most), (true, *_) in zip(whole.quantiles(since, AT).tolist(), values, strict=True):
            assert least <= true <= most


@pytest.mark.parametrize("name", READERS)
def test_an_inconsistent_state_is_refused(name):
    held = snapshot.decode(sketch_of(name, lognormal(1, 9000, 12)).snapshot())
    late = {**held.arrays, "clock": np.array([5, 7])}
    with pytest.raises(SnapshotError, match="clock: is"):
        READERS[name](held.header["parameters"], late)
    values = np.array(held.arrays["values"])
    values[3] = np.nan
    with pytest.raises(SnapshotError, match="values: must be from -inf to inf"):
        READERS[name](held.header["parameters"], {**held.arrays, "values": values})


def _all(parts):
    times, values = (np.concatenate([getattr(part, name) for part in parts]) for name in ("times", "values"))
    order = np.lexsort((values, times))
    return QuantileOracle(times[order], values[order])
