"""se-fm, se-pcsa and pcsa-ml hold the state of their definitions, cell by cell."""

import numpy as np
import pytest
import skyband
from hypothesis import given, settings
from hypothesis import strategies as st
from skyband import SnapshotError
from skyband.arrays import TIME_MIN
from skyband_distinct.salts import salt
from skyband_distinct.stamps.first_gap import PHI, first_gaps
from skyband_distinct.stamps.likelihood import LEVELS, filled_since, likeliest

MASK, GAMMA = 2**64 - 1, 0x9E3779B97F4A7C15
SMALL = {"epsilon": 0.9, "delta": 0.9, "seed": 3}
NAMES = ["pcsa-ml", "se-pcsa", "se-fm"]
RECENT = ("recent_times", "recent_keys")


def small(name, **options):
    return skyband.create("sketch", name, **SMALL, **({"zeta": 7} if name == "se-pcsa" else {}), **options)


def mix(word):
    word &= MASK
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    word = (word ^ (word >> 27)) * 0x94D049BB133111EB & MASK
    return word ^ (word >> 31)


def cell(word, first, width):
    """The array from the high half of a word, the level from the trailing zeros of the low half."""
    low = word & (2**32 - 1) | 2**31
    return (low & -low).bit_length() - 1, first + ((word >> 32) * width >> 32)


def cells(name, key, arrays):
    """The cells that a key stamps, by the definition."""
    seed = mix(key ^ int(salt(SMALL["seed"])))
    if name == "pcsa-ml":
        return [cell(seed, 0, arrays)]
    if name == "se-pcsa":
        edges = [stratum * arrays // 7 for stratum in range(8)]
        return [cell(mix(seed + (at + 1) * GAMMA), edges[at], edges[at + 1] - edges[at]) for at in range(7)]
    words = [[mix(seed + (word * LEVELS + level) * GAMMA) for level in range(LEVELS)] for word in range(arrays // 64)]
    return [
        (
            next(
                level for level in range(LEVELS) if level == LEVELS - 1 or words[array // 64][level] >> array % 64 & 1
            ),
            array,
        )
        for array in range(arrays)
    ]


def rows(seed, count, ordered):
    rng = np.random.default_rng(seed)
    times = rng.integers(-500, 500, count)
    return np.sort(times) if ordered else times, rng.integers(0, 150, count).astype(np.uint64)


def stamps_of(name, times, keys, arrays):
    stamps = np.full((LEVELS, arrays), TIME_MIN)
    for time, key in zip(times.tolist(), keys.tolist(), strict=True):
        for at in cells(name, key, arrays):
            stamps[at] = max(stamps[at], time)
    return stamps


def padded(table):
    """int64[LEVELS, arrays]: all cells of a table in either representation."""
    if table.few is not None:
        stamps = np.full((LEVELS, table.arrays), TIME_MIN)
        cells, times = table.few.filled()
        stamps.reshape(-1)[cells] = times
        return stamps
    stamps = table.stamps
    return np.pad(stamps, ((0, LEVELS - len(stamps)), (0, 0)), constant_values=TIME_MIN)


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_each_cell_holds_its_youngest_time(name, ordered):
    sketch = small(name)
    times, keys = rows(1, 300, ordered)
    for start in range(0, 300, 70):
        sketch.update(times[start : start + 70], keys[start : start + 70])
    table = sketch._table
    assert np.array_equal(padded(table), stamps_of(name, times, keys, table.arrays))


@pytest.mark.parametrize("name", NAMES)
def test_the_estimate_follows_from_the_cells_by_its_formula(name):
    sketch = small(name)
    times, keys = rows(2, 300, True)
    sketch.update(times, keys)
    stamps, arrays = padded(sketch._table), sketch._table.arrays
    for since in (int(times.min()), -200, 0):
        filled = stamps >= since
        gaps = sum(
            next((level for level in range(LEVELS) if not filled[level, array]), LEVELS) for array in range(arrays)
        )
        expected = {
            "pcsa-ml": likeliest(filled.sum(axis=1), arrays),
            "se-pcsa": 2 ** (gaps / arrays) / PHI * arrays / 7,
            "se-fm": 2 ** (gaps / arrays) / PHI - 0.5,
        }[name]
        recent = sketch._recent
        assert not recent.reaches_back(since)
        assert sketch.estimate(since) == pytest.approx(max(expected, recent.size), abs=1e-3)


@given(st.integers(0, 2**32), st.integers(-600, 600))
def test_the_compiled_counts_equal_those_of_numpy(seed, since):
    rng = np.random.default_rng(seed)
    stamps = rng.integers(-500, 500, (9, 33))
    stamps[rng.random(stamps.shape) < 0.2] = TIME_MIN
    filled = stamps >= since
    assert filled_since(stamps, since).tolist() == filled.sum(axis=1).tolist()
    assert first_gaps(stamps, since) == np.cumprod(filled, axis=0).sum()


@pytest.mark.parametrize("name", NAMES)
def test_a_sketch_of_few_keys_has_no_table_and_is_exact(name):
    sketch = skyband.create("sketch", name, epsilon=0.05)
    for repeat in range(3):
        sketch.update(np.arange(20) + 100 * repeat, np.arange(20))
    assert len(sketch) == 20
    assert sketch.nbytes < 2000
    for since in (-(2**63), 0, 200, 210, 219, 220):
        assert sketch.bounds(since) == (sketch.estimate(since),) * 2 == (float(min(20, max(0, 220 - since))),) * 2


@settings(max_examples=20)
@given(st.sampled_from(NAMES), st.lists(st.integers(TIME_MIN + 1, 2**63 - 1), min_size=150, max_size=150))
def test_stamps_of_any_age_survive_a_snapshot(name, times):
    sketch = small(name)
    sketch.update(np.array(times), np.arange(150))
    back = skyband.restore(sketch.snapshot())
    assert np.array_equal(padded(back._table), padded(sketch._table))


def test_a_level_reached_only_later_grows_the_table():
    sketch = small("pcsa-ml")
    sketch.update(np.zeros(100, np.int64), np.arange(100))
    before = sketch.dump_state()["levels"][0]
    sketch.update(np.zeros(1_000_000, np.int64), np.arange(1_000_000))
    assert before < sketch.dump_state()["levels"][0] <= LEVELS


def test_zeta_above_the_number_of_arrays_is_refused():
    with pytest.raises(skyband.ConfigError, match="zeta: must be at most 64"):
        skyband.create("sketch", "se-pcsa", epsilon=0.9, delta=0.9, zeta=65)


def test_a_key_stamps_all_arrays_if_they_are_few():
    usual, all_of_them = (skyband.create("sketch", "se-pcsa", **SMALL, **zeta) for zeta in ({}, {"zeta": 64}))
    for sketch in (usual, all_of_them):
        sketch.update(np.arange(10_000), np.arange(10_000))
    assert usual.estimate(0) == all_of_them.estimate(0) > 64
    wide, as_set = (skyband.create("sketch", "se-pcsa", **zeta) for zeta in ({}, {"zeta": 100}))
    assert wide.exact_up_to == as_set.exact_up_to


@pytest.mark.parametrize("name", NAMES)
def test_a_state_has_a_time_if_and_only_if_it_has_keys(name):
    sketch, empty = small(name), small(name).dump_state()
    sketch.update(np.array([5, 7]), np.array([1, 2], np.uint64))
    state, now = sketch.dump_state(), {"now": np.array([7])}
    for valid in (empty, state):
        small(name).load_state(valid)
    for torn in (empty | now, state | {"now": empty["now"]}, state | {key: empty[key] for key in RECENT}):
        with pytest.raises(SnapshotError):
            small(name).load_state(torn)
