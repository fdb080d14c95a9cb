"""Keys that change what a query answers: the same rows on every engine, of all rows, by groups, and of both at once."""

import numpy as np
import pyarrow as pa
import pytest
from families import events, family

pytestmark = [pytest.mark.spark, pytest.mark.slow]

SINCE_EVER = ["ever", "30 seconds"]
KEYS = {
    "since ever": ("distinct-count", {"windows": SINCE_EVER}),
    "zeros": ("distinct-count", {"empty": "zero"}),
    "windows before": ("distinct-count", {"against": "previous"}),
    "totals since ever": ("heavy-hitters", {"windows": SINCE_EVER}),
    "fading totals": ("heavy-hitters", {"half_life": "20 seconds", "share": None}),
    "movers": ("heavy-hitters", {"against": "previous", "share": None}),
    "the rest, and zeros": ("heavy-hitters", {"rest": True, "empty": "zero"}),
    "parts": ("heavy-hitters", {"part": "value > 0.5"}),
    "quantiles since ever": ("quantiles", {"windows": SINCE_EVER}),
    "a top k since ever": ("top-k", {"window": "ever"}),
    "a fading top k": ("top-k", {"half_life": "20 seconds"}),
    "features": ("row-features", {}),
    "states of features": ("row-features", {"carry": [], "emit": "state", "every": "30 seconds"}),
    "changed states of features": ("row-features", {"carry": [], "emit": "changed-state", "every": "10 seconds"}),
    "pairs": ("top-k-pairs", {}),
}


@pytest.mark.parametrize("by", [[], ["place"], [["place"], []]], ids=["all rows", "groups", "both"])
@pytest.mark.parametrize("name", KEYS)
def test_batch_and_stream_equal_local(agree, name, by):
    kind, keys = KEYS[name]
    shards = 2 if by == ["place"] else 1
    assert len(agree(events(4), family(kind, by=by, **keys), count=4, shards=shards)) > 10


@pytest.mark.parametrize(("by", "shards"), [([], 1), ([], 3), (["place"], 2), ([["place"], []], 1)])
@pytest.mark.parametrize("sketch", ["exact", "k-skb"])
def test_values_of_items_add_up_to_the_same_on_every_engine(agree, by, shards, sketch):
    """To the last bit, however many shards there are."""
    query = family("distinct-count", by=by, value="value", upper=None if sketch == "exact" else 1e6)
    assert len(agree(events(4), query, count=4, backends={"sketch": sketch}, shards=shards)) > 10


def test_days_of_the_zone_of_each_group(agree):
    table = events(4, span=400_000)
    zones = ["Asia/Kolkata", "America/New_York", "Pacific/Kiritimati"]
    table = table.append_column("zone", pa.array(np.array(zones)[np.arange(len(table)) % 3]))
    query = family("distinct-count", by=["place", "zone"], windows=["today in {zone}"], every="1 day in {zone}")
    assert len(agree(table, query, count=4, shards=2)) > 10
