"""`source.where` and `source.select` of the local engine: rows as SQL gives them; what is beyond, named."""

import json
import tomllib
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from conditions import CONDITIONS, ROWS
from skyband.cli.commands import group
from skyband.errors import ConfigError
from skyband.job.sources.where_and_select import Shape


@pytest.mark.parametrize("where", CONDITIONS)
def test_rows_stay_where_the_condition_is_true(where):
    shape = Shape.parse(where, None)
    batch, kept = shape.apply(ROWS.to_batches()[0], shape.schema(ROWS.schema))
    assert kept.tolist() == CONDITIONS[where]
    assert batch.column("a b").to_pylist() == [row + 1 for row in CONDITIONS[where]]


def test_columns_are_chosen_renamed_and_made():
    shape = Shape.parse(
        "status = 404", ["agent AS who", "`a b`", "'air' AS sensor", "7 AS seven", "true AS yes", "-1.50 AS less"]
    )
    schema = shape.schema(ROWS.schema)
    assert shape.reads(["who", "sensor"]) == ["agent", "status"]
    made = shape.apply(ROWS.to_batches()[0], schema)[0]
    assert made.to_pylist() == [
        {"who": "Mozilla", "a b": 2, "sensor": "air", "seven": 7, "yes": True, "less": Decimal("-1.50")},
        {"who": "mozilla x", "a b": 4, "sensor": "air", "seven": 7, "yes": True, "less": Decimal("-1.50")},
    ]
    assert schema.field("seven").type == pa.int32()
    assert schema.field("less").type == pa.decimal128(3, 2), "as on Spark"


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("upper(agent) = 'X'", r"where: `upper\(agent\) = 'X'` is beyond what the local engine knows: =, <>"),
        ("status + 1 = 2", r"where: `\+ 1 = 2` is beyond"),
        ("status = agent", r"where: 'agent' does not go on here"),
        ("404 = status", r"where: '404' does not go on here"),
        ("status == 404", r"where: `== 404` is beyond"),
        ("status <=> 404", r"where: `<=> 404` is beyond"),
        ("agent = 'it''s'", r"is beyond"),
        ("agent LIKE 'a\\_b'", r"is beyond"),
        ("status = 404 AND", r"where: 'the end' does not go on here"),
        ("status IN ()", r"where: '\)' does not go on here"),
        ("(status = 404", r"where: 'the end' does not go on here"),
        ("status = NULL", r"where: 'NULL' does not go on here"),
        ("", r"where: 'the end' does not go on here"),
        ("status = 1e3", r"where: `1e3` is beyond"),
    ],
)
def test_what_is_beyond_the_common_part_is_named(where, said):
    with pytest.raises(ConfigError, match=said) as caught:
        Shape.parse(where, None)
    assert str(caught.value).endswith("use --engine spark")


@pytest.mark.parametrize(
    ("where", "select", "said"),
    [
        ("statsu = 404", None, r"where: the source has no column 'statsu'; did you mean 'status'"),
        ("status = '404'", None, r"where: column 'status' is int32, which is not compared with '404'"),
        ("status = 404.5", None, r"where: column 'status' is int32, which is not compared with 404.5"),
        ("seconds = 9007199254740993", None, r"where: column 'seconds' is double, which is not compared with 900"),
        ("status", None, r"where: column 'status' is int32: compare it with a value"),
        ("status LIKE '4%'", None, r"where: LIKE is for text, and column 'status' is int32"),
        (None, ["agnt"], r"select\[0\]: the source has no column 'agnt'; did you mean 'agent'"),
        (None, ["agent", "status AS agent"], r"select: makes two columns called 'agent'"),
    ],
)
def test_columns_that_do_not_fit_are_named(where, select, said):
    with pytest.raises(ConfigError, match=said):
        Shape.parse(where, select).schema(ROWS.schema)


@pytest.mark.parametrize("text", ["status + 1 AS more", "'air'", "upper(agent) AS a", "status AS", "*"])
def test_expressions_beyond_the_common_part_are_named_by_their_place(text):
    with pytest.raises(ConfigError, match=r"select\[1\]: the local engine knows columns, .*use --engine spark"):
        Shape.parse(None, ["agent", text])


JOB = """
[source]
format = "parquet"
path = "rows.parquet"
where = "status = 404 AND agent NOT LIKE '%bot%'"
select = ["ts", "host AS page", "'web' AS origin", "size"]

[query]
kind = "top-k"
time = "ts"
object = "page"
stream = "origin"
streams = ["web"]
value = "size"
k = 3
window = "1 hour"
every = "1 hour"

[sink]
format = "json"
path = "answers"
"""


def write_job(folder, text=JOB):
    rng = np.random.default_rng(1)
    table = pa.table(
        {
            "ts": pa.array(np.arange(500) * 20_000_000, pa.timestamp("us")),
            "host": [f"h{number}" for number in rng.integers(0, 9, 500)],
            "status": rng.choice([200, 404], 500),
            "agent": [["curl", "a bot", None][number] for number in rng.integers(0, 3, 500)],
            "size": rng.integers(0, 100_000, 500),
        }
    )
    pq.write_table(table, folder / "rows.parquet")
    (folder / "job.toml").write_text(text, "utf-8")
    return table, folder / "job.toml"


def test_a_job_asks_of_the_rows_that_are_left(tmp_path):
    from skyband.engines import local

    table, path = write_job(tmp_path)
    ran = CliRunner().invoke(group, ["run", str(path), "--engine", "local"])
    assert ran.exit_code == 0, ran.stderr
    lines = [
        json.loads(line) for file in (tmp_path / "answers").glob("*.json") for line in file.read_text().splitlines()
    ]
    rows = [row for row in table.to_pylist() if row["status"] == 404 and row["agent"] not in (None, "a bot")]
    left = pa.Table.from_pylist([{**row, "page": row["host"], "origin": "web"} for row in rows])
    expected = local.apply(left, tomllib.loads(JOB)["query"])
    assert [(line["rank"], line["object"], line["score"]) for line in lines] == [
        (row["rank"], row["object"], row["score"]) for row in expected.to_pylist()
    ]
    assert len(lines) > 5


def test_a_bad_row_is_told_by_its_place_in_the_file(tmp_path):
    text = JOB.replace('kind = "top-k"', 'kind = "top-k"\nupper = 10')
    table, path = write_job(tmp_path, text)
    ran = CliRunner().invoke(group, ["run", str(path), "--engine", "local"])
    rows = enumerate(table.to_pylist())
    first = next(n for n, row in rows if row["status"] == 404 and row["agent"] == "curl" and row["size"] > 10)
    assert ran.exit_code == 1
    assert f"row {first}: must be at most 10" in ran.stderr


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("status = 404", "stauts = 404", "job.toml: source.where: the source has no column 'stauts'; did you mean"),
        ("status = 404", "upper(host) = 'X'", "job.toml: source.where: `upper(host) = 'X' AND"),
        ("host AS page", "lower(host) AS page", "job.toml: source.select[1]: the local engine knows columns"),
    ],
)
def test_check_names_what_does_not_fit(tmp_path, before, after, said):
    _, path = write_job(tmp_path, JOB.replace(before, after))
    ran = CliRunner().invoke(group, ["check", str(path), "--engine", "local"])
    assert ran.exit_code == 1
    assert said in ran.output + ran.stderr
