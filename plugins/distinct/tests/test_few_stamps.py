"""sketch/pcsa-ml holds only the filled cells while they are few: the same answers and states in less memory."""

import numpy as np
import pytest
import skyband
from skyband_distinct.stamps.few_stamps import FewStamps
from skyband_distinct.stamps.stamp_table import StampTable

COARSE = {"epsilon": 0.2, "delta": 0.1}
"""Parameters with few cells, so that short streams fill many of them."""


def sketch(**parameters):
    return skyband.create("sketch", "pcsa-ml", **parameters)


def wide(**parameters):
    """A sketch that holds all cells of its levels from the start."""
    wide = sketch(**parameters)
    wide._table = StampTable(wide._table.arrays)
    return wide


def stream(seed, distinct, rows):
    rng = np.random.default_rng([16, seed])
    return np.sort(rng.integers(0, 500, rows)), rng.integers(0, distinct, rows).astype(np.uint64)


def fed(made, times, keys, parts):
    for rows in np.array_split(np.arange(len(times)), parts):
        made.update(times=times[rows], keys=keys[rows])
    return made


@pytest.mark.parametrize("distinct", [30, 60, 100, 140, 200, 400, 3000])
@pytest.mark.parametrize("parts", [1, 7, 200])
def test_few_cells_have_the_states_and_answers_of_all_cells(distinct, parts):
    """The cells become many within a block, within a batch, or never."""
    for seed in range(4):
        times, keys = stream(seed, distinct, 2 * distinct)
        few, all_cells = fed(sketch(**COARSE), times, keys, parts), fed(wide(**COARSE), times, keys, 1)
        assert few.snapshot() == all_cells.snapshot()
        for since in (-1, 100, 400, 499, 500, 900):
            assert few.estimate_with_bounds(since) == all_cells.estimate_with_bounds(since)
        assert len(few) == len(all_cells)
        again = skyband.restore(few.snapshot())
        assert (again.snapshot(), again.nbytes <= few.nbytes) == (few.snapshot(), True)
        assert (again._table.few is None) == (few._table.few is None)


@pytest.mark.parametrize("keys", [20, 90, 130, 2000])
@pytest.mark.parametrize("other_keys", [20, 90, 130, 2000])
def test_few_and_many_merge_as_one_stream(keys, other_keys):
    first, second = stream(1, keys, 3 * keys), stream(2, other_keys, 3 * other_keys)
    merged = fed(sketch(**COARSE), *first, 2)
    merged.merge(fed(sketch(**COARSE), *second, 3))
    order = np.argsort(np.concatenate([first[0], second[0]]), kind="stable")
    whole = fed(sketch(**COARSE), *(np.concatenate(columns)[order] for columns in zip(first, second, strict=True)), 1)
    assert merged.snapshot() == whole.snapshot()
    later = np.arange(500, 900), np.arange(400, dtype=np.uint64)
    assert fed(merged, *later, 5).snapshot() == fed(whole, *later, 1).snapshot()


@pytest.mark.parametrize("keys", [20, 90, 130, 2000])
@pytest.mark.parametrize("other_keys", [0, 1, 20])
def test_a_union_with_few_keys_takes_the_memory_of_one_stream(keys, other_keys):
    first, second = stream(1, keys, 3 * keys), (np.full(other_keys, 499), np.arange(other_keys, dtype=np.uint64))
    merged = fed(sketch(**COARSE), *first, 1)
    merged.merge(fed(sketch(**COARSE), *second, 1))
    whole = fed(sketch(**COARSE), *map(np.concatenate, zip(first, second, strict=True)), 1)
    assert (merged._table.few is None) == (whole._table.few is None)
    assert merged._table.nbytes == whole._table.nbytes


@pytest.mark.parametrize("distinct", [500, 1000, 3500, 8000, 31_000])
def test_it_takes_at_most_about_the_memory_of_exact_counting(distinct):
    keys = np.arange(distinct, dtype=np.uint64)
    exact = skyband.create("sketch", "exact")
    exact.update(times=np.arange(distinct), keys=keys)
    assert fed(sketch(), np.arange(distinct), keys, 3).nbytes < exact.nbytes + 110_000


def test_cells_that_no_window_needs_are_dropped_while_they_are_few():
    forgetful, plain = sketch(), sketch()
    restored = sketch()
    for start in range(0, 60_000, 500):
        times = np.arange(start, start + 500)
        for made in (forgetful, plain, restored):
            made.update(times=times, keys=times.astype(np.uint64))
        for made in (forgetful, restored):
            made.forget(start - 500)
        restored = skyband.restore(restored.snapshot())
        assert restored.snapshot() == forgetful.snapshot()
        for since in (start - 500, start, start + 490):
            assert forgetful.estimate_with_bounds(since) == plain.estimate_with_bounds(since)
    assert plain.nbytes > 500_000
    assert forgetful.nbytes < 100_000


def test_the_memory_of_a_burst_is_released_once_it_is_forgotten():
    exact, few = skyband.create("sketch", "exact"), FewStamps(1 << 12)
    keys = np.arange(1_900, dtype=np.uint64)
    exact.update(times=np.zeros(len(keys), np.int64), keys=keys)
    assert few.enter(keys.view(np.int64), np.zeros(len(keys), np.int64)) and len(few.slots) == 4096
    for time in range(1, 40):
        exact.update(times=np.full(5, time), keys=keys[:5])
        few.enter(np.arange(5), np.full(5, time))
        for table in (exact, few):
            table.forget(time - 2)
    assert exact.nbytes < 20_000, "most of it is the log of changes"
    assert len(few.slots) == 256 and few.count == 5


@pytest.mark.parametrize("seed", range(40))
def test_remaining_cells_are_still_found_after_forgetting(seed):
    """Cells behind a free slot would be entered a second time; some tables wrap around at their end."""
    rng = np.random.default_rng([17, seed])
    few, latest = FewStamps(1 << 9), dict[int, int]()
    for time in range(0, 400, 10):
        cells, times = rng.integers(0, 700, 40), rng.integers(time, time + 10, 40)
        assert few.enter(cells, times)
        for cell, moment in zip(cells.tolist(), times.tolist(), strict=True):
            latest[cell] = max(moment, latest.get(cell, moment))
        before = few.count
        few.forget(time - int(rng.integers(10, 60)))
        stayed, last = few.filled()
        assert few.count == len(stayed) == len(set(stayed.tolist()))
        assert dict(zip(stayed.tolist(), last.tolist(), strict=True)).items() <= latest.items()
        gone = latest.keys() - set(stayed.tolist())
        assert before - few.count == 0 or max((latest[cell] for cell in gone), default=0) < min(last)
        for cell in gone:
            del latest[cell]
        assert few.enter(stayed, last) and few.count == len(stayed)


@pytest.mark.parametrize("arrays", [64, 100, 4995, 26_843_546])
def test_the_level_of_a_cell_is_that_of_its_division(arrays):
    """The first and the last cell of each level, up to the arrays of the smallest epsilon and delta."""
    few = FewStamps(1 << 7)
    for level in range(32):
        cells = np.array([level * arrays, (level + 1) * arrays - 1])
        assert few.enter(cells, np.array([5, level]))
        assert few.filled_since(5, arrays).tolist() == [1 + (each >= 5) for each in range(level + 1)]
