"""Objects and items named by several columns are those named by one column that joins them."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from skyband.engines import local
from skyband.errors import ConfigError
from skyband.groups.execution import execution_of
from skyband.queries import make_query

QUERIES = {
    "top-k": {
        "stream": "from",
        "value": "value",
        "streams": ["x", "y"],
        "k": 3,
        "window": "20 seconds",
        "every": "5 seconds",
    },
    "top-k-workload": {
        "score": "value",
        "queries": [{"name": "a", "window": "20 seconds", "slide": "5 seconds", "k": 4}],
    },
    "distinct-count": {"windows": ["20 seconds", "5 seconds"], "every": "5 seconds"},
}


def requests(seed=1, rows=300):
    """Requests to pages of hosts; /1 + 1/ and /11 + / would be one page if parts were glued."""
    rng = np.random.default_rng(seed)
    hosts, pages = rng.choice(["a", "a/", "b"], rows), rng.choice(["", "/", "/x", "x"], rows)
    return pa.table(
        {
            "ts": pa.array(np.sort(rng.integers(0, 100_000_000, rows)), pa.timestamp("us")),
            "host": [None if number % 50 == 0 else host for number, host in enumerate(hosts.tolist())],
            "page": pages.tolist(),
            "number": rng.integers(0, 3, rows),
            "both": [f"{host}|{page}" for host, page in zip(hosts, pages, strict=True)],
            "from": rng.choice(["x", "y"], rows).tolist(),
            "town": rng.choice(["Bern", "Basel"], rows).tolist(),
            "value": rng.random(rows),
        }
    )


def query(kind, named, **changes):
    key = "item" if kind == "distinct-count" else "object"
    return make_query({"kind": kind, "time": "ts", key: named, **QUERIES[kind], **changes})


def joined(answers):
    """Answers with the two columns as the one that joins them."""
    if "host" not in answers.column_names:
        return answers
    place = answers.column_names.index("host")
    both = pc.binary_join_element_wise(answers["host"], answers["page"], "|")
    return answers.drop_columns(["host", "page"]).add_column(place, "object", both)


@pytest.mark.parametrize("by", [[], ["town"]])
@pytest.mark.parametrize("kind", QUERIES)
def test_two_columns_are_as_the_one_that_joins_them(kind, by):
    table = requests()
    known = table.filter(table["host"].is_valid())
    expected = local.apply(known, query(kind, "both", by=by))
    assert len(expected) > 15
    assert joined(local.apply(table, query(kind, ["host", "page"], by=by))).equals(expected)


@pytest.mark.parametrize("kind", ["top-k", "top-k-workload"])
def test_shards_and_states_and_other_columns_go_with_it(kind):
    table = requests(2).append_column("id", pa.array(range(300)))
    table = table.filter(table["host"].is_valid()).combine_chunks()
    asked = query(kind, ["host", "page"], carry=["id"])
    whole = local.apply(table, asked)
    assert whole.column_names[-4:] == ["host", "page", "score", "id"]
    runs = [local.LocalRun.start(asked, table.schema) for _ in range(2)]
    for mine, run in zip((["a"], ["a/", "b"]), runs, strict=True):
        run.add(table.filter(pc.is_in(table["host"], pa.array(mine))).combine_chunks().to_batches()[0])
        again = local.LocalRun.start(asked, table.schema)
        again.operator.restore(run.operator.snapshot())
        run.operator = again.operator
    latest = max(run._latest for run in runs)
    merged = execution_of(asked).merge(pa.Table.from_batches([run.operator.finish(latest) for run in runs]))
    assert merged.to_pylist() == whole.to_pylist()


def test_one_column_in_a_list_is_that_column():
    assert query("top-k", ["host"]) == query("top-k", "host")


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ([], r"object: must be a column name or a list of them \(got \[\]\)"),
        (["host", "host"], r"object: names a column twice"),
        (["host", 3], r"object: must be a column name or a list of them"),
        (
            ["host", "score"],
            r"object: 'score' is also the name of another column of the answers: rename it in the source",
        ),
    ],
)
def test_what_names_nothing_is_refused(named, said):
    with pytest.raises(ConfigError, match=said):
        query("top-k", named)


def test_a_column_that_is_not_there_is_named():
    with pytest.raises(ConfigError, match=r"query\.object: the source has no column 'pages'; did you mean 'page'"):
        local.apply(requests(), query("top-k", ["host", "pages"]))


def test_a_column_that_names_the_object_is_not_carried_too():
    with pytest.raises(ConfigError, match=r"carry: 'page' is also the name of another column of the answers"):
        query("top-k-workload", ["host", "page"], carry=["page"])
