"""A job on given rows: what is compared, how, and how differences are reported."""

import io
import json
from collections import Counter

import attrs
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from skyband.errors import ConfigError, InputError
from skyband.queries import kinds
from skyband_compare.testing import assert_answers
from skyband_compare.testing.difference import DIFFERS, EXTRA, MISSING, difference
from skyband_compare.testing.expectation import read_expected, write_expected
from skyband_compare.testing.job_on_rows import SOURCE_KEYS, read_job_on, run
from skyband_jobs.job.progress import Progress
from skyband_jobs.tables.model import Source
from skyband_specs.reference.example_jobs import job_example

JOB = """
[source]
format = "kafka"
stream = true
schema = "ts TIMESTAMP, site STRING, client STRING"
where = "client <> 'robot'"
options = { subscribe = "requests", "kafka.bootstrap.servers" = "${BROKERS_OF_NOBODY}" }

[query]
kind = "distinct-count"
time = "ts"
item = "client"
by = ["site"]
windows = ["10 minutes"]
every = "10 minutes"
bad_rows = { format = "delta", path = "bad/" }

[backends]
sketch = "exact"

[sink]
format = "iceberg"
table = "${SCHEMA_OF_NOBODY}.counts"
checkpoint = "checkpoint/"
"""
ROWS = """\
ts,site,client
2026-01-01 10:01,home,anna
2026-01-01 10:02,home,bert
2026-01-01 10:03,home,robot
2026-01-01 10:04,shop,anna
2026-01-01 10:12,home,anna
2026-01-01 10:31,home,carl
"""
COUNTS = """\
count,site,at
2,home,2026-01-01 10:10
1,home,2026-01-01 10:20
1,shop,2026-01-01 10:10
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in (("job.toml", JOB), ("rows.csv", ROWS), ("counts.csv", COUNTS)):
        (tmp_path / name).write_text(text)
    return tmp_path


def refused(expect, input="rows.csv", sets=()):
    with pytest.raises(AssertionError) as raised:
        assert_answers("job.toml", input, expect, sets)
    return str(raised.value).splitlines()


def test_a_job_of_kafka_answers_rows_of_a_file_and_writes_nothing(folder):
    answers = assert_answers("job.toml", "rows.csv", "counts.csv")
    assert answers.column_names[:3] == ["site", "at", "window"] and len(answers) == 3
    assert sorted(path.name for path in folder.iterdir()) == ["counts.csv", "job.toml", "rows.csv"]


def test_a_difference_names_rows_and_columns_in_the_order_of_the_job(folder):
    (folder / "other.csv").write_text(COUNTS.replace("2,home", "3,home").replace("1,shop", "7,tent"))
    assert refused("other.csv") == [
        "3 answers, 3 expected in other.csv: 1 missing, 1 too much, 1 differs",
        "          site  at                            count",
        "differs   home  2026-01-01 10:10:00  2 (expected 3)",
        "too much  shop  2026-01-01 10:10:00               1",
        "missing   tent  2026-01-01 10:10:00               7",
    ]


def test_rows_may_be_the_result_of_select(folder):
    beyond = ["source.select=[\"from_json(value, 'x') AS client\"]"]
    with pytest.raises(ConfigError, match=r"source\.select\[0\]: the function from_json is not supported"):
        assert_answers("job.toml", "rows.csv", "counts.csv", beyond)
    (folder / "left.csv").write_text(ROWS.replace("2026-01-01 10:03,home,robot\n", ""))
    assert_answers("job.toml", "left.csv", "counts.csv", beyond, after_select=True)


def test_each_file_of_a_stream_is_a_micro_batch(folder):
    early, late = ROWS.splitlines(keepends=True)[:2], ROWS.splitlines(keepends=True)[2:]
    (folder / "late.csv").write_text("".join([early[0], *late]))
    (folder / "early.csv").write_text("".join(early))
    (folder / "none.csv").write_text("site,at,count\n")
    first = refused("none.csv", ["late.csv", "early.csv"])
    assert "home  2026-01-01 10:10:00      1" in first[2], "the row of the second file is behind the watermark"
    assert "home  2026-01-01 10:10:00      2" in refused("none.csv", ["early.csv", "late.csv"])[2]
    assert len(refused("none.csv", sets=["source.finish=true"])) == len(refused("none.csv")) + 1


@pytest.mark.parametrize("suffix", ["csv", "json", "parquet", "arrow"])
@pytest.mark.parametrize("kind", kinds())
def test_the_answers_of_every_query_are_those_written_in_every_format(kind, suffix, tmp_path):
    example = job_example(kind)
    for name, text in {**example.files, "job.toml": example.job}.items():
        (tmp_path / name).write_text(text)
    job, rows, expect = tmp_path / "job.toml", tmp_path / example.file, tmp_path / f"answers.{suffix}"
    answers = run(read_job_on(job, [rows]), Progress(io.StringIO())).table
    write_expected(expect, answers)
    assert assert_answers(job, rows, expect).equals(answers)
    (tmp_path / "none.csv").write_text("")
    with pytest.raises(AssertionError, match=rf"{len(answers)} answers, 0 expected in .*: {len(answers)} too much"):
        assert_answers(job, rows, tmp_path / "none.csv")


NUMBERS = st.one_of(st.none(), st.floats(width=32).map(lambda number: number + 0.0), st.integers(0, 3).map(float))
TABLE = st.lists(st.tuples(st.integers(0, 2), st.sampled_from("ab"), NUMBERS), max_size=8)
SCHEMA = pa.schema([("at", pa.int64()), ("object", pa.string()), ("score", pa.float64())])


def table(rows):
    return pa.Table.from_pylist([dict(zip(SCHEMA.names, row, strict=True)) for row in rows], SCHEMA)


@given(TABLE, TABLE, st.permutations(SCHEMA.names))
def test_the_difference_turns_the_answers_into_the_expected_ones(answers, expected, names):
    told = difference(table(answers), table(expected).select(names), ["at"], ["object"])
    at = [told.columns.index(name) for name in SCHEMA.names]
    rows = Counter(map(repr, answers))
    rows.subtract(repr(tuple(entry.answer[place] for place in at)) for entry in told.rows if entry.answer)
    rows.update(repr(tuple(entry.expected[place] for place in at)) for entry in told.rows if entry.expected)
    assert {row: n for row, n in rows.items() if n} == Counter(map(repr, expected))
    pairs = [entry for entry in told.rows if entry.kind == DIFFERS]
    assert all(set(entry.columns) == {"score"} for entry in pairs), "rows are paired by moment and object"
    keys = {kind: Counter(key(entry, told) for entry in told.rows if entry.kind == kind) for kind in (MISSING, EXTRA)}
    assert not keys[MISSING] & keys[EXTRA], "all comparable rows were paired"
    order = [key(entry, told)[0] for entry in told.rows]
    assert order == sorted(order)


def key(entry, told):
    row = entry.answer or entry.expected
    return row[told.columns.index("at")], row[told.columns.index("object")]


@given(st.integers(1, 6), st.randoms())
def test_a_row_is_paired_with_the_most_similar_one(count, random):
    """For any number of rows with one moment and object, in any order."""
    rows = [(0, "a", float(score), score * score) for score in range(count)]
    wrong = [
        (*row[:2], row[2] + 0.5, row[3]) if number % 2 else (*row[:3], -1 - number) for number, row in enumerate(rows)
    ]
    tables = []
    for some in (wrong, rows):
        some = random.sample(some, count)
        tables.append(pa.table(dict(zip(("at", "object", "score", "square"), zip(*some, strict=True), strict=True))))
    told = difference(*tables, ["at"], ["object"])
    assert told.count(DIFFERS) == len(told.rows) == count
    columns = Counter(entry.columns for entry in told.rows)
    assert columns == Counter({("score",): count // 2, ("square",): count - count // 2})


def test_floats_are_equal_within_one_part_in_10_to_the_9():
    answers = table([(0, "a", 0.1 + 0.2), (0, "b", 1.0)])
    assert not difference(answers, table([(0, "a", 0.3), (0, "b", 1 + 9e-10)]), ["at"], ["object"])
    assert difference(answers, table([(0, "a", 0.3), (0, "b", 1 + 2e-9)]), ["at"], ["object"]).count(DIFFERS) == 1


def test_nan_equals_nan_in_numbers_lists_and_row_keys():
    nan = float("nan")
    rows = pa.table({"at": [0, 0], "place": [nan, 1.0], "seen": [[nan, 1.0], None], "count": [2.0, nan]})
    again = rows.take([1, 0])
    assert not difference(rows, again, ["at", "place"], ["place"])
    other = again.set_column(3, "count", pa.array([nan, 3.0]))
    assert [row.kind for row in difference(rows, other, ["at", "place"], ["place"]).rows] == [DIFFERS]


def test_a_row_is_expected_as_often_as_it_is_written():
    answers = table([(0, "a", 1.0)] * 3)
    assert difference(answers, table([(0, "a", 1.0)] * 2), ["at"], []).count(EXTRA) == 1
    assert difference(answers, table([(0, "a", 1.0)] * 4), ["at"], []).count(MISSING) == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("at,object,score,rank\n", "has a column 'rank' that the answers lack; they have at, object, score"),
        ("at,object,score\n0,a,high\n", "high"),
        ("at,at\n0,0\n", "has two columns 'at'"),
    ],
)
def test_problems_of_an_expectation_are_reported_with_its_file(text, words, tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text(text)
    with pytest.raises(ConfigError) as raised:
        read_expected(path, SCHEMA)
    assert words in str(raised.value) and str(path) in str(raised.value)


def test_rows_and_answers_that_are_no_files_of_rows_are_refused_by_name(folder):
    (folder / "rows.txt").write_text(ROWS)
    (folder / "rows.json").write_text('{"ts": "2026-01-01 10:01", "site": "home", "client": "anna"}\n')
    with pytest.raises(ConfigError, match=r"the name of a file of rows must end in \.csv, .*rows\.txt"):
        assert_answers("job.toml", "rows.txt", "counts.csv")
    with pytest.raises(ConfigError, match="must have one format"):
        assert_answers("job.toml", ["rows.csv", "rows.json"], "counts.csv")
    with pytest.raises(InputError, match=r"counts\.csv: line 1 does not name the column 'ts'"):
        assert_answers("job.toml", "counts.csv", "counts.csv")


def test_files_of_rows_may_be_called_anything(folder):
    """Also like a pattern that matches other files, or none."""
    (folder / "rows1.csv").write_text("of,another,job\n")
    for name in ("rows[1].csv", "rows[2].csv", "r*.csv"):
        (folder / name).write_text(ROWS)
        assert len(assert_answers("job.toml", name, "counts.csv")) == 3


def test_what_makes_rows_of_a_source_makes_them_of_these_too(folder):
    """The source's keys that apply to any rows: the condition, the columns, and exploded lists."""
    line = {
        "visits": [
            {"ts": f"2026-01-01T10:0{n}:00Z", "site": "home", "client": name}
            for n, name in enumerate(("anna", "bert", "robot", "anna"))
        ]
    }
    (folder / "rows.json").write_text(f"{json.dumps(line)}\n")
    kind = "ARRAY<STRUCT<ts: TIMESTAMP, site: STRING, client: STRING>>"
    sets = ["source.explode=visits", f"source.schema=visits {kind}"]
    (folder / "two.csv").write_text("count,site\n2,home\n")
    answers = assert_answers("job.toml", "rows.json", "two.csv", [*sets, "source.finish=true"])
    assert answers["count"].to_pylist() == [2.0]
    fields = {entry.name for entry in attrs.fields(Source)}
    of_place = {"format", "path", "reader", "table", "url", "catalog", "distribution", "options", "spine"}
    assert {*SOURCE_KEYS} == fields - of_place, "a new key of a source must be listed here or there"
