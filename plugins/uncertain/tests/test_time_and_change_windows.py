"""The windows of section 8.1, compared with their definitions and all possible worlds."""

from itertools import product

import numpy as np
import pytest
from skyband import ConfigError, InputError
from skyband_uncertain.time_and_change_windows import DeltaWindow, TimeWindow


def test_time_windows_hold_the_last_length():
    times = np.sort(np.random.default_rng(1).integers(0, 200, 100))
    cut, whole = TimeWindow(30), TimeWindow(30)
    got = np.concatenate([cut.append(part) for part in np.split(times, [0, 3, 40, 41])])
    wanted = [int(np.argmax(times >= now - 30)) for now in times]
    assert got.tolist() == whole.append(times).tolist() == wanted
    assert (cut.start, cut.end) == (wanted[-1], 100)


def test_time_windows_reach_the_ends_of_int64():
    low, high = np.iinfo(np.int64).min, np.iinfo(np.int64).max
    assert TimeWindow(high).append([low, -1, 0, high]).tolist() == [0, 0, 1, 2]


def test_times_must_not_go_back():
    window = TimeWindow(5)
    window.append([3])
    with pytest.raises(InputError):
        window.append([2])
    assert (window.start, window.end) == (0, 1)


def broken_in_worlds(rows, delta):
    """P(some younger tuple is further than delta from the oldest | the oldest exists)."""
    outcomes = [[*row, (None, 1 - sum(share for _, share in row))] for row in rows]
    broken = exists = 0.0
    for world in product(*outcomes):
        chance = float(np.prod([share for _, share in world]))
        oldest, *younger = [value for value, _ in world]
        if oldest is not None:
            exists += chance
            broken += chance * any(value is not None and abs(value - oldest) > delta for value in younger)
    return broken / exists


def uncertain(rng, count):
    return [
        [(float(value), float(rng.choice([0.1, 0.3, 0.45]))) for value in rng.integers(-3, 4, rng.integers(1, 3))]
        for _ in range(count)
    ]


def flat(rows):
    pairs = [pair for row in rows for pair in row]
    offsets = np.cumsum([0, *map(len, rows)])
    return offsets, [value for value, _ in pairs], [share for _, share in pairs]


@pytest.mark.parametrize("seed", range(5))
def test_delta_windows_follow_the_worlds(seed):
    rows = uncertain(np.random.default_rng(seed), 12)
    window, start = DeltaWindow(2.0, alpha=0.6), 0
    for row in range(len(rows)):
        got = window.append(*flat(rows[row : row + 1]))
        while start < row and broken_in_worlds(rows[start : row + 1], 2.0) >= 0.6:
            start += 1
        assert got.tolist() == [start] == [window.start]
        assert window.broken() == pytest.approx(broken_in_worlds(rows[start : row + 1], 2.0))
    whole = DeltaWindow(2.0, alpha=0.6)
    whole.append(*flat(rows))
    assert (whole.start, whole.end) == (start, len(rows))


def test_one_certain_sample_equals_the_formula_of_the_paper():
    window = DeltaWindow(1.0, alpha=1.0)
    window.append([0, 1, 2, 3, 4], [0.0, 5.0, 0.5, -3.0], [1.0, 0.5, 0.9, 0.25])
    assert window.broken() == pytest.approx(1 - 0.5 * 0.75)


@pytest.mark.parametrize("above", [-1, 0, 1])
def test_a_change_as_probable_as_alpha_drops_the_oldest(above):
    alpha = np.nextafter(0.5, above) if above else 0.5
    starts = DeltaWindow(1.0, alpha=alpha).append([0, 1, 2], [0.0, 5.0], [1.0, 0.5])
    assert starts.tolist() == [0, int(above <= 0)]


def test_bad_input_is_refused():
    with pytest.raises(ConfigError, match="delta"):
        DeltaWindow(-1.0)
    with pytest.raises(InputError):
        DeltaWindow(1.0).append([0, 1], [0.0], [1.5])
    with pytest.raises(InputError):
        DeltaWindow(1.0).broken()
