"""An operator between micro-batches: found again in the worker that left it, and one of a shard at most."""

from collections import OrderedDict

import numpy as np
import pyarrow as pa
import pytest
from skyband.engines import keeping
from skyband.engines.shipment import Shipment
from skyband.operator import bind
from skyband.queries import make_query
from skyband.queries.encoding import encode

SCHEMA = pa.schema([("ts", pa.timestamp("us", "UTC")), ("who", pa.int64())])
QUERY = {"kind": "distinct-count", "time": "ts", "item": "who", "windows": ["1 hour"], "every": "1 minute"}


class States:
    """What Spark keeps of one shard, in memory."""

    def __init__(self):
        self.value, self.chunks = None, {}

    def getValueState(self, name, schema):
        return self

    def getMapState(self, name, user_key, user_value):
        return States.Map(self.chunks)

    def exists(self):
        return self.value is not None

    def get(self):
        return self.value

    def update(self, value):
        self.value = value

    class Map:
        def __init__(self, chunks):
            self.chunks = chunks

        def getValue(self, key):
            return self.chunks[key]

        def updateValue(self, key, value):
            self.chunks[key] = value

        def removeKey(self, key):
            del self.chunks[key]


@pytest.fixture
def shipment():
    asked = make_query(QUERY)
    return Shipment(asked, bind(asked, SCHEMA, {"sketch": "exact"}), SCHEMA, shards=1)


def turn(states, shipment, number):
    """A micro-batch of ten rows; the operator it ran on."""
    kept = keeping.Keeping(states)
    operator = kept.take(shipment)
    times = pa.array(np.arange(10) * 1_000_000 + number * 10_000_000, SCHEMA.field("ts").type)
    batch = pa.RecordBatch.from_arrays([times, pa.array(np.arange(10) + number)], schema=SCHEMA)
    operator.add(encode(shipment.query, batch).frame)
    operator.advance(number * 10_000_000)
    kept.keep(operator)
    return operator


def test_a_worker_keeps_one_operator_of_a_shard(monkeypatch, shipment):
    workers = [OrderedDict(), OrderedDict()]
    states, last = States(), None
    for number in range(12):
        monkeypatch.setattr(keeping, "_CACHE", workers[number // 2 % 2])
        operator = turn(states, shipment, number)
        assert (operator is last) == (number % 2 == 1), "the same worker goes on with its own, another loads the state"
        last = operator
        assert all(len(worker) <= 1 for worker in workers)
    alone = States()
    for number in range(12):
        operator = turn(alone, shipment, number)
    assert last.snapshot() == operator.snapshot()


def test_an_operator_whose_turn_was_not_committed_is_not_used(monkeypatch, shipment):
    monkeypatch.setattr(keeping, "_CACHE", OrderedDict())
    states = States()
    turn(states, shipment, 0)
    committed = states.value, dict(states.chunks)
    failed = turn(states, shipment, 1)
    states.value, states.chunks = committed
    again = turn(states, shipment, 1)
    assert again is not failed
    assert again.snapshot() == failed.snapshot()
