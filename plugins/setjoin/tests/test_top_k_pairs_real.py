"""Similar records, tags and baskets on the local engine: the default equals comparing all pairs."""

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from skyband.engines import local
from skyband.queries import make_query

pytestmark = pytest.mark.realdata


def data(name):
    folder = os.environ.get("SKYBAND_DATA")
    if not folder or not (Path(folder) / name).exists():
        pytest.skip(f"needs {name} in the folder named by SKYBAND_DATA")
    return pq.read_table(Path(folder) / name)


def query(**keys):
    return make_query({"kind": "top-k-pairs", "time": "ts", "id": "id", "tokens": "tokens", "k": 10, **keys})


@pytest.fixture(scope="module")
def records():
    """DBLP: the words of authors and title, by the day of each record's last change."""
    table = data("dblp_mdate.parquet")
    text = pc.binary_join_element_wise(pc.binary_join(table["authors"], " "), table["title"], " ")
    words = pc.split_pattern_regex(pc.utf8_lower(text), r"[^\p{L}\p{N}]+")
    return pa.table({"ts": table["mdate"], "id": table["key"], "tokens": words, "title": table["title"]})


@pytest.fixture(scope="module")
def tags():
    """Ask Ubuntu: one to five tags per question; many questions have the same."""
    table = data("tags_ask_ubuntu.parquet")
    asked = pc.cast(table["t_ms"], pa.timestamp("ms", "UTC"))
    return pa.table({"ts": asked, "id": table["post_id"], "tokens": table["tags"]})


@pytest.fixture(scope="module")
def baskets():
    """Retail: the items of each basket, in order of sale."""
    table = data("fimi_retail.parquet")
    return pa.table({"ts": table["seq"], "id": table["seq"], "tokens": table["items"]})


def similar(result, table):
    """Assert that each similarity is the Jaccard similarity of the two sets; returns the column."""
    sets = dict(zip(table["id"].to_pylist(), map(set, table["tokens"].to_pylist()), strict=True))
    values = result["similarity"].to_pylist()
    for left, right, value in zip(result["left"].to_pylist(), result["right"].to_pylist(), values, strict=True):
        assert value == len(sets[left] & sets[right]) / len(sets[left] | sets[right])
    return values


BASE = {"pair-ranker": "base"}
STRETCHES = [
    ("records", {"window": "90 days", "every": "7 days"}, 600),
    ("records", {"window": "90 days", "every": "7 days", "similarity": "hamming"}, 800),
    ("tags", {"window": "1 day", "every": "1 hour"}, 1_500),
    ("tags", {"window": "300 rows", "every": "7 rows", "similarity": "dice"}, 1_500),
    ("baskets", {"window": "400 rows", "every": "50 rows"}, 1_500),
    ("baskets", {"window": "400 rows", "every": "1 rows", "similarity": "overlap", "k": 3}, 1_000),
]


@pytest.mark.parametrize(("name", "keys", "rows"), STRETCHES)
def test_default_equals_base(request, name, keys, rows):
    table, asked = request.getfixturevalue(name).slice(0, rows), query(**keys)
    result = local.apply(table, asked)
    assert len(result) > 100
    assert result.equals(local.apply(table, asked, BASE))


def test_records_that_are_nearly_equal(records):
    result = local.apply(records, query(window="365 days", every="30 days"))
    assert max(similar(result, records)) > 0.8
    assert min(np.diff(result["at"].cast(pa.int64()).to_numpy())) >= 0


def test_questions_with_the_same_tags_tie_and_the_first_win(tags):
    table = tags.slice(0, 60_000)
    result = local.apply(table, query(window="7 days", every="1 day"))
    assert np.mean(np.array(similar(result, table)) == 1.0) > 0.9
    times = np.asarray(table["ts"].cast(pa.int64()))
    place = dict(zip(table["id"].to_pylist(), times.tolist(), strict=True))
    left, right = ([place[number] for number in result[side].to_pylist()] for side in ("left", "right"))
    assert all(np.less_equal(left, right))
    tied = (np.diff(result["rank"]) == 1) & (np.diff(result["similarity"]) == 0)
    assert (np.diff(left)[tied] >= 0).all()


@pytest.mark.parametrize("unit", ["rows", "seconds"])
def test_baskets_by_sequence(baskets, unit):
    """Windows in rows and in seconds are the same at one row per second."""
    table = baskets.slice(0, 20_000)
    windows = {"window": f"5000 {unit}", "every": f"500 {unit}"}
    if unit == "seconds":
        table = table.set_column(0, "ts", table["ts"].cast(pa.int64()).cast(pa.timestamp("s")))
    result = local.apply(table, query(**windows))
    assert len(result) == 10 * len(table) // 500
    assert result["rank"].to_pylist() == [*range(1, 11)] * (len(table) // 500)
    rows = np.asarray(result["at"].cast(pa.int64())) // (1 if unit == "rows" else 1_000_000)
    assert (np.asarray(result["left"]) >= rows - 5000).all()
    assert (np.asarray(result["right"]) < rows).all()
    similar(result, table)


def test_records_of_one_venue_joined_with_all_others(records):
    others = pc.invert(pc.starts_with(records["id"], "conf/cgo/"))
    table = records.append_column("others", others).slice(1_300, 1_000)
    asked = query(window="90 days", every="7 days", side="others")
    result = local.apply(table, asked)
    assert result.equals(local.apply(table, asked, BASE))
    assert len(result)
    assert all(pc.starts_with(result["left"], "conf/cgo/").to_pylist())
    assert not any(pc.starts_with(result["right"], "conf/cgo/").to_pylist())
