"""`skyband ask`: any window of a table of states, at one moment, for some or all groups."""

import json
import os
import re
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from skyband.cli.commands import group
from skyband.engines import local

MINUTE = 60_000_000
START = 1_760_000_400_000_000
QUERY = {
    "kind": "distinct-count",
    "time": "ts",
    "item": "client",
    "windows": ["1 hour"],
    "every": "30 minutes",
    "by": ["status", "host"],
    "emit": "state",
}


def visits():
    rng = np.random.default_rng(4)
    status = rng.choice(["200", "404"], 3000, p=[0.9, 0.1])
    times = np.sort(rng.integers(0, 180 * MINUTE, 3000))
    status[times > 170 * MINUTE] = "200"
    return pa.table(
        {
            "ts": pa.array(START + times, pa.timestamp("us", "UTC")),
            "client": rng.integers(0, 300, 3000),
            "status": status,
            "host": rng.choice(["a", "b"], 3000),
        }
    )


TABLE = visits()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    home = tmp_path_factory.mktemp("ask")
    for name, changes in (("all", {}), ("changed", {"emit": "changed-state", "every": "1 minute"})):
        answers = local.apply(TABLE, {**QUERY, **changes}, {"sketch": "exact"})
        (home / name).mkdir()
        for part in range(2):
            rows = answers.slice(part * len(answers) // 2, -(-len(answers) // 2))
            pq.write_table(rows, home / name / f"part-{part}.parquet", row_group_size=5)
        (home / name / "_ignored.parquet").write_text("no Parquet")
    return home


def ask(path, *options):
    return CliRunner().invoke(group, ["ask", str(path), *map(str, options)])


def answered(path, *options):
    found = ask(path, *options, "--json")
    assert found.exit_code == 0, found.output
    return json.loads(found.stdout)["answers"]


def clients(minutes, at=180, **values):
    mask = np.ones(len(TABLE), bool)
    for name, value in values.items():
        mask &= np.array(TABLE[name].to_pylist()) == value
    times = np.asarray(TABLE["ts"].cast(pa.int64())) - START
    mask &= (times >= (at - minutes) * MINUTE) & (times < at * MINUTE)
    return len(set(np.asarray(TABLE["client"])[mask].tolist()))


@pytest.mark.parametrize("kind", ["all", "changed"])
def test_windows_of_united_groups_are_counted_by_hand(folder, kind):
    rows = answered(folder / kind, "--last", "37 minutes", "--last", "1 hour", "--by", "status", "--union")
    expected = [
        {**group, "last": f"{last}", "count": clients(minutes, **group)}
        for group in ({"status": "200"}, {"status": "404"}, {})
        for last, minutes in (("37 minutes", 37), ("1 hour", 60))
    ]
    assert [{key: row[key] for key in row if key not in ("low", "high")} for row in rows] == expected
    assert all(row["low"] == row["count"] == row["high"] for row in rows)


def test_every_group_by_itself_over_all_that_is_covered(folder):
    rows = answered(folder / "all")
    found = {(row["status"], row["host"]): row["count"] for row in rows}
    assert found == {(s, h): clients(60, status=s, host=h) for s in ("200", "404") for h in ("a", "b")}
    assert {row["last"] for row in rows} == {"1 hour"}


def test_an_earlier_moment(folder):
    (row,) = answered(folder / "all", "--union", "--last", "10 minutes", "--at", "2025-10-09T11:00")
    assert row["count"] == clients(10, at=120)
    (row,) = answered(folder / "changed", "--union", "--last", "10 minutes", "--at", START + 95 * MINUTE + 7_000_000)
    times = np.asarray(TABLE["ts"].cast(pa.int64())) - START - 7_000_000
    mask = (times >= 85 * MINUTE) & (times < 95 * MINUTE)
    before = (times >= 95 * MINUTE - 7_000_000) & mask
    assert row["count"] == len(set(np.asarray(TABLE["client"])[mask & ~before].tolist()))


def test_the_table(folder):
    told = ask(folder / "all", "--last", "37 minutes", "--by", "status", "--union")
    lines = [line.split() for line in told.stdout.splitlines()]
    assert lines[0] == ["status", "last", "count", "low", "high"]
    assert [line[0] for line in lines[1:]] == ["200", "404", "all"]
    assert told.stderr.strip() == "at 2025-10-09 12:00:00"


def test_folders_of_values_are_grouping_columns(tmp_path):
    answers = local.apply(TABLE, QUERY, {"sketch": "exact"})
    pq.write_to_dataset(answers, tmp_path / "by", partition_cols=["status"])
    rows = answered(tmp_path / "by", "--by", "status", "--last", "5 minutes")
    assert [row["status"] for row in rows] == ["200", "404"]
    assert [row["count"] for row in rows] == [clients(5, status=status) for status in ("200", "404")]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--by", "stauts"], "by: the states have no grouping column 'stauts'; did you mean 'status'?"),
        (["--column", "stat"], "column: .* has no column 'stat'; did you mean 'state'"),
        (["--last", "2 hours"], "last: .* where this state begins: ask for at most the last 1 hour"),
        (["--last", "10 rows"], r"last: must be in time, as the windows of this state are \(got 10 rows\)"),
        (["--at", "2025-10-09T10:07"], "at: there is no state at .* 10:07:00; the nearest are at .* 10:00:00 and"),
        (["--at", "noon"], "at: must be a moment such as"),
    ],
)
def test_what_cannot_be_asked_says_why(folder, options, said):
    found = ask(folder / "all", *options)
    assert found.exit_code == 1
    assert re.search(said, found.stderr), found.stderr


def test_a_damaged_state_is_named_with_its_group(tmp_path):
    answers = local.apply(TABLE, QUERY, {"sketch": "exact"})
    cut = [state[:-3] for state in answers["state"].to_pylist()]
    pq.write_table(answers.set_column(3, "state", pa.array(cut)), tmp_path / "cut.parquet")
    found = ask(tmp_path / "cut.parquet")
    assert found.exit_code == 1
    assert "the state of " in found.stderr and "damaged: its checksum does not match" in found.stderr
    pq.write_table(pa.table({"at": [1], "state": [b"x"]}), tmp_path / "x.parquet")
    assert "not a Skyband snapshot" in ask(tmp_path / "x.parquet").stderr


HEAVY = (
    "numba",
    "pyspark",
    "pandas",
    "pyarrow.compute",
    "pyarrow.dataset",
    "numpy.ma",
    "skyband_jobs.job",
    "skyband_jobs.local",
    "skyband.engines",
    "skyband.queries",
    "skyband.operator",
    "skyband.roles.matcher",
)


@pytest.mark.parametrize("sketch", ["exact", "k-skb", "pcsa-ml"])
def test_it_loads_nothing_that_it_does_not_need(tmp_path, sketch):
    pq.write_table(local.apply(TABLE, QUERY, {"sketch": sketch}), tmp_path / "states.parquet")
    code = (
        "import sys; from skyband.cli.commands import group; "
        f"group(['ask', {str(tmp_path)!r}, '--union'], standalone_mode=False); "
        f"print([name for name in {HEAVY} if name in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ)
    assert ran.stdout.splitlines()[-1] == "[]"


TOP = {**QUERY, "kind": "heavy-hitters", "object": "host", "by": "status", "k": 1}
TOP.pop("item")


@pytest.mark.parametrize("ranker", ["exact", "k-skb"])
def test_the_objects_with_the_largest_totals(tmp_path, ranker):
    pq.write_table(local.apply(TABLE, TOP, {"total-ranker": ranker}), tmp_path / "tops.parquet")
    rows = answered(tmp_path, "--last", "30 minutes", "--by", "status", "--union", "-k", 2)
    times = np.asarray(TABLE["ts"].cast(pa.int64())) - START
    for status in ("200", "404", None):
        mask = times >= 150 * MINUTE
        mask &= np.array(TABLE["status"].to_pylist()) == status if status else True
        hosts = np.array(TABLE["host"].to_pylist())[mask]
        expected = sorted(((int((hosts == host).sum()), host) for host in set(hosts.tolist())), reverse=True)
        found = [(row["total"], row["object"]) for row in rows if row.get("status") == status]
        assert found == expected
    assert [row["rank"] for row in answered(tmp_path, "--union")] == [1], "the query's own k"
    told = ask(tmp_path, "--union", "-k", 2)
    assert told.stdout.split()[:7] == ["last", "rank", "object", "total", "share", "low", "high"]
    wrong = ask(tmp_path, "--between", 0, 10)
    assert (
        f"between: belongs to the question estimate, but these are states of total-ranker/{ranker}, which answer "
        "heavy_hitters (got [[0.0, 10.0]])"
    ) in wrong.stderr
    code = (
        "import sys; from skyband.cli.commands import group; "
        f"group(['ask', {str(tmp_path)!r}, '--union'], standalone_mode=False); "
        "print([name for name in ('numba', 'pyspark', 'pandas', 'skyband.queries') if name in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ)
    assert ran.stdout.splitlines()[-1] == "[]"


def test_a_number_of_objects_is_for_rankers(folder):
    said = "k: belongs to the question heavy_hitters, but these are states of sketch/exact, which answer estimate, "
    said += "count_of, frequency (got 3)"
    assert said in ask(folder / "all", "-k", 3).stderr


def test_moments_in_other_units_and_row_groups_of_any_size(tmp_path):
    answers = local.apply(TABLE, QUERY, {"sketch": "exact"})
    for unit, rows in (("ms", 1), ("ns", 3), ("us", 1000)):
        at = answers["at"].cast(pa.timestamp(unit, "UTC"))
        place = answers.column_names.index("at")
        pq.write_table(answers.set_column(place, "at", at), tmp_path / f"{unit}.parquet", row_group_size=rows)
        (row,) = answered(tmp_path / f"{unit}.parquet", "--union", "--last", "10 minutes", "--at", "2025-10-09T11:00")
        assert row["count"] == clients(10, at=120)
    nulls = answers.set_column(place, "at", pa.array([None] * len(answers), pa.timestamp("us", "UTC")))
    pq.write_table(nulls, tmp_path / "null.parquet")
    assert "column 'at' has a null" in ask(tmp_path / "null.parquet").stderr
    words = answers.set_column(place, "at", pa.array(["noon"] * len(answers)))
    pq.write_table(words, tmp_path / "words.parquet")
    assert "column 'at' must be moments (got string)" in ask(tmp_path / "words.parquet").stderr


def test_the_local_engine_writes_few_states_into_a_row_group(tmp_path):
    job = tmp_path / "job.toml"
    pq.write_table(TABLE, tmp_path / "visits.parquet")
    query = "\n".join(f"{key} = {value!r}" for key, value in QUERY.items())
    source, sink = (f'[{name}]\nformat = "parquet"\npath = "{path}"' for name, path in NAMED)
    job.write_text(f'{source}\n[query]\n{query}\n{sink}\n[backends.sketch]\nname = "pcsa-ml"\nepsilon = 0.01\n')
    ran = CliRunner().invoke(group, ["run", str(job), "--engine", "local"])
    assert ran.exit_code == 0, ran.output
    (file,) = (tmp_path / "states").glob("*.parquet")
    sizes = [pq.ParquetFile(file).metadata.row_group(0).num_rows, pq.ParquetFile(file).metadata.num_rows]
    blobs = pq.read_table(file)["state"].to_pylist()
    assert sum(map(len, blobs[: sizes[0]])) <= 1 << 20
    assert sum(map(len, blobs)) < 1 << 20 or sizes[0] < sizes[1]


NAMED = (("source", "visits.parquet"), ("sink", "states"))


def test_json_has_numbers_that_it_lacks_by_their_names(tmp_path):
    table = pa.table({"ts": pa.array([1, 2], pa.timestamp("s")), "place": [np.nan, 1.0], "value": [np.inf, -np.inf]})
    query = {"kind": "quantiles", "time": "ts", "value": "value", "windows": ["1 minute"], "every": "1 minute"}
    pq.write_table(
        local.apply(table, {**query, "by": ["place"], "at": [0.5], "emit": "state"}), tmp_path / "states.parquet"
    )
    rows = json.loads(ask(tmp_path / "states.parquet", "--json").stdout, parse_constant=pytest.fail)["answers"]
    assert {(row["place"], row["value"]) for row in rows} == {("NaN", "Infinity"), (1.0, "-Infinity")}


@pytest.mark.parametrize("emit", ["state", "changed-state"])
def test_nan_is_one_value_of_groups(tmp_path, emit):
    seconds, place = pa.array([1, 2, 3, 70, 80], pa.timestamp("s")), [np.nan, np.nan, 1.0, np.nan, 1.0]
    table = pa.table({"ts": seconds, "place": place, "page": [*"abaab"], "item": [*"xyxyz"]})
    query = {"kind": "distinct-count", "time": "ts", "item": "item", "windows": ["10 minutes"], "every": "1 minute"}
    path = tmp_path / "states.parquet"
    pq.write_table(local.apply(table, {**query, "by": ["place", "page"], "emit": emit}), path)
    named = [(row["place"], row["page"], row["count"]) for row in answered(path)]
    assert named == [(1.0, "a", 1), (1.0, "b", 1), ("NaN", "a", 2), ("NaN", "b", 1)]
    united = [(row["place"], row["count"]) for row in answered(path, "--by", "place")]
    assert united == [(1.0, 2), ("NaN", 2)]
    twice = ask(path, "--by", "place", "--by", "place")
    assert "error: by: names a column twice (got place, place)" in twice.output
