"""Real columns: response sizes, air, prices. Bounds contain the truth; the p95 of all is no mean of the groups'."""

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import skyband
from scipy.stats import ks_2samp
from skyband.engines import local
from skyband_quantiles.ranks import billionths, rank

pytestmark = [
    pytest.mark.realdata,
    pytest.mark.skipif(not os.environ.get("SKYBAND_DATA"), reason="SKYBAND_DATA names the folder of real streams"),
]
AT = (0.5, 0.95, 0.99)


def column(file, name, most=120_000):
    """(times, values) of a column, sorted by value within a time."""
    table = pq.read_table(Path(os.environ["SKYBAND_DATA"]) / file, columns=["ts", name]).slice(0, most)
    times = table["ts"].cast("int64").to_numpy()
    values = table[name].to_numpy().astype(float)
    kept = np.flatnonzero(~np.isnan(values))
    order = kept[np.lexsort((values[kept], times[kept]))]
    return times[order], values[order]


def true(values, q):
    return np.sort(values)[rank(billionths(q), len(values)) - 1]


AIR, TRADES = "beijing_air_12stations.parquet", "trades_20131008_4sym.parquet"


@pytest.mark.parametrize(
    ("file", "name"), [(AIR, "pm25"), (AIR, "temp"), (AIR, "pres"), (AIR, "wspm"), (TRADES, "price")]
)
def test_air_and_prices_are_within_their_bounds_since_any_moment(file, name):
    times, values = column(file, name)
    longest = int(times[-1] - times[0]) + 1
    sketch = skyband.create("quantile-sketch", "buckets", longest=longest, every=longest // 100)
    sketch.update(times, values)
    exact = 0
    moments = np.random.default_rng(1).integers(times[0], times[-1], 30).tolist()
    for since in moments:
        inside = values[times >= since]
        for q, (value, low, high) in zip(AT, sketch.quantiles(since, AT).tolist(), strict=True):
            assert low <= true(inside, q) <= high
            exact += value == true(inside, q)
    assert exact > 0.4 * len(moments) * len(AT)


def test_the_air_of_each_month_is_as_far_from_that_of_a_year_before_as_its_rows_are():
    times, values = column(AIR, "pm25", 500_000)
    day = 86_400 * 10 ** (len(str(int(times[0]))) - 10)
    log = pa.table({"ts": pa.array(times, pa.timestamp("us", "UTC")), "pm25": values})
    query = {"kind": "quantiles", "time": "ts", "value": "pm25", "windows": ["28 days"], "every": "28 days"}
    answers = {
        name: local.apply(
            log, query | {"against": "364 days", "distance": ["ks"]}, {"quantile-sketch": name}
        ).to_pylist()
        for name in ("buckets", "exact")
    }
    compared = 0
    for bounds, exact in zip(answers["buckets"], answers["exact"], strict=True):
        at = round(exact["at"].timestamp()) * (day // 86_400)
        ours, theirs = (values[(times >= end - 28 * day) & (times < end)] for end in (at, at - 364 * day))
        if not (len(ours) and len(theirs)):
            assert exact["value"] is None and (exact["rows"], exact["against_rows"]) == (len(ours), len(theirs))
            continue
        truth = ks_2samp(ours, theirs).statistic
        assert exact["low"] == exact["high"] == pytest.approx(truth, abs=1e-15)
        assert bounds["low"] - 1e-12 <= truth <= bounds["high"] + 1e-12
        compared += 1
    assert compared > 30


def test_percentiles_of_groups_are_united_and_not_averaged():
    table = pq.read_table(
        Path(os.environ["SKYBAND_DATA"]) / "worldcup98_day6_sample.parquet", columns=["ts", "url", "size"]
    )
    times, sizes = table["ts"].cast("int64").to_numpy(), table["size"].to_numpy().astype(float)
    kinds = np.array([url.rsplit(".", 1)[-1].lower() for url in table["url"].to_pylist()])
    longest = int(np.ptp(times)) + 1
    whole, groups, rows = skyband.create("quantile-sketch", longest=longest, every=longest // 100), [], []
    for kind in ("gif", "jpg", "html", "htm", "class", "zip"):
        mine = np.flatnonzero((kinds == kind) & ~np.isnan(sizes))
        mine = mine[np.lexsort((sizes[mine], times[mine]))]
        sketch = skyband.create("quantile-sketch", longest=longest, every=longest // 100)
        sketch.update(times[mine], sizes[mine])
        groups.append(true(sizes[mine], 0.95))
        rows.append(sizes[mine])
        whole.merge(sketch)
    value, low, high = whole.quantile(int(times.min()), 0.95)
    assert value == low == high == true(np.concatenate(rows), 0.95) == 20_385
    assert round(np.mean(groups)) == 354_807
    assert round(np.average(groups, weights=[len(some) for some in rows])) == 15_108
