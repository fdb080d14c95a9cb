"""Detections of Sigma as conditions of SQL, against an interpreter of Sigma's specification."""

import operator
import re
from fnmatch import fnmatchcase
from ipaddress import ip_address, ip_network

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from skyband_detect.sigma.condition_text import sql_of
from skyband_detect.sigma.field_matches import match, selection
from skyband_detect.sigma.refusals import RefusedError
from skyband_expressions.row_conditions import condition_problem, rows_that_meet

EVENTS = [
    {"Name": name, "Path": path, "Port": port, "Ip": ip, "Ok": ok}
    for name, path, port, ip, ok in [
        ("Administrator", "C:\\Windows\\system32\\cmd.exe", 22, "10.1.2.3", True),
        ("admin", "c:\\temp\\a.exe", 443, "10.200.0.1", False),
        ("bob", "100%_sure", 0, "192.168.7.9", None),
        ("BOB's", "a*b?c", -1, "192.168.70.9", True),
        ("", "x y", 8080, "8.8.8.8", False),
        (None, None, None, None, None),
        ("ÄRGER", "a/b\\*c", 5, "110.1.2.3", True),
    ]
]
TABLE = pa.RecordBatch.from_pylist(EVENTS, schema=pa.schema(
    {"Name": pa.string(), "Path": pa.string(), "Port": pa.int64(), "Ip": pa.string(), "Ok": pa.bool_()}
))  # fmt: skip


COMPARISONS = {"lt": operator.lt, "lte": operator.le, "gt": operator.gt, "gte": operator.ge}


def glob(value: str) -> str:
    """A value of Sigma as a regular expression, by the specification: a backslash escapes a wildcard or a backslash."""
    pieces = re.findall(r"\\[*?\\]|.", value, re.DOTALL)
    wild = {"*": ".*", "?": "."}
    return "".join(wild.get(piece) or re.escape(piece[1:] if len(piece) > 1 else piece) for piece in pieces)


def matches_value(actual, modifiers, value) -> bool:
    if "exists" in modifiers:
        return (actual is not None) == value
    if value is None:
        return actual is None
    if actual is None:
        return False
    for name in {*COMPARISONS} & modifiers:
        return COMPARISONS[name](actual, value)
    if "cidr" in modifiers:
        return ip_address(actual) in ip_network(value)
    if "re" in modifiers:
        return re.search(value, actual, re.IGNORECASE if "i" in modifiers else 0) is not None
    if not isinstance(value, str):
        return actual == value
    before = "*" if {"contains", "endswith"} & modifiers else ""
    after = "*" if {"contains", "startswith"} & modifiers else ""
    flags = re.DOTALL if "cased" in modifiers else re.DOTALL | re.IGNORECASE
    return re.fullmatch(glob(f"{before}{value}{after}"), actual, flags) is not None


def matches_field(event, key, value) -> bool:
    field, *modifiers = key.split("|")
    each = [matches_value(event[field], {*modifiers}, one) for one in (value if isinstance(value, list) else [value])]
    return all(each) if "all" in modifiers else any(each)


def matches_selection(event, content) -> bool:
    if isinstance(content, list):
        return any(matches_selection(event, one) for one in content)
    return all(matches_field(event, key, value) for key, value in content.items())


def met(where: str) -> list[bool]:
    assert condition_problem(where) is None, where
    return rows_that_meet(where, TABLE).astype(bool).tolist()


TEXTS = some.sampled_from(
    [
        "admin", "ADMIN*", "*bob*", "?dmin", "BOB's", "", "*", "cmd.exe", "C:\\Windows", "*\\\\cmd.exe", "a\\*b\\?c",
        "100%_sure", "a/b\\\\\\*c", "_00*", "\\", "ärger", "x y", "**e",
    ]
)  # fmt: skip
LISTS = some.lists(TEXTS, min_size=1, max_size=3)
OF_TEXT = some.sampled_from(("Name", "Path"))
NETWORKS = some.sampled_from(("10.0.0.0/8", "192.168.0.0/16", "192.168.7.0/24", "8.8.8.8/32"))
NUMBERS = some.sampled_from((0, 22, 443, -1, 7.5))
PATTERNS = some.sampled_from(("^adm", "b.b", "[a-d]+min", "^$"))
AROUND = some.sampled_from(("", "|contains", "|startswith", "|endswith", "|cased", "|contains|cased"))
FIELDS = some.one_of(
    some.tuples(OF_TEXT, AROUND, some.one_of(TEXTS, LISTS)),
    some.tuples(OF_TEXT, some.sampled_from(("|contains|all", "|all")), LISTS),
    some.tuples(some.just("Port"), some.sampled_from(("", "|lt", "|lte", "|gt", "|gte")), NUMBERS),
    some.tuples(some.just("Port"), some.just(""), some.lists(NUMBERS, min_size=1, max_size=2)),
    some.tuples(some.just("Ip"), some.just("|cidr"), NETWORKS),
    some.tuples(some.sampled_from(("Name", "Port", "Ok")), some.just("|exists"), some.booleans()),
    some.tuples(some.sampled_from(("Name", "Port")), some.just(""), some.none()),
    some.tuples(some.just("Ok"), some.just(""), some.booleans()),
    some.tuples(some.just("Name"), some.sampled_from(("|re", "|re|i")), PATTERNS),
)
SELECTIONS = some.recursive(
    some.lists(FIELDS, min_size=1, max_size=3).map(lambda each: {name + more: value for name, more, value in each}),
    lambda inner: some.lists(inner, min_size=1, max_size=3).filter(lambda each: all(isinstance(o, dict) for o in each)),
    max_leaves=3,
)


@given(SELECTIONS)
@settings(max_examples=60, deadline=None)
def test_a_selection_is_met_by_the_events_that_sigma_matches(content):
    assert met(selection("selection", content, str)) == [matches_selection(event, content) for event in EVENTS]


NAMES = ("sel_a", "sel_b", "filter", "_hidden")
CONDITIONS = some.recursive(
    some.sampled_from([*NAMES, "1 of sel_*", "all of sel*", "any of them", "all of them", "1 of filter"]),
    lambda inner: some.one_of(
        some.tuples(inner, some.sampled_from((" and ", " or ", " AND ")), inner).map("".join),
        inner.map(lambda text: f"not {text}"),
        inner.map(lambda text: f"({text})"),
    ),
    max_leaves=6,
)


def interpreted(text: str, found: dict[str, bool]) -> bool:
    """The condition as Python has it, whose `not`, `and` and `or` bind as Sigma's do."""

    def of_several(several: re.Match) -> str:
        pattern = several[2].replace("them", "[!_]*")
        own = [value for name, value in found.items() if fnmatchcase(name, pattern)]
        return str(all(own) if several[1] == "all" else any(own))

    text = re.sub(r"\b(1|any|all) of (\S+?)(?=[\s)]|$)", of_several, text)
    for name, value in found.items():
        text = re.sub(rf"\b{name}\b", str(value), text)
    return eval(text.replace("AND", "and"))


@given(CONDITIONS, some.lists(SELECTIONS, min_size=4, max_size=4))
@settings(max_examples=60, deadline=None)
def test_a_condition_is_met_by_the_events_that_sigma_matches(text, contents):
    sql = sql_of(text, {name: selection(name, content, str) for name, content in zip(NAMES, contents, strict=True)})
    expected = [
        interpreted(text, {name: matches_selection(event, one) for name, one in zip(NAMES, contents, strict=True)})
        for event in EVENTS
    ]
    assert met(sql) == expected


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("Name|base64offset", "x", "the modifier 'base64offset' is not supported"),
        ("Name|windash", "x", "windash"),
        ("|contains", "x", "keywords without a field"),
        ("Name", [], "has no values"),
        ("Name|all", "x", "needs a list"),
        ("Name|contains|startswith", "x", "two of contains"),
        ("Name|contains", None, "must be text, a number"),
        ("Name", {"a": 1}, "must be text, a number"),
        ("Name|exists", "yes", "takes true or false"),
        ("Port|lt", "5", "compare with a number"),
        ("Port|lt", float("nan"), "a finite number"),
        ("Ip|cidr", "10.0.0.0/9", "8, 16, 24 or 32 bits"),
        ("Ip|cidr", "fe80::/16", "8, 16, 24 or 32 bits"),
        ("Ip|cidr", "x", "must be a network"),
        ("Name|re", "(?<=a)b", "the regular expression"),
        ("Name|re|contains", "a", "and at most 'i' beside it"),
        ("Name|i", "a", "with the modifier 're'"),
        ("a`b", "x", "a column with a backquote"),
    ],
)
def test_what_cannot_be_said_of_a_field_is_named(key, value, text):
    with pytest.raises(RefusedError) as raised:
        match(key, value, str)
    assert text in str(raised.value)


@pytest.mark.parametrize("content", [["word"], "word", {}, [], None, [{}], ["a", {"b": 1}]])
def test_keywords_are_refused(content):
    with pytest.raises(RefusedError, match="keywords have no field"):
        selection("words", content, str)


@pytest.mark.parametrize(
    "text",
    ["", "sel_a and", "not", "(sel_a", "sel_a)", "sel_a sel_b", "other", "2 of sel*", "all of", "1 of x*", "and sel_a",
     "sel_a | count() > 5", "(" * 40 + "sel_a" + ")" * 40],
)  # fmt: skip
def test_conditions_that_cannot_be_read_are_refused(text):
    with pytest.raises(RefusedError, match=r"detection\.condition"):
        sql_of(text, {"sel_a": "a = 1", "sel_b": "b = 1"})


def test_columns_whose_names_are_words_of_sql_are_quoted():
    assert match("values", 1, str) == "`values` = 1"
    assert match("winlog.event_id", 1, str) == "`winlog.event_id` = 1"
    assert match("Image", ["a", "B"], lambda name: f"{name} path") == "lower(`Image path`) IN ('a', 'b')"
