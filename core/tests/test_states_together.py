"""Which states can be combined, and their combined answers."""

import numpy as np
import pyarrow as pa
import pytest
from skyband import snapshot, states
from skyband.engines import local
from skyband.errors import InputError, SnapshotError
from skyband.states import object_names
from skyband.states.coverage import Coverage
from skyband.states.state import encode_state, read_state
from state_streams import EVERY, SECOND, START, WINDOW, by_moment, counting, items, stream, table, totals


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("offset", [0, 5 * SECOND])
@pytest.mark.parametrize("backend", ["exact", "k-skb"])
def test_totals_of_states_alone_and_together(backend, offset, named):
    """Objects are integers or have names; moments are at multiples of `every`, or later by an offset."""
    rows = stream(3)
    name = (lambda item: f"item {item}") if named else (lambda item: item)
    source = table(rows).set_column(2, "item", pa.array([name(item) for _, _, item in rows]))
    query = totals(offset=f"{offset} microseconds")
    moments = by_moment(local.apply(source, query, {"total-ranker": backend}))
    assert all((at - START - offset) % EVERY == 0 for at in moments)
    for at, held in list(moments.items())[2::4]:
        for group, state in held.items():
            told = states.describe(state)
            assert (told.at, told.since) == (at, at - WINDOW)
            assert told.latest == max(time for time, of, _ in rows if of == group and time < at)
        parts = [([group], [state]) for group, state in held.items()]
        parts += [(list(held), list(held.values())), (list(held), [states.union(held.values())])]
        for groups, blobs in parts:
            for since in (at - WINDOW, at - EVERY):
                came = [item for time, group, item in rows if since <= time < at and group in groups]
                counts = {name(item): came.count(item) for item in came}
                found = states.heavy_hitters(blobs, since=since, k=100)
                assert dict(zip(*(found[one].to_pylist() for one in ("object", "total")), strict=True)) == counts
                assert found["rank"].to_pylist() == list(range(1, len(counts) + 1))
                ranked = found["total"].to_pylist()
                assert ranked == sorted(ranked, reverse=True)
                assert len(states.heavy_hitters(blobs, since=since, k=1)) == min(1, len(counts))
            whole = states.heavy_hitters(blobs, k=100)
            assert whole.equals(states.heavy_hitters(blobs, since=at - WINDOW, k=100))
            assert whole.equals(states.heavy_hitters(blobs, last="1 minute", k=100))
            for since, said in ((at - WINDOW - 1, "is before"), (at + 1, "is after")):
                with pytest.raises(InputError, match=said):
                    states.heavy_hitters(blobs, since=since)
            if backend == "exact":
                with pytest.raises(InputError, match="begin at multiples of 20 seconds"):
                    states.heavy_hitters(blobs, since=at - EVERY + 1)
        if len(held) > 1:
            known = [set(read_state(blob).names.column("name").to_pylist()) for blob in held.values()]
            united = read_state(states.union(held.values())).names.column("name").to_pylist()
            assert set(united) == set().union(*known) and len(united) == len(set(united))
    others = by_moment(local.apply(source, totals(offset=f"{offset + SECOND} microseconds"), {"total-ranker": backend}))
    with pytest.raises(InputError, match=r"combine states of one moment|another `offset`"):
        states.heavy_hitters([next(iter(moments.values()))["a"], next(iter(others.values()))["a"]])


def test_names_of_objects_that_have_left_the_window_are_in_no_united_state():
    rows = [(START, "a", 1), (START + 30 * SECOND, "a", 2), (START + 30 * SECOND, "b", 3)]
    source = table(rows).set_column(2, "item", pa.array(["gone", "here", "there"]))
    moments = by_moment(local.apply(source, totals(windows=["20 seconds"]), {"total-ranker": "exact"}))
    held = moments[START + 40 * SECOND]
    united = states.union(held.values())
    assert read_state(united).names.column("name").to_pylist() in (["here", "there"], ["there", "here"])


def test_states_of_one_backend_that_know_objects_or_times_otherwise_do_not_go_together():
    """Objects of another type; moments that another `offset` moves, also where tables hold what changed."""
    rows = [(START, "a", 1), (START + SECOND, "a", 2)]
    numbers = table(rows)
    texts = numbers.set_column(2, "item", pa.array(["x", "y"]))

    def state(source=numbers, **changes):
        answers = local.apply(source, totals(emit="changed-state", **changes), {"total-ranker": "exact"})
        return answers["state"][0].as_py()

    assert states.heavy_hitters([state(), state()])["total"].to_pylist() == [2.0, 2.0]
    for pair in ([state(), state(texts)], [state(texts), state()]):
        with pytest.raises(InputError, match=r"row 1: has objects of type .*: the types must be equal"):
            states.heavy_hitters(pair)
    for pair in ([state(), state(offset="5 seconds")], [state(offset="5 seconds"), state()]):
        with pytest.raises(InputError, match="row 1: has moments with another `offset` than the first"):
            states.heavy_hitters(pair)
    moved = read_state(state(offset="5 seconds"))
    assert moved.covers.since - EVERY < moved.earliest <= moved.covers.since and moved.latest == rows[-1][0]


def test_names_are_found_wherever_a_batch_begins_and_each_id_has_one():
    frame = pa.record_batch({"id": pa.array([1, 5, 7, 9]), "name": ["a", "b", "c", "d"]})
    assert object_names.values_of([frame.slice(1, 2)], np.array([7, 5])).to_pylist() == ["c", "b"]
    with pytest.raises(SnapshotError, match="an object without a name"):
        object_names.values_of([frame.slice(1, 2)], np.array([1]))
    for ids in ([1, 1], [2, 1]):
        held = object_names.extra_arrays(pa.record_batch({"id": pa.array(ids), "name": ["a", "b"]}), 0)
        with pytest.raises(SnapshotError, match="in the order of their ids, each once"):
            object_names.names_in(held)
    for phase in (-1, 2**61 + 1):
        with pytest.raises(SnapshotError, match="phase"):
            object_names.phase_in(object_names.extra_arrays(frame, phase))
    assert object_names.phase_in(object_names.extra_arrays(frame, 2**61)) == 2**61


def test_only_states_with_all_parameters_equal_go_together():
    """Also where one has a parameter that the other lacks, or one of another type."""
    rows = [(START, "a", 1)]
    held = snapshot.decode(local.apply(table(rows), counting(), {"sketch": "exact"})["state"][0].as_py())
    covers = Coverage.from_header(held.header)
    plain, hashed = (
        encode_state("sketch", "exact", {**held.header["parameters"], **more}, held.arrays, covers)
        for more in ({}, {"hash": "theta"})
    )
    for pair in ([plain, hashed], [hashed, plain]):
        with pytest.raises(InputError, match=r"row 1: has hash = .*: they must be equal"):
            states.estimate(pair)
    assert states.estimate([plain, plain]).count == 1


def test_states_of_two_moments_go_together_only_where_both_tables_hold_what_changed():
    rows = stream(1)
    held = {
        kind: by_moment(local.apply(table(rows), counting(emit=kind), {"sketch": "exact"}))
        for kind in ("state", "changed-state")
    }
    first, second = sorted(at for at, groups in held["changed-state"].items() if "a" in groups)[2:4]
    for one, other in (("state", "state"), ("state", "changed-state"), ("changed-state", "state")):
        with pytest.raises(InputError, match="combine states of one moment"):
            states.estimate([held[one][first]["a"], held[other][second]["a"]])
    mixed = [held["changed-state"][first]["a"], held["state"][first]["a"], held["changed-state"][second]["a"]]
    for three in (mixed, [mixed[1], mixed[0], mixed[2]]):
        with pytest.raises(InputError, match=r"row 2: .* combine states of one moment"):
            states.estimate(three)
    both = [held["changed-state"][first]["a"], held["changed-state"][second]["a"]]
    for pair in (both, both[::-1]):
        told = states.describe(states.union(pair))
        assert (told.at, told.since) == (second, second - WINDOW)
        assert states.estimate(pair).count == len(items(rows, "a", second - WINDOW, second))
