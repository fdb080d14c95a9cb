"""Small groups with rules in one table: row for row as by a processor each, and as by definition, however it is cut."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from rules_frames import KEYS, LIMITS, TOP_LIMITS, DistinctFrame, QuantilesFrame, TotalsFrame, WorkloadFrame
from rules_oracle import LONGEST, SECOND, Rule, resumed
from skyband.engines.local import LocalRun
from skyband.errors import SkybandError
from skyband.groups.small_groups.windows_in_time import SmallTimeWindows
from skyband.queries import make_query
from skyband.rules import small_groups_with_rules
from skyband.rules.rules_in_force import Rules
from skyband.rules.rules_processor import AnsweringRules
from small_group_checks import look_at
from small_group_queries import at_most

PLACES = (None, "", "a", "b", "c")
"""What groups are called."""


class OfPlaces:
    """Groups by their places in `PLACES`, one of them null, as those that rules are for."""

    groups = len(PLACES)

    def table_of(self, rows):
        table = super().table_of([(*row[:-1], 0) for row in rows])
        places = pa.array([PLACES[row[-1]] for row in rows], pa.string())
        return table.set_column(table.schema.get_field_index("place"), "place", places)

    def plain(self, table, by=("place",)):
        return [(PLACES.index(row[0]), *row[1:]) for row in super().plain(table, by)]

    def rules_table(self, rules):
        table = super().rules_table(rules)
        if "group" not in table.column_names:
            return table
        groups = [None if rule.group is None else [(*PLACES, "no such place")[rule.group]] for rule in rules]
        return table.set_column(table.schema.get_field_index("group"), "group", pa.array(groups, pa.list_(pa.string())))


class Workload(OfPlaces, WorkloadFrame):
    pass


class Totals(OfPlaces, TotalsFrame):
    pass


class Quantiles(OfPlaces, QuantilesFrame):
    pass


class Distinct(OfPlaces, DistinctFrame):
    pass


SUM = {"total": "sum", "weight": "points"}
CASES = {
    "top-k-workload": (Workload(), "paneband", {}, {}),
    "smallest once": (Workload(), "paneband", {"order": "smallest", "repeats": "best", "carry": ["points"]}, None),
    "objects of two columns": (Workload(), "paneband", {"object": ["what", "points"]}, None),
    "heavy-hitters": (Totals(), "exact", {}, {}),
    "sums": (Totals(), "exact", SUM, {"weighed": True}),
    "heavy-hitters by misra-gries": (Totals(), "misra-gries", {}, {}),
    "values by k-skb": (Totals(), "k-skb", {"total": "distinct", "value": "points"}, None),
    "distinct values": (Totals(), "exact", {"total": "distinct", "value": "points", "carry": ["points"]}, None),
    "a share": (Totals(), "exact", {"share": 0.2, "every": "2 seconds", "offset": "1 second"}, None),
    "quantiles": (Quantiles(), "exact", {}, {}),
    "quantiles by buckets": (Quantiles(), "buckets", {}, {}),
    "distinct-count": (Distinct(), "exact", {}, {}),
    "distinct-count by pcsa-ml": (Distinct(), "pcsa-ml", {}, {}),
}
"""By name: a frame, its backend, keys, and what `answers_of` is told; None where that does not know the answers."""


def even(rules):
    """Rules in steps of two seconds."""
    return [rule._replace(window=rule.window and rule.window + rule.window % 2, slide=2 * rule.slide) for rule in rules]


def played(case, steps, cuts=(), kills=(), looks=False):
    """The answers in order, and the state of the groups before the last of them.

    cuts: of each step the places at which its rows are cut. kills: steps before and after which the run is stopped.
    looks: after each step its state is written and thrown away.
    """
    frame, backend, changes, _ = CASES[case]
    run, pieces = frame.started(**{"backend": backend, **changes}), []
    for number, (_, rules, rows) in enumerate(steps):
        if rules:
            run.broadcast(frame.rules_table(even(rules) if "every" in changes else rules))
        run = resumed(run) if number in kills else run
        ends = [0, *(cuts[number] if cuts else ()), len(rows)]
        pieces += [run.push(frame.batch_of(rows[start:stop])) for start, stop in pairwise(ends) if stop > start]
        run = resumed(run) if number in kills else run
        if looks:
            look_at(run.operator.groups)
    state = run.operator.groups.dump_state()
    return sorted(map(repr, frame.plain(pa.Table.from_batches([*pieces, run.finish()])))), state


def compared(case, seed, most, monkeypatch, count=60, size=0):
    """The number of answers of a table of groups of at most `most` entries, which are those of a processor each."""
    frame, _, _, options = CASES[case]
    random = np.random.default_rng([seed, 1])
    rows, steps = frame.scenario(seed, count, filtered=True)
    cuts = [sorted(random.integers(0, len(batch) + 1, 2).tolist()) for *_, batch in steps]
    kills = random.choice(len(steps), 2).tolist()
    monkeypatch.setattr(small_groups_with_rules, "_AT_ONCE", size or 1 << 20)
    at_most(most, monkeypatch)
    got, state = played(case, steps, kills=kills)
    again, same = played(case, steps, cuts)
    assert got == again, f"{case}, seed {seed}: cuts show"
    np.testing.assert_equal(same, state, f"{case}, seed {seed}")
    at_most(0, monkeypatch)
    each, processors = played(case, steps, kills=kills)
    assert not any(name.startswith("small_groups") for name in processors)
    assert got == each, f"{case}, seed {seed}"
    if options is not None:
        assert set(got) == set(map(repr, frame.expected(rows, steps, **options))), f"{case}, seed {seed}"
    assert len(got) == len(set(got)), f"{case}, seed {seed}: twice"
    return len(got)


@pytest.mark.parametrize("case", KEYS)
def test_a_look_at_a_state_leaves_no_trace(case, monkeypatch):
    """Groups that have run empty, and have not been let go of, among them."""
    at_most(4, monkeypatch)
    _, steps = CASES[case][0].scenario(5, 60, filtered=True)
    found, expected = played(case, steps, looks=True), played(case, steps)
    assert found[0] == expected[0]
    np.testing.assert_equal(found[1], expected[1])


@pytest.mark.parametrize("kind", KEYS)
def test_a_look_lets_go_of_no_group_before_its_pass(kind):
    """Of many groups a pass lets go of those that have run empty once they are some: till then each has its name."""
    number = np.arange(300)
    times = pa.array(number * SECOND // 8, pa.timestamp("us"))
    table = pa.table({"ts": times, "place": [f"place {one}" for one in number]})
    for name in ("what", "who", "points", "ms"):
        table = table.append_column(name, pa.array(number % 3, pa.int64() if name[0] == "w" else pa.float64()))
    limits = TOP_LIMITS if "k" in kind.split("-") or kind == "heavy-hitters" else LIMITS
    asked = make_query({**KEYS[kind], **limits, "by": ["place"], "delay": "0 seconds"})
    alone, seen = (LocalRun.start(asked, table.schema) for _ in range(2))
    for start in range(0, len(table), 3):
        batch = table.slice(start, 3).combine_chunks().to_batches()[0]
        assert seen.push(batch).equals(alone.push(batch))
        look_at(seen.operator.groups)
        assert seen.operator.groups.keys.tolist() == alone.operator.groups.keys.tolist()


@pytest.mark.parametrize("case", CASES)
def test_a_table_answers_rules_as_processors_do(case, monkeypatch):
    runs = [(3, 512, 0), (4, 3, 5), (6, 5, 5)]
    assert sum(compared(case, seed, most, monkeypatch, 40, size) for seed, most, size in runs) > 0


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_a_table_answers_rules_as_processors_do_on_many_streams(case, monkeypatch):
    for seed in range(100, 350):
        compared(case, seed, (2, 3, 5, 512)[seed % 4], monkeypatch, size=(0, 5)[seed % 2])


def test_small_groups_are_in_the_table_and_large_ones_are_not(monkeypatch):
    for case, (frame, *_) in CASES.items():
        rows = [(0, number % 3, 1.0, 2) for number in range(2)] + [(0, number % 8, 1.0, 3) for number in range(40)]
        rows.append((1, 0, 1.0, 4))
        rows = [(row[0], *(row[1:] if len(frame.columns) == 4 else (float(row[1]), row[3]))) for row in rows]
        at_most(4, monkeypatch)
        _, state = played(case, [(None, [Rule("a", 4, 4, 1)], rows)])
        assert (len(state["small_groups.group"]), len(state["processors.key"])) == (1, 1), case


def test_a_silence_is_asked_at_the_moments_of_its_rows_alone(monkeypatch):
    """Of the longest window, which may be a year, and of rules of each second more than memory has room for."""
    due = []
    monkeypatch.setattr(TABLE, "moments_of", lambda *args: due.append(MOMENTS_OF(*args)) or due[-1])
    monkeypatch.setattr(small_groups_with_rules, "_AT_ONCE", 1 << 16)
    for case in ("top-k-workload", "heavy-hitters", "quantiles", "distinct-count"):
        frame = CASES[case][0]
        run = frame.started(longest="20 days")
        run.broadcast(frame.rules_table([Rule("a", 4, 4, 1), Rule("b", 4, 1, 1, group=2)]))
        rows = frame.random_rows(np.random.default_rng(0), 4)
        rows = [(number * 400_000, *row[1:-1], 2) for number, row in enumerate(rows)]
        got = pa.Table.from_batches([run.push(frame.batch_of(rows)), run.finish()])
        moments = {(at, rule) for _, at, rule, *_ in frame.plain(got)}
        assert len(moments) == 17, "four of each row and rule, and one of the last"
        assert sum(len(one.moments.at) for one in due) <= 2 * len(moments)
        due.clear()


TABLE = small_groups_with_rules.SmallGroupsWithRules


def forgets_own(rules, groups, begins, ends, rows):
    none, number = OWN(rules, groups[:0], begins[:0], ends[:0], rows)
    return none, number


OWN, MOMENTS_OF, DUE = (
    getattr(*one)
    for one in (
        (small_groups_with_rules, "_own_moments"),
        (TABLE, "moments_of"),
        (SmallTimeWindows, "_is_due"),
    )
)
MUTANTS = {
    "rules of one group are left out": (small_groups_with_rules, "_own_moments", forgets_own),
    "moments passed are answered again": (Rules, "answered", -(2**62)),
    "rules are told nothing of the end": (
        TABLE,
        "moments_of",
        lambda self, sessions, lasts, times, latest: MOMENTS_OF(self, sessions, lasts, times, None),
    ),
    "rules of one group are never due": (
        SmallTimeWindows,
        "_is_due",
        lambda self, until: DUE(self, until) and self._table._rules.for_all.size > 0,
    ),
    "one that grew answers anew": (
        AnsweringRules,
        "listen",
        lambda self, broadcast, group=None: self.__dict__.update(_rules=broadcast, _group=group),
    ),
    "one that grew knows no group": (
        AnsweringRules,
        "listen",
        lambda self, broadcast, group=None: LISTEN(self, broadcast, None),
    ),
    "windows begin with the longest": (
        TABLE,
        "starts",
        lambda self, step: (step.moments.at - LONGEST * SECOND)[:, None],
    ),
    "every group has the rules of one": (Rules, "for_all", property(lambda self: np.arange(len(self.names)))),
}
LISTEN = AnsweringRules.listen


@pytest.mark.parametrize("kind", MUTANTS)
def test_what_is_wrong_is_seen(kind, monkeypatch):
    owner, name, wrong = MUTANTS[kind]

    def fails(case, seed, most):
        at_most(most, monkeypatch)
        frame, _, _, options = CASES[case]
        rows, steps = frame.scenario(seed, 60, filtered=True)
        try:
            got, _ = played(case, steps, kills=[seed % 4])
        except SkybandError:
            return True
        return len(got) != len(set(got)) or set(got) != set(map(repr, frame.expected(rows, steps, **options)))

    cases = ("heavy-hitters", "distinct-count")
    seeds = [(case, seed, most) for case in cases for seed in range(4) for most in (3, 512)]
    assert not any(fails(*one) for one in seeds[:2])
    monkeypatch.setattr(owner, name, wrong)
    assert any(fails(*one) for one in seeds)
