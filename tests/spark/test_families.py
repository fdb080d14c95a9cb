"""Every kind of query has the same rows on every engine, whatever the micro-batches and the order of arrival."""

import pytest
from families import FAMILIES, events, family
from skyband import ConfigError, spark
from skyband.engines import local

pytestmark = pytest.mark.spark

GROUPED = {kind: 2 for kind in FAMILIES if kind != "distinct-count"}  # which has a module of its own
SHARDED = {
    "top-k": 3,
    "top-k-workload": 2,
    "top-k-pairs": 4,
    "heavy-hitters": 3,
    "near-duplicates": 4,
    "near-vectors": 4,
    "detections": 3,
    "uncertain-join": 2,
}

FURTHER = {
    "top-k": {"order": "smallest", "carry": ["number"]},
    "top-k-workload": {"order": "smallest", "carry": ["number"], "repeats": "best"},
    "top-k-pairs": {"id": ["name", "number"], "carry": ["words", "value"]},
    "heavy-hitters": {"object": ["name", "origin"], "carry": ["number", "words"], "at_least": 0.7},
    "near-duplicates": {"id": ["name", "number"], "carry": ["words"], "carry_match": ["words", "value"]},
    "near-vectors": {"id": ["name", "number"], "carry": ["words"], "similarity": "euclidean", "threshold": -0.4},
    "uncertain-join": {"id": ["name", "number"], "carry": ["samples"], "side": None}
    | {"values": ["samples", "heights"], "epsilon": 0.6},
}
"""Keys of the queries over all rows."""
BY = {"uncertain-sum": {"carry": ["number", "words"]}, "near-duplicates": {"carry_match": ["words", "value"]}}
BY["heavy-hitters"] = {"at_least": 1.1, "k": None, "share": None}
BY["uncertain-join"] = {"values": ["samples", "heights"], "epsilon": 0.6}
"""Keys of those by place."""


@pytest.mark.parametrize(
    ("kind", "by", "shards"),
    [(kind, by, shards) for by, kinds in ((["place"], GROUPED), ([], SHARDED)) for kind, shards in kinds.items()],
)
def test_batch_and_stream_equal_local(agree, kind, by, shards):
    asked = family(kind, by=by, **(BY if by else FURTHER).get(kind, {}))
    assert len(agree(events(1), asked, count=3, shards=shards)) > 10


@pytest.mark.slow
def test_projections_find_the_same_pairs_whatever_the_shards(agree):
    """A pair is found if its signs agree, which depends on the two vectors alone."""
    asked = family("near-vectors", by=[], threshold=0.9, output="pairs")
    projections = {"vector-matcher": {"name": "projections", "recall": 0.6}}
    found = agree(events(1), asked, count=3, shards=4, backends=projections)
    assert 10 < len(found) < len(local.apply(events(1), asked))


@pytest.mark.parametrize(
    ("kind", "by", "shards", "changes"),
    [
        ("top-k-workload", ["place"], 2, {"entered", "updated"}),
        ("heavy-hitters", ["place"], 3, {"entered", "updated", "left"}),
        ("top-k", [], 1, {"entered", "updated", "left"}),
        ("distinct-count", [], 1, {"entered", "updated"}),
    ],
)
def test_changes_in_batch_and_stream_equal_local(agree, kind, by, shards, changes):
    log = agree(events(2), family(kind, by=by, answers="changes"), count=3, shards=shards)
    assert changes <= {*log.column("change").to_pylist()}


def test_changes_from_several_shards_for_one_answer_are_refused(session):
    frame = session.createDataFrame([], "ts TIMESTAMP, name STRING, origin STRING, value DOUBLE")
    with pytest.raises(ConfigError, match=r"shards: changes are found in whole answers.*use shards = 1, or group"):
        spark.apply(frame, family("top-k", answers="changes"), shards=2)
