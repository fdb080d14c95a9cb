"""Text that comes as a dictionary where the source has plain text is that text to every query."""

import pyarrow as pa
import pytest
from skyband.engines import local
from skyband.engines.local import LocalRun
from skyband.queries import examples_of, make_query

KINDS = (
    *("distinct-count", "heavy-hitters", "near-duplicates", "top-k", "top-k-pairs", "top-k-workload"),
    "uncertain-join",
)


def answers_and_state(query, example, schema, batch):
    run = LocalRun.start(query, schema, example.backends or {})
    return run.push(batch).to_pylist(), run.operator.snapshot(), run.finish().to_pylist()


@pytest.mark.parametrize("kind", KINDS)
def test_text_may_come_as_a_dictionary(kind):
    for example in examples_of(kind):
        query = make_query({"kind": kind, **example.keys})
        rows = pa.Table.from_batches([example.rows]) if isinstance(example.rows, pa.RecordBatch) else example.rows
        (plain,) = rows.select(list(query.columns)).combine_chunks().to_batches()
        columns = [column.dictionary_encode() if column.type == pa.string() else column for column in plain.columns]
        coded = pa.RecordBatch.from_arrays(columns, names=plain.schema.names)
        expected = answers_and_state(query, example, plain.schema, plain)
        assert answers_and_state(query, example, plain.schema, coded) == expected


@pytest.mark.parametrize("codes", [pa.int8(), pa.uint16(), pa.int64()])
def test_batches_have_dictionaries_of_any_words_and_codes(codes):
    """Together they have more words than their codes can tell apart, and null is one of them."""
    keys = {"kind": "heavy-hitters", "time": "ts", "object": "text", "windows": ["1 hour"], "every": "1 hour", "k": 300}
    batches = []
    for first in range(0, 300, 100):
        words = pa.array([None, *(f"word {first + number}" for number in range(100))])
        text = pa.DictionaryArray.from_arrays(pa.array([0, *range(101)], codes), words)
        times = pa.array(range(first, first + 102), pa.timestamp("us", "UTC"))
        batches.append(pa.RecordBatch.from_arrays([times, text], ["ts", "text"]))
    answers = local.apply(batches, keys)
    assert sorted(answers["object"].to_pylist()) == sorted(f"word {number}" for number in range(300))


def test_groups_may_be_dictionaries_of_numbers_with_null_among_them():
    keys = {"kind": "distinct-count", "time": "ts", "item": "ts", "by": ["n"], "windows": ["1 hour"], "every": "1 hour"}
    batches = []
    for first in range(0, 120, 40):
        numbers = pa.DictionaryArray.from_arrays(
            pa.array(range(40), pa.int8()), pa.array([None, *range(first + 1, first + 40)])
        )
        times = pa.array(range(first, first + 40), pa.timestamp("us", "UTC"))
        batches.append(pa.RecordBatch.from_arrays([times, numbers], ["ts", "n"]))
    assert len(set(local.apply(batches, keys)["n"].cast(pa.int64()).to_pylist())) == 118
