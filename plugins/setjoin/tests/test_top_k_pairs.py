"""top-k-pairs on the local engine, compared with brute force over all pairs of each window."""

import math
from collections import defaultdict
from itertools import combinations, product

import numpy as np
import pyarrow as pa
import pytest
from skyband.columns.ids import to_ids
from skyband.engines import local
from skyband.errors import ConfigError, InputError, SnapshotError
from skyband.operator.bind_backends import bind
from skyband.operator.operator import Operator
from skyband.queries import make_query
from skyband_setjoin import small_groups_of_sets

SECOND = 1_000_000
ALIKE = {
    "jaccard": lambda a, b: len(a & b) / len(a | b),
    "cosine": lambda a, b: len(a & b) / math.sqrt(len(a) * len(b)),
    "dice": lambda a, b: 2 * len(a & b) / (len(a) + len(b)),
    "overlap": lambda a, b: float(len(a & b)),
    "hamming": lambda a, b: -float(len(a ^ b)),
}


def stream(seed, rows=250, text=True):
    """Short sets of few tokens, many identical and many at one time, with a long silence in the middle."""
    rng = np.random.default_rng(seed)
    seconds = np.sort(rng.integers(0, rows // 3, rows))
    seconds = np.where(seconds > rows // 6, seconds + 500, seconds) - 20
    drawn = [rng.integers(0, 9, size).tolist() for size in rng.integers(1, 5, rows)]
    tokens = [[f"word {token}" for token in row] for row in drawn] if text else drawn
    numbers = rng.permutation(rows)
    return pa.table(
        {
            "ts": pa.array(seconds * SECOND, pa.timestamp("us", "UTC")),
            "who": pa.array([f"set {i}" for i in numbers] if text else numbers.astype(np.int32)),
            "words": pa.array(tokens, pa.list_(pa.string() if text else pa.int32())),
            "origin": pa.array([["left", "right"][i] for i in rng.integers(0, 2, rows)]),
            "place": pa.array([f"group {i}" for i in rng.integers(0, 2, rows)]),
        }
    )


def query(**changes):
    keys = {"time": "ts", "id": "who", "tokens": "words", "k": 4, "window": "10 seconds", "every": "5 seconds"}
    return make_query({"kind": "top-k-pairs", **keys, **changes})


def by_hand(table, by, side=None, similarity="jaccard", k=4, window=10 * SECOND, every=5 * SECOND):
    """(group…, at) -> [(left, right, similarity)], ranked; rows of one time ordered by id."""
    times = np.asarray(table["ts"].cast(pa.int64())).tolist()
    codes = to_ids(table["who"].combine_chunks())[0].tolist()
    sides = table[side].to_pylist() if side else ["left"] * len(table)
    groups = list(zip(*(table[name].to_pylist() for name in by), strict=True)) if by else [()] * len(table)
    arrived = defaultdict(list)
    for entry in sorted(zip(times, codes, range(len(table)), strict=True)):
        arrived[groups[entry[2]]].append((entry[0], entry[2]))
    names, sets = table["who"].to_pylist(), [set(words) for words in table["words"].to_pylist()]
    expected = {}
    for group, rows in arrived.items():
        for at in range(rows[0][0] // every * every + every, max(times) // every * every + every + 1, every):
            inside = [row for time, row in rows if at - window <= time < at]
            pairs = combinations(inside, 2)
            if side:
                pairs = product(*([row for row in inside if sides[row] == name] for name in ("left", "right")))
            alike = [(a, b, ALIKE[similarity](sets[a], sets[b])) for a, b in pairs if sets[a] & sets[b]]
            best = sorted(alike, key=lambda pair: -pair[2])[:k]
            if best:
                expected[(*group, at)] = [(names[a], names[b], value) for a, b, value in best]
    return expected


def answers(result, by):
    found = defaultdict(list)
    at = np.asarray(result["at"].cast(pa.int64())).tolist()
    columns = [result[name].to_pylist() for name in (*by, "rank", "left", "right", "similarity")]
    for moment, *rest in zip(at, *columns, strict=True):
        rank, *pair = rest[len(by) :]
        found[(*rest[: len(by)], moment)].append(tuple(pair))
        assert rank == len(found[(*rest[: len(by)], moment)])
    return dict(found)


@pytest.mark.parametrize("by", [[], ["place"]])
@pytest.mark.parametrize("text", [True, False])
@pytest.mark.parametrize("side", [None, "origin"])
@pytest.mark.parametrize("seed", range(2))
def test_every_window_equals_comparing_all_pairs_by_hand(seed, side, text, by):
    table = stream(seed, text=text)
    result = local.apply(table, query(by=by, side=side))
    assert result.column_names == [*by, "at", "rank", "left", "right", "similarity"]
    assert answers(result, by) == by_hand(table, by, side)
    assert {result.schema.field(name).type for name in ("left", "right")} == {table.schema.field("who").type}


@pytest.mark.parametrize("similarity", ALIKE)
def test_similarities(similarity):
    table = stream(3)
    found = answers(local.apply(table, query(similarity=similarity, k=1000)), [])
    expected = by_hand(table, [], similarity=similarity, k=1000)
    assert found.keys() == expected.keys()
    for at, pairs in expected.items():
        assert [pair[2] for pair in found[at]] == pytest.approx([pair[2] for pair in pairs])
        assert {pair[:2] for pair in found[at]} == {pair[:2] for pair in pairs}


def least_shared(overlap, n, m):
    return overlap / max(n, m)


def test_a_user_function_answers_but_cannot_be_snapshotted():
    table = stream(4)
    asked = query(similarity=least_shared)
    pairs = answers(local.apply(table, asked), [])
    sets = dict(zip(table["who"].to_pylist(), map(set, table["words"].to_pylist()), strict=True))
    for left, right, value in (pair for ranked in pairs.values() for pair in ranked):
        assert value == least_shared(len(sets[left] & sets[right]), len(sets[left]), len(sets[right]))
    run = local.LocalRun.start(asked, table.schema)
    run.push(table.combine_chunks().to_batches()[0])
    with pytest.raises(SnapshotError, match="code, not data"):
        run.operator.snapshot()


@pytest.mark.parametrize("side", [None, "origin"])
@pytest.mark.parametrize("backend", ["base", "scase"])
def test_backends_agree(backend, side):
    table = stream(5)
    assert local.apply(table, query(side=side), {"pair-ranker": backend}).equals(local.apply(table, query(side=side)))


@pytest.mark.parametrize("changes", [{}, {"by": ["place"]}, {"side": "origin"}])
@pytest.mark.parametrize("text", [True, False])
def test_batches_order_and_restarts_make_no_difference(text, changes):
    table, asked = stream(6, text=text), query(delay="20 seconds", **changes)
    whole = answers(local.apply(table, asked), asked.by)
    rng = np.random.default_rng(6)
    times = np.asarray(table["ts"].cast(pa.int64()))
    snapshots = []
    for count in (1, 17):
        shuffled = np.argsort(times + rng.integers(0, 20 * SECOND, len(table)))
        run, pieces = local.LocalRun.start(asked, table.schema), []
        for rows in np.array_split(shuffled, count):
            pieces.append(run.push(table.take(pa.array(rows)).combine_chunks().to_batches()[0]))
            blob = run.operator.snapshot()
            run.operator = Operator(asked, bind(asked, table.schema), table.schema)
            run.operator.restore(blob)
            assert run.operator.snapshot() == blob
        pieces.append(run.finish())
        assert answers(pa.Table.from_batches(pieces), asked.by) == whole
        snapshots.append(run.operator._groups.dump_state())
    np.testing.assert_equal(*snapshots)


@pytest.mark.parametrize("window", ["10 seconds", "6 rows"])
def test_rows_with_equal_time_and_id_are_ordered_by_their_contents(window):
    rng = np.random.default_rng(7)
    tokens = [rng.integers(0, 6, size).tolist() for size in rng.integers(1, 4, 30)]
    table = pa.table({"ts": pa.array([7] * 30, pa.timestamp("s")), "who": [1] * 30, "words": tokens})
    table = table.append_column("origin", pa.array(rng.integers(0, 2, 30) == 1))
    every = "2 rows" if "rows" in window else "5 seconds"
    for side in (None, "origin"):
        asked = query(window=window, every=every, side=side)
        shuffled = [local.apply(table.take(pa.array(rng.permutation(30))), asked) for _ in range(5)]
        assert all(result.equals(shuffled[0]) for result in shuffled)


def test_windows_are_half_open():
    times = pa.array([0, 5 * SECOND - 1, 10 * SECOND - 1, 10 * SECOND], pa.timestamp("us"))
    table = pa.table({"ts": times, "who": ["a", "b", "c", "d"], "words": [["x"]] * 4})
    found = answers(local.apply(table, query(k=100)), [])
    pairs = {at // SECOND: ["".join(pair[:2]) for pair in ranked] for (at,), ranked in found.items()}
    assert pairs == {5: ["ab"], 10: ["ab", "ac", "bc"], 15: ["cd"]}


def test_windows_in_rows_answer_every_n_rows():
    words = [["a", "b"], ["a"], None, ["b", "a", "a"], ["c", "b"], ["c", "d"]]
    table = pa.table({"seq": range(6), "who": range(6), "words": words})
    result = local.apply(table, query(time="seq", window="3 rows", every="1 rows", k=1))
    rows = zip(*(result[name].to_pylist() for name in ("at", "left", "right", "similarity")), strict=True)
    assert list(rows) == [(2, 0, 1, 0.5), (3, 0, 3, 1.0), (4, 1, 3, 0.5), (5, 3, 4, 1 / 3)]


@pytest.mark.parametrize(
    "kind",
    [
        pa.list_(pa.string()),
        pa.large_list(pa.large_string()),
        pa.list_(pa.int8()),
        pa.large_list(pa.uint64()),
        pa.list_(pa.int64(), 2),
    ],
)
def test_tokens_of_any_supported_type(kind):
    text = not pa.types.is_integer(kind.value_type)
    rows = [["a", "b"], ["c", "d"], ["b", "c"], ["a", "a"]] if text else [[1, 2], [3, 4], [2, 3], [1, 1]]
    if kind.value_type == pa.uint64():
        rows = [[2**63 + token for token in row] for row in rows]
    times = pa.array([1, 2, 3, 4], pa.timestamp("s"))
    table = pa.table({"ts": times, "who": [1, 2, 3, 4], "words": pa.array(rows, kind)})
    (found,) = answers(local.apply(table.slice(1), query()), []).values()
    assert found == [(2, 3, 1 / 3)]
    (found,) = answers(local.apply(table, query()), []).values()
    assert found == [(1, 4, 0.5), (1, 3, 1 / 3), (2, 3, 1 / 3)]


def test_rows_without_information_are_counted():
    words = [["a"], ["a"], None, [], [None], ["a", None], ["a"], ["a"]]
    who = [1, None, 3, 4, 5, 6, 7, 8]
    origin = [0, 1, 1, 0, 1, 1, None, 0]
    times = pa.array(range(8), pa.timestamp("s"))
    table = pa.table({"ts": times, "who": who, "words": words, "origin": origin}).combine_chunks()
    dropped = {"null id": 1, "null tokens": 1, "no tokens": 2}
    for side, found, unsided in (
        (None, [(1, 6), (1, 7), (1, 8), (6, 7)], {}),
        ("origin", [(1, 6), (8, 6)], {"null side": 1}),
    ):
        run = local.LocalRun.start(query(side=side, window="20 seconds", every="20 seconds"), table.schema)
        run.push(table.to_batches()[0])
        (pairs,) = answers(pa.Table.from_batches([run.finish()]), []).values()
        assert [(left, right) for left, right, _ in pairs] == found
        assert all(similarity == 1.0 for *_, similarity in pairs)
        metrics = run.operator.take_metrics()
        assert metrics.dropped == {**dropped, **unsided}
        assert metrics.rows_in == len(table)


def test_ids_expire_with_the_window():
    asked = query(window="10 seconds", every="1 hour")
    schema = stream(0).schema
    run = local.LocalRun.start(asked, schema)
    sizes = []
    for second in range(0, 3000, 100):
        times = pa.array(np.arange(second, second + 100) * SECOND, pa.timestamp("us", "UTC"))
        texts = [f"{i}" for i in range(second, second + 100)]
        columns = [times, pa.array(texts), pa.array([[text] for text in texts]), pa.array(texts), pa.array(texts)]
        run.push(pa.RecordBatch.from_arrays(columns, schema=schema))
        sizes.append(len(run.operator.snapshot()))
    assert max(sizes) < 1.1 * sizes[1]


@pytest.mark.parametrize(
    ("origin", "message"),
    [(["left", "middle"], 'side, row 1: must be "left" or "right".*\'middle\''), ([0, 2], "side, row 1.*got 2")],
)
def test_an_unknown_side_is_named(origin, message):
    table = pa.table({"ts": pa.array([1, 2], pa.timestamp("s")), "who": [1, 2], "words": [["a"]] * 2, "origin": origin})
    with pytest.raises(InputError, match=message):
        local.apply(table, query(side="origin"))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"k": 0}, "k: must be at least 1"),
        ({"similarity": "jacard"}, "similarity: must be one of .*did you mean 'jaccard'"),
        ({"every": "10 rows"}, "every: must be in time"),
        ({"window": "1 microsecond"}, "window: must be at least 2 microseconds"),
        ({"side": 3}, "side: must be a column name"),
        ({"sides": "origin"}, "did you mean 'side'"),
    ],
)
def test_a_wrong_key_is_named_with_the_remedy(changes, message):
    with pytest.raises(ConfigError, match=message):
        query(**changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tokens": "who"}, "query.tokens: column 'who' must be a list of text or of integers"),
        ({"id": "words"}, "query.id: column 'words' must be a plain value"),
        ({"side": "words"}, "query.side: column 'words' must be text, an integer or a boolean"),
        ({"similarity": lambda overlap, n, m: overlap * (n + m)}, "similarity: must not rise as a set grows"),
    ],
)
def test_unsuitable_columns_and_functions_are_named(changes, message):
    with pytest.raises(ConfigError, match=message):
        local.apply(stream(0), query(**changes))


def test_times_that_go_back_are_late_rows():
    table = pa.table({"ts": pa.array([1, 20, 2], pa.timestamp("s")), "who": [1, 2, 3], "words": [["a"]] * 3})
    run = local.LocalRun.start(query(), table.schema)
    for batch in table.to_batches(max_chunksize=1):
        run.push(batch)
    assert run.operator.take_metrics().rows_late == 1


@pytest.mark.parametrize(("limits", "rows"), [((5, 4096), 60), ((64, 9), 60), ((64, 20), 180)])
def test_groups_outgrow_independently_for_any_batches(limits, rows, monkeypatch):
    """In the middle of a batch, with later moments; some groups after old sets have expired."""
    monkeypatch.setattr(small_groups_of_sets, "MOST_SETS", limits[0])
    monkeypatch.setattr(small_groups_of_sets, "MOST_TOKENS", limits[1])
    for seed in range(3):
        table = stream(seed, rows)
        rng = np.random.default_rng(seed)
        places = pa.array([f"group {i}" for i in np.sqrt(rng.integers(0, 49, rows)).astype(int)])
        table = table.set_column(4, "place", places)
        wanted, states = by_hand(table, ["place"]), set()
        for cut in range(0, rows, rows // 10):
            run = local.LocalRun.start(query(by="place"), table.schema)
            parts = [part for part in (table.slice(0, cut), table.slice(cut)) if len(part)]
            found = [run.push(part.combine_chunks().to_batches()[0]) for part in parts]
            states.add(run.operator.snapshot())
            assert answers(pa.Table.from_batches([*found, run.finish()]), ["place"]) == wanted, (seed, cut)
        assert len(states) == 1, seed
