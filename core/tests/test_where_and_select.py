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
from skyband.errors import ConfigError, InputError
from skyband.job.sources.where_and_select import OnlySparkError, Shape


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


INTEGERS = pa.table(
    {
        "row": pa.array(range(5), pa.int64()),
        "small": pa.array([0, -1, None, 2**31 - 1, -(2**31)], pa.int32()),
        "large": pa.array([1_767_225_600, None, 253_402_300_799, -62_135_596_800, 1], pa.int64()),
    }
)
"""Times from year 1 to 9999 as seconds, and those of 32 bits."""


@pytest.mark.parametrize("unit", [1_000_000, 1_000, 1])
def test_whole_numbers_become_times(unit):
    name = {1_000_000: "timestamp_seconds", 1_000: "Timestamp_Millis", 1: "TIMESTAMP_MICROS"}[unit]
    shape = Shape.parse("row > 0", [f"{name}(small) AS a", f"{name} ( `large` ) AS b", "row"])
    schema = shape.schema(INTEGERS.schema)
    assert schema.types == [pa.timestamp("us", "UTC"), pa.timestamp("us", "UTC"), pa.int64()]
    assert shape.reads(["b"]) == ["large", "row"]
    (batch,) = INTEGERS.to_batches()
    made, kept = shape.apply(batch, schema)
    assert kept.tolist() == [1, 2, 3, 4]
    for column, source in (("a", "small"), ("b", "large")):
        numbers = made.column(column).cast(pa.int64()).to_pylist()
        assert numbers == [None if value is None else value * unit for value in INTEGERS[source].to_pylist()[1:]]


@pytest.mark.parametrize(("unit", "name"), [(1_000_000, "timestamp_seconds"), (1_000, "timestamp_millis")])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_number_too_far_from_1970_is_told_with_its_row(unit, name, sign):
    most = sign * ((2**63 - 1) // unit)
    rows = pa.record_batch({"n": pa.array([0, most, most + sign], pa.int64())})
    shape = Shape.parse("n <> 0", [f"{name}(n) AS ts"])
    made, _ = shape.apply(rows.slice(0, 2), shape.schema(rows.schema))
    assert made.column(0).cast(pa.int64()).to_pylist() == [most * unit]
    with pytest.raises(InputError, match=rf"n, row 2: {most + sign} is too far from 1970: is it in a smaller unit"):
        shape.apply(rows, shape.schema(rows.schema))


@pytest.mark.parametrize("kind", [pa.float64(), pa.string(), pa.uint64(), pa.decimal128(5, 2)])
def test_what_a_function_does_not_take_here_is_left_to_spark(kind):
    with pytest.raises(OnlySparkError, match=r"select\[0\]: timestamp_seconds is of whole numbers here, and "):
        Shape.parse(None, ["timestamp_seconds(n) AS ts"]).schema(pa.schema([("n", kind)]))
    with pytest.raises(ConfigError, match="no column 'm'"):
        Shape.parse(None, ["timestamp_seconds(m) AS ts"]).schema(pa.schema([("n", kind)]))


@pytest.mark.parametrize("text", ["timestamp_seconds(n)", "timestamp_seconds(n + 1) AS a", "timestamp_seconds() AS a",
                                  "timestamp_seconds(n AS a", "hour(n) AS a"])  # fmt: skip
def test_functions_that_are_written_otherwise(text):
    with pytest.raises(ConfigError, match=r"select\[0\]: .*of a column timestamp_seconds, .*use --engine spark"):
        Shape.parse(None, [text])


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
