"""Each data set in the folder `SKYBAND_DATA`, unchanged: one job, the same answers from all three engines."""

import os
import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from skyband.cli.commands import group

pytestmark = [pytest.mark.spark, pytest.mark.realdata, pytest.mark.slow]

STREAM = ("source.stream=true", "source.finish=true", "sink.trigger=available-now", "sink.checkpoint=checkpoint")
JOBS = {
    "worldcup98_day6_sample": """
[source]
where = "size > 0 AND status IN (200, 206)"
select = ["ts", "client_id", "CAST(size AS BIGINT) AS bytes", "split(url, '/')[1] AS part"]

[query]
kind = "heavy-hitters"
time = "ts"
object = "client_id"
by = "part"
total = "sum"
weight = "bytes"
k = 3
windows = ["1 hour"]
every = "1 hour"
""",
    "trades_20131008_4sym": """
[source]
where = "suspicious = 0"

[query]
kind = "quantiles"
time = "ts"
value = "price"
by = ["symbol", "exchange"]
at = [0.05, 0.5, 0.95]
windows = ["10 minutes"]
every = "10 minutes"
""",
    "beijing_air_12stations": """
[source]
where = "pm25 IS NOT NULL"

[query]
kind = "quantiles"
time = "ts"
value = "pm25"
by = "station"
at = [0.5, 0.95]
windows = ["30 days"]
every = "10 days"
""",
    "ucr17_train": """
[source]
where = "split = 'train'"
select = ["timestamp_seconds(idx) AS ts", "dataset", "explode(`values`) AS value"]

[query]
kind = "quantiles"
time = "ts"
value = "value"
by = "dataset"
at = [0.1, 0.9]
windows = ["50 seconds"]
every = "50 seconds"
""",
    "tags_ask_ubuntu": """
[source]
select = ["timestamp_millis(t_ms) AS ts", "explode(tags) AS tag"]

[query]
kind = "heavy-hitters"
time = "ts"
object = "tag"
k = 10
windows = ["90 days"]
every = "30 days"
""",
    "dblp_mdate": """
[source]
select = ["mdate", "key", "split(lower(title), ' ') AS words", "size(authors) AS authors"]

[query]
kind = "near-duplicates"
time = "mdate"
id = "key"
tokens = "words"
threshold = 0.6
window = "30 days"
carry = ["authors"]
""",
    "fimi_retail": """
[source]

[query]
kind = "near-duplicates"
time = "seq"
id = "seq"
tokens = "items"
threshold = 0.8
window = "1000 rows"
matches = 1
""",
}
ROWS = {
    "worldcup98_day6_sample": 200_000,
    "trades_20131008_4sym": 654_140,
    "beijing_air_12stations": 420_768,
    "ucr17_train": 3_097,
    "tags_ask_ubuntu": 271_233,
    "dblp_mdate": 4_519,
    "fimi_retail": 88_162,
}
"""As the folder's README counts them."""


def answers(folder: Path, engine: str, *sets: str) -> tuple[list[tuple[object, ...]], str]:
    """The rows of a run, sorted, and its summary."""
    sink = f"{engine} {len(sets)}"
    changes = [part for change in (*sets, f"sink.path={sink}") for part in ("--set", change)]
    ran = CliRunner().invoke(group, ["run", str(folder / "job.toml"), "--engine", engine, *changes])
    assert ran.exit_code == 0, ran.output
    tables = [pq.read_table(path) for path in (folder / sink).glob("*.parquet")]
    return sorted((tuple(row.values()) for table in tables for row in table.to_pylist()), key=repr), ran.stderr


@pytest.mark.parametrize("name", JOBS)
def test_a_data_set_has_the_same_answers_on_all_engines(session, tmp_path, name):
    path = Path(os.environ.get("SKYBAND_DATA", "")) / f"{name}.parquet"
    if "SKYBAND_DATA" not in os.environ or not path.exists():
        pytest.skip(f"needs {path.name} in the folder named by SKYBAND_DATA")
    assert pq.read_metadata(path).num_rows == ROWS[name]
    source = f'[source]\nformat = "parquet"\npath = "{path}"'
    (tmp_path / "job.toml").write_text(JOBS[name].replace("[source]", source) + '\n[sink]\nformat = "parquet"\n')
    local, summary = answers(tmp_path, "local")
    assert len(local) > 20
    assert not re.search(r"\bbad\b|warning", summary)
    assert answers(tmp_path, "spark")[0] == local
    assert answers(tmp_path, "spark", *STREAM)[0] == local
