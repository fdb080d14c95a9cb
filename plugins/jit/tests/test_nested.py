"""What only compiled functions call is compiled into them, and is nothing that Python could call."""

import gc
import os
import subprocess
import sys
from typing import NamedTuple

import numpy as np
import pytest
from numba import literally, njit, types
from numba.core import event
from numba.core.compiler import Flags
from numba.core.errors import TypingError
from numba.core.runtime import _nrt_python, rtsys
from numba.extending import overload
from skyband.kernels.nested import kernel_njit, nested_njit, shared_njit
from skyband_jit import nested_functions
from skyband_jit.repeated_work import LeanFlags


@nested_njit
def parts(values):
    return values[::2].copy(), len(values)


@nested_njit(error_model="numpy")
def share(values, of):
    return values[0] / of


@njit
def both(values, of):
    half, count = parts(values)
    return half.sum(), count, share(values, of)


def test_a_kernel_calls_it_with_its_options():
    assert both(np.arange(1.0, 6.0), 2.0) == (9.0, 5, 0.5)
    assert both(np.arange(1.0, 6.0), 0.0)[2] == np.inf, "numpy's division by 0"


@kernel_njit(error_model="numpy")
def kernel(values, of):
    """Makes arrays, slices them, and divides."""
    halves = np.zeros((2, len(values)))
    for place in range(len(values)):
        halves[0, place] = values[place] / of
        halves[1] += values[place]
    half, count = parts(halves[0])
    return half, count, halves[1]


def test_a_kernel_of_python_alone_is_what_numba_makes_of_it():
    plain = njit(kernel.py_func, error_model="numpy")
    for values in (np.arange(1.0, 6.0), np.arange(5), np.arange(3, dtype=np.float32)):
        for of in (2.0, 0.0, 2, np.int32(3)):
            ours, usual = kernel(values, of), plain(values, of)
            np.testing.assert_array_equal(ours[0], usual[0])
            np.testing.assert_array_equal(ours[2], usual[2])
            assert ours[1] == usual[1]
            assert [array.dtype for array in ours[::2]] == [array.dtype for array in usual[::2]]


def test_a_kernel_of_python_alone_gives_back_what_it_takes_for_itself():
    kernel(np.arange(5.0), 2.0)
    _nrt_python.memsys_enable_stats()
    try:
        before = rtsys.get_allocation_stats()
        for _ in range(10):
            kernel(np.arange(5.0), 2.0)
        after = rtsys.get_allocation_stats()
    finally:
        _nrt_python.memsys_disable_stats()
    assert after.alloc - before.alloc == after.free - before.free > 0


class Pair(NamedTuple):
    left: np.ndarray
    right: np.ndarray


@nested_njit
def borrows(pair, start):
    part = Pair(pair.right[start:], pair.left) if start else pair
    some, total = part.left[::2], 0.0
    for place in range(len(some)):
        total += some[place]
    return total + len(part.right)


@nested_njit
def gives_back(pair, start):
    return pair.left if start else pair.right


@nested_njit
def makes(pair, start):
    return (pair.left + start).sum()


@nested_njit
def keeps(pair, start):
    kept = [pair.left]
    kept.append(pair.right[start:])
    return kept[start].sum()


@nested_njit
def picks(pair, start):
    return pair.left[pair.left > start].sum()


@njit
def all_of(pair, start):
    mine = Pair(pair.left.copy(), pair.right.copy())
    given = gives_back(mine, start)
    return borrows(mine, start), given.sum(), makes(mine, start), keeps(mine, start), picks(mine, start)


def test_memory_is_counted_where_it_has_to_be():
    pair = Pair(np.arange(4.0), np.arange(10.0, 13.0))
    whole, later = all_of(pair, 0), all_of(pair, 1)
    _nrt_python.memsys_enable_stats()
    try:
        before = rtsys.get_allocation_stats()
        for _ in range(100):
            assert all_of(pair, 0) == whole == (5.0, 33.0, 6.0, 6.0, 6.0)
            assert all_of(pair, 1) == later == (15.0, 6.0, 10.0, 23.0, 5.0)
        after = rtsys.get_allocation_stats()
    finally:
        _nrt_python.memsys_disable_stats()
    assert after.alloc - before.alloc == after.free - before.free > 0
    assert np.array_equal(pair.left, np.arange(4.0))


def test_a_function_that_only_borrows_counts_nothing():
    def counts(function):
        (compiled,) = function.overloads.values()
        return "NRT_incref" in compiled.library.get_llvm_str()

    all_of(Pair(np.arange(4.0), np.arange(3.0)), 1)
    assert not counts(borrows)
    assert all(map(counts, (gives_back, makes, keeps, picks)))


def test_python_does_not():
    with pytest.raises(TypeError, match="parts is called by compiled functions only: see nested_njit"):
        parts(np.arange(5.0))


@shared_njit(error_model="numpy")
def mean(pair, of):
    return (pair.left[3] + pair.right[2]) / of


@njit
def of_both(pair, of):
    return mean(pair, of) + mean(pair, 2.0 * of)


def test_what_python_and_kernels_call_is_compiled_for_each_and_nested_for_kernels():
    pair = Pair(np.arange(4.0), np.arange(3.0))
    assert of_both(pair, 2.0) == 3.75 and not mean.overloads
    (nested,) = mean.nested.overloads.values()
    assert "NRT_incref" not in nested.library.get_llvm_str()
    assert mean(pair, 0.0) == np.inf and len(mean.overloads) == 1


def doubled(values, to):
    for row in range(len(values)):
        to[row] = 2.0 * values[row]


alone = nested_njit(doubled, vectorized=True)
within = nested_njit(doubled)


@njit
def doubled_twice(values, to):
    alone(values, to)
    within(to, values)


def test_a_vectorized_function_is_optimized_before_a_kernel_takes_it_in():
    values = np.arange(9.0)
    doubled_twice(values, np.empty(9))
    assert values.tolist() == (4 * np.arange(9.0)).tolist()
    codes = [compiled.library.get_llvm_str() for each in (alone, within) for compiled in each.overloads.values()]
    assert [" x double>" in code for code in codes] == [True, False]


@nested_njit
def shifted(values, by):
    return values[0] + by


@njit
def shifted_twice(values):
    return shifted(values, 1), shifted(values, 2), shifted(values, True)


def test_it_is_compiled_once_for_each_type_and_not_for_each_constant():
    assert shifted_twice(np.arange(3)) == (1, 2, 1)
    assert len(shifted.overloads) == 2, "of int64 and of bool"


@njit
def fails(values):
    return values.nothing


@pytest.mark.parametrize("collects", [True, False])
def test_pythons_collector_is_as_before_when_numba_has_compiled(collects):
    before = gc.isenabled()
    (gc.enable if collects else gc.disable)()
    try:
        assert njit(lambda values: values[0])(np.arange(3)) == 0
        after = gc.isenabled()
        with pytest.raises(TypingError, match="nothing"):
            fails(np.arange(3))
        failed = gc.isenabled()
    finally:
        (gc.enable if before else gc.disable)()
    assert after == failed == collects


@nested_njit
def room_for(size):
    return np.empty((size, 2, 3), np.int16)


@njit
def taken(size):
    return room_for(size)[0].size


class Dispatchers(event.Listener):
    """What is compiled, by the function's name."""

    def __init__(self):
        self.kinds = {}

    def on_start(self, event):
        function = event.data["dispatcher"]
        self.kinds[function.py_func.__qualname__] = type(function).__name__

    def on_end(self, event):
        pass


def test_what_it_calls_of_numba_is_nested_as_well():
    """As `np.empty` is: an error in it comes through, and what functions that Python calls do is as ever."""
    empty = "ol_np_empty.<locals>.impl"
    for function, size, kind in [(taken, 6, "_NestedOfNumba"), (njit(lambda n: np.empty(n, "m8[D]").size), 2, None)]:
        seen = Dispatchers()
        with event.install_listener("numba:compile", seen):
            assert function(2) == size
        assert seen.kinds[empty] == (kind or "CPUDispatcher")
    with pytest.raises(ValueError, match="negative dimensions"):
        taken(-1)


def item(pair, place):
    """Of a tuple of two types, so that numba has to know the place."""


@overload(item)
def item_of_numba(pair, place):
    if isinstance(place, types.IntegerLiteral):
        return lambda pair, place: pair[place]
    return lambda pair, place: item(pair, literally(place))


@nested_njit
def second(pair):
    return item(pair, 1)


def much(table):
    numbers = [1, 2, 3]
    numbers.append(4)
    joined = np.concatenate((np.transpose(table, (1, 0)), table), axis=1)
    return joined.sum() + np.cumsum(table)[2] + np.searchsorted(table[0], 0.5) + len({1: 2.0}) + len(numbers)


much_nested = nested_njit(much)


def test_what_numba_offers_is_there_in_a_nested_function():
    """What asks for a constant among it."""
    assert njit(lambda pair: second(pair))((1, 2.5)) == 2.5
    table = np.arange(4.0).reshape(2, 2)
    assert njit(lambda table: much_nested(table))(table) == much(table)


@nested_njit
def is_edge(values, place):
    return place in (0, len(values) - 1)


def test_one_that_only_borrows_may_call_what_counts():
    """`in` of a tuple is compiled by numba with a list."""
    assert njit(lambda values, place: is_edge(values, place))(np.arange(3), 2)


@nested_njit
def halves(pair, swap):
    first, second = pair
    return (second.copy(), first) if swap else (first, second.copy())


@njit
def halved(pair, times):
    for number in range(times):
        pair = halves(pair, number % 3 == 0)
    return pair


@pytest.mark.parametrize("times", [0, 1, 5])
def test_arrays_in_tuples_that_are_handed_back_are_counted(times):
    """Only the counted part of each array is looked at: none is freed too soon, and none is kept."""
    halved((np.arange(4), np.arange(6)), 0)
    _nrt_python.memsys_enable_stats()
    try:
        before = rtsys.get_allocation_stats()
        pair = halved((np.arange(4), np.arange(6)), times)
        assert sorted(each.sum() for each in pair) == [6, 15]
        del pair
        after = rtsys.get_allocation_stats()
    finally:
        _nrt_python.memsys_disable_stats()
    assert after.alloc - before.alloc == after.free - before.free >= times
    assert after.mi_alloc - before.mi_alloc == after.mi_free - before.mi_free > times


COLLECTED = """
import gc, sys
import numpy as np
from numba import literally, njit, types
import skyband.kernels.nested
if sys.argv[1] == "frozen":
    gc.freeze()
fresh = [[number] for number in range(1000)]
njit(lambda values: values[0])(np.arange(3))
print(gc.get_freeze_count() > 0, any(each is fresh for each in gc.get_objects(generation=2)))
"""


def test_frozen_objects_are_seldom_counted_and_seen_to_be_frozen_no_more(monkeypatch):
    listener, frozen, counts, aged = nested_functions._Uncollected(), [7], [], []
    monkeypatch.setattr(gc, "get_freeze_count", lambda: counts.append(frozen[0]) or frozen[0])
    monkeypatch.setattr(gc, "freeze", lambda: aged.append(True))
    monkeypatch.setattr(gc, "unfreeze", lambda: None)

    def compile_often():
        for _ in range(3 * nested_functions.SELDOM):
            listener.on_start(None)
            listener.on_end(None)

    compile_often()
    assert 1 <= len(counts) <= 4
    assert not aged
    frozen[0] = 0
    compile_often()
    assert len(aged) >= nested_functions.SELDOM


@pytest.mark.parametrize("state", ["frozen", "as usual"])
def test_what_came_while_numba_compiled_is_not_looked_at_at_once(state):
    """It is old to Python's collector, unless somebody froze objects, which stay so."""
    command = [sys.executable, "-c", COLLECTED, state]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert said == [str(state == "frozen"), str(state != "frozen")]


def test_its_flags_are_those_that_numba_sees():
    given = Flags()
    given.nrt, given.error_model = True, "numpy"
    assert LeanFlags(given).values() == given.values() != Flags().values()
    assert LeanFlags(given) == given and hash(LeanFlags(given)) == hash(given)
    assert type(LeanFlags(given).copy()) is LeanFlags, "numba goes on with copies"


CODE = """
import sys
sys.path.insert(0, sys.argv[1])
from outer import outer
from inner import inner
print(outer(7), sum(outer.stats.cache_hits.values()), len(getattr(inner, "overloads", ())))
"""


def test_it_is_kept_on_disk_with_the_kernel_that_calls_it(tmp_path):
    (tmp_path / "inner.py").write_text(
        "from skyband.kernels.nested import nested_njit\n@nested_njit\ndef inner(x):\n    return x * 2\n"
    )
    (tmp_path / "outer.py").write_text(
        "from numba import njit\nfrom inner import inner\n@njit(cache=True)\ndef outer(x):\n    return inner(x) + 1\n"
    )
    command = [sys.executable, "-c", CODE, str(tmp_path)]
    env = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}  # the user's keeps kernels of earlier runs
    run = [subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout.split() for _ in "12"]
    assert run == [["15", "0", "1"], ["15", "1", "0"]], "the second process compiles neither"
