"""A job with a spine: the moments of a second table, each answered with the features just before it."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from skyband.cli.commands import group

JOB = """
[source]
format = "parquet"
path = "paid.parquet"

[source.spine]
format = "csv"
path = "labels.csv"
schema = "at TIMESTAMP_NTZ, card STRING, fraud BOOLEAN"
options = { header = true }
select = ["at AS ts", "card", "fraud"]

[query]
kind = "row-features"
time = "ts"
by = ["card"]
windows = ["1 minute"]
sums = ["paid"]
asks = "asked"
carry = ["fraud"]

[sink]
format = "json"
path = "training"
"""
LABELS = """at,card,fraud
1970-01-01 00:00:40,a,true
1970-01-01 00:00:41,a,false
1970-01-01 00:01:41,,false
1970-01-01 00:00:50,new,true
"""


@pytest.fixture
def job(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    paid = {"ts": pa.array([0, 20, 40, 100], pa.timestamp("s")), "card": ["a", "b", "a", None], "paid": [5, 7, 1.5, 2]}
    pq.write_table(pa.table(paid), "paid.parquet")
    (tmp_path / "labels.csv").write_text(LABELS)

    def run(command="run", *, was="", becomes="", engine="local"):
        assert was in JOB
        (tmp_path / "job.toml").write_text(JOB.replace(was, becomes, 1))
        return CliRunner().invoke(group, [command, "job.toml", "--engine", engine])

    return run


def answers(folder):
    rows = [json.loads(line) for path in sorted(folder.glob("*.json")) for line in path.read_text().splitlines()]
    return sorted((row["time"][14:19], row.get("card"), row["paid_sum_1_minute"], row["fraud"]) for row in rows)


WANTED = [
    ("00:40", "a", 5.0, True),
    ("00:41", "a", 6.5, False),
    ("00:50", "new", 0.0, True),
    ("01:41", None, 2.0, False),
]


@pytest.mark.parametrize("engine", ["local", pytest.param("spark", marks=[pytest.mark.spark, pytest.mark.slow])])
def test_each_moment_of_the_spine_is_answered(job, tmp_path, engine):
    ended = job(engine=engine)
    assert ended.exit_code == 0, ended.output
    assert answers(tmp_path / "training") == WANTED


@pytest.mark.parametrize(
    ("was", "becomes", "message"),
    [
        ('asks = "asked"\n', "", "source.spine: a row-features answers a spine only with `asks`"),
        ('"card", "fraud"]', '"fraud"]', "source.spine: has no column 'card', which the query names in `by`"),
        ("at TIMESTAMP_NTZ", "at BIGINT", r"source.spine: column 'ts' must be timestamp[ms], as it is in the rows"),
        ("labels.csv", "nothing.csv", "source.spine.path: 'nothing.csv' does not exist"),
        ('"at AS ts"', '"AT AT ts"', "source.spine.select[0]: "),
        ('asks = "asked"', 'asks = "paid"', "source: have a column 'paid', which marks the moments of the spine"),
        ("[source]", "[source]\nstream = true", "source.spine: is for batches"),
        ("[source.spine]\n", "[source.spine]\nstream = true\n", "source.spine: must be a source of a batch"),
        ("[source.spine]\n", "[source.spine]\npth = 3\n", "source.spine.pth: unknown"),
    ],
)
def test_a_spine_that_does_not_fit_is_refused_by_name(job, tmp_path, was, becomes, message):
    ended = job("check", was=was, becomes=becomes)
    assert ended.exit_code == 1
    assert message in ended.output.replace(f"{tmp_path}/", ""), ended.output
