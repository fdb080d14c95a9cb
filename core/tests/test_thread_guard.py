"""A backend accepts calls from one thread at a time, and none after a call was cut short."""

import copy
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pytest
import skyband
from attrs import define, field
from skyband import BrokenError, BusyError
from skyband.arrays import Int64, UInt64
from skyband.engines.local import LocalRun
from skyband.operator.groups import Groups
from skyband.roles import Sketch
from skyband.roles.thread_guard import inside_all


@define(eq=False)
class Counting(Sketch):
    """Counts the rows seen; both adding and counting can be paused."""

    name = "counting"

    rows: int = field(default=0, init=False)
    inside: threading.Event = field(factory=threading.Event, init=False)
    go_on: threading.Event = field(factory=threading.Event, init=False)

    def _update(self, times: Int64, keys: UInt64) -> None:
        self._hold_up()
        self.rows += len(times)

    def estimate(self, since: int) -> float:
        return float(self.rows)

    def bounds(self, since: int, *, wide: bool = False) -> tuple[float, float]:
        low, high = super().bounds(since)
        return low - wide, high + wide

    def forget(self, before: int) -> None:
        self._hold_up()

    def _hold_up(self) -> None:
        self.inside.set()
        assert self.go_on.wait(60)

    def _merge(self, other) -> None:
        self.rows += other.rows

    def __len__(self) -> int:
        return self.rows

    @property
    def nbytes(self) -> int:
        return 8

    def _state(self):
        return {"rows": np.array([self.rows])}

    def _load(self, state) -> None:
        self.rows = int(state["rows"][0])


ASK = {
    "update": lambda sketch: sketch.update([1], [2]),
    "estimate": lambda sketch: sketch.estimate(0),
    "bounds": lambda sketch: sketch.bounds(0),
    "forget": lambda sketch: sketch.forget(0),
    "merge": lambda sketch: sketch.merge(Counting()),
    "merge into another": lambda sketch: Counting().merge(sketch),
    "len": len,
    "snapshot": lambda sketch: sketch.snapshot(),
    "==": lambda sketch: sketch == Counting(),
}


@pytest.mark.parametrize("held_in", ["update", "forget"])
@pytest.mark.parametrize("call", ASK)
def test_a_second_thread_is_rejected_and_the_first_continues(held_in, call):
    sketch = Counting()
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(ASK[held_in], sketch)
        assert sketch.inside.wait(60)
        try:
            with pytest.raises(BusyError, match=r"sketch/counting: .*give each thread its own backend"):
                ASK[call](sketch)
        finally:
            sketch.go_on.set()
        first.result(60)
    assert sketch.rows == (held_in == "update")
    ASK[call](sketch)


def test_a_failed_call_releases_the_backend():
    sketch = Counting()
    sketch.go_on.set()
    with pytest.raises(skyband.InputError):
        sketch.update([1, 2], [3])
    with ThreadPoolExecutor(1) as pool:
        pool.submit(sketch.update, [1], [2]).result(60)
    assert len(sketch) == 1


def test_methods_keep_their_names_parameters_and_super():
    sketch = Counting()
    assert sketch.bounds(0, wide=True) == (-1.0, 1.0)
    assert Counting.bounds.__name__ == "bounds"
    with pytest.raises(TypeError, match="since"):
        sketch.estimate()
    with pytest.raises(TypeError, match="positional"):
        sketch.bounds(0, True)


def test_a_copy_is_guarded_separately():
    sketch = skyband.create("sketch", "exact")
    sketch.update([1, 2], [3, 4])
    for twin in (copy.deepcopy(sketch), pickle.loads(pickle.dumps(sketch))):
        assert twin == sketch


def test_fifty_threads_with_a_backend_each_are_as_one_after_the_other():
    keys = np.random.default_rng(1).integers(0, 2**63, 2000).astype(np.uint64)

    def run(seed: int) -> bytes:
        sketch = skyband.create("sketch", "k-skb", epsilon=0.1, seed=seed)
        for start in range(0, len(keys), 100):
            sketch.update(np.full(100, start), keys[start : start + 100])
            sketch.estimate(start)
        return sketch.snapshot()

    with ThreadPoolExecutor(50) as pool:
        together = list(pool.map(run, range(50)))
    assert together == [run(seed) for seed in range(50)]


class Interrupting:
    """An array during whose reading somebody presses Ctrl-C."""

    def __array__(self, dtype=None, copy=None):
        raise KeyboardInterrupt


@pytest.mark.parametrize("call", ASK)
def test_after_a_call_that_was_cut_short_every_call_is_refused(call):
    sketch = Counting()
    sketch.go_on.set()
    with pytest.raises(KeyboardInterrupt):
        sketch.update(Interrupting(), [1])
    with pytest.raises(BrokenError, match=r"sketch/counting: .* restore an earlier snapshot, or make a new"):
        ASK[call](sketch)


@pytest.mark.parametrize("fault", [KeyboardInterrupt, MemoryError, ZeroDivisionError, SystemExit])
def test_whatever_cut_it_short_but_input_that_is_refused(fault):
    class Failing(Counting):
        def estimate(self, since):
            raise fault

    failing = Failing()
    with pytest.raises(fault):
        failing.estimate(0)
    with pytest.raises(BrokenError):
        failing.bounds(0)


def test_what_a_merge_cut_short_left_is_refused_on_both_sides():
    class Failing(Counting):
        def _merge(self, other):
            raise KeyboardInterrupt

    one, other = Failing(), Failing()
    with pytest.raises(KeyboardInterrupt):
        one.merge(other)
    for sketch in (one, other):
        with pytest.raises(BrokenError):
            len(sketch)


def test_an_operator_whose_turn_was_cut_short_is_refused_until_restored(monkeypatch):
    query = {"kind": "distinct-count", "time": "t", "item": "i", "windows": ["10 minutes"], "every": "5 minutes"}
    rows = pa.table({"t": pa.array([0, 1], pa.timestamp("us", "UTC")), "i": ["a", "b"]}).to_batches()[0]
    run = LocalRun.start(query, rows.schema, {"sketch": "exact"})
    run.push(rows)
    before = run.operator.snapshot()

    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Groups, "run", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run.push(rows)
    for call in (lambda: run.push(rows), run.finish, run.flush, run.operator.snapshot):
        with pytest.raises(BrokenError, match="distinct-count"):
            call()
    run.operator.restore(before)
    assert run.operator.snapshot() == before


def test_several_that_one_call_works_on_are_guarded_as_one_is():
    rankers = [skyband.create("object-ranker", "eaa", k=1, window=10, streams=1) for _ in range(3)]
    with inside_all(rankers), ThreadPoolExecutor(1) as others:
        for one in rankers:
            with pytest.raises(BusyError, match="object-ranker/eaa: top was called while another thread is inside"):
                others.submit(one.top).result(60)
    with pytest.raises(skyband.InputError), inside_all(rankers):
        raise skyband.InputError("times", "go back")
    assert [len(one.top()[0]) for one in rankers] == [0, 0, 0]
    with pytest.raises(KeyboardInterrupt), inside_all(rankers):
        raise KeyboardInterrupt
    for one in rankers:
        with pytest.raises(BrokenError, match="top was called after a call was cut short"):
            one.top()
    with (
        pytest.raises(BrokenError),
        inside_all([skyband.create("object-ranker", "eaa", k=1, window=10, streams=1), *rankers]),
    ):
        raise AssertionError("backends that were left half-way are called no more")
