"""States as data: those that a query gives answer for any window, alone and together, as counting by hand does."""

import datetime
from functools import cache

import numpy as np
import pyarrow as pa
import pytest
from in_process_shards import on_shards
from skyband import create, restore, states
from skyband.engines import local
from skyband.errors import ConfigError, InputError, SnapshotError
from skyband.groups.execution import execution_of
from skyband.operator.operator import Operator
from skyband.queries import make_query

MINUTE = 60_000_000
START = 1_760_000_400_000_000
"""A multiple of half an hour."""
BACKENDS = ("exact", "k-skb", "pcsa-ml", "se-pcsa")


def visits(rows=4000, clients=300, span=240, seed=1):
    rng = np.random.default_rng(seed)
    minutes = np.sort(rng.integers(0, span * MINUTE, rows))
    return pa.table(
        {
            "ts": pa.array(START + minutes, pa.timestamp("us", "UTC")),
            "client": rng.integers(0, clients, rows),
            "status": rng.choice(["200", "404", "500"], rows, p=[0.7, 0.29, 0.01]),
        }
    )


def query(**changes):
    keys = {"time": "ts", "item": "client", "windows": ["1 hour"], "every": "30 minutes", "by": ["status"]}
    return make_query({"kind": "distinct-count", **keys, "emit": "state", **changes})


def clients(table, start, stop, *statuses):
    times, who = np.asarray(table["ts"].cast(pa.int64())), np.asarray(table["client"])
    of = np.isin(np.array(table["status"].to_pylist()), statuses)
    return set(who[(times >= start) & (times < stop) & of].tolist())


def by_moment(answers):
    found = {}
    for row in answers.to_pylist():
        found.setdefault(int(row["at"].timestamp()) * 1_000_000, {})[row.get("status")] = row["state"]
    return found


TABLE = visits()


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_state_answers_every_window_as_counting_by_hand(backend):
    for at, groups in by_moment(local.apply(TABLE, query(), {"sketch": backend})).items():
        for status, state in groups.items():
            for minutes in (1, 17, 37, 60):
                expected = len(clients(TABLE, at - minutes * MINUTE, at, status))
                found = states.estimate(state, last=f"{minutes} minutes")
                assert found == states.estimate(state, since=at - minutes * MINUTE)
                assert found == (expected,) * 3, "so few clients are counted exactly"
                assert restore(state).estimate(at - minutes * MINUTE) == expected


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_union_is_of_all_its_states(backend):
    at, groups = list(by_moment(local.apply(TABLE, query(), {"sketch": backend})).items())[4]
    together = states.union(groups.values())
    for minutes in (5, 37, 60):
        expected = len(clients(TABLE, at - minutes * MINUTE, at, "200", "404", "500"))
        assert states.estimate(together, last=f"{minutes} minutes").count == expected
        assert states.estimate(groups.values(), last=f"{minutes} minutes").count == expected
    assert states.describe(together).at == at


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_overlap_is_what_both_hold(backend):
    at, groups = list(by_moment(local.apply(TABLE, query(), {"sketch": backend})).items())[4]
    found = states.overlap(groups["200"], groups["404"], last="37 minutes")
    left, right = (clients(TABLE, at - 37 * MINUTE, at, status) for status in ("200", "404"))
    expected = [left, right, left | right, left & right, left - right, right - left]
    names = ["left", "right", "union", "intersection", "left_only", "right_only"]
    assert [getattr(found, name).count for name in names] == [len(part) for part in expected]
    assert found.jaccard.count == pytest.approx(len(left & right) / len(left | right))
    if backend != "se-pcsa":
        assert found.method == "exact"
        assert found.intersection.low == found.intersection.high


def test_windows_of_two_moments_overlap():
    """Clients of one half hour that came back in the next."""
    moments = list(by_moment(local.apply(TABLE, query(by=[]), {"sketch": "exact"})).items())
    (first, before), (second, after) = moments[3], moments[4]
    found = states.overlap(before[None], after[None], last="30 minutes")
    every = ("200", "404", "500")
    left, right = (clients(TABLE, at - 30 * MINUTE, at, *every) for at in (first, second))
    assert found.intersection.count == len(left & right)


@pytest.mark.parametrize(("backend", "tightest"), [("k-skb", "sample"), ("pcsa-ml", "inclusion and exclusion")])
def test_large_overlaps_are_within_their_stated_error(backend, tightest):
    """60,000 keys against 60,000, of which 20,000 are in both: the intervals hold, those of the sample are narrower."""
    misses = 0
    for seed in range(20):
        keys = np.random.default_rng(seed).integers(0, 2**63, 100_000, dtype=np.uint64)
        pair = [create("sketch", backend, seed=seed) for _ in range(2)]
        pair[0].update(np.zeros(60_000, np.int64), keys[:60_000])
        pair[1].update(np.zeros(60_000, np.int64), keys[40_000:])
        found = states.overlap(pair[0].snapshot(), pair[1].snapshot(), since=0)
        assert found.method == tightest
        for estimate, truth in ((found.intersection, 20_000), (found.left_only, 40_000), (found.jaccard, 0.2)):
            assert estimate.low <= estimate.count <= estimate.high
            misses += not estimate.low <= truth <= estimate.high
    assert misses <= 12, "60 intervals, each missed with probability 0.15 at most"


def test_only_groups_that_changed_where_asked():
    every = by_moment(local.apply(TABLE, query(every="1 minute")))
    changed = by_moment(local.apply(TABLE, query(every="1 minute", emit="changed-state")))
    newest = {}
    fewer = 0
    for at, groups in every.items():
        came = {status for status in groups if clients(TABLE, at - MINUTE, at, status)}
        assert set(changed.get(at, {})) == came
        newest |= changed.get(at, {})
        fewer += len(groups) - len(came)
        asked = states.estimate(list(groups.values()), since=at - 37 * MINUTE)
        assert states.estimate([newest[status] for status in groups], since=at - 37 * MINUTE) == asked
    assert fewer > 50


TOTALS = {"kind": "heavy-hitters", "object": "client", "k": 3}


@pytest.mark.parametrize(
    "keys",
    [{"kind": "distinct-count", "item": "client"}, TOTALS, TOTALS | {"total": "distinct", "value": "status"}],
)
def test_a_state_of_shards_that_changed_has_the_rows_of_those_where_none_came(keys):
    """Rows of a moment may come to one shard alone: the others' rows before are in the window all the same."""
    asked = make_query({"time": "ts", "windows": ["10 minutes"], "every": "1 minute", "emit": "changed-state", **keys})
    rows = visits(rows=300, clients=9)
    backends = {asked.roles[0]: "exact"}
    alone = by_moment(local.apply(rows, asked, backends))
    assert 100 < len(alone) < 240
    for shards, batches in ((2, 1), (3, 7)):
        assert by_moment(on_shards(rows, asked, shards, batches, backends)[0]) == alone


def test_windows_in_rows_answer_over_the_last_rows():
    answers = local.apply(TABLE, query(windows=["100 rows"], every="50 rows", by=[]), {"sketch": "exact"})
    who = np.asarray(TABLE["client"])
    for row in answers.to_pylist():
        last = who[max(row["at"] - 70, 0) : row["at"]]
        assert states.estimate(row["state"], last="70 rows").count == len(set(last.tolist()))
    told = states.describe(row["state"])
    assert (told.unit, told.at, told.since) == ("rows", 4000, 3900)
    with pytest.raises(InputError, match=r"last: must be in rows"):
        states.estimate(row["state"], last="1 minute")
    with pytest.raises(InputError, match=r"states, row 1: counts rows per group"):
        states.union([row["state"], row["state"]])


@pytest.mark.parametrize("backend", BACKENDS)
def test_states_of_shards_make_one(backend):
    whole = query(by=[])
    expected = by_moment(local.apply(TABLE, whole, {"sketch": backend}))
    run = local.LocalRun.start(whole, TABLE.schema, {"sketch": backend})
    pieces = []
    for part in range(3):
        shard = Operator(whole, run.operator.bindings, TABLE.schema, shared=True)
        own = TABLE.filter(pa.array(np.asarray(TABLE["client"]) % 3 == part))
        single = local.LocalRun(shard)
        for batch in own.to_batches():
            single.add(batch)
        pieces.append(pa.Table.from_batches([shard.finish(int(np.asarray(TABLE["ts"].cast(pa.int64())).max()))]))
    merged = by_moment(execution_of(whole).merge(pa.concat_tables(pieces)))
    assert merged.keys() == expected.keys()
    for at in expected:
        for minutes in (5, 37, 60):
            asked = {"last": f"{minutes} minutes"}
            assert states.estimate(merged[at][None], **asked) == states.estimate(expected[at][None], **asked)


def test_a_state_says_what_it_is():
    at, groups = list(by_moment(local.apply(TABLE, query(), {"sketch": "k-skb"})).items())[3]
    told = states.describe(groups["404"])
    assert (told.backend, told.parameters["epsilon"], told.unit) == ("sketch/k-skb", 0.02, "time")
    assert (told.at, told.since, told.changed) == (at, at - 60 * MINUTE, False)
    assert told.at - MINUTE < told.latest < told.at
    assert told.nbytes == len(groups["404"]) and told.retained > 0


def test_moments_may_be_written_in_many_ways():
    at, groups = list(by_moment(local.apply(TABLE, query())).items())[3]
    since = datetime.datetime.fromtimestamp(at / 1e6, datetime.UTC) - datetime.timedelta(minutes=30)
    ways = [since, since.isoformat(), since.replace(tzinfo=None).isoformat(), np.datetime64(at - 30 * MINUTE, "us")]
    expected = states.estimate(groups["200"], last="30 minutes")
    assert [states.estimate(groups["200"], since=way) for way in ways] == [expected] * 4


def test_an_arrow_column_is_asked_at_once():
    answers = local.apply(TABLE, query())
    column = pa.concat_arrays([answers["state"].combine_chunks(), pa.nulls(1, pa.binary())])
    found = states.estimates(column, last="10 minutes")
    expected = [states.estimate(state, last="10 minutes")._asdict() for state in answers["state"].to_pylist()]
    assert found.to_pylist() == [*expected, None]
    lengths = pa.array(["10 minutes"] * len(answers) + [None])
    assert states.estimates(column, last=lengths).equals(found)


@cache
def held(which):
    """The state of status 200 at the first moment: of two backends, one with a seed too; or at a later one."""
    sketch = {"default": None, "seeded": {"sketch": {"name": "pcsa-ml", "seed": 1}}}.get(which, {"sketch": "exact"})
    return list(by_moment(local.apply(TABLE, query(), sketch)).values())[2 if which == "later" else 0]["200"]


@pytest.mark.parametrize(
    ("ask", "wrong", "said"),
    [
        (lambda: states.estimate(held("exact"), last="2 hours"), InputError, r"last: .* is before .*, where"),
        (lambda: states.estimate(held("exact"), since=0), InputError, r"since: 1970.* ask for at most the last 1 hour"),
        (lambda: states.estimate(held("exact"), since=2**60), InputError, r"since: .* is after .*: take a later state"),
        (lambda: states.estimate(held("exact"), since="soon"), InputError, r"since: must be a moment such as"),
        (lambda: states.estimate(held("exact"), last="soon"), InputError, r"last: must be a duration"),
        (lambda: states.estimate(held("exact"), last="-1 minutes"), InputError, r"last: must be longer than 0"),
        (lambda: states.estimate(held("exact"), last="1 minute", since=0), InputError, r"last: cannot be combined"),
        (lambda: states.estimate([]), InputError, r"states: must not be empty"),
        (lambda: states.estimate("state"), InputError, r"states: must be the bytes of a state"),
        (lambda: states.union([held("exact"), held("default")]), InputError, r"row 1: is of sketch/pcsa-ml, the"),
        (lambda: states.union([held("default"), held("seeded")]), InputError, r"row 1: has seed = 1, the first 0"),
        (lambda: states.union([held("exact"), held("later")]), InputError, r"row 1: .*: combine states of one moment"),
        (lambda: states.overlap(held("exact"), held("default")), InputError, r"right, row 1: is of sketch/pcsa-ml"),
        (lambda: states.estimate(held("exact")[:-9]), SnapshotError, r"damaged: its checksum does not match"),
        (lambda: states.estimate(b"SKYB"), SnapshotError, r"not a Skyband snapshot"),
        (
            lambda: states.estimate(create("object-ranker", k=1, window=1, streams=1).snapshot()),
            SnapshotError,
            r"holds the state of object-ranker/eaa, which no installed plugin can read",
        ),
        (lambda: states.estimate(create("sketch").snapshot(), last="1 minute"), InputError, r"last: .* use `since`"),
    ],
)
def test_what_cannot_be_answered_says_why(ask, wrong, said):
    with pytest.raises(wrong, match=said):
        ask()


def test_a_state_that_holds_more_than_it_covers_is_refused():
    told = create("sketch", "exact")
    told.update(np.array([5]), np.array([1], np.uint64))
    from skyband.states.coverage import Coverage
    from skyband.states.state import encode_state

    blob = encode_state("sketch", "exact", {}, told.dump_state(), Coverage(4, 0))
    with pytest.raises(SnapshotError, match="does not hold exactly what it covers"):
        states.estimate(blob)


def test_a_backend_that_does_not_merge_gives_no_states():
    with pytest.raises(ConfigError, match=r"backends\.sketch: hll-panes lacks merge, which the query needs: "):
        local.apply(TABLE, query(), {"sketch": "hll-panes"})
    with pytest.raises(ConfigError, match=r"emit: must be one of state, changed-state \(got 'states'\); did you mean"):
        query(emit="states")


def test_a_state_of_distinct_values_ranks_nothing():
    with pytest.raises(SnapshotError, match=r"does not answer heavy_hitters \(it answers estimate, change, over"):
        states.heavy_hitters(local.apply(visits(100), query(by=[]))["state"][0].as_py())
