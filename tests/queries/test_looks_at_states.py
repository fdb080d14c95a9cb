"""A state is read, not made: an operator goes on after it as if nobody had looked."""

import numpy as np
import pyarrow as pa
import pytest
from families import FAMILIES, SECOND, events, family
from skyband.engines import local
from skyband.groups.small_groups import limits
from skyband.operator.bind_backends import bind
from skyband.operator.operator import Operator
from skyband_distinct.distinct_count import execution as distinct_count_execution

ROWS = {"window": "12 rows", "every": "3 rows"}
ASKED = [
    *((kind, {}, most) for kind in FAMILIES for most in (4, 20)),
    ("top-k", {"repeats": "never", "upper": 1.0}, 9),
    ("top-k", {"carry": ["number"], "object": ["name", "side"], "every": "2 minutes"}, 9),
    ("top-k-pairs", {"every": "2 minutes", "carry": ["name"]}, 9),
    ("heavy-hitters", {"every": "2 minutes", "carry": ["number"]}, 9),
    ("distinct-count", {"every": "2 minutes"}, 9),
    ("top-k", ROWS | {"carry": ["number"]}, 9),
    ("uncertain-join", {"carry": ["value"]}, 9),
]
"""With so many entries a group is large: rows that wait may make it so, in a state before in the operator."""


def figures(operator):
    groups = operator.groups
    return groups.retained, len(groups), groups.keys.tolist(), len(groups._processors), operator.waiting


def run(asked, table, looks):
    """Answers, metrics and figures after each batch, and the state at the end."""
    host, told = local.LocalRun.start(asked, table.schema), []
    for start in range(0, len(table), 40):
        for batch in table.slice(start, 40).combine_chunks().to_batches():
            answers = host.push(batch)
            before = figures(host.operator)
            if looks:
                state = host.operator.groups.dump_state()
                np.testing.assert_equal(host.operator.groups.dump_state(), state)
                assert host.operator.snapshot() == host.operator.snapshot()
                assert figures(host.operator) == before
            dropped = host.operator.take_metrics().dropped
            told.append((answers.to_pylist(), before, dropped))
    state = host.operator.snapshot()
    told.append(host.finish().to_pylist())
    return told, state


@pytest.mark.parametrize(
    ("kind", "keys", "most"), ASKED, ids=[f"{kind}-{'-'.join(keys)}-{most}" for kind, keys, most in ASKED]
)
def test_an_operator_goes_on_as_if_nobody_had_looked_at_its_state(kind, keys, most, monkeypatch):
    monkeypatch.setattr(limits, "MOST_ENTRIES", most)
    monkeypatch.setattr(distinct_count_execution, "_FEWEST_KEYS", 1)
    monkeypatch.setattr(distinct_count_execution, "_MOST_KEYS", most)
    table = events(most, rows=240)
    asked = family(kind, by=["place"], **keys)
    assert run(asked, table, looks=True) == run(asked, table, looks=False)


def test_rows_that_wait_in_small_groups_still_do_when_their_state_was_read():
    table = pa.table(
        {"ts": pa.array([1, 2, 3], pa.timestamp("us", "UTC")), "name": ["a", "b", "a"], "place": ["x"] * 3}
    )
    host = local.LocalRun.start(family("distinct-count", by=["place"], delay="0 seconds"), table.schema)
    host.push(table.to_batches()[0])
    assert host.operator.groups.retained == 2  # the last row may yet have company
    host.operator.snapshot()
    assert host.operator.groups.retained == 2
    assert len(host.operator.groups._small_groups._buffer) == 1


@pytest.mark.parametrize("kind", FAMILIES)
def test_where_a_stream_may_end_is_known_without_a_processor(kind):
    asked, schema = family(kind), events(1, rows=1).schema
    operator = Operator(asked, bind(asked, schema), schema)
    ends = [(operator.execution.end(latest), operator.fresh_processor().end(latest)) for latest in (0, 7, 60 * SECOND)]
    assert all(end in (None, processor) for end, processor in ends)
    assert (ends[0][0] is None) == (getattr(asked, "schedule", None) is None)
