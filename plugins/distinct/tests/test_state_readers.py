"""State readers answer like the restored sketch, and refuse damaged states."""

from itertools import islice

import numpy as np
import pytest
from skyband import create, restore, snapshot
from skyband.errors import SnapshotError
from skyband.states.state import encode_state, read_state
from skyband_specs.state_mutations import mutations

CASES = [
    ("exact", {}),
    ("k-skb", {"epsilon": 0.1}),
    ("k-skb", {}),
    ("pcsa-ml", {"epsilon": 0.1}),
    ("pcsa-ml", {}),
    ("se-fm", {"epsilon": 0.3}),
    ("k-skb", {"epsilon": 0.1, "hash": "theta"}),
    ("exact", {"hash": "theta"}),
]


def sketch(name, parameters, keys, seed=0, forget=None, first=10**15):
    rng = np.random.default_rng(seed)
    created = create("sketch", name, **parameters)
    if keys:
        created.update(first + np.sort(rng.integers(0, 1000, keys)), rng.integers(0, 2**63, keys, dtype=np.uint64))
    if forget is not None:
        created.forget(forget)
    return created


@pytest.mark.parametrize("keys", [0, 1, 60, 3000, 40_000])
@pytest.mark.parametrize(("name", "parameters"), CASES)
def test_it_answers_like_the_restored_sketch(name, parameters, keys):
    held = sketch(name, parameters, keys, forget=10**15 + 100 if keys else None)
    reader = read_state(held.snapshot()).reader
    for since in (-(2**70), 10**15 + 100, 10**15 + 500, 10**15 + 998, 10**15 + 1001, 2**70):
        assert reader.estimate(since) == held.estimate_with_bounds(since)
    assert (reader.latest, reader.retained) == (held.now, len(held))


@pytest.mark.parametrize("times", [-(2**63) + 1, -(10**12), 2**63 - 2000])
@pytest.mark.parametrize(("name", "parameters"), CASES)
def test_it_reads_any_times(name, parameters, times):
    held = sketch(name, parameters, 5000, first=times)
    reader = read_state(held.snapshot()).reader
    for since in (times, times + 300, times + 999, times + 5000):
        assert reader.estimate(since) == held.estimate_with_bounds(since)


@pytest.mark.parametrize("sizes", [(50, 60), (50, 30_000), (30_000, 20_000), (0, 50)])
@pytest.mark.parametrize(("name", "parameters"), CASES)
def test_a_union_answers_like_the_merged_sketch(name, parameters, sizes):
    parts = [sketch(name, parameters, keys, seed) for seed, keys in enumerate(sizes)]
    readers = [read_state(part.snapshot()).reader for part in parts]
    whole = restore(parts[0].snapshot())
    whole.merge(parts[1])
    for since in (10**15, 10**15 + 700, 10**15 + 999):
        estimate = type(readers[0]).union(readers, [since] * 2)
        true = len({key for part in parts for key in _keys(part, since)}) if name == "exact" else None
        assert estimate == whole.estimate_with_bounds(since) or (estimate[0] == estimate[1] == estimate[2])
        assert true is None or estimate[0] == true


def _keys(exact, since):
    held = snapshot.decode(exact.snapshot()).arrays
    return held["keys"][held["times"] >= since].tolist()


@pytest.mark.parametrize("keys", [60, 5000])
@pytest.mark.parametrize(("name", "parameters"), [case for case in CASES if case[1] != {} or case[0] == "exact"])
def test_changed_states_are_refused_or_answered(name, parameters, keys):
    held = snapshot.decode(sketch(name, parameters, keys).snapshot())
    refused = answered = 0
    for how, arrays in islice(mutations(held.arrays, seed=3), 300):
        blob = encode_state("sketch", name, held.header["parameters"], arrays, None)
        try:
            reader = read_state(blob).reader
            for since in (-(2**70), 10**15 + 400, 2**70):
                count, low, high = reader.estimate(since)
                assert 0 <= low <= count <= high, how
            answered += 1
        except SnapshotError:
            refused += 1
    assert refused > 20 and answered > 20


@pytest.mark.parametrize(
    "parameters",
    [{"epsilon": 0}, {"epsilon": "small"}, {"epsilon": [1]}, {"delta": 2.0}, {"seed": -1}, {"zeta": 3}],
)
@pytest.mark.parametrize("name", ["k-skb", "pcsa-ml", "exact"])
def test_invalid_parameters_are_refused(name, parameters):
    held = snapshot.decode(create("sketch", name).snapshot())
    blob = encode_state("sketch", name, {**held.header["parameters"], **parameters}, held.arrays, None)
    with pytest.raises(SnapshotError, match=f"of sketch/{name} does not fit the installed version"):
        read_state(blob)


def test_samples_of_equal_keys_are_equal():
    first, second = (read_state(sketch("k-skb", {}, 60_000).snapshot()).reader for _ in range(2))
    samples = first.samples(10**15)
    assert len(samples) == 3 and all(0 < sample.share < 1 for sample in samples)
    for sample, other in zip(samples, second.samples(10**15), strict=True):
        assert sample.share == other.share
        np.testing.assert_array_equal(sample.hashes, other.hashes)
        assert len(sample.hashes) / sample.share == pytest.approx(60_000, rel=0.05)
