"""uncertain-sum and uncertain-join give the same rows on every engine; a filter of samples feeds a window."""

import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from skyband import spark
from skyband.engines import local
from skyband.queries import make_query
from skyband_specs.matcher.streams import perturbed

pytestmark = pytest.mark.spark

SECOND = 1_000_000
DELAY = 20
ROWS = 1500


def readings(seed: int) -> pa.Table:
    """Uncertain readings of two sides and two places, several a second, out of order by less than the delay."""
    rng = np.random.default_rng(seed)
    stream = perturbed(np.sin(np.arange(ROWS) * 0.05), seed, samples=4, value_deviation=0.2)
    seconds = np.arange(ROWS) // 3
    table = pa.table(
        {
            "ts": pa.array(seconds * SECOND, pa.timestamp("us", "UTC")),
            "side": [("left", "right")[i] for i in rng.integers(0, 2, ROWS)],
            "id": [f"reading {row}" for row in range(ROWS)],
            "place": [("a", "b")[i] for i in rng.integers(0, 2, ROWS)],
            "values": list(stream.values),
            "probabilities": list(stream.probabilities),
        }
    )
    return table.take(pa.array(np.argsort(seconds + rng.uniform(0, DELAY - 1, ROWS))))


def query(kind, **changes):
    keys = {"time": "ts", "values": "values", "probabilities": "probabilities", "size": 30, "delay": f"{DELAY} seconds"}
    joined = {"side": "side", "id": "id", "epsilon": 0.2, "beta": 0.4}
    return make_query({"kind": kind, **keys, **(joined if kind == "uncertain-join" else {}), **changes})


def rows_of(rows, columns):
    return sorted(tuple(str(row[name]).removesuffix("+00:00") for name in columns) for row in rows)


@pytest.mark.parametrize("kind", ["uncertain-sum", "uncertain-join"])
@pytest.mark.parametrize("by", [[], pytest.param(["place"], marks=pytest.mark.slow)])
def test_batch_equals_local(session, files, kind, by):
    table = readings(1)
    expected = local.apply(table, query(kind, by=by))
    got = spark.apply(session.read.parquet(files(table, 4)), query(kind, by=by))
    assert len(expected) > 100
    assert rows_of(got.collect(), expected.column_names) == rows_of(expected.to_pylist(), expected.column_names)


@pytest.mark.parametrize("kind", ["uncertain-sum", "uncertain-join"])
@pytest.mark.parametrize("by", [[], pytest.param(["place"], marks=pytest.mark.slow)])
def test_stream_equals_local_before_its_watermark(stream, files, kind, by):
    table = readings(2)
    expected = local.apply(table, query(kind, by=by)).to_pylist()
    got, progress = stream(files(table, 4), query(kind, by=by))
    assert sum(entry.observedMetrics["skyband"]["rows_late"] for entry in progress) == 0
    watermark = max(row.as_py() for row in table["ts"]) - np.timedelta64(DELAY, "s").astype(object)
    wanted = [row for row in expected if row["time"] < watermark]
    assert len(wanted) > 100
    assert rows_of(got, wanted[0].keys()) == rows_of(wanted, wanted[0].keys())


def recipe(readings, query):
    """What the block of PySpark in the plugin's README makes of `readings`."""
    text = (Path(__file__).parents[3] / "plugins/uncertain/README.md").read_text()
    names = {"readings": readings, "query": query}
    exec(compile(re.search(r"```py\n(.*?)```", text, re.DOTALL)[1], "README.md", "exec"), names)
    return names["warm"]


def test_a_filter_of_samples_feeds_a_window(session, files):
    """Section 3.2 of Dallachiesa et al.: the window of a filtered stream reaches further back, by what may be gone."""
    table = readings(3)
    positive = []
    for row in table.to_pylist():
        kept = [pair for pair in zip(row["values"], row["probabilities"], strict=True) if pair[0] > 0.0]
        positive.append({**row, "values": [v for v, _ in kept], "probabilities": [p for _, p in kept]})
    expected = local.apply(pa.Table.from_pylist(positive, schema=table.schema), query("uncertain-sum"))
    got = recipe(session.read.parquet(files(table, 2)), query("uncertain-sum"))
    assert rows_of(got.collect(), expected.column_names) == rows_of(expected.to_pylist(), expected.column_names)
    plain = local.apply(table, query("uncertain-sum"))
    assert np.mean(expected["kept"]) > np.mean(plain["kept"])
