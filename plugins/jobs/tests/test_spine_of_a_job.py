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
    rows = [json.loads(line) for path in sorted(folder.glob("part-*.json")) for line in path.read_text().splitlines()]
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
        ("[source.spine]\n", "[source.spine]\nstream = true\n", "source.spine.stream: is taken from [source]"),
        ("[source.spine]\n", '[source.spine]\nidle_after = "1 minute"\n', "source.spine.idle_after: is taken from"),
        ("[source.spine]\n", "[source.spine]\npth = 3\n", "source.spine.pth: unknown"),
    ],
)
def test_a_spine_that_does_not_fit_is_refused_by_name(job, tmp_path, was, becomes, message):
    ended = job("check", was=was, becomes=becomes)
    assert ended.exit_code == 1
    assert message in ended.output.replace(f"{tmp_path}/", ""), ended.output


def test_spark_refuses_a_spine_of_a_stream_by_name(job, tmp_path):
    ended = job("check", was="[source]", becomes="[source]\nstream = true", engine="spark")
    assert ended.exit_code == 1
    assert "source.spine: of a stream is for `skyband serve` and --engine local: on Spark unite both" in ended.output


STREAM = (
    JOB.replace("paid.parquet", "paid").replace("labels.csv", "labels").replace("[source]", "[source]\nstream = true")
)
STREAM += 'trigger = "available-now"\n'


def write(folder, name, rows, labels):
    for each in ("paid", "labels"):
        (folder / each).mkdir(exist_ok=True)
    times, cards, paid = zip(*rows, strict=True)
    table = pa.table({"ts": pa.array(times, pa.timestamp("s")), "card": pa.array(cards, pa.string()), "paid": paid})
    pq.write_table(table, folder / "paid" / f"{name}.parquet")
    lines = [f"1970-01-01 00:{at // 60:02}:{at % 60:02},{card},{fraud}" for at, card, fraud in labels]
    (folder / "labels" / f"{name}.csv").write_text("\n".join(["at,card,fraud", *lines]) + "\n")


FIRST = [(0, "a", 5.0), (20, "b", 7.0), (40, "a", 1.5), (100, None, 2.0)], [
    (40, "a", "true"), (41, "a", "false"), (101, "", "false"), (50, "new", "true"), (900, "a", "true")
]  # fmt: skip
SECOND = [(110, "a", 4.0), (950, "a", 8.0)], [(99, "a", "false"), (120, "a", "true"), (940, "b", "false")]
AFTER_FIRST = [("00:40", "a", 5.0, True), ("00:41", "a", 6.5, False), ("00:50", "new", 0.0, True)]
AFTER_SECOND = [("01:41", None, 2.0, False), ("02:00", "a", 4.0, True), ("15:00", "a", 0.0, True)]


def test_a_stream_answers_the_moments_that_both_have_passed(job, tmp_path):
    """A moment far ahead makes no row late: the watermark is that of the slower of both."""
    write(tmp_path, "1", *FIRST)
    (tmp_path / "job.toml").write_text(STREAM)
    ended = CliRunner().invoke(group, ["run", "job.toml", "--engine", "local"])
    assert ended.exit_code == 0, ended.output
    assert "late     0 " in ended.output
    assert answers(tmp_path / "training") == AFTER_FIRST
    (tmp_path / "job.toml").write_text(STREAM.replace("stream = true", "stream = true\nfinish = true", 1))
    ended = CliRunner().invoke(group, ["run", "job.toml", "--engine", "local", "--set", 'sink.path="whole"'])
    assert ended.exit_code == 0, ended.output
    assert answers(tmp_path / "whole") == sorted([*AFTER_FIRST, ("01:41", None, 2.0, False), ("15:00", "a", 0.0, True)])


def test_a_service_goes_on_in_both_where_it_stopped(job, tmp_path):
    (tmp_path / "job.toml").write_text(STREAM + 'checkpoint = "checkpoint"\n')
    write(tmp_path, "1", *FIRST)
    for wanted in (AFTER_FIRST, sorted([*AFTER_FIRST, *AFTER_SECOND])):
        ended = CliRunner().invoke(group, ["serve", "job.toml"])
        assert ended.exit_code == 0, ended.output
        assert answers(tmp_path / "training") == wanted
        write(tmp_path, "2", *SECOND)
    (tmp_path / "job.toml").write_text(STREAM.replace('path = "labels"', 'path = "."') + 'checkpoint = "checkpoint"\n')
    ended = CliRunner().invoke(group, ["serve", "job.toml"])
    assert ended.exit_code == 1
    assert "source.spine.path: was " in ended.output
