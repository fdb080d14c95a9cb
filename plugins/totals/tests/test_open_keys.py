"""Keys that only change the presentation of the same totals may change at a savepoint."""

import numpy as np
import pyarrow as pa
import pytest
from skyband.errors import SnapshotError
from skyband.operator.bind_backends import bind
from skyband.operator.operator import Operator
from skyband.operator.resharding import take_over
from skyband.operator.row_encoding import encode
from skyband.queries import make_query

KEYS = {"kind": "heavy-hitters", "time": "t", "object": "page", "by": ["site"], "k": 2}
KEYS |= {"windows": ["20 seconds", "1 minute"], "every": "5 seconds"}
AGAINST, HALF_LIFE = {"against": "previous"}, {"half_life": "10 seconds"}
OPEN = [
    ({}, {"rest": True}),
    ({"rest": True}, {}),
    (AGAINST, AGAINST | {"rank_by": "ratio", "direction": "up", "k": 5, "at_least": 2}),
    (HALF_LIFE, HALF_LIFE | {"k": 5, "at_least": 0.5}),
]
REFUSED = [
    ({}, {"k": 3}, "query.k was 2, is 3"),
    ({}, AGAINST, "query.against was None, is previous"),
    (HALF_LIFE, {"half_life": "11 seconds"}, "query.half_life was 10 seconds, is 11 seconds"),
    ({"rest": True}, {"rest": True, "empty": "zero"}, "query.empty was None, is zero"),
    ({"answers": "changes"}, {"answers": "changes", "rest": True}, "query.rest was False, is True"),
]


def rows(count):
    rng = np.random.default_rng(4)
    times = np.sort(rng.integers(0, 200, count)) * 1_000_000
    sites = np.where(rng.random(count) < 0.8, 0, rng.integers(1, 9, count))
    return pa.record_batch(
        {"t": pa.array(times, pa.timestamp("us")), "page": rng.integers(0, 30, count), "site": sites}
    )


def operator(query, batch):
    return Operator(query, bind(query, batch.schema), batch.schema)


@pytest.mark.parametrize(("before", "after"), OPEN)
@pytest.mark.parametrize("count", [300, 3000])
def test_the_presentation_of_the_same_totals_may_change(before, after, count):
    batch = rows(count)
    old, new = make_query(KEYS | before), make_query(KEYS | after)
    first, second = (encode(old, part).frame for part in (batch.slice(0, count // 2), batch.slice(count // 2)))
    began, always = operator(old, batch), operator(new, batch)
    reached, last = (int(frame.column("time").to_numpy().max()) for frame in (first, second))
    for one in (began, always):
        one.add(first)
        one.advance(reached)
    (goes_on,) = take_over([began.snapshot()], old, lambda shared: operator(new, batch), 1)
    for one in (goes_on, always):
        one.add(second)
    answers, wanted = (pa.Table.from_batches([one.finish(last)]) for one in (goes_on, always))
    order = [(name, "ascending") for name in ("site", "at", "window", "rank")]
    assert answers.sort_by(order).equals(wanted.sort_by(order)) and len(answers) > 100


@pytest.mark.parametrize(("before", "after", "message"), REFUSED)
def test_changes_that_need_other_totals_are_refused(before, after, message):
    batch = rows(200)
    old, new = make_query(KEYS | before), make_query(KEYS | after)
    began = operator(old, batch)
    began.add(encode(old, batch).frame)
    with pytest.raises(SnapshotError, match=message):
        take_over([began.snapshot()], old, lambda shared: operator(new, batch), 1)
