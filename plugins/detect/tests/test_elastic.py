"""`skyband elastic` makes rules of threshold and new-terms rules, and refuses by name what cannot be said."""

import json

import pyarrow as pa
import pytest
from click.testing import CliRunner
from skyband.cli.commands import group
from skyband.engines import local
from skyband_detect.elastic.kuery import condition_of
from skyband_detect.sigma.refusals import RefusedError
from skyband_expressions.row_conditions import rows_that_meet

THRESHOLD = {
    "type": "threshold", "name": "Failures", "language": "kuery", "from": "now-10m", "risk_score": 47,
    "query": "event.action:login and event.outcome:failure and not user.name:svc-*",
    "threshold": {"field": ["user.name"], "value": 3},
}  # fmt: skip
NEW_TERMS = {
    "type": "new_terms", "name": "New host", "query": "event.action:login",
    "new_terms_fields": ["user.name", "host.name"], "history_window_start": "now-7d",
}  # fmt: skip
TOML = """\
[metadata]
maturity = "production"

[rule]
name = "New host"
type = "new_terms"
query = '''
event.action:login
'''

[rule.new_terms]
field = "new_terms_fields"
value = ["user.name", "host.name"]
[[rule.new_terms.history_window_start]]
field = "history_window_start"
value = "now-7d"
"""
ROWS = pa.RecordBatch.from_pydict(
    {
        "a": ["x", "xy", 'q"', "a%b", None, "", "or"],
        "n": [1, 2, None, 4, 5, 6, 7],
        "ok": [True, False, None] * 2 + [True],
    }
)


def run(*arguments):
    return CliRunner().invoke(group, ["elastic", *map(str, arguments)])


def write(folder, *rules):
    path = folder / "rules.ndjson"
    path.write_text("".join(json.dumps(rule) + "\n" for rule in rules))
    return path


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("a:x", [0]),
        ("a:x*", [0, 1]),
        ("a:*", [0, 1, 2, 3, 5, 6]),
        ("not a:x", [1, 2, 3, 4, 5, 6]),
        ("not a:*", [4]),
        ('a:(x or "xy")', [0, 1]),
        ("a:(x* and *y)", [1]),
        ("a:(* and not x)", [1, 2, 3, 5, 6]),
        ('a:"q\\""', [2]),
        ('a:"or"', [6]),
        ('a:"x*"', []),
        ("a:a%*", [3]),
        ("a:X", []),
        ("n >= 5 or n:1", [0, 4, 5, 6]),
        ("n < 2 OR ok:false AND n:2", [0, 1]),
        ("(a:x or a:xy) and not ok:true", [1]),
        ("NOT (n > 1 and n <= 6)", [0, 2, 6]),
        ("a:\\*", []),
        ("n:-1", []),
    ],
)
def test_a_query_means_what_it_says(query, expected):
    where = condition_of(query, lambda field: field)
    assert [row for row, meets in enumerate(rows_that_meet(where, ROWS)) if meets] == expected, where


@pytest.mark.parametrize("query", ["", " ", "*:*"])
def test_a_query_for_all_rows_is_no_condition(query):
    assert condition_of(query, str) is None


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("failed", "'failed' has no field"),
        ("a:x b:y", "'b' is not expected"),
        ("a:x y", "'y' is not expected"),
        ("a:(x or y", "a bracket is not closed"),
        ("a:", "a field or value is missing at its end"),
        ("a:and", "is missing before 'and'"),
        ("host*:x", "'host*' means several fields"),
        ("a:{ b:x }", "'a' has nested documents"),
        ("a > x", "must compare with a number"),
        ('a:"x', "cannot be read from"),
        ("(" * 40 + "a:x" + ")" * 40, "more than 30 nested"),
    ],
)
def test_a_query_that_cannot_be_said_is_refused(query, text):
    with pytest.raises(RefusedError, match="query: ") as raised:
        condition_of(query, str)
    assert text in str(raised.value)


def test_rules_answer_as_detections(tmp_path):
    mapping = tmp_path / "mapping.toml"
    mapping.write_text('[fields]\n"user.name" = "user"\n"host.name" = "host"\n')
    (tmp_path / "new.toml").write_text(TOML)
    result = run(write(tmp_path, THRESHOLD, {"exported_count": 1}), tmp_path / "new.toml", "--mapping", mapping,
                 "--after", "1970-01-01T00:00:30Z")  # fmt: skip
    assert result.exit_code == 0, result.stderr
    assert "2 rules made, 0 refused" in result.stderr
    rules = json.loads(result.stdout)
    assert [(rule["key"], rule["window"]) for rule in rules] == [(["user"], "10 minutes"), (["user", "host"], "7 days")]
    minutes = [0, 1, 2, 3, 4]
    rows = pa.table({
        "ts": pa.array([60 * minute for minute in minutes], pa.timestamp("s")),
        "user": ["ann", "ann", "svc-1", "ann", None],
        "host": ["h1", "h1", "h1", "h2", "h1"], "event.action": ["login"] * 5, "event.outcome": ["failure"] * 5,
    })  # fmt: skip
    answers = local.apply(rows, {"kind": "detections", "time": "ts", "detections": rules})
    assert [(row["time"].minute, row["rule"]) for row in answers.to_pylist()] == [
        (2, "New host"), (3, "Failures"), (3, "New host"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"language": "lucene"}, "language: must be kuery (got 'lucene')"),
        ({"filters": [{"x": 1}]}, "filters: narrows the query"),
        ({"threshold": None}, "threshold: must have field and value"),
        ({"threshold": {"field": [1], "value": 3}}, "threshold.field: must be fields"),
        ({"threshold": {"field": [], "value": 0}}, "at_least: must be from 1"),
        (
            {"threshold": {"field": [], "value": 9, "cardinality": [{"field": "a", "value": 5}]}},
            "threshold.cardinality: asks for 9 rows and 5",
        ),
        ({"threshold": {"field": [], "value": 1, "cardinality": [{}, {}]}}, "threshold.cardinality: must be of one"),
        ({"from": "2026-01-01"}, "from: must be such as now-10m"),
        ({"alert_suppression": {"group_by": ["a"]}}, "alert_suppression.group_by: must be the key of the rule"),
        ({"alert_suppression": {"duration": 5}}, "alert_suppression.duration: must have value and unit"),
        ({**NEW_TERMS}, "new_terms: needs --after TIME"),
    ],
)
def test_a_rule_that_cannot_be_said_is_refused_and_the_others_are_written(tmp_path, change, text):
    others = {**THRESHOLD, "name": "other"}, {"type": "eql", "query": "any"}, {"type": "eql", "query": "any"}
    result = run(write(tmp_path, {**THRESHOLD, **change}, *others))
    assert result.exit_code == 1
    assert f"rules.ndjson, line 1: {text}" in result.stderr
    assert [rule["name"] for rule in json.loads(result.stdout)] == ["other"]
    assert "1 rule made, 1 refused, 2 of type eql left out" in result.stderr


def test_distinct_values_and_suppression_are_said(tmp_path):
    threshold = {"field": ["user.name"], "value": 1, "cardinality": [{"field": "source.ip", "value": 5}]}
    suppression = {"group_by": ["user.name"], "duration": {"value": 2, "unit": "h"}}
    one = {**THRESHOLD, "threshold": threshold, "alert_suppression": suppression}
    del one["from"]
    result = run(write(tmp_path, one, {**one, "threshold": {"field": [], "value": 2}, "alert_suppression": None}))
    assert result.exit_code == 1, "two have one name"
    assert "line 2: name: 'Failures' is the name of another rule too" in result.stderr
    assert "note: " in result.stderr
    (rule,) = json.loads(result.stdout)
    assert (rule["measure"], rule["at_least"]) == ("distinct source.ip", 5)
    assert (rule["window"], rule["silence"]) == ("6 minutes", "2 hours")


def test_a_file_that_is_no_rule_is_an_error(tmp_path):
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "one.toml").write_text("[rules]\n")
    (tmp_path / "two.json").write_text("{")
    for path, text in ((tmp_path / "rules", "must be a rule of Elastic"), (tmp_path / "two.json", "cannot be read")):
        result = run(path)
        assert result.exit_code != 0
        assert text in result.output + result.stderr
