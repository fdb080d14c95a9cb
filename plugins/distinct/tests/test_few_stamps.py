"""sketch/pcsa-ml holds the filled cells alone while they are few: the same answers and states, in less room."""

import numpy as np
import pytest
import skyband
from skyband_distinct.stamps.few_stamps import FewStamps
from skyband_distinct.stamps.stamp_table import StampTable

COARSE = {"epsilon": 0.2, "delta": 0.1}
"""Parameters with few cells, so that short streams are many."""


def sketch(**parameters):
    return skyband.create("sketch", "pcsa-ml", **parameters)


def wide(**parameters):
    """One that holds all cells of its levels from the start."""
    made = sketch(**parameters)
    made._table = StampTable(made._table.arrays)
    return made


def stream(seed, distinct, rows):
    rng = np.random.default_rng([16, seed])
    return np.sort(rng.integers(0, 500, rows)), rng.integers(0, distinct, rows).astype(np.uint64)


def fed(made, times, keys, parts):
    for rows in np.array_split(np.arange(len(times)), parts):
        made.update(times=times[rows], keys=keys[rows])
    return made


@pytest.mark.parametrize("distinct", [30, 60, 100, 140, 200, 400, 3000])
@pytest.mark.parametrize("parts", [1, 7, 200])
def test_states_and_answers_are_those_of_all_cells(distinct, parts):
    """Whether the cells become many within a block, a batch, or never."""
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


@pytest.mark.parametrize("mine", [20, 90, 130, 2000])
@pytest.mark.parametrize("theirs", [20, 90, 130, 2000])
def test_few_and_many_merge_as_one_stream(mine, theirs):
    one, other = stream(1, mine, 3 * mine), stream(2, theirs, 3 * theirs)
    merged = fed(sketch(**COARSE), *one, 2)
    merged.merge(fed(sketch(**COARSE), *other, 3))
    order = np.argsort(np.concatenate([one[0], other[0]]), kind="stable")
    whole = fed(sketch(**COARSE), *(np.concatenate(columns)[order] for columns in zip(one, other, strict=True)), 1)
    assert merged.snapshot() == whole.snapshot()
    later = np.arange(500, 900), np.arange(400, dtype=np.uint64)
    assert fed(merged, *later, 5).snapshot() == fed(whole, *later, 1).snapshot()


@pytest.mark.parametrize("mine", [20, 90, 130, 2000])
@pytest.mark.parametrize("theirs", [0, 1, 20])
def test_a_union_with_a_few_takes_the_room_of_one_stream(mine, theirs):
    one, other = stream(1, mine, 3 * mine), (np.full(theirs, 499), np.arange(theirs, dtype=np.uint64))
    merged = fed(sketch(**COARSE), *one, 1)
    merged.merge(fed(sketch(**COARSE), *other, 1))
    whole = fed(sketch(**COARSE), *map(np.concatenate, zip(one, other, strict=True)), 1)
    assert (merged._table.few is None) == (whole._table.few is None)
    assert merged._table.nbytes == whole._table.nbytes


@pytest.mark.parametrize("distinct", [500, 1000, 3500, 8000, 31_000])
def test_it_takes_about_as_much_as_exact_counting_or_less(distinct):
    keys = np.arange(distinct, dtype=np.uint64)
    exact = skyband.create("sketch", "exact")
    exact.update(times=np.arange(distinct), keys=keys)
    assert fed(sketch(), np.arange(distinct), keys, 3).nbytes < exact.nbytes + 110_000


def test_what_no_window_asks_for_is_let_go_of_while_the_cells_are_few():
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


def test_the_room_that_a_burst_took_comes_back_once_it_is_forgotten():
    exact, few = skyband.create("sketch", "exact"), FewStamps(1 << 12)
    keys = np.arange(1_900, dtype=np.uint64)
    exact.update(times=np.zeros(len(keys), np.int64), keys=keys)
    assert few.enter(keys.view(np.int64), np.zeros(len(keys), np.int64)) and len(few.slots) == 4096
    for time in range(1, 40):
        exact.update(times=np.full(5, time), keys=keys[:5])
        few.enter(np.arange(5), np.full(5, time))
        for one in (exact, few):
            one.forget(time - 2)
    assert exact.nbytes < 20_000, "most of it the log of changes"
    assert len(few.slots) == 256 and few.count == 5


@pytest.mark.parametrize("seed", range(40))
def test_after_cells_are_forgotten_each_that_stays_is_where_it_is_looked_for(seed):
    """Cells that lie behind a free slot would be entered a second time; some tables wrap around at their end."""
    rng = np.random.default_rng([17, seed])
    few, latest = FewStamps(1 << 9), dict[int, int]()
    for time in range(0, 400, 10):
        cells, times = rng.integers(0, 700, 40), rng.integers(time, time + 10, 40)
        assert few.enter(cells, times)
        for cell, one in zip(cells.tolist(), times.tolist(), strict=True):
            latest[cell] = max(one, latest.get(cell, one))
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
    """Up to the arrays of the smallest epsilon and delta; the first and the last cell of each level."""
    few = FewStamps(1 << 7)
    for level in range(32):
        cells = np.array([level * arrays, (level + 1) * arrays - 1])
        assert few.enter(cells, np.array([5, level]))
        assert few.filled_since(5, arrays).tolist() == [1 + (each >= 5) for each in range(level + 1)]
