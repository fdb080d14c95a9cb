"""A savepoint has a query's keys as data: the same query is made of them."""

import json

import pytest
from skyband.queries import make_query
from skyband.registry import installed
from skyband.registry.module_import import load
from skyband_jobs.running.savepoint import keys_of


def examples():
    for info in installed().queries.usable.values():
        known = load(info.examples, info.key)
        for number, example in enumerate(known if isinstance(known, tuple) else (known,)):
            yield pytest.param({**example.keys, "kind": info.kind}, id=f"{info.kind}-{number}")


COUNTED = {"at_least": 3, "window": "9 seconds", "where": "n = 2", "measure": "distinct user", "tell": "crossing"}
KEPT = {
    "kind": "detections",
    "time": "ts",
    "keys": [["user"], []],
    "rule_columns": ["n"],
    "keep": [
        {"key": ["user"], "most": 5, "longest": "1 minute"},
        {"measure": "unseen", "key": ["user"], "longest": "1 day"},
        {"measure": "distinct n", "key": ["user"], "most": 2, "longest": "1 hour", "where": "n > 1"},
        {"measure": "sequence", "steps": ["n = 1", COUNTED], "key": ["user"], "longest": "1 hour", "any_order": True},
    ],
}


@pytest.mark.parametrize("keys", [*examples(), pytest.param(KEPT, id="detections-kept")])
def test_a_query_is_made_again_of_its_keys(keys):
    query = make_query(keys)
    again = make_query(json.loads(json.dumps(keys_of(query))))
    assert again == query
