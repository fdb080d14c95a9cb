"""Records, tags and baskets: the default equals the naive matcher, and the laws of keep = "first" hold."""

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from skyband.engines import local

pytestmark = pytest.mark.realdata

DAY = 86_400_000_000


def data(name, rows):
    folder = os.environ.get("SKYBAND_DATA")
    if not folder or not (Path(folder) / name).exists():
        pytest.skip(f"needs {name} in the folder named by SKYBAND_DATA")
    return pq.read_table(Path(folder) / name).slice(0, rows)


@pytest.fixture(scope="module")
def records():
    """DBLP: the words of authors and title, by the day of each record's last change."""
    table = data("dblp_mdate.parquet", 6_000)
    text = pc.binary_join_element_wise(pc.binary_join(table["authors"], " "), table["title"], " ")
    words = pc.split_pattern_regex(pc.utf8_lower(text), r"[^\p{L}\p{N}]+")
    return pa.table({"ts": table["mdate"], "id": table["key"], "tokens": words})


@pytest.fixture(scope="module")
def tags():
    """Ask Ubuntu: one to five tags per question; many questions have the same."""
    table = data("tags_ask_ubuntu.parquet", 30_000)
    asked = pc.cast(table["t_ms"], pa.timestamp("ms", "UTC"))
    return pa.table({"ts": asked, "id": table["post_id"], "tokens": table["tags"]})


@pytest.fixture(scope="module")
def baskets():
    """Retail: the items of each basket, in order of sale."""
    table = data("fimi_retail.parquet", 30_000)
    return pa.table({"ts": table["seq"], "id": table["seq"], "tokens": table["items"]})


WINDOWS = {"records": ("60 days", 0.6), "tags": ("7 days", 0.7), "baskets": ("3000 rows", 0.5)}


def ask(table, window, threshold, backend="prefix", **keys):
    query = {"kind": "near-duplicates", "time": "ts", "id": "id", "tokens": "tokens", **keys}
    return local.apply(table, {**query, "window": window, "threshold": threshold}, {"set-matcher": backend})


@pytest.mark.parametrize("keep", ["all", "first"])
@pytest.mark.parametrize("name", WINDOWS)
def test_default_equals_the_naive_matcher(request, name, keep):
    table = request.getfixturevalue(name).slice(0, 6_000)
    found = ask(table, *WINDOWS[name], keep=keep)
    assert len(found) > 10
    assert found.equals(ask(table, *WINDOWS[name], "scan-count", keep=keep))
    assert found.equals(ask(table, *WINDOWS[name], "inverted", keep=keep))


@pytest.mark.parametrize("name", WINDOWS)
def test_no_two_kept_rows_match_and_every_dropped_one_matched_a_kept_one(request, name):
    """Checks the second law on the answers, the first by matching the kept rows again."""
    table, (window, threshold) = request.getfixturevalue(name), WINDOWS[name]
    rows = ask(table, window, threshold, keep="first", matches=1, output="rows")
    assert len(rows) == len(table)
    kept = pc.is_null(rows["match"])
    chosen = set(rows.filter(kept)["id"].to_pylist())
    dropped = rows.filter(pc.invert(kept))
    assert len(dropped) > 10
    assert set(dropped["match"].to_pylist()) <= chosen
    assert min(dropped["similarity"].to_pylist()) >= threshold
    if not window.endswith("rows"):
        apart = pc.subtract(dropped["time"], dropped["match_time"]).cast(pa.int64()).to_numpy()
        assert apart.max() < int(window.split()[0]) * DAY
        kept_rows = table.filter(pa.array(np.isin(table["id"].to_numpy(zero_copy_only=False), list(chosen))))
        assert len(ask(kept_rows, window, threshold)) == 0
    alone = ask(table, window, threshold, keep="first", output="kept")
    assert set(alone["id"].to_pylist()) == chosen
