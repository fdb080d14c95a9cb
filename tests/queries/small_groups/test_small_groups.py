"""Small groups of rankers, answered by one call: row for row as by a processor each, however the input is cut."""

import numpy as np
import pyarrow as pa
import pytest
from skyband.engines import local
from skyband.errors import SnapshotError
from skyband.groups import state_arrays
from skyband.groups.small_groups import limits
from skyband.operator.operator import Operator
from skyband_setjoin import small_groups_of_sets
from small_group_checks import (
    check_answers,
    check_bounded,
    check_looks,
    check_many_entries,
    check_moves,
    check_promised,
)
from small_group_queries import (
    BOUNDED,
    BY_ROWS,
    CALENDAR,
    CARRYING,
    CARRYING_ROWS,
    HEAVY,
    MANY,
    NEAR,
    NUMBERS,
    OFTEN,
    ONCE,
    PAIRS,
    PROMISED,
    SECOND,
    SPECS,
    at_most,
    distinct,
    heavy,
    near,
    numbers,
    numbers_of,
    pairs,
    query,
    run,
    stream,
    top_k,
    workload,
)


@pytest.mark.parametrize(
    ("number", "most"),
    [(number, most) for number in numbers_of(SPECS, rows=False) for most in ([4, 512] if number < OFTEN else [6])],
)
def test_small_groups_answer_as_processors_and_their_bytes_tell_no_cuts(number, most, monkeypatch):
    check_answers(number, most, monkeypatch)


@pytest.mark.parametrize("number", range(0, OFTEN, 4))
def test_a_look_at_a_state_leaves_no_trace(number, monkeypatch):
    check_looks(SPECS[number], number, (1, 3, 12)[number // 4 % 3], monkeypatch)


@pytest.mark.parametrize("most", [300, 700, 4096])
@pytest.mark.parametrize("number", range(len(MANY)))
def test_groups_of_many_entries_answer_as_processors_however_many_rows_come_at_once(number, most, monkeypatch):
    check_many_entries(number, most, monkeypatch)


@pytest.mark.parametrize("number", numbers_of([spec for spec, _ in BOUNDED], rows=False))
def test_a_group_is_small_where_a_bounded_ranker_has_all_that_there_is(number, monkeypatch):
    check_bounded(number, monkeypatch)


@pytest.mark.parametrize("chance", [None, 0.0])
@pytest.mark.parametrize("number", numbers_of(PROMISED, rows=False))
def test_a_group_is_small_while_its_approximate_ranker_is_exact(number, chance, monkeypatch):
    check_promised(number, chance, monkeypatch)


IN_PARTS = [
    SPECS[0],
    SPECS[3],
    HEAVY[2],
    PAIRS[0],
    NEAR[0],
    ONCE[0],
    BY_ROWS[0],
    BY_ROWS[3],
    BY_ROWS[16],
    CARRYING_ROWS[0],
    distinct(["10 seconds"], "4 seconds"),
    NUMBERS[0],
    {"kind": "uncertain-sum", "values": "score", "probabilities": "chance", "window": "9 seconds"},
    {"kind": "uncertain-sum", "values": "score", "probabilities": "chance", "size": 3, "alpha": 0.9},
    {
        "kind": "uncertain-join",
        "id": "object",
        "values": "score",
        "probabilities": "chance",
        "size": 3,
        "epsilon": 1,
        "beta": 0.01,
    },
]


@pytest.mark.parametrize("number", range(len(IN_PARTS)))
def test_rows_given_in_several_parts_before_a_turn_count_as_given_at_once(number, monkeypatch):
    """As `SmallGroups.add` says, whoever calls it."""
    at_most(20, monkeypatch)
    table = stream(number)
    table = table.append_column("chance", pa.array(np.random.default_rng(number).random(len(table)) / 2))
    asked, found = query(IN_PARTS[number], by=["group"]), []
    for parts in (1, 3):
        host = local.LocalRun.start(asked, table.schema)
        small = host.operator._groups._small_groups

        def add(keys, rows, small=small, parts=parts):
            which = np.searchsorted(np.sort(rows.times), rows.times) * parts // max(len(rows), 1)
            for part in range(parts):
                type(small).add(small, keys[which == part], rows.pick(which == part))

        monkeypatch.setattr(small, "add", add)
        answers = [host.push(batch) for batch in table.to_batches(max_chunksize=60)]
        state = host.operator.groups.dump_state()
        rows = pa.Table.from_batches([*answers, host.finish()]).to_pylist()
        found.append((sorted(map(str, rows)), state))
    assert found[0][0] == found[1][0] != []
    np.testing.assert_equal(found[0][1], found[1][1])


@pytest.mark.parametrize("number", [*range(OFTEN), *(SPECS.index(spec) for spec in CALENDAR)])
def test_an_input_without_rows_has_no_answers(number):
    host = local.LocalRun.start(query(SPECS[number], by=["group"], delay="3 hours"), stream(1).schema)
    assert len(host.finish()) == 0


@pytest.mark.parametrize("looks", [False, True])
def test_where_all_groups_have_grown_the_state_at_the_end_is_the_same(looks, monkeypatch):
    """Whether they grew when the input ended, or before, when the state was looked at."""
    monkeypatch.setattr(limits, "MOST_ENTRIES", 1)
    spec = top_k("latest", "sum", "20 seconds") | {"every": "20 seconds"}
    table = stream(1, rows=60).sort_by("ts").slice(0, 8).drop_columns("group")
    table = table.append_column("group", pa.array([1] * len(table)))
    host = local.LocalRun.start(query(spec, by=["group"], delay="0 seconds"), table.schema)
    for batch in (*table.slice(0, 5).to_batches(), *table.slice(5).to_batches()):
        assert not len(host.push(batch))
    if looks:
        assert len(host.operator.groups.dump_state()["processors.key"]) == 1
    assert len(host.finish())
    state = host.operator.groups.dump_state()
    assert state["small_groups.until"].tolist() == [20 * SECOND]
    assert len(state["processors.key"]) == 1


@pytest.mark.parametrize(
    "spec",
    [SPECS[0], SPECS[3], HEAVY[0], PAIRS[0], NEAR[0]],
    ids=["workload", "top-k", "heavy-hitters", "pairs", "near-duplicates"],
)
def test_a_small_group_is_a_few_bytes(spec):
    groups = 2000
    table = pa.table(
        {
            "ts": pa.array(np.sort(np.arange(4 * groups) % 8) * SECOND, pa.timestamp("us", "UTC")),
            "group": np.arange(4 * groups) % groups,
            "object": np.arange(4 * groups) % 9,
            "stream": ["a", "b"] * (2 * groups),
            "score": np.arange(4 * groups) % 5 / 2,
            "words": [["one", "two", f"number {number}"] for number in range(4 * groups)],
        }
    )
    host = local.LocalRun.start(query(spec, by=["group"]), table.schema)
    host.push(table.to_batches()[0])
    assert host.operator.take_metrics().groups == groups
    assert len(host.operator.snapshot()) < 250 * groups


@pytest.mark.parametrize("times", [[0, 0, 1], [0, 1, 2], [0, 0, 0]])
@pytest.mark.parametrize("scores", [[1.0, 5.0, 6.0], [1.0, 6.0, 5.0], [1.0, 5.0, 5.0]])
def test_an_object_that_comes_again_beats_a_row_but_once(times, scores):
    """With k = 2 the row of object 7 stays, whatever object 8 does."""
    table = pa.table(
        {
            "ts": pa.array(np.array(times) * SECOND, pa.timestamp("us", "UTC")),
            "group": [1, 1, 1],
            "object": [7, 8, 8],
            "score": scores,
        }
    )
    asked = query(workload([("10 seconds", "5 seconds", 2, "0 seconds")]) | {"repeats": "best"}, by=["group"])
    host = local.LocalRun.start(asked, table.schema)
    answers = pa.Table.from_batches([*map(host.push, table.to_batches()), host.finish()])
    assert answers.select(["rank", "object", "score"]).to_pylist() == [
        {"rank": 1, "object": 8, "score": max(scores)},
        {"rank": 2, "object": 7, "score": 1.0},
    ]


def test_a_function_is_called_once_for_values_that_are_alike():
    called = []

    def largest(values):
        called.append(tuple(values))
        return float(values.max())

    asked = query(top_k("latest", largest, "20 seconds"), by=["group"])
    host = local.LocalRun.start(asked, stream(1).schema)
    called.clear()  # a look at whether it is monotone has been
    for batch in stream(1).to_batches(max_chunksize=50):
        host.push(batch)
    host.finish()
    assert len(called) == len(set(called)) > 30


def test_approximate_backends_keep_their_processors():
    table = stream(1)
    kept = [
        (top_k("never", "sum", "20 seconds"), {"object-ranker": {"name": "approx", "exact_reports": 0}}),
        (NEAR[0], {"set-matcher": "minhash-lsh"}),
        *((HEAVY[number], {"total-ranker": "k-skb"}) for number in (0, 2)),
    ]
    for given, backends in kept:
        host = local.LocalRun.start(query(given, by=["group"]), table.schema, backends)
        assert host.operator._groups._small_groups is None


def test_a_function_of_many_streams_keeps_its_processors():
    table = stream(1)
    for streams in (16, 17):
        given = top_k("latest", np.max, "20 seconds")
        given["streams"] = [f"s{number}" for number in range(streams)]
        host = local.LocalRun.start(query(given, by=["group"]), table.schema)
        assert (host.operator._groups._small_groups is None) == (streams == 17)


def sets(sizes):
    """A group with a set a second, of so many tokens each, every two of which share some."""
    times = pa.array(np.arange(len(sizes)) * SECOND, pa.timestamp("us", "UTC"))
    words = [[*range(size), 3, 3] for size in sizes]
    return pa.table({"ts": times, "group": ["one"] * len(sizes), "object": np.arange(len(sizes)), "words": words})


def test_a_group_of_sets_grows_by_their_tokens_too(monkeypatch):
    monkeypatch.setattr(small_groups_of_sets, "MOST_TOKENS", 40)
    asked, grown, found = query(pairs("jaccard", 3, "5 seconds"), by=["group"]), [], []
    for sizes in ([6] * 20, [6] * 10 + [15] + [6] * 9, [6] * 10 + [40] + [6] * 9):
        table = sets(sizes)
        whole, one_by_one = run(asked, table, []), run(asked, table, range(1, len(table)), snapshots=True)
        assert whole[0] == one_by_one[0]
        np.testing.assert_equal(whole[1], one_by_one[1])
        grown.append(len(whole[1]["processors.key"]))
        found.append(whole[0])
    monkeypatch.setattr(limits, "MOST_ENTRIES", 0)
    assert (grown[0], grown[2]) == (0, 1)
    assert found[2] == run(asked, table, [])[0]


def until_later(table):
    """Its rows, and one of another group by which all of them have come."""
    columns = {name: pa.array([table[name][-1].as_py()], table[name].type) for name in table.column_names}
    columns |= {"ts": pa.array([60 * SECOND], table["ts"].type), "group": pa.array(["another"])}
    return pa.concat_tables([table, pa.table(columns)])


@pytest.mark.parametrize("beyond", [0, 1])
@pytest.mark.parametrize("spec", [pairs("jaccard", 3, "1 hour"), near("jaccard", 0.1, "1 hour")], ids=["pairs", "near"])
def test_a_group_of_sets_is_small_up_to_the_last_token(spec, beyond, monkeypatch):
    monkeypatch.setattr(small_groups_of_sets, "MOST_TOKENS", 40)
    asked, table = query(spec, by=["group"]), until_later(sets([10, 10, 10, 10 + beyond]))
    whole, one_by_one = run(asked, table, []), run(asked, table, range(1, 5), snapshots=True)
    assert whole[0] == one_by_one[0] != []
    np.testing.assert_equal(whole[1], one_by_one[1])
    assert len(whole[1]["processors.key"]) == beyond


LASTING = [
    workload([("1 hour", "1 hour", 9, "0 seconds")]),
    top_k("latest", "sum", "1 hour"),
    heavy("rows", ["1 hour"], k=2),
    pairs("jaccard", 3, "1 hour"),
    near("jaccard", 0.1, "1 hour"),
    distinct(["1 hour"], "1 hour"),
    {"kind": "quantiles", "value": "score", "windows": ["1 hour"], "every": "1 hour", "at": [0.5]},
    workload([("99 rows", "1 row", 9, "0 rows")]),
    heavy("distinct", ["99 rows"], k=2) | {"every": "1 row"},
    {"kind": "uncertain-sum", "values": "score", "probabilities": "chance", "window": "1 hour"},
    {
        "kind": "uncertain-join",
        "id": "object",
        "values": "score",
        "probabilities": "chance",
        "window": "1 hour",
        "epsilon": 1,
    },
]


@pytest.mark.parametrize("beyond", [0, 1])
@pytest.mark.parametrize("number", range(len(LASTING)))
def test_a_group_is_small_up_to_the_last_entry(number, beyond, monkeypatch):
    """None of its rows takes the place of another, and all are in the window."""
    at_most(5, monkeypatch)
    table = sets([3] * (5 + beyond))
    columns = {"stream": ["a"] * len(table), "score": np.arange(len(table)) / 2, "chance": np.full(len(table), 0.5)}
    for name, column in columns.items():
        table = table.append_column(name, pa.array(column))
    state = run(query(LASTING[number], by=["group"]), until_later(table), [2, 4])[1]
    assert len(state["processors.key"]) == beyond


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("time", lambda values: values[::-1]),
        ("tokens", lambda values: values[::-1]),
        ("tokens sizes", lambda values: values[:-1]),
        ("tokens sizes", lambda values: values + 1),
        ("tokens sizes", lambda values: values - 9),
        ("tokens", lambda values: values.astype(np.int32)),
        ("code", lambda values: values[1:]),
    ],
)
def test_a_state_of_sets_that_cannot_be_is_refused(name, change):
    table = sets([4, 5, 6, 7])
    host = local.LocalRun.start(query(pairs("jaccard", 3, "20 seconds"), by=["group"]), table.schema)
    host.push(table.to_batches()[0])
    state = state_arrays.without_prefix("small_groups", host.operator._groups.dump_state())
    assert len(state["entries.time"]) == 3
    with pytest.raises(SnapshotError, match=f"{name}: must"):
        fresh = Operator(host.operator.query, host.operator.bindings, table.schema)._groups._small_groups
        fresh.load_state(state | {f"entries.{name}": change(state[f"entries.{name}"])})


@pytest.mark.parametrize("value", [-0.5, 3.5, np.nan])
def test_a_value_that_the_query_does_not_take_is_in_no_state(value):
    table, asked = stream(2), query(top_k("never", "sum", "20 seconds"), by=["group"])
    host = local.LocalRun.start(asked, table.schema)
    host.push(table.to_batches()[0])
    state = state_arrays.without_prefix("small_groups", host.operator._groups.dump_state())
    with pytest.raises(SnapshotError, match="value: must"):
        fresh = Operator(asked, host.operator.bindings, table.schema)._groups._small_groups
        fresh.load_state(state | {"entries.value": np.full_like(state["entries.value"], value)})


@pytest.mark.parametrize(
    "spec",
    [SPECS[3], PAIRS[1], NEAR[4], *(CARRYING[number] for number in (0, 3, 4, 8))],
    ids=lambda spec: spec["kind"],
)
def test_groups_and_their_names_move_to_another_shard(spec):
    check_moves(spec)


@pytest.mark.parametrize("order", ["largest", "smallest"])
def test_rows_that_are_alike_carry_their_own_where_a_group_grows_between_them(order, monkeypatch):
    """Of rows of one time, object and score the latest ranks first, on whichever side of the growth it came."""
    rows, asked = 12, workload([("10 seconds", "1 second", 5, "0 seconds")]) | {"carry": ["words"], "order": order}
    times = pa.array(np.arange(rows) // 6 * SECOND, pa.timestamp("us", "UTC"))
    words = [[f"w{number}"] for number in range(rows)]
    table = pa.table(
        {"ts": times, "group": ["one"] * rows, "object": [4] * rows, "score": [2.5] * rows, "words": words}
    )
    monkeypatch.setattr(limits, "MOST_ENTRIES", 0)
    expected = run(query(asked, by=["group"]), table, [])
    for most in range(1, 6):
        monkeypatch.setattr(limits, "MOST_ENTRIES", most)
        assert run(query(asked, by=["group"]), table, [7])[0] == expected[0]


def many_entries(count):
    """A group with so many objects, and one of another group by which all of them have come."""
    times = np.append(2 * SECOND + np.arange(count), 9 * SECOND)
    values = np.random.default_rng(count).permutation(count + 1) / 2 + 1
    return pa.table(
        {
            "ts": pa.array(times, pa.timestamp("us", "UTC")),
            "group": ["one"] * count + ["another"],
            "object": np.arange(count + 1),
            "score": values,
            "words": [["w"]] * (count + 1),
        }
    )


FULL = {
    "totals": (heavy("rows", ["1 hour"], k=2), "exact", 2048),
    "totals in rows": (heavy("sum", ["5000 rows"], k=2) | {"every": "500 rows"}, "exact", 1024),
    "rows behind": (heavy("rows", ["1 hour"], k=2, carry=["words"]), "exact", 512),
    "several columns": (heavy("rows", ["1 hour"], k=2) | {"object": ["object", "score"]}, "exact", 512),
    "a part": (heavy("rows", ["1 hour"], k=2, part="score > 3"), "exact", 512),
    "two windows": (heavy("rows", ["1 hour"], k=2, against="previous"), "exact", 512),
    "half-lives": (heavy("rows", ["1 hour"], k=2, half_life="1 hour"), "exact", 512),
    "all rows": (numbers(["1 hour"], "4 seconds"), "exact", 4096),
    "all rows in rows": (numbers(["9000 rows"], "500 rows"), "exact", 4096),
    "bounds": (numbers(["1 hour"], "4 seconds"), "buckets", 512),
}


@pytest.mark.parametrize("beyond", [0, 1])
@pytest.mark.parametrize("kind", FULL)
def test_a_group_is_small_up_to_as_many_entries_as_pay(kind, beyond, monkeypatch):
    spec, backend, most = FULL[kind]
    table, asked = many_entries(most + beyond), query(spec, by=["group"])
    backends = {} if kind == "half-lives" else {asked.roles[0]: backend}
    rows, state, _ = run(asked, table, [most // 3], backends=backends)
    assert len(state["processors.key"]) == beyond
    monkeypatch.setattr(limits, "MOST_ENTRIES", 0)
    assert rows == run(asked, table, [], backends=backends)[0] != []


@pytest.mark.parametrize("cuts", [[], [301], [302], [301, 302]])
def test_a_row_adds_to_the_last_entry_of_its_object_though_one_before_has_room(cuts):
    """Among so many others an entry waits while rows come: those after it are never of one that was there before."""
    heavy_rows = [2.0**51 - 1, 2.0**51, 1.0]
    times = np.append(np.arange(303), 8 * SECOND)
    table = pa.table(
        {
            "ts": pa.array(times, pa.timestamp("us", "UTC")),
            "group": ["one"] * 303 + ["another"],
            "object": [*range(300), 7000, 7000, 7000, 0],
            "score": [1.0] * 300 + heavy_rows + [1.0],
        }
    )
    asked = query(heavy("sum", ["20 seconds"], k=1, unit=1.0), by=["group"], delay="0 seconds")
    rows, state, _ = run(asked, table, cuts, snapshots=True)
    amounts, objects = (state[f"small_groups.entries.{name}"] for name in ("amount", "object"))
    assert amounts[objects == 7000].tolist() == [2**51 - 1, 2**51, 1]
    assert any(str(2.0**52) in row for row in rows)
