"""Rules in force: their moments and ends equal the definition, microsecond by microsecond."""

import json

import numpy as np
import pyarrow as pa
import pytest
from rules_oracle import LONGEST, MOST, Rule, random_rules, versions_of
from skyband.arrays import TIME_MAX, TIME_MIN
from skyband.config.durations import parse
from skyband.rules.query_with_rules import limit_problems
from skyband.rules.rule_groups import group_keys
from skyband.rules.rule_rows import Limits, Version
from skyband.rules.rules_in_force import Rules

BY = pa.schema([("place", pa.int64())])
GROUPS = 3
KEYS = group_keys(BY, [(str(group),) for group in range(GROUPS)]).tolist()
FIXED = Version("fixed", 5, 6, 2, 1, TIME_MIN, TIME_MAX)
LIMITS = Limits(LONGEST, MOST)
NEVER = 10**9


def instant(microseconds):
    return f"1970-01-01T00:00:00.{microseconds:06}Z"


def lines(rules):
    """A table of rules as lines of JSON, their times in microseconds."""
    rows = [
        {
            "name": rule.name,
            "window": None if rule.window is None else f"{rule.window} microseconds",
            "slide": f"{rule.slide} microseconds",
            "k": rule.k,
            **({} if rule.group is None else {"group": [str(rule.group)]}),
            **({} if rule.after is None else {"after": instant(max(rule.after, 0))}),
            **({} if rule.until is None else {"until": instant(rule.until)}),
        }
        for rule in rules
    ]
    return pa.table({"value": pa.array(map(json.dumps, rows), pa.string())})


def fresh(fixed):
    rules = Rules([FIXED] if fixed else [], LIMITS)
    rules.group_by(BY)
    return rules


class Definition:
    """The answers due by rules, from a check of each version at each microsecond."""

    def __init__(self, came, fixed):
        self.versions = versions_of(came)
        if fixed:
            self.versions = [*self.versions, ("fixed", Rule("fixed", 5, 6, 2), -NEVER, NEVER)]

    def at(self, moment, group):
        """(name, rule) of each answer then; group: None for one that no rule names."""
        for name, rule, begin, end in self.versions:
            phase = int(name == "fixed")
            if begin < moment <= end and moment % rule.slide == phase and rule.group in (None, group):
                yield name, rule

    def moments(self, begin, end, group):
        """(at, name, since, k) of each, those of the query first."""
        due = [(at, name, rule) for at in range(begin + 1, end + 1) for name, rule in self.at(at, group)]
        due.sort(key=lambda one: (one[0], one[1] != "fixed", one[1]))
        return [(at, name, at - rule.window, rule.k) for at, name, rule in due]

    def first(self, time, group=None, name=None):
        """The first later moment of this name in this group, or of any."""
        groups = range(GROUPS + 1) if group is None else [group]  # one more is named by rules
        for at in range(time + 1, time + 60):
            if any(name in (None, one) for each in groups for one, _ in self.at(at, each)):
                return at
        return None

    def stands_until(self, time, name, group):
        """Until when an answer stands that is the last at this time."""
        while any(
            one == name and rule.group in (None, group) and begin <= time < end
            for one, rule, begin, end in self.versions
        ):
            time += 1
            if any(one == name for one, _ in self.at(time, group)):
                return time
        return time + 1


def check(rules, known, now, random):
    """Everything that is asked of rules later than `now`."""
    names, answered = rules.names.to_pylist(), now
    for group in (None, *range(GROUPS)):
        begin = answered + int(random.integers(0, 5))
        end = begin + int(random.integers(0, 25))
        due = rules.moments(begin, end, None if group is None else KEYS[group])
        got = [(at, names[rule], since, k) for at, rule, since, k in map(due.row, range(len(due.at)))]
        assert got == known.moments(begin, end, group)
        latest = int(random.integers(begin, end + 1))
        last = [row for row in got if row[0] - dict(slides(known, row[0], group))[row[1]] <= latest]
        whose, when = pa.array([row[1] for row in got], pa.string()), np.array([row[0] for row in got], np.int64)
        assert rules.at_the_end_of(whose, when, latest).tolist() == [row in last for row in got]
        ended = rules.at_the_end(due, latest)
        assert [(at, names[rule]) for at, rule in zip(ended.at, ended.rule, strict=True)] == [row[:2] for row in last]
    assert rules.next_at == (known.first(answered) or TIME_MAX)
    until = answered + int(random.integers(1, 8))
    keys = np.sort(np.array(KEYS, np.uint64))
    due = [KEYS[group] for group in range(GROUPS) if (known.first(answered, group) or NEVER) <= until]
    assert {*due} <= {*rules.due(keys, until).tolist()} <= ({*KEYS} if due else {*()})
    of_one = [rule for _, rule, *_ in known.versions if rule.group is None]
    if not of_one:
        assert {*rules.due(keys, until).tolist()} == {*due}
    latest = answered + int(random.integers(0, 8))
    firsts = [version_first(version, latest) for version in known.versions]
    assert rules.last_moment(latest) == max([latest + 1, *(first for first in firsts if first is not None)])
    asked = [(name, group) for name in (*"abcdef", "fixed", "nobody") for group in range(GROUPS)]
    times = random.integers(answered, answered + 20, len(asked))
    groups = np.array([KEYS[group] for _, group in asked], np.uint64)
    stands = rules.next_due(pa.array([name for name, _ in asked]), groups, times)
    assert stands.tolist() == [known.stands_until(int(time), *one) for time, one in zip(times, asked, strict=True)]


def slides(known, at, group):
    return [(name, rule.slide) for name, rule in known.at(at, group)]


def version_first(version, latest):
    """The first moment of a version that is later, if there is one."""
    name, rule, begin, end = version
    phase, least = int(name == "fixed"), max(begin, latest)
    return next((at for at in range(least + 1, least + rule.slide + 1) if at <= end and at % rule.slide == phase), None)


SEEDS = range(20)


@pytest.mark.parametrize("seed", SEEDS)
def test_moments_and_ends_are_those_of_the_definition(seed):
    random = np.random.default_rng(seed)
    fixed = seed % 3 == 0
    rules, came, live, later, now = fresh(fixed), [], set(), set(), 0
    rules.pass_to(now)
    for step in range(8):
        some = random_rules(random, now, live, later, MOST, GROUPS if seed % 2 else None)
        if step % 3 < 2:
            assert not rules.take(lines(some), now)
            came.append((now, some))
        else:  # a state in between
            arrays = rules.dump_state()
            rules = fresh(fixed)
            rules.load_state(arrays)
            rules.pass_to(now)
            assert all(np.array_equal(arrays[name], array) for name, array in rules.dump_state().items())
            live = {name for name, rule, _, end in versions_of(came) if end == NEVER}
        known = Definition(came, fixed)
        check(rules, known, now, random)
        remaining = {name for name, _, _, end in known.versions if end > now and name != "fixed"}
        assert remaining <= {*names_of(rules)}
        now += int(random.integers(0, 9))
        rules.pass_to(now)
        rules.pass_to(now - 1)
        assert rules.answered == now
        assert rules.next_at == (known.first(now) or TIME_MAX)


def names_of(rules):
    again = fresh(False)
    again.load_state(rules.dump_state())
    return again.names.to_pylist()


@pytest.mark.parametrize("seed", SEEDS)
def test_a_state_has_exactly_the_versions_with_future_moments(seed):
    random = np.random.default_rng(seed)
    rules, live, later = fresh(True), set(), set()
    came = []
    for now in (0, 2, 4):
        came.append((now, random_rules(random, now, live, later, MOST, GROUPS)))
        rules.take(lines(came[-1][1]), now)
    for now in (4, 9, 30):
        rules.pass_to(now)
        remaining = sorted(name for name, _, _, end in versions_of(came) if end > now)
        assert names_of(rules) == remaining


@pytest.mark.parametrize("seed", SEEDS)
def test_changes_are_reported_from_their_moment_though_groups_have_passed_later_ones(seed):
    """As in a stream that is finished, whose watermark is later than its rows: also from a state, and by new rules."""
    random = np.random.default_rng([12, seed])
    rules, came, live, later = fresh(seed % 2), [], set(), set()
    for now in (0, 3, 6):
        came.append((now, random_rules(random, now, live, later, MOST, GROUPS)))
        assert not rules.take(lines(came[-1][1]), now)
    begin, now = 8, 25
    asked = [(name, group) for name in (*"abcdef", "nobody") for group in range(GROUPS)]
    names, groups = pa.array([name for name, _ in asked]), np.array([KEYS[group] for _, group in asked], np.uint64)
    for turn in range(3):
        rules.report_from(begin)
        rules.pass_to(now)
        if turn == 1:
            arrays = rules.dump_state()
            rules = fresh(seed % 2)
            rules.load_state(arrays)
        if turn == 2:
            came.append((now, random_rules(random, now, live, later, MOST, GROUPS)))
            rules.take(lines(came[-1][1]), now)
        rules.report_from(begin)
        rules.pass_to(now)
        known = Definition(came, seed % 2)
        times = random.integers(begin, now + 5, len(asked))
        stands = rules.next_due(names, groups, times.copy())
        assert stands.tolist() == [known.stands_until(int(at), *one) for at, one in zip(times, asked, strict=True)]


@pytest.mark.parametrize("slide", [1, 6, 2**61])
def test_a_rule_that_begins_at_the_end_of_time_has_no_moment_before_it(slide):
    for before in [*range(20), slide - 1, slide, slide + 1]:
        begin = TIME_MAX - before
        rules = Rules([Version("last", 5, slide, 2, 1 % slide, begin, TIME_MAX)], LIMITS)
        first = begin + 1 + (1 - begin - 1) % slide
        assert rules.next_at in (first, TIME_MAX)
        assert rules.moments(begin - 2, TIME_MAX - 1).at.tolist() in ([], [*range(first, TIME_MAX, slide)])


BORDERS = [
    (Rule("a", LONGEST, 1, MOST), None),
    (Rule("a", LONGEST + 1), "window"),
    (Rule("a", 3, 1, MOST + 1), "k"),
    (Rule("a", 3, 1, 0), "k"),
    (Rule("a", 3, 1, 1), None),
    (Rule("a", 0), "window"),
    (Rule("a", 3, 0), "slide"),
    (Rule("a", 3, until=10), "until"),
    (Rule("a", 3, until=11), None),
    (Rule("a", 3, after=12, until=12), "until"),
    (Rule("a", 3, after=12, until=13), None),
    (Rule("fixed", 3), "name"),
    (Rule("a", None), "name"),
    (Rule("a", 3, group=7), None),
]


@pytest.mark.parametrize(("rule", "column"), BORDERS)
def test_rules_at_the_limits_are_accepted_and_others_rejected(rule, column):
    refused = (rules := fresh(True)).take(lines([rule]), 10)
    assert [error.argument for error, _ in refused] == ([] if column is None else [f"rules.{column}"])
    assert len(rules.names) == (2 if column is None else 1)


def test_an_end_needs_a_running_rule_at_its_time():
    rules = fresh(False)
    rules.take(lines([Rule("a", 3, until=20), Rule("b", 3)]), 10)
    for ended, refused in ((Rule("a", None, after=20), 1), (Rule("a", None, after=19), 0), (Rule("b", None), 0)):
        assert len(rules.take(lines([ended]), 10)) == refused
    assert rules.moments(10, 30).at.tolist() == [*range(11, 20)]
    rules = fresh(False)
    for rule, now in ((Rule("a", 3), 10), (Rule("a", 5, after=4), 12)):
        assert not rules.take(lines([rule]), now)
    assert rules.moments(12, 14).since.tolist() == [8, 9]
    twice = [[Rule("a", 3), Rule("a", 3, k=2)], [Rule("a", 3), Rule("a", 3)]]
    assert [len(fresh(False).take(lines(rows), 0)) for rows in twice] == [2, 0]


def test_slides_phases_and_ks_that_rules_do_not_say_are_those_of_the_query():
    rules = Rules([], Limits(LONGEST, MOST, every=(4, 2), k=3, grain=2))
    texts = [
        '{"name": "a", "window": "6 microseconds"}',
        '{"name": "b", "window": "6 microseconds", "slide": "6 microseconds", "k": 1}',
        '{"name": "c", "window": "6 microseconds", "phase": "4 microseconds"}',
        '{"name": "d", "window": "5 microseconds"}',
        '{"name": "e", "window": "6 microseconds", "slide": "3 microseconds"}',
        '{"name": "f", "window": "6 microseconds", "phase": "3 microseconds"}',
    ]
    refused = rules.take(pa.table({"value": texts}), 0)
    assert [(error.argument, text) for error, text in refused] == [
        ("rules.window", texts[3]),
        ("rules.slide", texts[4]),
        ("rules.phase", texts[5]),
    ]
    due = rules.moments(0, 10)
    names = rules.names.to_pylist()
    assert [(at, names[rule], k) for at, rule, _, k in map(due.row, range(len(due.at)))] == [
        (2, "a", 3),
        (2, "b", 1),
        (4, "c", 3),
        (6, "a", 3),
        (8, "b", 1),
        (8, "c", 3),
        (10, "a", 3),
    ]


@pytest.mark.parametrize("begin", [0, 1, 3])
def test_phases_are_multiples_of_the_grain_relative_to_the_query(begin):
    """Whose own moments may stand anywhere: rules without a phase stand there, too."""
    rules = Rules([], Limits(LONGEST, MOST, every=(4, begin), k=3, grain=4))
    for phase in (None, *range(12)):
        line = {"name": f"{phase}", "window": "8 microseconds"}
        line |= {} if phase is None else {"phase": f"{phase} microseconds"}
        refused = rules.take(pa.table({"value": [json.dumps(line)]}), 0)
        fits = phase is None or (phase - begin) % 4 == 0
        assert [error.argument for error, _ in refused] == ([] if fits else ["rules.phase"])
    assert {*(rules.moments(0, 40).at % 4).tolist()} == {begin % 4}


WRONG = [
    ({"k": "ten"}, "k", "a whole number, such as 10 (got 'ten')"),
    ({"k": 2.0}, "k", "a whole number, such as 10 (got 2.0)"),
    ({"k": True}, "k", "a whole number, such as 10 (got true)"),
    ({"window": 5}, "window", 'text, such as "10 minutes" (got 5)'),
    ({"slide": ["5 seconds"]}, "slide", 'text, such as "1 minute" (got ['),
    ({"until": "never"}, "until", "a timestamp, such as \"2026-01-31T12:00:00Z\" (got 'never')"),
    ({"after": 80}, "after", 'a timestamp, such as "2026-01-31T12:00:00Z" (got 80)'),
    ({"group": 3}, "group", 'a list of texts, such as ["DE", "3"] (got 3)'),
    ({"group": [3]}, "group", 'a list of texts, such as ["DE", "3"] (got [3])'),
    ({"group": {"place": "3"}}, "group", "a list of texts"),
    ({"name": 7}, "name", 'text, such as "quick" (got 7)'),
    ({"name": "\ud800"}, "name", "text"),
    ({"untl": "2026"}, "untl", "not a column of rules; did you mean 'until'"),
]


@pytest.mark.parametrize(("keys", "column", "why"), WRONG, ids=[str(number) for number in range(len(WRONG))])
def test_a_key_of_another_type_is_a_bad_row_that_says_how_to_write_it(keys, column, why):
    right = {"name": "a", "window": "5 microseconds", "slide": "1 microsecond", "k": 1}
    texts = ["", json.dumps({**right, **keys}), json.dumps({**right, "name": "b"}), None]
    ((error, text),) = (rules := fresh(False)).take(pa.table({"value": texts}), 0)
    assert (error.argument, text) == (f"rules.{column}", texts[1])
    assert why in str(error)
    assert rules.names.to_pylist() == ["b"]


@pytest.mark.parametrize("text", ["{", "[1]", "7", '{"name": "a"} x', "[" * 100_000])
def test_a_line_that_is_not_an_object_is_a_bad_row(text):
    ((error, _),) = fresh(False).take(pa.table({"value": [text]}), 0)
    assert "because the line is not " in str(error) and "JSON" in str(error)


@pytest.mark.parametrize(
    ("longest", "lengths", "offset", "others", "fields"),
    [
        ("1 hour", {"windows[0]": "1 hour", "every": "2 hours"}, "0 seconds", {"emit": None}, []),
        ("1 hour", {"windows[0]": "61 minutes"}, "0 seconds", {}, ["windows[0]"]),
        ("10 rows", {"windows[0]": "1 hour"}, "1 row", {"emit": "state"}, ["longest"]),
        ("1 hour", {"windows[0]": "3 rows", "every": "3 rows"}, "0 seconds", {}, ["windows[0]", "every"]),
        ("1 hour", {}, "1 row", {"emit": "state", "part": None}, ["offset", "emit"]),
        ("1 hour", {}, "0 seconds", {"rest": False}, ["rest"]),
    ],
)
def test_what_goes_with_longest(longest, lengths, offset, others, fields):
    lengths = {name: parse(text) for name, text in lengths.items()}
    problems = limit_problems(parse(longest), lengths, parse(offset), others)
    assert [problem.field for problem in problems] == fields


def test_the_earlier_version_stays_if_a_table_contradicts_itself():
    """Both rows are refused, and neither takes away what was there."""
    rules = fresh(False)
    assert rules.take(lines([Rule("a", 5, 5, 1, after=3)]), 0) == []
    before = rules.dump_state()
    for others in ([6, 7], [7, None], [5, 6]):
        refused = rules.take(lines([Rule("a", window, 5, 1, after=3) for window in others]), 0)
        assert [(error.argument, "is given twice" in error.message) for error, _ in refused] == [
            ("rules.name", True)
        ] * 2
        after = rules.dump_state()
        assert before.keys() == after.keys() and all(np.array_equal(before[name], after[name]) for name in before)
