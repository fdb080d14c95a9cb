"""near-vectors on the local engine, compared with brute force in plain Python over all rows."""

import numpy as np
import pyarrow as pa
import pytest
from in_process_shards import on_shards
from skyband.columns.ids import to_ids
from skyband.engines import local
from skyband.errors import ConfigError
from skyband.queries import make_query
from skyband_vectors.conformance.oracle import similarity
from skyband_vectors.near_vectors.frame_columns import encode_vectors

SECOND = 1_000_000
FLOATS = pa.list_(pa.float32())


def stream(seed, rows=160, dimensions=3, kind=FLOATS):
    """Vectors of small whole numbers, many at one time, with a long silence."""
    rng = np.random.default_rng(seed)
    seconds = np.sort(rng.integers(0, rows // 3, rows))
    seconds = np.where(seconds > rows // 6, seconds + 500, seconds) - 20
    vectors = rng.integers(-2, 3, (rows, dimensions))
    vectors[:, 0] += ~vectors.any(axis=1)
    numbers = rng.permutation(rows)
    return pa.table(
        {
            "ts": pa.array(seconds * SECOND, pa.timestamp("us", "UTC")),
            "who": pa.array(numbers.astype(np.int32)),
            "vector": pa.array(vectors.tolist(), kind),
            "origin": pa.array([["left", "right"][i] for i in rng.integers(0, 2, rows)]),
            "place": pa.array([f"group {i}" for i in rng.integers(0, 2, rows)]),
            "note": pa.array([None if i % 5 == 0 else i / 2 for i in range(rows)]),
        }
    )


def query(**changes):
    keys = {"time": "ts", "id": "who", "vector": "vector", "dimensions": 3, "threshold": 0.8, "window": "10 seconds"}
    keys = {name: value for name, value in {**keys, **changes}.items() if value is not None}
    return make_query({"kind": "near-vectors", **keys})


def by_hand(table, by=(), side=None, kind="cosine", threshold=0.8, window=10 * SECOND, rows=False, **keys):
    """(row, [(earlier row, similarity)]) of each row, in order of arrival."""
    matches, keep = keys.get("matches", "all"), keys.get("keep", "all")
    times = np.asarray(table["ts"].cast(pa.int64())).tolist()
    codes = to_ids(table["who"].combine_chunks())[0].tolist()
    sides = table[side].to_pylist() if side else None
    groups = list(zip(*(table[name].to_pylist() for name in by), strict=True)) if by else [()] * len(table)
    vectors = table["vector"].to_pylist()
    kept, place, answers = {}, {}, []
    for _, _, row in sorted(zip(times, codes, range(len(table)), strict=True)):
        group = groups[row]
        place[row] = sum(groups[other] == group for other in place)
        apart = [place[row] - place[old] if rows else times[row] - times[old] for old in kept.setdefault(group, [])]
        near = [old for old, gap in zip(kept[group], apart, strict=True) if gap < window]
        near = [old for old in near if sides is None or sides[old] != sides[row]]
        found = [(old, similarity(kind, vectors[row], vectors[old])) for old in near]
        found = [match for match in found if threshold is None or match[1] >= threshold]
        if not (keep == "first" and found):
            kept[group].append(row)
        if matches != "all":
            found = sorted(found, key=lambda match: -match[1])[:matches]
        answers.append((row, found))
    return answers


def as_output(answers, output):
    """The (row, match, similarity) of each answer of a query."""
    if output == "kept":
        return [(row, None, None) for row, found in answers if not found]
    told = [(row, [*found, *([(None, None)] if output == "rows" and not found else [])]) for row, found in answers]
    return [(row, *match) for row, found in told for match in found]


def rows_of(result, table):
    number = {name: row for row, name in enumerate(table["who"].to_pylist())} | {None: None}
    ids = [number[name] for name in result["id"].to_pylist()]
    if "match" not in result.column_names:
        return [(row, None, None) for row in ids]
    matches = [number[name] for name in result["match"].to_pylist()]
    return list(zip(ids, matches, result["similarity"].to_pylist(), strict=True))


def ranked(answers):
    return sorted(answers, key=lambda answer: (answer[0], -1 if answer[1] is None else answer[1]))


@pytest.mark.parametrize("by", [[], ["place"]])
@pytest.mark.parametrize(("side", "keep"), [(None, "all"), (None, "first"), ("origin", "all")])
@pytest.mark.parametrize("output", ["pairs", "rows", "kept"])
def test_every_row_has_the_matches_found_by_hand(output, side, keep, by):
    table = stream(1)
    result = local.apply(table, query(by=by, side=side, keep=keep, output=output))
    assert ranked(rows_of(result, table)) == ranked(as_output(by_hand(table, by, side, keep=keep), output))


@pytest.mark.parametrize(("kind", "threshold"), [("cosine", 0.5), ("dot", 2.0), ("euclidean", -2.0), ("dot", None)])
@pytest.mark.parametrize("matches", [1, 3])
@pytest.mark.parametrize("window", ["10 seconds", "25 rows"])
def test_matches_are_ordered_by_similarity_then_arrival(kind, threshold, matches, window):
    table, rows = stream(2), window.endswith("rows")
    result = local.apply(table, query(similarity=kind, threshold=threshold, matches=matches, window=window))
    length = 25 if rows else 10 * SECOND
    answers = by_hand(table, kind=kind, threshold=threshold, matches=matches, window=length, rows=rows)
    assert rows_of(result, table) == as_output(answers, "pairs")


@pytest.mark.parametrize("shards", [2, 4])
@pytest.mark.parametrize("keys", [{}, {"side": "origin"}, {"matches": 2, "output": "rows", "carry_match": ["note"]}])
def test_shards_find_every_match_once(keys, shards):
    table = stream(3)
    answers, _ = on_shards(table, query(**keys), shards, 3)
    assert rows_as_text(answers) == rows_as_text(local.apply(table, query(**keys)))


def rows_as_text(table):
    return sorted(map(str, table.to_pylist()))


def test_the_first_of_each_kind_needs_one_shard():
    assert "keep" in query(keep="first").one_shard


@pytest.mark.parametrize(
    "keys",
    [{}, {"keep": "first", "output": "kept"}, {"window": "30 rows", "matches": 2}, {"by": ["place"], "output": "rows"}],
    ids=str,
)
def test_batches_and_restores_make_no_difference(keys):
    """Small batches, out of order within the delay, with the state saved and restored between them."""
    table, asked, states = stream(4), query(delay="4 seconds", **keys), set()
    whole = rows_as_text(local.apply(table, asked))
    late = np.asarray(table["ts"].cast(pa.int64())) + np.random.default_rng(1).uniform(0, 3e6, len(table))
    arrived = table.take(pa.array(np.argsort(late)))
    for size in (1, 13, 70):
        run, answers = local.LocalRun.start(asked, table.schema), []
        for batch in arrived.combine_chunks().to_batches(max_chunksize=size):
            answers.append(run.push(batch))
            blob = run.snapshot()
            run = local.LocalRun.start(asked, table.schema)
            run.restore(blob)
        states.add(blob)
        answers.append(run.finish())
        assert rows_as_text(pa.Table.from_batches(answers)) == whole
    assert len(states) == 1


@pytest.mark.parametrize(
    "kind",
    [
        pa.list_(pa.float64()), pa.large_list(pa.float32()), pa.list_(pa.float32(), 3), pa.list_(pa.float16()),
        pa.list_(pa.int8()), pa.large_list(pa.int64()),
    ],
    ids=str,
)  # fmt: skip
def test_columns_of_every_type_have_the_same_answers(kind):
    assert local.apply(stream(5, kind=kind), query()).equals(local.apply(stream(5), query()))


ML = pa.struct(
    [("type", pa.int8()), ("size", pa.int32()), ("indices", pa.list_(pa.int32())), ("values", pa.list_(pa.float64()))]
)  # fmt: skip


def as_ml(vector, number):
    """A vector as Spark ML stores it: every third dense, the others sparse, some with a zero of their own."""
    if vector is None:
        return None
    if number % 3 == 0 or None in vector:
        return {"type": 1, "size": None, "indices": None, "values": vector}
    places = [place for place, value in enumerate(vector) if value or (number + place) % 4 == 0]
    values = [vector[place] for place in places]
    return {"type": 0, "size": len(vector), "indices": places, "values": values}


@pytest.mark.parametrize(
    "kind", [ML, pa.list_(pa.float32(), 3), pa.list_(pa.float16(), 3), pa.large_list(pa.int8())], ids=str
)
def test_columns_with_rows_left_out_are_the_same_of_every_type(kind):
    """Also if they are a slice of a longer column, and with rows of another length where the type has them."""
    rng = np.random.default_rng(8)
    fixed = pa.types.is_fixed_size_list(kind)
    vectors = [rng.integers(-2, 3, 3 if fixed else int(rng.choice([3, 3, 3, 3, 2, 4]))).tolist() for _ in range(90)]
    for place in range(0, 90, 7):
        vectors[place] = None if place % 2 else [None, *vectors[place][1:]]
    stored = [as_ml(vector, number) for number, vector in enumerate(vectors)] if kind == ML else vectors
    column, plain = pa.array(stored, kind)[5:], pa.array(vectors, pa.list_(pa.float64()))[5:]
    got, expected = encode_vectors(column, 3, True), encode_vectors(plain, 3, True)
    assert got[0]["vector"].equals(expected[0]["vector"]) and got[0]["tie"].equals(expected[0]["tie"])
    assert {name: mask.tolist() for name, mask in got[1].items()} == {
        name: mask.tolist() for name, mask in expected[1].items()
    }


def test_a_sparse_vector_whose_indices_do_not_fit_is_of_another_length():
    def sparse(size, indices, values):
        return {"type": 0, "size": size, "indices": indices, "values": values}

    bad = [
        sparse(3, [0, 3], [1, 1]),
        sparse(3, [-1], [1]),
        sparse(4, [0], [1]),
        sparse(3, [0, 1], [1]),
        sparse(None, [0], [1]),
    ]
    column = pa.array([sparse(3, [2], [5]), *bad, sparse(3, [], [])], ML)
    frame, masks = encode_vectors(column, 3, True)
    assert masks["vector of another length"].tolist() == [False, *[True] * len(bad), False]
    assert masks["vector of zeros"].tolist() == [False] * 6 + [True]
    assert frame["vector"][0].as_py() == [0, 0, 5]


def test_a_million_matches_may_be_asked_for():
    table = stream(9)
    every = rows_as_text(local.apply(table, query(threshold=-1.0)))
    assert rows_as_text(local.apply(table, query(threshold=None, matches=10**6))) == every


def test_rows_that_cannot_be_compared_are_counted_by_reason():
    table = stream(6)
    bad = [None, [1.0, None, 2.0], [1.0, 2.0], [1.0, 2.0, 3.0, 4.0], [float("nan"), 1.0, 1.0], [1e39, 1.0, 1.0]]
    bad += [[float("-inf"), 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, -0.0, 1e-60]]
    vectors = table["vector"].to_pylist()
    for place, vector in enumerate(bad):
        vectors.insert(17 * place, vector)
    places = [17 * place for place in range(len(bad))]
    rest = np.delete(np.arange(len(vectors)), places)
    source = np.zeros(len(vectors), int)
    source[rest] = np.arange(len(table))
    mixed = table.take(pa.array(source)).drop_columns(["vector"])
    mixed = mixed.append_column("vector", pa.array(vectors, pa.list_(pa.float64())))
    run = local.LocalRun.start(query(), mixed.schema)
    pieces = [run.push(batch) for batch in mixed.combine_chunks().to_batches()]
    assert pa.Table.from_batches([*pieces, run.finish()]).equals(local.apply(table, query()))
    dropped = {name: count for name, count in run.take_metrics().dropped.items() if count}
    assert dropped == {
        "null vector": 2, "vector of another length": 2, "vector not finite": 3, "vector of zeros": 2,
    }  # fmt: skip


def test_zeros_have_an_inner_product_and_a_distance():
    table = pa.table({"ts": pa.array([0, 1], pa.timestamp("s")), "who": [1, 2], "vector": [[0.0] * 3, [0.0, 3.0, 4.0]]})
    for kind, expected in (("dot", 0.0), ("euclidean", -5.0)):
        result = local.apply(table, query(similarity=kind, threshold=None, matches=1))
        assert result["similarity"].to_pylist() == [expected]


def test_equal_vectors_have_equal_ties_and_minus_zero_is_zero():
    column = pa.array([[0.0, 1.0], [-0.0, 1.0], [0.0, -1.0]], FLOATS)
    ties = encode_vectors(column, 2, True)[0]["tie"].to_pylist()
    assert ties[0] == ties[1] != ties[2]


def test_a_row_left_out_does_not_count_in_a_window_of_rows():
    vectors = [[1.0, 0.0, 0.0], None, None, [2.0, 0.0, 0.0]]
    table = pa.table(
        {"ts": pa.array(range(4), pa.timestamp("s")), "who": [1, 2, 3, 4], "vector": pa.array(vectors, FLOATS)}
    )
    assert local.apply(table, query(window="2 rows"))["match"].to_pylist() == [1]


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"threshold": 90}, "query.threshold: must be from -1 to 1"),
        ({"threshold": 1.2}, "such as 0.9 (got 1.2)"),
        ({"threshold": 0.5, "similarity": "euclidean"}, "must be at most 0"),
        ({"threshold": None}, "add threshold = 0.9, or matches = 10"),
        ({"threshold": None, "matches": 1, "keep": "first"}, '"first" needs a threshold'),
        ({"dimensions": None}, "dimensions"),
        ({"dimensions": 100_000}, "at most 4096"),
        ({"tokens": "words"}, 'vector = "embedding"'),
        ({"metric": "cosine"}, "is called `similarity` here"),
        ({"k": 3}, "is called `matches` here"),
        ({"top_k": 3}, "is called `matches` here"),
        ({"distance": 3}, "euclidean"),
        ({"keep": "first", "side": "origin"}, '"first" is for one stream'),
        ({"similarity": "cosin"}, "did you mean 'cosine'?"),
    ],
    ids=str,
)
def test_what_cannot_be_asked_is_refused_by_name(keys, message):
    with pytest.raises(ConfigError) as caught:
        query(**keys)
    assert message.removeprefix("query.") in str(caught.value)


def test_a_column_without_vectors_is_refused():
    table = stream(7).set_column(2, "vector", pa.array(["a"] * 160))
    with pytest.raises(ConfigError, match="column 'vector' must be a list of numbers"):
        local.apply(table, query())
