"""Text stored as a dictionary in a Parquet file stays one on its way to the operator: faster, and the same bytes."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from skyband.columns import hashing
from skyband.columns.hashing import hash_column
from skyband.engines.local import LocalRun
from skyband.operator.bind_backends import bind
from skyband.queries import make_query
from skyband_jobs.files import columnar_files
from skyband_jobs.files.source_files import open_files
from skyband_jobs.tables.model import Source
from skyband_spark.frames.sharded_plan import ShardedPlan

ROWS = 40_000
QUERIES = {
    "distinct-count": {"item": "text", "by": ["group"], "windows": ["1 hour"], "every": "1 hour"},
    "heavy-hitters": {
        "object": "text",
        "value": "group",
        "windows": ["1 hour"],
        "every": "1 hour",
        "k": 3,
        "total": "distinct",
    },
    "top-k-workload": {
        "object": ["text", "group"],
        "score": "n",
        "queries": [{"name": "a", "window": "1 hour", "slide": "1 hour", "k": 2}],
    },
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("texts")
    words = [f"a word of some length {number} é" for number in range(500)]
    table = pa.table(
        {
            "ts": pa.array([number * 1_000_000 for number in range(ROWS)], pa.timestamp("us", "UTC")),
            "n": pa.array([number * 7919 % 4001 for number in range(ROWS)], pa.float64()),
            "text": [None if number % 97 == 0 else words[number * number % 500] for number in range(ROWS)],
            "group": [None if number % 5 == 0 else words[number % 7] for number in range(ROWS)],
            "unique": [
                f"no other row has this text, which is why it is none of a dictionary: {number}"
                for number in range(ROWS)
            ],
        }
    )
    pq.write_table(table, folder / "a.parquet", row_group_size=15_000, dictionary_pagesize_limit=1 << 18)
    return open_files(Source(format="parquet", path=str(folder)))


def kinds(files, dictionaries):
    batches = list(files.batches(files.schema.names, dictionaries=dictionaries))
    return {field.name for field in batches[0].schema if pa.types.is_dictionary(field.type)}


def test_only_text_stored_as_a_dictionary_is_read_as_one(files, monkeypatch):
    assert kinds(files, True) == {"text", "group"}
    assert kinds(files, False) == set()
    monkeypatch.setattr(columnar_files, "_LARGE", 1 << 40)
    assert kinds(files, True) == set()


@pytest.mark.parametrize("kind", QUERIES)
def test_frames_and_states_have_the_same_bytes(files, kind):
    query = make_query({"kind": kind, "time": "ts", **QUERIES[kind]})
    schema = pa.schema([files.schema.field(name) for name in query.columns])
    plan = ShardedPlan(query, bind(query, schema, {}), schema, 2 if query.by else 1)
    packed, states = [], []
    for dictionaries in (False, True):
        packed.append(
            [
                rows.to_pylist()
                for rows in plan.to_shuffle_rows(iter(files.batches(query.columns, dictionaries=dictionaries)))
            ]
        )
        run = LocalRun.start(query, schema, {})
        answers = [run.push(batch).to_pylist() for batch in files.batches(query.columns, dictionaries=dictionaries)]
        states.append((answers, run.operator.snapshot(), run.finish().to_pylist()))
    assert packed[0] == packed[1]
    assert states[0] == states[1]


@settings(max_examples=30, deadline=None)
@given(st.lists(st.lists(st.text(max_size=3), min_size=64, max_size=80), min_size=1, max_size=6))
def test_dictionaries_are_never_confused(dictionaries):
    for words in dictionaries * 2:
        column = pa.DictionaryArray.from_arrays(pa.array(range(len(words)), pa.int32()), pa.array(words))
        assert hash_column(column).tolist() == hash_column(pa.array(words)).tolist()


def test_the_text_of_a_row_group_is_hashed_once(files, monkeypatch):
    hashed = []
    monkeypatch.setattr(hashing, "_words", [])
    monkeypatch.setattr(hashing, "_hash_values", lambda column, seed: hashed.append(len(column)) or np.arange(500))
    monkeypatch.setattr(columnar_files, "_BATCH", 1000)
    for batch in files.batches(["text"], dictionaries=True):
        hash_column(batch.column(0))
    assert len(hashed) <= 3
