"""A job whose query has a second source: a table of rules, read next to the rows."""

import json
import math
import os
import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from skyband.cli.commands import group
from skyband_jobs import read_job

README = (Path(__file__).parents[2] / "plugins/workload/README.md").read_text("utf-8")
JOB = re.search(r"```toml\n(.*?)```", README, re.DOTALL)[1]
BIDS = """ts,lot,price
2026-06-20 09:00:10,17,120
2026-06-20 09:00:40,23,310
2026-06-20 09:01:05,17,150
2026-06-20 09:01:50,42,90
2026-06-20 09:02:20,23,280
"""
RULES = [*map(json.loads, re.search(r"```json\n(.*?)```", README, re.DOTALL)[1].splitlines())]

EVER = """
[source]
format = "csv"
path = "names.csv"
options = { header = true, inferSchema = true }

[query]
kind = "distinct-count"
time = "ts"
item = "name"
windows = ["ever"]
every = "1 hour"

[backends]
sketch = "exact"

[sink]
format = "json"
path = "answers"
"""


@pytest.fixture
def job(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bids.csv").write_text(BIDS)
    (tmp_path / "job.toml").write_text(JOB)

    def run(rules, *arguments, command="run"):
        (tmp_path / "rules.json").write_text("".join(json.dumps(rule) + "\n" for rule in rules))
        ended = CliRunner().invoke(group, [command, "job.toml", "--engine", "local", *arguments])
        rows = [
            (row["at"][14:19], row["query"], row["rank"], row["object"])
            for path in sorted((tmp_path / "answers").glob("*.json"))
            for row in map(json.loads, path.read_text().splitlines())
        ]
        return ended, sorted(rows)

    return run


def test_rules_of_a_table_hold_for_their_times(job):
    ended, rows = job(RULES)
    assert ended.exit_code == 0, ended.output
    assert rows == [
        ("01:00", "now", 1, 23),
        ("02:00", "now", 1, 17),
        ("03:00", "late", 1, 23),
        ("03:00", "late", 2, 23),
    ]


def test_a_column_that_the_first_file_of_rules_lacks_counts_in_the_second(job, tmp_path):
    """Of JSON: `after` and `until` of a later file are not skipped."""
    (tmp_path / "later").mkdir()
    for number, rule in enumerate([{"name": "all", "window": "1 minute", "slide": "1 minute", "k": 1}, RULES[0]]):
        path = tmp_path / "later" / f"{number}.json"
        path.write_text(json.dumps(rule) + "\n")
        os.utime(path, (1_000_000_000 + number,) * 2)
    ended, rows = job([], "--set", 'query.rules.path="later"')
    assert ended.exit_code == 0, ended.output
    assert [at for at, name, *_ in rows if name == "now"] == ["01:00", "02:00"]
    assert [at for at, name, *_ in rows if name == "all"] == ["01:00", "02:00", "03:00"]


def test_a_rule_for_a_group_names_its_values(job):
    by = ("--set", 'query.by=["lot"]')
    ended, rows = job([{**RULES[0], "group": ["17"]}, {**RULES[1], "group": None}], *by)
    assert ended.exit_code == 0, ended.output
    assert rows == [
        ("01:00", "now", 1, 17),
        ("02:00", "now", 1, 17),
        *[("03:00", "late", 1, lot) for lot in (17, 23, 42)],
        *[("03:00", "late", 2, lot) for lot in (17, 23)],
    ]
    for names, sets, why in (
        (["17"], (), "of rule 'now' must be left out: the query has no `by`"),
        (["seventeen"], by, "of rule 'now' must have a value of column 'lot', which is int64 (got 'seventeen')"),
        (["17", "x"], by, "of rule 'now' must have a value for each column of `by`, 1 column (lot)"),
        ([], by, "of rule 'now' must have a value for each column of `by`, 1 column (lot)"),
    ):
        ended, _ = job([{**RULES[0], "group": names}], *sets, command="check")
        assert ended.exit_code == 1
        assert f"query.rules: rules.group, row 0: {why}" in ended.output


def test_a_rule_for_a_group_of_grouping_sets_ends_with_the_name_of_the_grouping(job):
    by = ("--set", 'query.by=[["lot"], []]')
    groups = {"one lot": ["17", "lot"], "all": [None, "()"]}
    ended, _ = job([{**RULES[0], "name": name, "group": group} for name, group in groups.items()], *by)
    assert ended.exit_code == 0, ended.output
    got = {
        (row["query"], row["lot"], row["grouping"])
        for path in Path("answers").glob("*.json")
        for row in map(json.loads, path.read_text().splitlines())
    }
    assert got == {("one lot", 17, "lot"), ("all", None, "()")}
    ended, _ = job([{**RULES[0], "group": ["17"]}], *by, command="check")
    assert "must have a value for each column of `by`, 2 columns (lot, grouping)" in ended.output


def test_a_value_of_another_type_in_json_is_a_bad_row(job, tmp_path):
    wrong = [{"k": "ten"}, {"window": 5}, {"until": "never"}, {"group": [3]}, {"untl": "2026-06-20"}]
    entries = [*RULES, *({**RULES[0], "name": f"wrong {number}", **keys} for number, keys in enumerate(wrong))]
    ended, rows = job(entries, "--set", 'query.bad_rows={ format = "json", path = "bad/" }')
    assert ended.exit_code == 0, ended.output
    assert len(rows) == 4
    bad = [json.loads(line) for path in (tmp_path / "bad").glob("*.json") for line in path.read_text().splitlines()]
    assert [row["_field"] for row in bad] == [f"rules.{key}" for keys in wrong for key in keys]
    ended, _ = job(entries, command="check")
    assert "rules.k, row 2: of rule 'wrong 0' must be a whole number, such as 10 (got 'ten')" in ended.output


def test_a_rule_beyond_the_limits_ends_the_run_or_is_put_aside(job, tmp_path):
    wide = {"name": "wide", "window": "2 hours", "slide": "1 minute", "k": 1}
    ended, rows = job([*RULES, wide])
    assert ended.exit_code == 1
    assert not rows
    assert "rules.window, row 2: of rule 'wide' is above longest = '1 hour'" in ended.output
    ended, rows = job([*RULES, wide], "--set", 'query.bad_rows={ format = "json", path = "bad/" }')
    assert ended.exit_code == 0, ended.output
    assert len(rows) == 4
    (bad,) = [json.loads(line) for path in (tmp_path / "bad").glob("*.json") for line in path.read_text().splitlines()]
    assert bad["_field"] == "rules.window"
    assert json.loads(bad["_value"])["name"] == "wide"


@pytest.mark.parametrize(
    ("sets", "why"),
    [
        (['query.rules="rules.json"'], "query.rules: must be a source, such as rules = {"),
        (["query.rules.stream=true"], "query.rules.stream: must be false, as in [source]"),
        (["query.rules.finish=true"], "query.rules.finish: is taken from [source]: remove it"),
        (['query.rules.select=["nme AS name"]'], "query.rules.select[0]: the source has no column 'nme'"),
        (['query.rules.path="nothing.json"'], "query.rules.path: "),
        (
            ['query.rules.path="bids.csv"', 'query.rules.format="csv"'],
            "query.rules: rules._c0: is not a column of rules",
        ),
        (
            ["query.longest=", "query.most="],
            "query.rules: this top-k-workload takes no second table: see its page for what it needs",
        ),
    ],
)
def test_a_check_says_what_is_wrong_with_the_source_of_rules(job, tmp_path, sets, why):
    text = JOB
    if sets[0] == "query.longest=":
        queries = 'queries = [{ name = "q", window = "1 minute", slide = "1 minute", k = 1 }]\n'
        text, sets = JOB.replace('longest = "1 hour"\nmost = 10\n', queries), []
    (tmp_path / "job.toml").write_text(text)
    ended, _ = job(RULES, *(part for one in sets for part in ("--set", one)), command="check")
    assert ended.exit_code == 1
    assert why in ended.output


@pytest.mark.parametrize(("sets", "groups"), [((), 1), (("--set", 'query.by=["lot"]'), 4)])
def test_a_check_prices_what_the_state_is_kept_for(job, tmp_path, sets, groups):
    """A row a second over four lots: an hour holds 3600, and the state what the bench measures, k (1 + ln(N / k))."""
    lines = [f"2026-06-20 09:{second // 60:02}:{second % 60:02},{second % 4},{second}" for second in range(601)]
    (tmp_path / "bids.csv").write_text("ts,lot,price\n" + "\n".join(lines) + "\n")
    (tmp_path / "job.toml").write_text(JOB.replace('object = "lot"', 'object = "price"'))
    ended, _ = job(RULES, *sets, command="check")
    assert ended.exit_code == 0, ended.output
    rows = 3606 / groups
    kept = 10 * (1 + math.log(rows / 10))
    text = f"its state will keep about {kept:,.0f} rows" + (f" in each of {groups} groups" if groups > 1 else "")
    assert text in ended.output
    assert f"{groups * kept * 32:,.0f} bytes" in ended.output
    assert "judging by its first 601 rows" in ended.output


def test_a_check_says_what_a_window_will_ever_need(job, tmp_path):
    """2000 names, all of which a sketch that is exact keeps: twice as many after twice the rows."""
    lines = [f"2026-06-20 09:{row // 60 % 60:02}:{row % 60:02},{row}" for row in range(2000)]
    (tmp_path / "names.csv").write_text("ts,name\n" + "\n".join(lines) + "\n")
    (tmp_path / "job.toml").write_text(EVER)
    ended, _ = job([], command="check")
    found = re.search(r"takes ([\d,]+) bytes after the first 1,000 rows, and ([\d,]+) after 2,000", ended.output)
    assert found is not None, ended.output
    half, whole = (int(text.replace(",", "")) for text in found.groups())
    assert 1.6 * half < whole < 2.4 * half


PRICED = {
    "distinct-count": ('kind = "distinct-count"\nitem = "lot"\nwindows = []\nevery = "1 minute"', "exact"),
    "heavy-hitters": ('kind = "heavy-hitters"\nobject = "lot"\nwindows = []\nevery = "1 minute"\nmost = 3', "exact"),
    "quantiles": ('kind = "quantiles"\nvalue = "price"\nat = [0.5]\nwindows = []\nevery = "1 minute"', "k-skb"),
}


@pytest.mark.parametrize("kind", PRICED)
@pytest.mark.parametrize("by", ["", 'by = ["shop"]\n'])
def test_a_check_prices_a_state_by_what_one_of_the_first_rows_keeps(tmp_path, kind, by):
    """Of ten minutes, for an hour: near what an hour of such rows leaves, some lots coming again and again."""
    random = np.random.default_rng(5)
    lots = (random.pareto(0.9, 7200) * 10).astype(int).tolist()
    lines = [f"2026-06-20 09:{n // 120:02}:{n // 2 % 60:02},{lot},{n * 7 % 100},{n % 2}" for n, lot in enumerate(lots)]
    keys, backend = PRICED[kind]
    role = {"distinct-count": "sketch", "heavy-hitters": "total-ranker", "quantiles": "quantile-sketch"}[kind]
    (tmp_path / "job.toml").write_text(f"""
[source]
format = "csv"
path = "rows.csv"
schema = "ts TIMESTAMP, lot BIGINT, price DOUBLE, shop INT"
options = {{ header = true }}
[query]
{keys}
time = "ts"
{by}longest = "1 hour"
[backends]
{role} = "{backend}"
[sink]
format = "json"
path = "answers/"
""")
    header = "ts,lot,price,shop\n"
    (tmp_path / "rows.csv").write_text(header + "\n".join(lines[:1201]) + "\n")
    ended = CliRunner().invoke(group, ["check", str(tmp_path / "job.toml")])
    assert ended.exit_code == 0, ended.output
    text = re.search(r"its state will keep about ([\d,]+) items( in each of 2 groups)?, ([\d,]+) bytes", ended.output)
    assert bool(text[2]) == bool(by)
    retained, nbytes = (int(text[place].replace(",", "")) for place in (1, 3))
    (tmp_path / "rows.csv").write_text(header + "\n".join(lines) + "\n")
    job = read_job(tmp_path / "job.toml", engine="local")
    run = job.begin_here()
    for batch in job.rows.batches(list(job.query.columns), refuse=None):
        run.push(batch)
    run.operator.advance(run.operator.watermark + 1)
    state = run.operator.snapshot()
    run.operator.restore(state)  # with all rows taken in, that may wait in small groups
    assert retained * (2 if by else 1) == pytest.approx(run.operator.take_metrics().retained, rel=0.3)
    assert nbytes == pytest.approx(len(state), rel=0.4)
