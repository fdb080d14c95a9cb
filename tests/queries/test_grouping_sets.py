"""Several groupings of one stream: each answered as if it were the only one, each row counted once."""

import json
import pickle

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from families import events, family
from in_process_shards import on_shards, rows_of
from skyband.engines import local
from skyband.engines.local import LocalRun
from skyband.errors import ConfigError
from skyband.operator.bad_rows import FIELD
from skyband.queries import make_query
from skyband.queries.grouping_sets import source_columns
from skyband_jobs.running.savepoint import keys_of

SETS = [["place", "origin"], ["place"], []]
NAMES = ["place, origin", "place", "()"]
COUNT = {"kind": "distinct-count", "time": "ts", "item": "name", "windows": ["1 hour"], "every": "1 hour"}


def by_set(answers, names, number):
    """The answers of one set, without the columns of the others."""
    own = answers.filter(pc.equal(answers["grouping"], NAMES[number]))
    return rows_of(own.select(names))


@pytest.mark.parametrize("kind", ["distinct-count", "heavy-hitters", "top-k-workload", "near-duplicates"])
def test_shards_and_states_answer_each_grouping_as_if_alone(kind):
    table = events(3, rows=500)
    together, metrics = on_shards(table, family(kind, by=SETS), 3, batches=3)
    assert sum(each.rows_in for shard in metrics for each in shard) == len(table)
    assert sum(each.rows_late for shard in metrics for each in shard) == 0
    for number, columns in enumerate(SETS):
        alone = local.apply(table, family(kind, by=columns))
        assert by_set(together, alone.column_names, number) == rows_of(alone), columns


def test_the_groups_of_null_are_apart_from_those_of_other_sets():
    times = pa.array([1, 2, 3], pa.timestamp("us"))
    table = pa.table({"ts": times, "who": ["a", None, None], "what": ["x", "y", None], "n": [1, 2, 3]})
    query = {"kind": "distinct-count", "time": "ts", "item": "n", "windows": ["1 hour"], "every": "1 hour"}
    answers = local.apply(table, query | {"by": [["who", "what"], ["what"], "who", []]})
    assert sorted(map(str, answers.select(["who", "what", "grouping", "count"]).to_pylist())) == sorted(
        str({"who": who, "what": what, "grouping": grouping, "count": count})
        for who, what, grouping, count in [
            ("a", "x", "who, what", 1.0),
            (None, "y", "who, what", 1.0),
            (None, None, "who, what", 1.0),
            (None, "x", "what", 1.0),
            (None, "y", "what", 1.0),
            (None, None, "what", 1.0),
            ("a", None, "who", 1.0),
            (None, None, "who", 2.0),
            (None, None, "()", 3.0),
        ]
    )
    nullable = {field.name: field.nullable for field in answers.schema}
    assert nullable["who"] and nullable["what"]


def test_a_row_that_is_late_or_bad_is_told_once():
    rows = events(5, rows=60)
    query = family("distinct-count", by=SETS, bad_rows="count", source="origin", sources=["air", "water"])
    run = LocalRun.start(query, rows.schema)
    late, bad = [], []
    run.on_late_rows, run.on_bad_rows = late.append, bad.append
    (batch,) = rows.combine_chunks().to_batches()
    run.push(batch)
    unlisted = sum(origin == "soil" for origin in rows["origin"].to_pylist())
    assert [len(each) for each in bad] == [unlisted] and set(bad[0][FIELD].to_pylist()) == {"origin"}
    metrics = run.operator.take_metrics()
    assert (metrics.rows_in, metrics.dropped["bad"]) == (len(rows), unlisted)
    run.push(batch)
    counted = sum(map(len, late))
    assert 0 < counted <= len(rows) - unlisted
    assert run.operator.take_metrics().rows_late == counted


def test_changes_are_told_group_by_group():
    table = events(7, rows=300)
    log = local.apply(table, family("heavy-hitters", by=SETS, answers="changes"))
    for number, columns in enumerate(SETS):
        alone = local.apply(table, family("heavy-hitters", by=columns, answers="changes"))
        assert by_set(log, alone.column_names, number) == rows_of(alone)


def test_a_query_travels_and_comes_back_from_a_manifest():
    query = family("distinct-count", by=SETS)
    assert pickle.loads(pickle.dumps(query)) == query
    assert make_query(json.loads(json.dumps(keys_of(query)))) == query
    assert query != family("distinct-count", by=["place", "origin", "grouping"])
    assert query != family("distinct-count", by=[*SETS[:2], ["origin"]])
    assert ([*query.by], source_columns(query.by)) == (["place", "origin", "grouping"], ("place", "origin"))


@pytest.mark.parametrize(
    ("by", "message"),
    [
        ([["place"], ["place"]], "lists a set of columns twice"),
        ([["place", "origin"], ["origin", "place"]], "lists a set of columns twice"),
        ([["place", "place"], []], "names a column twice in one set"),
        ([["place"]], "has one set of columns: remove the outer list, ['place']"),
        ([[]], "has one set of columns: remove the outer list, []"),
        ([["place"], [7]], 'must be a column name, a list of them, or of lists of them, such as [["client"], []]'),
        ([["place"], [["origin"]]], "must be a column name, a list of them, or of lists of them"),
        ([["place"], ["nowhere"]], "the source has no column 'nowhere'"),
        ([["words"], []], "column 'words' must be"),
    ],
)
def test_sets_that_are_none(by, message):
    with pytest.raises(ConfigError) as error:
        local.apply(events(1, rows=5), COUNT | {"by": by})
    assert message in str(error.value)


def test_a_column_called_grouping_must_be_renamed():
    table = events(1, rows=5).rename_columns(
        ["grouping" if name == "place" else name for name in events(1, rows=5).column_names]
    )
    with pytest.raises(ConfigError, match="'grouping' is the column that distinguishes groupings"):
        local.apply(table, COUNT | {"by": [["grouping"], []]})
    assert len(local.apply(table, COUNT | {"by": ["grouping"]}))
