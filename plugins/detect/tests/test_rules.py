"""Rules as users write them: what is wrong is named, with its place, and files are read."""

import json
from datetime import UTC, datetime, timedelta, timezone

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as some
from skyband.errors import ConfigError
from skyband.queries import make_query
from skyband_detect.detections.counters import counters_of

RULE = {"name": "many", "key": ["user"], "window": "10 minutes", "at_least": 3}
STEPS = {"measure": "sequence", "steps": ["NOT ok", "ok"], "at_least": None}
COUNT = {"where": "NOT ok", "at_least": 3, "window": "5 minutes"}
UNSEEN = {"name": "new", "key": ["user"], "measure": "unseen", "window": "30 days", "after": "2026-01-01"}
SCHEMA = pa.schema(
    {"ts": pa.timestamp("us"), "user": pa.string(), "ok": pa.bool_(), "tags": pa.list_(pa.string()), "n": pa.int64()}
)


def query(*rules, **keys):
    return make_query({"kind": "detections", "time": "ts", "detections": list(rules), **keys})


def problems(*rules, **keys):
    with pytest.raises(ConfigError) as raised:
        query(*rules, **keys)
    return {problem.field: problem.message for problem in raised.value.problems}


@pytest.mark.parametrize(
    ("change", "key", "text"),
    [
        ({"window": None}, "window", "is required"),
        ({"window": "10 rows"}, "window", "must be a length of time above 0"),
        ({"window": "1 month"}, "window", "months differ in length"),
        ({"window": "0 seconds"}, "window", "must be a length of time above 0"),
        ({"at_least": None}, "at_least", "is required: the bound"),
        ({"at_least": 0}, "at_least", "must be from 1 to"),
        ({"at_least": 2.0}, "at_least", "must be a whole number, without a point"),
        ({"at_least": True}, "at_least", "must be a whole number"),
        ({"key": 3}, "key", "must be a column or a list"),
        ({"key": ["user", "user"]}, "key", "names a column twice"),
        ({"where": "user LIKE"}, "where", "is not a condition that all engines support"),
        ({"measure": "sum"}, "measure", '"sum COLUMN"'),
        ({"measure": "p0 of n"}, "measure", "a percentile above 0"),
        ({"measure": "p100.1 of n"}, "measure", "a percentile above 0"),
        ({"measure": "sum n", "at_least": "x"}, "at_least", "must be a number"),
        ({"measure": "sum n", "at_least": float("nan")}, "at_least", "must be a finite number"),
        ({"measure": "sum n", "at_least": None}, "at_least", "is required"),
        ({"measure": "sum n", "at_least": None, "below": 3}, "below", "only"),
        ({"measure": "sum n", "least": 3}, "least", "for means and quantiles"),
        ({"measure": "mean n", "least": 0}, "least", "must be from 1 to"),
        ({"least": 3}, "least", "for means and quantiles"),
        ({"measure": "sequence", "at_least": None}, "steps", "is required for a sequence"),
        ({**STEPS, "at_least": 3}, "at_least", "is not for a sequence"),
        ({**STEPS, "at_least": None, "below": 3}, "below", "is not for a sequence"),
        ({**STEPS, "measure": None}, "measure", "must be \"sequence\" for a rule with `steps` (got 'rows')"),
        ({"any_order": True}, "measure", 'must be "sequence" for a rule with `any_order`'),
        ({**STEPS, "any_order": "yes"}, "any_order", "must be true or false"),
        ({**STEPS, "steps": "n > 1"}, "steps", "must be a list of steps"),
        ({**STEPS, "steps": ["n > 1"]}, "steps", "must be 2 to 16 (got 1)"),
        ({**STEPS, "steps": ["n > 1"] * 17}, "steps", "must be 2 to 16 (got 17)"),
        ({**STEPS, "steps": ["ok", "n >"]}, "steps[1]", "is not a condition that all engines support"),
        ({**STEPS, "steps": ["ok", 3]}, "steps[1]", "must be a condition or a table"),
        ({**STEPS, "steps": ["ok", {}]}, "steps[1].where", "is required"),
        ({**STEPS, "steps": ["ok", {"at_least": 3}]}, "steps[1].window", "is required for a step that counts"),
        ({**STEPS, "steps": [{"window": "1 day"}, "ok"]}, "steps[0].at_least", "is required for a step that counts"),
        ({**STEPS, "steps": [COUNT | {"measure": "sum n"}, "ok"]}, "steps[0].measure", '"distinct COLUMN" in a step'),
        ({**STEPS, "steps": [COUNT | {"silence": "1 day"}, "ok"]}, "steps[0].silence", "unknown"),
        ({**STEPS, "steps": [COUNT | {"at_least": 0}, "ok"]}, "steps[0].at_least", "must be from 1 to"),
        ({**STEPS, "steps": [COUNT | {"tell": "once"}, "ok"]}, "steps[0].tell", '"crossing" or "each"'),
        ({"measure": "distinct"}, "measure", 'must be "rows", "distinct COLUMN", "unseen"'),
        ({"measure": 3}, "measure", 'must be "rows", "distinct COLUMN", "unseen"'),
        ({"tell": "first"}, "tell", 'must be "crossing" or "each"'),
        ({"silence": "-1 seconds"}, "silence", "must be a length of time above 0"),
        ({"after": "soon"}, "after", "must be a time such as"),
        ({"until": 5}, "until", "must be a time such as"),
        ({"below": 3}, "below", "a rule has one bound"),
        ({"at_least": None, "below": 0}, "below", "must be from 1 to"),
        ({"at_least": None, "below": 3, "measure": "distinct n"}, "below", 'measure = "rows" only'),
        ({"at_least": None, "below": 3, "tell": "each"}, "tell", 'must be "crossing": no row comes'),
        ({"windows": ["1 hour"]}, "windows", "write a rule for each length"),
        ({"every": "1 minute"}, "every", "answers at the row that crosses"),
        ({"k": 3}, "k", "`at_least`, not `k`"),
        ({"by": ["user"]}, "by", "are its `key`"),
        ({"atleast": 3}, "atleast", "at_least"),
        ({"name": ""}, "name", "must be a name"),
    ],
)
def test_what_is_wrong_with_a_rule_is_named(change, key, text):
    changed = {name: value for name, value in {**RULE, **change}.items() if value is not None}
    assert text in problems(RULE | {"name": "other"}, changed)[f"detections[1].{key}"]


def test_a_rule_for_unseen_keys_needs_a_time_to_learn():
    assert "in which keys are learnt" in problems({**UNSEEN, "after": None})["detections[0].after"]
    assert "no rows to count" in problems({**UNSEEN, "at_least": 3})["detections[0].at_least"]
    assert "only" in problems({**UNSEEN, "below": 3})["detections[0].below"]
    assert "not unseen" in problems({**UNSEEN, "tell": "each"})["detections[0].tell"]


def test_all_problems_are_told_at_once():
    found = problems({"name": "a", "window": "x", "at_least": 0}, {"name": "b"}, "text")
    assert {*found} == {"detections[0].window", "detections[0].at_least", "detections[1].window", "detections[2]"}


def test_two_rules_of_one_name():
    found = problems(RULE, RULE | {"at_least": 9}, {**RULE, "name": "other"})
    assert {*found} == {"detections[0].name", "detections[1].name"}
    assert "is the name of 2 rules" in found["detections[0].name"]


@pytest.mark.parametrize("value", [[], "", {"name": "a"}, 3, None])
def test_rules_that_are_no_list(value):
    with pytest.raises(ConfigError, match="detections: "):
        make_query({"kind": "detections", "time": "ts", "detections": value})


@pytest.mark.parametrize("key", ["rules", "window", "at_least", "where", "windows", "every", "emit"])
def test_keys_of_other_queries_are_refused_with_a_remedy(key):
    message = problems(RULE, **{key: "1 hour"})[key]
    assert "unknown" not in message


@pytest.mark.parametrize(
    ("rule", "key", "text"),
    [
        ({"key": ["usr"]}, "key", "did you mean 'user'"),
        ({"key": ["tags"]}, "key", "must be a plain value"),
        ({"measure": "distinct tags"}, "measure", "must be a plain value"),
        ({"measure": "sum user"}, "measure", "must be a number"),
        ({"measure": "median of tags"}, "measure", "must be a number"),
        ({"where": "okay"}, "where", "did you mean 'ok'"),
        ({**STEPS, "steps": ["ok", "okay"]}, "steps[1]", "did you mean 'ok'"),
        ({**STEPS, "steps": ["ok", "user + 1 > n"]}, "steps[1]", ""),
        ({**STEPS, "steps": ["ok", COUNT | {"measure": "distinct tags"}]}, "measure", "must be a plain value"),
        ({"where": "user > 3 AND n"}, "where", ""),
        ({"where": "n + 1"}, "where", "not a condition"),
    ],
)
def test_columns_are_checked_before_a_row_is_read(rule, key, text):
    found = query({**RULE, "name": "first"}, {**RULE, **rule}).check(SCHEMA)
    assert [problem.field for problem in found] == [f"detections[1].{key}"]
    assert text in found[0].message


def test_a_carried_column_needs_a_name_of_its_own():
    assert "rename it in the source" in problems(RULE, carry=["value"])["carry"]
    assert "rename it in the source" in problems(RULE, by=["rule"])["by"]


def test_changes_are_refused():
    found = query(RULE, answers="changes").check(SCHEMA)
    assert "already is a log" in found[0].message


def test_rules_that_count_the_same_share_a_counter():
    rules = query(
        RULE,
        {**RULE, "name": "more", "at_least": 9, "window": "1 hour"},
        {**RULE, "name": "text for a key", "key": "user", "tell": "each"},
        {**RULE, "name": "other key", "key": ["user", "n"]},
        {**RULE, "name": "other condition", "where": "ok"},
        {**RULE, "name": "values", "measure": "distinct  n"},
        {**RULE, "name": "same values", "measure": "distinct n"},
    ).detections
    counters = counters_of(rules).all
    assert [counter.rules for counter in counters] == [(0, 1, 2), (3,), (4,), (5, 6)]
    assert (counters[0].most, counters[0].longest) == (9, 3_600_000_000)


RULES = [
    RULE | {"key": "user, n", "where": "NOT ok", "silence": "1 hour"},
    {"name": "7", "window": "1 hour", "measure": "distinct user", "at_least": 5, "tell": "each"},
    UNSEEN | {"key": "user"},
    {"name": "mean", "window": "1 hour", "at_least": 5, "measure": "mean n", "least": 3},
    {"name": "quiet", "key": "user", "window": "1 hour", "below": 1},
]


@pytest.mark.parametrize("form", ["json", "csv", "parquet"])
def test_rules_in_a_file(tmp_path, form):
    path = tmp_path / f"rules.{form}"
    names = list(dict.fromkeys(name for rule in RULES for name in rule))
    if form == "json":
        path.write_text(json.dumps(RULES))
    elif form == "parquet":
        kinds = [(n, pa.int64() if n in ("at_least", "below", "least") else pa.string()) for n in names]
        pq.write_table(pa.Table.from_pylist(RULES, pa.schema(kinds)), path)
    else:
        rows = [",".join(f'"{rule[name]}"' if name in rule else "" for name in names) for rule in RULES]
        path.write_text("\n".join([",".join(names), *rows]))
    assert make_query({"kind": "detections", "time": "ts", "detections": str(path)}) == query(*RULES)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("none.csv", None, "cannot be read"),
        ("rules.json", "{}", "must be a list of rules"),
        ("rules.json", "[{", "cannot be read"),
        ("rules.csv", "name,window,at_least\na,1 hour,many", "cannot be read"),
        ("rules.parquet", "text", "cannot be read"),
    ],
)
def test_a_file_that_cannot_be_read(tmp_path, name, text, message):
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(ConfigError, match=message):
        make_query({"kind": "detections", "time": "ts", "detections": str(tmp_path / name)})


def test_ten_thousand_rules_are_taken():
    many = query(*({**RULE, "name": f"rule {number}", "where": f"n = {number}"} for number in range(10_000)))
    assert many.counters.words == 157


@given(
    some.integers(-62_135_000_000_000_000, 253_402_000_000_000_000),
    some.integers(-23 * 60, 23 * 60),
    some.sampled_from(["text", "datetime", "UTC"]),
)
def test_times_of_rules_are_to_the_microsecond_in_any_year_and_zone(microseconds, offset, form):
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=microseconds)
    try:
        time = moment.astimezone(timezone(timedelta(minutes=offset)))
    except OverflowError:
        return
    written = {"text": time.isoformat(), "datetime": time, "UTC": moment.replace(tzinfo=None).isoformat()}[form]
    (rule,) = query(RULE | {"after": written, "until": written}).detections
    assert rule.span == (microseconds, microseconds)
