"""Every kind of query gives the same rows on every engine, whatever the micro-batches and the order of arrival."""

import pytest
from families import FAMILIES, events, family

pytestmark = pytest.mark.spark

GROUPED = {kind: 2 for kind in FAMILIES if kind != "distinct-count"}  # which has a module of its own
SHARDED = {
    "top-k": 3,
    "top-k-workload": 2,
    "top-k-pairs": 4,
    "heavy-hitters": 3,
    "near-duplicates": 4,
    "uncertain-join": 2,
}

FURTHER = {
    "top-k": {"order": "smallest", "carry": ["number"]},
    "top-k-workload": {"order": "smallest", "carry": ["number"], "repeats": "best"},
    "top-k-pairs": {"id": ["name", "number"], "carry": ["words", "value"]},
    "heavy-hitters": {"object": ["name", "origin"], "carry": ["number", "words"]},
    "near-duplicates": {"id": ["name", "number"], "carry": ["words"], "carry_match": ["words", "value"]},
    "uncertain-join": {"id": ["name", "number"], "carry": ["samples"], "side": None}
    | {"values": ["samples", "heights"], "epsilon": 0.6},
}
"""Keys of the queries over all rows."""
BY = {"uncertain-sum": {"carry": ["number", "words"]}, "near-duplicates": {"carry_match": ["words", "value"]}}
BY["uncertain-join"] = {"values": ["samples", "heights"], "epsilon": 0.6}
"""Keys of those by place."""


@pytest.mark.parametrize(
    ("kind", "by", "shards"),
    [(kind, by, shards) for by, kinds in ((["place"], GROUPED), ([], SHARDED)) for kind, shards in kinds.items()],
)
def test_batch_and_stream_equal_local(agree, kind, by, shards):
    asked = family(kind, by=by, **(BY if by else FURTHER).get(kind, {}))
    assert len(agree(events(1), asked, count=3, shards=shards)) > 10
