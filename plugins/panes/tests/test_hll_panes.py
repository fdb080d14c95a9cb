"""Checks of the wrapped sketch, beyond those of all sketches."""

import numpy as np
import pytest
import skyband
from skyband.errors import ConfigError, InputError, SnapshotError
from skyband_panes.hll_panes import HllPanes


def keys(seed, count):
    return np.random.default_rng(seed).integers(0, 2**64, count, np.uint64)


def test_panes_are_counted_from_their_starts():
    sketch = HllPanes(pane=10, epsilon=0.05)
    sketch.update([0, 9, 10, 19, 20], keys(1, 5))
    counts = [round(sketch.estimate(since)) for since in (-10, 0, 10, 20, 30)]
    assert counts == [5, 5, 3, 1, 0]


def test_panes_before_zero_begin_at_multiples_too():
    sketch = HllPanes(pane=10)
    sketch.update([-11, -10, -1, 0], keys(1, 4))
    assert [round(sketch.estimate(since)) for since in (-20, -10, 0)] == [4, 3, 1]


@pytest.mark.parametrize("since", [1, 9, -1, 15])
def test_a_moment_inside_a_pane_is_refused_instead_of_rounded(since):
    sketch = HllPanes(pane=10)
    sketch.update([5], keys(1, 1))
    for ask in (sketch.estimate, sketch.bounds):
        with pytest.raises(InputError, match=f"since: must be a multiple of 10, the length of a pane .got {since}."):
            ask(since)


@pytest.mark.parametrize("value", ["a", 10.0, None])
def test_a_value_that_is_not_a_moment_is_refused(value):
    sketch = HllPanes(pane=10)
    for call, argument in ((sketch.estimate, "since"), (sketch.bounds, "since"), (sketch.forget, "before")):
        with pytest.raises(InputError, match=f"{argument}: must be a whole number"):
            call(value)


def test_a_key_of_two_panes_counts_once():
    sketch, same = HllPanes(pane=1), keys(3, 100)
    for time in range(5):
        sketch.update(np.full(100, time), same)
    assert sketch.estimate(0) == pytest.approx(100, rel=0.02)
    assert len(sketch) == 5


def test_forgetting_only_drops_whole_panes():
    sketch = HllPanes(pane=10)
    sketch.update([0, 10, 20], keys(1, 3))
    before = sketch.estimate(10)
    sketch.forget(19)
    assert (len(sketch), sketch.estimate(10)) == (2, before)
    sketch.forget(20)
    assert len(sketch) == 1


def test_a_smaller_epsilon_or_delta_needs_more_registers():
    sizes = [HllPanes(epsilon=epsilon, delta=delta)._lg_k for epsilon, delta in ((0.1, 0.3), (0.1, 0.01), (0.01, 0.01))]
    assert sizes == sorted(set(sizes))


def test_an_epsilon_that_no_hll_can_reach_is_refused():
    with pytest.raises(ConfigError, match=r"epsilon: must be at least 0\.00\d+ with delta = 0\.01"):
        HllPanes(epsilon=1e-4, delta=0.01)


def test_merging_is_refused_with_the_reason():
    with pytest.raises(InputError, match="cannot be merged"):
        HllPanes().merge(HllPanes())


def test_a_snapshot_with_a_damaged_sketch_is_refused():
    sketch = HllPanes(pane=10)
    sketch.update([1], keys(1, 1))
    decoded = skyband.snapshot.decode(sketch.snapshot())
    wrong = {**decoded.arrays, "sketches": np.zeros_like(decoded.arrays["sketches"])}
    with pytest.raises(SnapshotError, match="that of pane 0 is not an HLL_8"):
        skyband.restore(skyband.snapshot.encode(decoded.header, wrong))


def test_a_query_with_moments_inside_panes_is_refused_before_it_runs():
    import pyarrow as pa
    from skyband.engines.local import apply
    from skyband_distinct.distinct_count.query import DistinctCount

    query = DistinctCount(time="t", item="k", windows=["100 seconds", "2 minutes"], every="90 seconds")
    table = pa.table({"t": pa.array(np.arange(300) * 10**6, pa.timestamp("us")), "k": np.arange(300) % 40})
    with pytest.raises(ConfigError) as caught:
        apply(table, query, {"sketch": "hll-panes"})
    assert [problem.field for problem in caught.value.problems] == ["query.every", "query.windows[0]"]
    assert "must be a multiple of 1 minute, the pane of hll-panes, or backends.sketch.pane a length" in str(
        caught.value
    )
    assert "that divides it (got 90 seconds)" in str(caught.value)
    fits = {"sketch": {"name": "hll-panes", "pane": 10_000_000}}
    counts = apply(table, query, fits).column("count").to_pylist()
    assert counts[0] == pytest.approx(40, rel=0.02)


@pytest.mark.parametrize(("pane", "length"), [("1 minute", 60_000_000), ("100 rows", 100), (7, 7)])
def test_a_pane_is_a_duration_or_a_number(pane, length):
    assert skyband.create("sketch", "hll-panes", pane=pane).grain == length


@pytest.mark.parametrize("pane", ["soon", "0 seconds", 0, -1, 1.5, True])
def test_a_pane_that_is_not_a_length_is_refused(pane):
    with pytest.raises(skyband.ConfigError, match=r"^pane: must be"):
        skyband.create("sketch", "hll-panes", pane=pane)
