"""`source.where` and `source.select` of the local engine: rows as in SQL; anything beyond is named."""

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
from skyband_jobs.files.where_and_select import OnlySparkError, Shape


@pytest.mark.parametrize("where", CONDITIONS)
def test_rows_stay_if_the_condition_is_true(where):
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


@pytest.mark.parametrize(("text", "word"), [("explode(values) AS v", "values"), ("upper(when) AS w", "when")])
def test_a_column_that_is_called_like_a_word_of_sql_is_told_how_to_write(text, word):
    with pytest.raises(ConfigError, match=f"for a column {word}, write `{word}` in backquotes"):
        Shape.parse(None, [text])


@pytest.mark.parametrize("kind", [pa.float64(), pa.string(), pa.uint64(), pa.decimal128(5, 2)])
def test_what_a_function_does_not_take_here_is_left_to_spark(kind):
    with pytest.raises(OnlySparkError, match=r"select\[0\]: .*; use --engine spark"):
        Shape.parse(None, ["timestamp_millis(n) AS ts"]).schema(pa.schema([("n", kind)]))
    with pytest.raises(ConfigError, match="no column 'm'"):
        Shape.parse(None, ["timestamp_seconds(m) AS ts"]).schema(pa.schema([("n", kind)]))


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("nonsense(agent) = 'X'", r"where: the function nonsense is not supported \(got"),
        ("agent = 'it''s'", r"where: `.*` is not supported"),
        ("agent LIKE 'a\\\\b'", r"where: LIKE: the pattern 'a\\\\b' has a backslash"),
        ("status = 404 AND", r"where: cannot be read"),
        ("status IN ()", r"where: "),
        ("(status = 404", r"where: cannot be read"),
        ("", r"where: is not one expression"),
        ("true, false", r"where: is not one expression"),
        ("true FROM files", r"where: is not one expression"),
        ("true; false", r"where: is not one expression"),
        ("status IN (SELECT 1)", r"where: `.*` is not supported"),
        ("status = 404 AS error", r"where: has a name, error"),
        ("status & 1 = 1", r"where: `status & 1` is not supported"),
        ("bot = status IN (1)", r"where: `.*` needs brackets around `status IN \(1\)`"),
        ("cast(status AS interval day) = 1", r"where: "),
    ],
)
def test_what_is_not_known_is_named(where, said):
    with pytest.raises(ConfigError, match=said) as caught:
        Shape.parse(where, None).schema(ROWS.schema)
    assert str(caught.value).endswith("use --engine spark")


@pytest.mark.parametrize(
    ("where", "select", "said"),
    [
        ("statsu = 404", None, r"where: the source has no column 'statsu'; did you mean 'status'"),
        ("status = true", None, r"where: = takes values of one type, not int and boolean: cast one"),
        ("status", None, r"where: `status` is int32, not a condition: compare it with a value"),
        ("status LIKE '4%'", None, r"where: LIKE takes text, not int: write cast"),
        ("agent LIKE agent", None, r"where: LIKE takes a pattern as literal text in quotes"),
        ("agent RLIKE '(?=a)b'", None, r"where: rlike: '\(\?=a\)b' in the pattern"),
        ("1.5 / seconds = status / 1.5", None, r"where: / of decimals is not supported: cast one to double"),
        (None, ["agnt"], r"select\[0\]: the source has no column 'agnt'; did you mean 'agent'"),
        (None, ["agent", "status AS agent"], r"select: makes two columns called 'agent'"),
        (None, ["*", "1 AS agent"], r"select: makes two columns called 'agent'"),
        (None, ["explode(agent) AS a"], r"select\[0\]: explode takes arrays, not string"),
        (None, ["size(explode(split(agent, ' '))) AS a"], r"select\[0\]: explode must be a whole entry of select"),
    ],
)
def test_columns_that_do_not_fit_are_named(where, select, said):
    with pytest.raises(ConfigError, match=said):
        Shape.parse(where, select).schema(ROWS.schema)


@pytest.mark.parametrize("where", ["status", "agent", "status + 1", "timestamp_seconds(status)", "'true'"])
def test_what_is_no_condition_for_spark_either_is_not_left_to_it(where):
    with pytest.raises(ConfigError, match=r", not a condition: compare it with a value$") as caught:
        Shape.parse(where, None).schema(ROWS.schema)
    assert not isinstance(caught.value, OnlySparkError)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("'air'", "has no name: write 'air' AS name"),
        ("lower(agent)", "has no name"),
        ("status AS", "no name after AS"),
        ("timestamp_seconds() AS a", "timestamp_seconds takes 1 or more arguments, not 0"),
        ("*, status", "is not one expression"),
    ],
)
def test_expressions_that_are_not_known_are_named_by_their_place(text, said):
    with pytest.raises(ConfigError, match=r"select\[1\]: ") as caught:
        Shape.parse(None, ["agent", text]).schema(ROWS.schema)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    "where",
    [
        "(" * 10_000 + "true" + ")" * 10_000,
        "NOT " * 10_000 + "true",
        "1" + " + 1" * 10_000 + " = 1",
        "bot" + " OR bot" * 10_000,
        "CASE WHEN " * 5_000 + "bot" + " THEN true END" * 5_000,
        "- " * 5_000 + "1 = 1",
        "status = " + "9" * 5_000,
        "agent = '" + "a" * 1_000_001 + "'",
    ],
)
def test_expressions_without_an_end_are_refused(where):
    with pytest.raises(ConfigError, match=r"more than|longer than|cannot be read") as caught:
        Shape.parse(where, None)
    assert len(str(caught.value)) < 500


def test_in_accepts_many_values():
    shape = Shape.parse(f"status IN ({', '.join(map(str, range(3_000)))})", None)
    assert shape.apply(ROWS.to_batches()[0], shape.schema(ROWS.schema))[1].tolist() == [0, 1, 3, 4]


def test_all_columns_and_one_more():
    shape = Shape.parse("bot", ["*", "upper(agent) AS loud"])
    schema = shape.schema(ROWS.schema)
    assert schema.names == [*ROWS.schema.names, "loud"]
    assert shape.reads(["loud", "a b"]) == ["agent", "a b", "bot"]
    made, _ = shape.apply(ROWS.to_batches()[0], schema)
    assert made.select(["a b", "loud"]).to_pylist() == [{"a b": 1, "loud": "CURL/8"}, {"a b": 4, "loud": "MOZILLA X"}]


def test_a_row_for_each_element():
    rows = pa.record_batch({"n": [1, 2, 3, 4], "tags": [["a", "b"], [], None, ["c"]]})
    for name, expected in (
        ("explode", [(1, "a"), (1, "b"), (4, "c")]),
        ("explode_outer", [(1, "a"), (1, "b"), (2, None), (3, None), (4, "c")]),
    ):
        shape = Shape.parse("n <> 5", ["10 div (5 - n) AS tenth", "n", f"{name}(tags) AS tag"])
        assert shape.reads(["n"]) == ["n", "tags"]
        padded = pa.concat_batches([rows, rows]).slice(4)  # a slice, whose offsets Arrow counts differently
        made, kept = shape.apply(padded, shape.schema(rows.schema))
        assert list(zip(made["n"].to_pylist(), made["tag"].to_pylist(), strict=True)) == expected
        assert kept.tolist() == [number - 1 for number, _ in expected]


def test_an_entry_that_fails_next_to_an_exploded_list_is_reported_by_its_row_before_where():
    rows = pa.record_batch({"n": [0, 5, 5, 1], "list": [["a"], [], ["a", "b"], ["c", "d"]], "m": [1, 1, 1, 0]})
    shape = Shape.parse("n > 0", ["explode(list) AS one", "n % m AS rest"])
    with pytest.raises(InputError, match="row 3: division by zero") as caught:
        shape.apply(rows, shape.schema(rows.schema))
    assert caught.value.row == 3


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


@pytest.mark.parametrize("engine", ["local", "spark"])
@pytest.mark.parametrize(
    ("key", "value", "place"),
    [
        ("where", "100 / (status - 404) > 0", "source.where"),
        ("select", ["*", "100 DIV (status - 404) AS part"], "source.select.part"),
    ],
)
@pytest.mark.parametrize(
    "query", [{"kind": "distinct-count", "item": "part"}, {"kind": "quantiles", "value": "part", "at": [0.5]}]
)
def test_check_names_the_row_in_which_an_expression_fails(tmp_path, engine, key, value, place, query):
    """Whether its query promises anything or not; and nothing is run."""
    statuses = [200] * 5 + [404] + [200] * 5
    times = pa.array(range(11), pa.timestamp("s", "UTC"))
    pq.write_table(pa.table({"ts": times, "status": statuses, "part": [1.0] * 11}), tmp_path / "rows.parquet")
    shape = f"{key} = {json.dumps(value)}" if key == "where" else 'select = ["ts", "100 DIV (status - 404) AS part"]'
    keys = "".join(f"{name} = {json.dumps(entry)}\n" for name, entry in query.items())
    (tmp_path / "job.toml").write_text(
        f'[source]\nformat = "parquet"\npath = "rows.parquet"\n{shape}\n[query]\ntime = "ts"\n{keys}'
        'windows = ["5 seconds"]\nevery = "5 seconds"\n[sink]\nformat = "console"\n'
    )
    told = CliRunner().invoke(group, ["check", str(tmp_path / "job.toml"), "--engine", engine])
    assert told.exit_code == 1
    assert f"{place}: " in told.output
    assert "row 5: division by zero" in told.output


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("status = 404", "stauts = 404", "job.toml: source.where: the source has no column 'stauts'; did you mean"),
        ("status = 404", "soundex(host) = 'X'", "job.toml: source.where: the function soundex is not supported"),
        ("host AS page", "soundex(host) AS page", "job.toml: source.select[1]: the function soundex is not supported"),
    ],
)
def test_check_names_what_does_not_fit(tmp_path, before, after, said):
    _, path = write_job(tmp_path, JOB.replace(before, after))
    ran = CliRunner().invoke(group, ["check", str(path), "--engine", "local"])
    assert ran.exit_code == 1
    assert said in ran.output + ran.stderr
