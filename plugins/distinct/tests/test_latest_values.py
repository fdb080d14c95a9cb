"""Ranges of values: each key's latest value counts, exactly, or estimated within epsilon of all keys."""

import math

import numpy as np
import pytest
import scipy
import skyband
from hypothesis import given
from hypothesis import strategies as st
from skyband import create, snapshot
from skyband.config.half_open_ranges import ValueRange
from skyband.errors import InputError, SnapshotError
from skyband.states.state import encode_state, read_state
from skyband_distinct.k_skb.sweep_kernel import hash_all
from skyband_distinct.latest_values import RangeSample, around, from_bits, range_estimate, to_bits
from skyband_distinct.sketch_sizes import skyband_shape
from skyband_specs.binomial import allowed_failures
from skyband_specs.sketch.streams import spread
from skyband_specs.state_mutations import mutations

INF = math.inf
SKETCHES = [
    ("exact", {}),
    ("k-skb", {"epsilon": 0.2}),
    ("k-skb", {"epsilon": 0.2, "hash": "theta"}),
    ("k-skb", {"epsilon": 0.9, "delta": 0.9}),
]
RANGES = [(-INF, INF), (0, 1), (1, 3), (1, INF), (-INF, 0), (2, 2.5), (-0.0, 1), (3, INF)]
"""Ends that are values of the streams, one range without values, and one with only the infinite."""
VALUES = (-INF, -1.0, -0.0, 0.0, 0.5, 1.0, 2.0, 3.0, INF)

rows = st.lists(st.tuples(st.integers(-3, 6), st.integers(0, 30), st.sampled_from(VALUES)), max_size=60)


def made(name, parameters, **more):
    return create("sketch", name, values="latest", **parameters, **more)


def columns(stream):
    times, keys, values = zip(*stream, strict=True) if stream else ((), (), ())
    return np.array(times, np.int64), spread(np.array(keys, np.int64)), np.array(values, np.float64)


def fed(name, parameters, *streams):
    sketch = made(name, parameters)
    for stream in streams:
        sketch.update(*columns(stream))
    return sketch


def latest_of(stream):
    """{key: (its last time, the largest value then)}, by the definition."""
    last = {}
    for time, key, value in stream:
        last[key] = max(last.get(key, (time, value)), (time, value))
    return last


def inside(value, low, high):
    return low <= value and (value < high or high == INF)


def by_hand(stream, since, low, high):
    return sum(time >= since and inside(value, low, high) for time, value in latest_of(stream).values())


@pytest.mark.parametrize(("name", "parameters"), SKETCHES)
@given(rows, rows)
def test_few_keys_are_counted_by_their_latest_value(name, parameters, first, second):
    sketch = fed(name, parameters, first, second)
    reader = read_state(sketch.snapshot()).reader
    for since in (-(2**70), -3, 0, 3, 6, 7, 2**70):
        for low, high in RANGES:
            expected = by_hand(first + second, since, low, high)
            assert sketch.estimate_between(since, low, high) == (expected,) * 3
            assert type(reader).between([reader], [since], ValueRange(low, high)) == (expected,) * 3


@pytest.mark.parametrize(("name", "parameters"), SKETCHES)
@given(rows, rows, st.integers(-4, 7), st.randoms(use_true_random=False))
def test_batches_order_merging_and_forgetting_do_not_change_the_counts(name, parameters, first, second, before, random):
    whole = fed(name, parameters, first + second)
    mixed = random.sample(first + second, len(first + second))
    assert fed(name, parameters, *([row] for row in mixed)).snapshot() == whole.snapshot()
    merged = fed(name, parameters, first)
    merged.merge(fed(name, parameters, second + first[:5]))
    assert merged.snapshot() == whole.snapshot()
    restored = skyband.restore(fed(name, parameters, first).snapshot())
    restored.update(*columns(second))
    assert restored.snapshot() == whole.snapshot()
    whole.forget(before)
    late = fed(name, parameters, first)
    late.forget(before)
    late.update(*columns(second))
    for low, high in RANGES:
        expected = by_hand(first + second, before, low, high)
        assert whole.estimate_between(before, low, high) == late.estimate_between(before, low, high) == (expected,) * 3


@pytest.mark.parametrize(("name", "parameters"), SKETCHES)
def test_negative_zero_equals_zero(name, parameters):
    zero = fed(name, parameters, [(1, 5, 0.0)]).snapshot()
    for stream in ([(1, 5, -0.0)], [(1, 5, 0.0), (1, 5, -0.0)], [(1, 5, -0.0), (1, 5, 0.0)]):
        assert (
            fed(name, parameters, stream).snapshot()
            == fed(name, parameters, *([row] for row in stream)).snapshot()
            == zero
        )


def many(seed, keys=6000, count=20_000):
    """More keys than a small sketch holds, with changing values and many ties in time and value."""
    rng = np.random.default_rng(seed)
    times = rng.integers(0, 300, count)
    return times, spread(rng.integers(0, keys, count) + 10**6 * seed), np.round(rng.exponential(2, count), 1)


@pytest.mark.parametrize("parameters", [{"epsilon": 0.2}, {"epsilon": 0.2, "hash": "theta"}])
def test_it_keeps_the_latest_value_of_each_hash_in_its_sample(parameters):
    """The definition, by sorting: the k − 1 smallest hashes of all keys since a moment, with each key's value."""
    times, keys, values = many(1)
    sketch = made("k-skb", parameters)
    for part in np.array_split(np.arange(len(times)), 7):
        sketch.update(times[part], keys[part], values[part])
    reader, k = read_state(sketch.snapshot()).reader, sketch._k
    last = latest_of(zip(times.tolist(), keys.tolist(), values.tolist(), strict=True))
    for since in (0, 150, 290):
        young = np.array([key for key, (time, _) in last.items() if time >= since], np.uint64)
        for low, high in ((-INF, INF), (0, 1), (1, 1.1), (3, INF)):
            counts = []
            for word in sketch._salts:
                hashes = young if word is None else hash_all(young, word)
                order = np.argsort(hashes)
                limit = hashes[order[k - 1]]
                seen = sum(inside(last[key][1], low, high) for key in young[order[: k - 1]].tolist())
                counts.append(seen / ((float(limit) + 1) / 2.0**64))
            count, least, most = sketch.estimate_between(since, low, high)
            assert count == pytest.approx(float(np.median(counts)), abs=1e-3)
            assert type(reader).between([reader], [since], ValueRange(low, high)) == (count, least, most)
            assert least <= count <= most


@pytest.mark.parametrize("parameters", [{"epsilon": 0.2}, {"epsilon": 0.2, "hash": "theta"}])
def test_a_union_of_states_counts_like_the_merged_sketch(parameters):
    """Keys in both states have the value of their later row."""
    streams = [many(1), many(1, keys=3000, count=9000)]
    streams[1] = (streams[1][0] + 1, streams[1][1], streams[1][2] + 1)
    for name, chosen in (("k-skb", parameters), ("exact", {})):
        parts = [made(name, chosen) for _ in streams]
        for part, stream in zip(parts, streams, strict=True):
            part.update(*stream)
        readers = [read_state(part.snapshot()).reader for part in parts]
        whole = skyband.restore(parts[0].snapshot())
        whole.merge(parts[1])
        for since in (0, 200, 299):
            for low, high in ((-INF, INF), (0, 1), (1.5, 4)):
                found = type(readers[0]).between(readers, [since] * 2, ValueRange(low, high))
                assert found == whole.estimate_between(since, low, high)


@pytest.mark.parametrize("parameters", [{}, {"hash": "theta"}])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.02, 0.05), (0.1, 0.05), (0.3, 0.3), (0.9, 0.5), (0.1, 1e-4)])
def test_the_guarantee_holds_for_every_share_of_the_keys(epsilon, delta, parameters):
    """Computed exactly for D keys, many: of k − 1 sampled keys B are in a range with the share p, and G, D times the
    kth smallest hash, is gamma distributed. The count is off by |B / G − p| D; a median if more than half are.

    Given B = b, which is binomial, the count is too high if G < b / (p + epsilon) and too low if G > b / (p −
    epsilon). The interval misses if p G is not between its ends, which are the medians over the subsketches.
    """
    count, k = skyband_shape(epsilon, delta, "hash" in parameters)
    for p in (0.0001, 0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 0.9, 0.99, 1.0):
        b = np.arange(k)
        mass = scipy.stats.binom.pmf(b, k - 1, p)
        above = mass @ scipy.stats.gamma.cdf(b / (p + epsilon), k)
        below = mass @ scipy.stats.gamma.sf(b / (p - epsilon), k) if p > epsilon else 0.0
        either = scipy.stats.binom.sf(count // 2, count, above) + scipy.stats.binom.sf(count // 2, count, below)
        assert either <= delta, (p, either)
        off, z = epsilon * (k - 1) / (1 - epsilon), epsilon * np.sqrt(k) / (1 - epsilon)
        ends = np.transpose([around(RangeSample(number, 1.0), z) for number in range(k)])
        if count == 1:
            ends = [np.maximum(b - off, ends[0]), np.minimum(b + off, ends[1])]
        missed = mass @ scipy.stats.gamma.cdf(ends[0] / p, k), mass @ scipy.stats.gamma.sf(ends[1] / p, k)
        assert sum(scipy.stats.binom.sf(count // 2, count, miss) for miss in missed) <= delta, (p, missed)


@pytest.mark.parametrize(("parameters", "most"), [({}, 30_000), ({"hash": "theta"}, 30_000)])
def test_counts_of_ranges_are_within_epsilon_of_all_keys_except_for_delta(parameters, most):
    """Failures over the streams pass a binomial test: one choice of seeds in a million fails a correct sketch, for each
    of 18 windows and ranges, so 2e-5 in all. The seeds are fixed, so it does not flake.
    """
    epsilon, delta, trials = 0.1, 0.05, 120
    windows, ranges = (900, 5000, most), ((0.0, 0.01), (0.0, 0.3), (0.3, 0.9), (0.9, 2.0), (0.0, 1.0), (0.5, INF))
    misses, outside = np.zeros((2, len(windows), len(ranges)), int)
    for seed in range(trials):
        rng = np.random.default_rng([31, seed])
        values = rng.random(most)
        sketch = made("k-skb", {**parameters, "epsilon": epsilon, "delta": delta})
        sketch.update(np.arange(most), rng.integers(0, 2**64, most, np.uint64), values)
        for i, window in enumerate(windows):
            for j, (low, high) in enumerate(ranges):
                true = np.count_nonzero((values[-window:] >= low) & (values[-window:] < high))
                count, least, highest = sketch.estimate_between(most - window, low, high)
                misses[i, j] += abs(count - true) > epsilon * window
                outside[i, j] += not least <= true <= highest
    allowed = allowed_failures(trials, delta, 1e-6)
    assert misses.max() <= allowed and outside.max() <= allowed, (misses, outside, allowed)


def test_a_count_is_at_least_the_keys_in_any_sample():
    """Whatever the median says."""
    samples = [RangeSample(9, 0.9), RangeSample(12, 0.96), RangeSample(10, 0.95)]
    assert range_estimate(samples, 60.0, 0.1, 10_000) == (12.0, 12.0, 12.0 + 0.1 * 60 / 0.9)
    assert range_estimate(samples[::2], 60.0, 0.01, 10_000)[1] == 10.0


def test_a_range_of_few_keys_has_a_narrower_interval():
    """A hundredth of the keys has about a tenth of the interval of all."""
    sketch = made("k-skb", {"epsilon": 0.05})
    count = 100_000
    sketch.update(np.arange(count), spread(np.arange(count)), np.arange(count) % 100)
    widths = []
    for high, true in ((1, 1000), (100, count)):
        _, least, most = sketch.estimate_between(0, 0, high)
        assert least <= true <= most
        widths.append(most - least)
    assert widths[0] < 0.15 * widths[1] and widths[1] < 0.12 * count


def test_the_range_of_all_values_has_the_plain_count():
    sketch = made("k-skb", {"epsilon": 0.1})
    times, keys, values = many(3, keys=50_000, count=60_000)
    sketch.update(times, keys, values)
    for since in (0, 250, 299):
        count, low, high = sketch.estimate_between(since, -INF, INF)
        plain, least, most = sketch.estimate_with_bounds(since)
        assert count == pytest.approx(plain, abs=2e-3)
        assert high == pytest.approx(most, abs=2e-3) and low <= least + 2e-3


def test_values_do_not_change_the_counts_of_all():
    for name, parameters in SKETCHES:
        times, keys, values = many(2)
        plain = create("sketch", name, **parameters)
        plain.update(times, keys)
        valued = made(name, parameters)
        valued.update(times, keys, values)
        assert [plain.estimate_with_bounds(since) for since in (0, 100, 299)] == [
            valued.estimate_with_bounds(since) for since in (0, 100, 299)
        ]
        assert len(plain) == len(valued)


@given(st.lists(st.floats(allow_nan=False)))
def test_bits_have_the_order_of_values_and_convert_back(values):
    numbers = np.array(values, np.float64) + 0.0
    bits = to_bits(numbers)
    np.testing.assert_array_equal(from_bits(bits), numbers)
    assert (numbers[np.argsort(bits, kind="stable")] == np.sort(numbers)).all()


@pytest.mark.parametrize("name", ["exact", "k-skb"])
def test_invalid_values_are_refused_without_a_trace(name):
    plain, valued = create("sketch", name), made(name, {})
    times, keys = np.arange(3), spread(np.arange(3))
    valued.update(times, keys, [1, 2, 3])
    before = valued.snapshot()
    for sketch, values, said in (
        (plain, [1.0, 2.0, 3.0], 'keeps no values: make it with values = "latest"'),
        (valued, None, "are missing: .* was made to keep each key's latest value"),
        (valued, [1.0, 2.0], "must have 3"),
        (valued, [1.0, float("nan"), 3.0], "row 1: must be a number"),
        (valued, ["a", "b", "c"], "values"),
    ):
        with pytest.raises(InputError, match=said):
            sketch.update(times, keys, values)
    assert valued.snapshot() == before and plain.now is None
    with pytest.raises(InputError, match='keeps no values: make it with values = "latest", as k-skb and exact allow'):
        plain.estimate_between(0, 0, 1)
    with pytest.raises(InputError, match=r"has values = None, this sketch .latest."):
        valued.merge(plain)


def test_other_sketches_name_those_that_keep_values():
    sketch = create("sketch", "pcsa-ml")
    with pytest.raises(InputError, match=r"pcsa-ml keeps no values: .* as k-skb and exact allow"):
        sketch.update([1], np.array([1], np.uint64), [1.0])
    with pytest.raises(skyband.ConfigError, match="values: unknown"):
        create("sketch", "pcsa-ml", values="latest")


def test_a_sketch_that_claims_to_keep_values_is_told_which_methods_to_write():
    class Forgetful(type(create("sketch", "pcsa-ml"))):
        keeps_values = True

    with pytest.raises(NotImplementedError, match="Forgetful sets keeps_values, so it must define _update_with_values"):
        Forgetful().update([1], np.array([1], np.uint64), [1.0])
    with pytest.raises(NotImplementedError, match="Forgetful sets keeps_values, so it must define _estimate_between"):
        Forgetful().estimate_between(0, 0, 1)


@pytest.mark.parametrize(("name", "parameters"), SKETCHES[:2])
def test_changed_states_are_refused_or_answered(name, parameters):
    sketch = made(name, parameters)
    sketch.update(*many(5))
    held = snapshot.decode(sketch.snapshot())
    refused = answered = 0
    for number, (how, arrays) in enumerate(mutations(held.arrays, seed=3)):
        if number == 300:
            break
        blob = encode_state("sketch", name, held.header["parameters"], arrays, None)
        try:
            reader = read_state(blob).reader
            for since in (-(2**70), 150, 2**70):
                count, low, high = type(reader).between([reader], [since], ValueRange(0, 1))
                assert 0 <= low <= count <= high, how
            answered += 1
        except SnapshotError:
            refused += 1
    assert refused > 20 and answered > 20


@pytest.mark.parametrize("name", ["exact", "k-skb"])
def test_invalid_values_are_refused_in_a_state(name):
    sketch = made(name, {})
    sketch.update(*many(5, count=50))
    held = snapshot.decode(sketch.snapshot())
    values = held.arrays["values"].copy()
    values[3] = np.nan
    for arrays in (
        {**held.arrays, "values": values},
        {**held.arrays, "values": values[:4]},
        {key: array for key, array in held.arrays.items() if key != "values"},
    ):
        blob = encode_state("sketch", name, held.header["parameters"], arrays, None)
        for read in (read_state, skyband.restore):
            with pytest.raises(SnapshotError, match="values"):
                read(blob)
