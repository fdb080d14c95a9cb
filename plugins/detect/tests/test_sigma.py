"""`skyband sigma`: correlations of Sigma become rules of a job, or are refused by file and key."""

import json
from datetime import UTC, datetime

import pyarrow as pa
import pytest
from click.testing import CliRunner
from skyband.engines import local
from skyband_detect.sigma.command import command

FAILED = """
title: Failed login
name: failed
logsource: {product: linux, service: auth}
detection:
  selection:
    action: LOGIN
    result|startswith: fail
  local:
    SourceIp|cidr: 10.0.0.0/8
  condition: selection and not local
---
title: Login
name: worked
logsource: {product: linux, service: auth}
detection: {selection: {action: login, result: ok}, condition: selection}
"""


def correlation(**body):
    body = {"type": "event_count", "rules": ["failed"], "group-by": ["SourceIp"], "timespan": "10m", **body}
    return json.dumps(
        {"title": "many", "correlation": {key: value for key, value in body.items() if value is not None}}
    )


def called(tmp_path, *texts, options=("--any-logsource",)):
    """(exit code, rules, what stderr says) of a call with files of these texts."""
    (tmp_path / "rules").mkdir(exist_ok=True)
    for number, text in enumerate(texts):
        (tmp_path / "rules" / f"{number}.yml").write_text(text, "utf-8")
    result = CliRunner().invoke(command, [str(tmp_path / "rules"), *map(str, options)])
    rules = json.loads(result.stdout) if result.stdout.strip().startswith("[") else None
    return result.exit_code, rules, result.stderr or str(result.exception)


def rule_of(tmp_path, options=("--any-logsource",), **body):
    code, rules, text = called(tmp_path, FAILED, correlation(**body), options=options)
    assert (code, len(rules)) == (0, 1), text
    return rules[0], text


WHERE = "((lower(action) = 'login') AND (lower(result) LIKE 'fail%')) AND (NOT coalesce(SourceIp LIKE '10.%', false))"
BASE = {"name": "many", "key": ["SourceIp"], "window": "10 minutes"}
QUIET = {"tell": "each", "silence": "10 minutes"}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"condition": {"gte": 10}}, {"at_least": 10}),
        ({"condition": {"gt": 10}}, {"at_least": 11}),
        (
            {"type": "value_count", "condition": {"field": "user", "gte": 3}},
            {"measure": "distinct user", "at_least": 3},
        ),
        (
            {"type": "value_count", "condition": {"field": ["user", "host"], "gt": 3}},
            {"measure": "distinct user, host", "at_least": 4},
        ),
        ({"type": "value_sum", "condition": {"field": "bytes", "gte": 1.5}}, {"measure": "sum bytes", "at_least": 1.5}),
        ({"type": "value_sum", "condition": {"field": "bytes", "gt": 9}}, {"measure": "sum bytes", "at_least": 10}),
        ({"type": "value_avg", "condition": {"field": "bytes", "gt": 9}}, {"measure": "mean bytes", "at_least": 9}),
        (
            {"type": "value_median", "condition": {"field": "bytes", "gte": 9}},
            {"measure": "median of bytes", "at_least": 9},
        ),
        (
            {"type": "value_percentile", "condition": {"field": "bytes", "percentile": 95, "gte": 9}},
            {"measure": "p95 of bytes", "at_least": 9},
        ),
    ],
)
def test_each_kind_of_correlation_becomes_a_rule(tmp_path, body, expected):
    rule, _ = rule_of(tmp_path, **body)
    assert rule == {**BASE, "where": WHERE, **expected, **QUIET}


def test_too_few_events_become_below_which_has_no_each(tmp_path):
    for operator, bound in (("lt", 3), ("lte", 4)):
        rule, text = rule_of(tmp_path, condition={operator: 3})
        assert rule == {**BASE, "where": WHERE, "below": bound}
        assert "never seen is not missed" in text


def test_edge_answers_at_the_crossing(tmp_path):
    rule, _ = rule_of(tmp_path, ("--any-logsource", "--edge"), condition={"gte": 10})
    assert rule == {**BASE, "where": WHERE, "at_least": 10}


def test_temporal_correlations_become_sequences_in_any_order_or_in_order(tmp_path):
    worked = "(lower(action) = 'login') AND (lower(result) = 'ok')"
    for kind, more in (("temporal_ordered", {}), ("temporal", {"any_order": True})):
        rule, _ = rule_of(tmp_path, type=kind, rules=["failed", "worked"])
        assert rule == {**BASE, "measure": "sequence", "steps": [WHERE, worked], **more, **QUIET}


def test_a_correlation_of_a_count_is_a_step(tmp_path):
    outer = correlation(type="temporal_ordered", rules=["guesses", "worked"], timespan="1h")
    inner = correlation(condition={"gte": 5}).replace('"title": "many"', '"name": "guesses"')
    code, rules, text = called(tmp_path, FAILED, inner, outer.replace("many", "guessed"))
    assert code == 0, text
    by_name = {rule["name"]: rule for rule in rules}
    assert by_name["guessed"]["steps"][0] == {"where": WHERE, "window": "10 minutes", "at_least": 5}


def test_several_rules_are_an_or_and_no_group_by_is_no_key(tmp_path):
    rule, text = rule_of(tmp_path, rules=["failed", "worked"], **{"group-by": None}, condition={"gte": 2})
    assert rule["where"].startswith(f"({WHERE}) OR (")
    assert rule["key"] == []
    assert "counts once" in text


def test_fields_and_log_sources_are_mapped(tmp_path):
    (tmp_path / "mapping.toml").write_text(
        """[fields]
SourceIp = "address"
[[logsources]]
product = "linux"
service = "auth"
where = "program = 'sshd'"
""",
        "utf-8",
    )
    rule, _ = rule_of(tmp_path, ("--mapping", tmp_path / "mapping.toml"), condition={"gte": 10})
    assert rule["key"] == ["address"]
    assert rule["where"] == f"(program = 'sshd') AND ({WHERE.replace('SourceIp', 'address')})"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({"condition": {"eq": 3}}, "correlation.condition: must be one of gte, gt, lt and lte"),
        ({"condition": {"gte": 3, "lt": 9}}, "(got gte, lt)"),
        ({"condition": {"gte": 2.5}}, "correlation.condition.gte: must be a whole number"),
        ({"condition": {"gte": "many"}}, "correlation.condition.gte: must be a number"),
        ({"condition": {"gte": 0}}, "at_least: must be from 1 to"),
        ({"condition": None}, "correlation.condition: must be such as {gte: 10}"),
        ({"type": "value_count", "condition": {"gte": 3}}, "correlation.condition.field: is required for value_count"),
        ({"type": "value_count", "condition": {"field": "user", "lt": 3}}, "is for event_count only"),
        ({"type": "value_avg", "condition": {"field": ["a", "b"], "gte": 3}}, "must be one field for value_avg"),
        (
            {"type": "value_percentile", "condition": {"field": "a", "gte": 3}},
            "correlation.condition.percentile: is req",
        ),
        ({"type": "value_percentile", "condition": {"field": "a", "gte": 3, "percentile": 0}}, "percentile above 0"),
        ({"type": "value_sum", "condition": {"field": "a", "gt": 2.5}}, "correlation.condition.gt: is a fraction"),
        ({"type": "near", "condition": {"gte": 3}}, "correlation.type: must be one of event_count"),
        ({"timespan": "1M", "condition": {"gte": 3}}, "correlation.timespan: must be a number and s, m, h, d or w"),
        ({"timespan": None, "condition": {"gte": 3}}, "correlation.timespan"),
        ({"aliases": {"ip": {"failed": "a"}}, "condition": {"gte": 3}}, "correlation.aliases: names a field"),
        ({"nearby": 3, "condition": {"gte": 3}}, "correlation.nearby: is not supported"),
        ({"rules": ["other"], "condition": {"gte": 3}}, "no rule has the name or id 'other'"),
        ({"rules": [], "condition": {"gte": 3}}, "correlation.rules: must be names"),
        ({"group-by": [3], "condition": {"gte": 3}}, "correlation.group-by: must be a list of fields"),
        ({"type": "temporal", "rules": ["failed"]}, "steps: must be 2 to 16 (got 1)"),
        ({"type": "temporal", "rules": ["failed", "worked"], "condition": {"gte": 1}}, "must be left out of temporal"),
    ],
)
def test_what_cannot_be_said_is_refused_by_file_and_key_and_the_status_is_1(tmp_path, body, text):
    code, rules, told = called(tmp_path, FAILED, correlation(**body))
    assert (code, rules) == (1, [])
    assert f"{tmp_path / 'rules' / '1.yml'}: " in told
    assert text in told
    assert "0 rules made, 1 refused" in told


def detection(**parts):
    return json.dumps({"name": "failed", "detection": {"condition": "a", **parts}})


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        (FAILED, 'which rows are of product = "linux", service = "auth" is not known'),
        (detection(a=["word"]), "rule 'failed': detection.a: must be fields with values"),
        (detection(a={"x|base64": "y"}), "rule 'failed': x|base64: the modifier 'base64' is not supported"),
        (detection(a={"x": 1}, condition="a | count() > 3"), "rule 'failed': detection.condition: an aggregation"),
        (detection(a={"x": 1}, timeframe="5m"), "rule 'failed': detection.timeframe"),
        (detection(a={"x": 1}, condition=[]), "rule 'failed': detection.condition: must be a condition"),
        (json.dumps({"name": "failed"}), "rule 'failed': detection: is missing"),
        (f"{detection(a={'x': 1})}\n---\n{detection(a={'x': 2})}", "'failed' is the name of several rules"),
    ],
)
def test_detections_that_cannot_be_said_are_named(tmp_path, text, refusal):
    code, rules, told = called(tmp_path, text, correlation(condition={"gte": 3}), options=())
    assert (code, rules) == (1, []), told
    assert refusal in told


def test_a_correlation_may_count_no_other_and_steps_group_alike(tmp_path):
    inner = correlation(condition={"gte": 5}).replace('"title": "many"', '"name": "guesses"')
    for body, text in (
        ({"rules": ["guesses"], "condition": {"gte": 2}}, "counts what another correlation finds"),
        ({"type": "temporal", "rules": ["guesses", "worked"], "group-by": ["user"]}, "has another group-by"),
    ):
        code, rules, told = called(tmp_path, FAILED, inner, correlation(**body))
        assert (code, [rule["name"] for rule in rules]) == (1, ["guesses"])
        assert text in told


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a: [", "cannot be read as YAML"),
        ("- 3", "must be a Sigma rule"),
        (FAILED, "none of these files has a correlation rule"),
    ],
)
def test_files_without_rules_are_an_error(tmp_path, text, told):
    code, rules, error = called(tmp_path, text)
    assert code != 0
    assert rules is None
    assert told in error


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("fields = 3", "fields: must be columns by field"),
        ("x = 3", "x: is unknown"),
        ("[[logsources]]\nproduct = 3\nwhere = 'a >'", "logsources[0].product: must be text"),
        ("[[logsources]]\nproduct = 'a'", "logsources[0].where: must be a condition"),
        ("[[logsources]]\nhost = 'a'\nwhere = 'b'", "logsources[0].host: is unknown"),
        ("[", "cannot be read as TOML"),
    ],
)
def test_a_mapping_that_is_wrong_is_named(tmp_path, text, told):
    (tmp_path / "mapping.toml").write_text(text, "utf-8")
    code, _, error = called(tmp_path, FAILED, options=("--mapping", tmp_path / "mapping.toml"))
    assert code != 0
    assert told in error


def test_the_rules_answer_as_the_correlations_mean(tmp_path):
    code, rules, text = called(
        tmp_path,
        FAILED,
        correlation(condition={"gte": 3}),
        correlation(type="temporal_ordered", rules=["failed", "worked"]).replace("many", "then"),
    )
    assert code == 0, text
    minutes = [("8.8.8.8", "fail: no such user")] * 4 + [("10.1.1.1", "fail")] * 4 + [("8.8.8.8", "OK")]
    start = datetime(2026, 1, 1, tzinfo=UTC).timestamp()
    times = pa.array([int(start + 30 * place) * 10**6 for place in range(len(minutes))], pa.timestamp("us", "UTC"))
    ips, results = zip(*minutes, strict=True)
    rows = pa.table({"ts": times, "SourceIp": ips, "result": results, "action": ["Login"] * len(times)})
    answers = local.apply(rows, {"kind": "detections", "time": "ts", "detections": rules}).to_pylist()
    told = [(row["rule"], row["time"].timestamp() - start, json.loads(row["key"])["SourceIp"]) for row in answers]
    assert told == [("many", 60, "8.8.8.8"), ("then", 240, "8.8.8.8")]
