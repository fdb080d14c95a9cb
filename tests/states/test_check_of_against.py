"""`skyband check` says what `against` remembers: by the definition, and by what a run remembers."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from skyband.cli.commands import group

HOUR = 3_600_000_000
JOB = """
[source]
format = "parquet"
path = "rows.parquet"
[query]
time = "ts"
windows = ["1 hour", "2 hours"]
every = "1 hour"
against = "7 days"
{query}
[backends]
{backends}
[sink]
format = "parquet"
path = "out"
"""
OF_COUNTS = 'kind = "distinct-count"\nitem = "who"'
OF_RANKS = 'kind = "quantiles"\nvalue = "size"\nat = [0.5]'
OF_TOTALS = 'kind = "heavy-hitters"\nobject = "who"\nk = 3'


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Four hours with 500 rows each, of 50 people in the first two and of 100 in the others, in two shops."""
    folder = tmp_path_factory.mktemp("check")
    row = np.arange(2_000)
    who = row % np.where(row < 1_000, 50, 100)
    columns = {"ts": pa.array(row * (HOUR // 500), pa.timestamp("us", "UTC")), "who": who, "size": who / 2}
    pq.write_table(pa.table(columns | {"shop": row // 500 % 2}), folder / "rows.parquet")
    return folder


@pytest.mark.parametrize(
    ("query", "backends", "windows", "nbytes"),
    [
        (OF_COUNTS, "", 336, 336 * 160),
        (OF_COUNTS + "\nseen = [1, 2]", 'sketch = "exact"', 336, 336 * 320),
        (OF_RANKS, "", 336, 336 * 224),
        (OF_RANKS + '\ndistance = ["ks"]', "", 336, 336 * (224 + 2048)),
        (OF_RANKS + '\ndistance = ["ks"]', 'quantile-sketch = "exact"', 336, 336 * (224 + 9 * 75)),
        (OF_TOTALS, "", 336, 336 * (300 + 16 * 75)),
        (OF_TOTALS + '\nby = ["shop"]', "", 336, 2 * 336 * (300 + 16 * 75)),
        (OF_TOTALS, 'total-ranker = "misra-gries"', 336, 336 * (300 + 32 * 75)),
        (OF_TOTALS.replace("k = 3", 'distance = ["total-variation"]'), "", 336, 336 * (300 + 16 * 75)),
    ],
)
def test_bytes_of_remembered_windows(home, query, backends, windows, nbytes):
    (home / "job.toml").write_text(JOB.format(query=query, backends=backends))
    ran = CliRunner().invoke(group, ["check", str(home / "job.toml"), "--engine", "local"])
    assert ran.exit_code == 0, ran.output
    groups = " in each of 2 groups" if "shop" in query else ""
    said = f"against = '7 days' remembers {windows} windows{groups}, {nbytes:,.0f} bytes in total, judging by its first"
    assert said in ran.stderr


def test_the_previous_window_of_totals_is_subtracted_and_nothing_remembered(home):
    text = JOB.format(query=OF_TOTALS, backends="").replace("7 days", "previous")
    (home / "job.toml").write_text(text)
    ran = CliRunner().invoke(group, ["check", str(home / "job.toml"), "--engine", "local"])
    assert ran.exit_code == 0 and "remembers" not in ran.stderr
    (home / "job.toml").write_text(text.replace(OF_TOTALS, OF_COUNTS))
    ran = CliRunner().invoke(group, ["check", str(home / "job.toml"), "--engine", "local"])
    assert "against = 'previous' remembers 3 windows, 480 bytes in total" in ran.stderr
