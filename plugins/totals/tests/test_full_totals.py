"""Totals up to the largest that 64 bits hold: no further row is accepted while `since` can cover them all."""

import numpy as np
import pyarrow as pa
import pytest
import skyband
from skyband import states
from skyband.engines import local
from skyband.errors import InputError

HEAVY, FULL, LAST = 2**53, 2**63 - 1, 9
"""The most units of a row, of all rows together, and the time of rows at the end of a pane."""


def ranker(name):
    return skyband.create("total-ranker", name, windows=[10, 20], every=10, k=3, total="sum")


def filled(name, units):
    """A ranker whose rows weigh this many units together; the last row is at the end of its first pane."""
    one = ranker(name)
    weights = np.append(np.full(units // HEAVY, HEAVY), units % HEAVY).astype(float)
    one.update(np.full(len(weights), LAST), np.arange(len(weights)) % 5, weights=weights)
    return one


@pytest.mark.parametrize("name", ["exact", "misra-gries", "frequent-items-panes"])
def test_units_are_accepted_up_to_64_bits_and_expired_rows_make_room(name):
    one = filled(name, FULL - 1)
    one.update([LAST], [1], weights=[1.0])
    for now in (
        LAST,
        10,
        11,
        19,
        20,
        LAST + 19,
        LAST + 20,
    ):  # the longest window before the last of these contains them all
        before = one.snapshot()
        with pytest.raises(InputError, match="64 bits"):
            one.update([now], [1], weights=[1.0])
        assert one.snapshot() == before
    one.update([40], [1], weights=[float(HEAVY)])
    assert one.since(30).grand == HEAVY


@pytest.mark.parametrize("name", ["exact", "misra-gries", "frequent-items-panes"])
def test_states_are_united_up_to_the_units_that_64_bits_hold(name):
    half = filled(name, FULL // 2)
    half.merge(filled(name, FULL - FULL // 2))
    assert skyband.restore(half.snapshot()).snapshot() == half.snapshot()
    with pytest.raises(InputError, match="64 bits"):
        filled(name, FULL // 2).merge(filled(name, FULL - FULL // 2 + 1))


def test_states_whose_total_exceeds_64_bits_are_refused_in_a_union():
    """For one group or all: a sum beyond 64 bits would become a different number."""
    weights = np.append(np.full(FULL // HEAVY, HEAVY), FULL % HEAVY).astype(float)
    table = pa.table(
        {
            "ts": pa.array(np.zeros(len(weights) + 1, np.int64), pa.timestamp("us", "UTC")),
            "group": ["full"] * len(weights) + ["one"],
            "object": [1] * (len(weights) + 1),
            "weight": np.append(weights, 1.0),
        }
    )
    query = {"kind": "heavy-hitters", "time": "ts", "by": ["group"], "object": "object", "total": "sum", "k": 2}
    query |= {"weight": "weight", "windows": ["1 hour"], "every": "1 hour", "emit": "state"}
    answers = local.apply(table, query).sort_by("group").to_pylist()
    assert [row["group"] for row in answers] == ["full", "one"]
    full, one = (row["state"] for row in answers)
    assert states.heavy_hitters(full)["total"].to_pylist() == [float(FULL)]
    for together in (states.heavy_hitters, states.union):
        with pytest.raises(InputError, match="64 bits"):
            together([full, one])


def test_a_total_beyond_64_bits_is_refused_among_several_turns():
    rankers = [filled("exact", units) for units in (10, FULL, 20)]
    before = [one.snapshot() for one in rankers]
    turns = {"objects": [1, 1, 1], "weights": [1.0, 1.0, 1.0], "spans": [[0, 1], [1, 2], [2, 3]], "moments": [[]] * 3}
    with pytest.raises(InputError, match="64 bits"):
        type(rankers[0]).answers_together(rankers, [LAST] * 3, **turns)
    assert [one.snapshot() for one in rankers] == before
    type(rankers[0]).answers_together(
        rankers[::2], [LAST] * 2, [1, 1], [1.0, 1.0], spans=[[0, 1], [1, 2]], moments=[[]] * 2
    )
    assert [one.since(0).grand for one in rankers] == [11.0, float(FULL), 21.0]
