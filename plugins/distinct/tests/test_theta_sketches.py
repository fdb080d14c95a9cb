"""States made with `hash = "theta"` yield the theta sketches of DataSketches, in any window."""

import struct
from itertools import compress

import mmh3
import numpy as np
import pyarrow as pa
import pytest
import scipy
from datasketches import compact_theta_sketch, theta_a_not_b, theta_intersection, theta_union, update_theta_sketch
from hypothesis import given
from hypothesis import strategies as st
from skyband import create, states
from skyband.columns.hashing import THETA_SEED, hash_column
from skyband.engines import local
from skyband.errors import ConfigError, InputError, SnapshotError
from skyband_distinct.questions.theta_sketches import image_of
from skyband_distinct.sketch_sizes import skyband_shape, theta_size

MINUTE = 60_000_000
START = 1_760_000_400_000_000
LONGEST = 20
"""lg_k of a sketch of DataSketches that keeps every hash of these tests."""


def visits(items, kind=None, seed=0):
    times = np.sort(np.random.default_rng(seed).integers(0, 60 * MINUTE, len(items)))
    columns = {
        "ts": pa.array(START + times, pa.timestamp("us", "UTC")),
        "item": items if isinstance(items, pa.Array) else pa.array(items, kind),
        "status": pa.array(np.where(times % 3 == 0, "404", "200")),
    }
    return pa.table(columns)


def state_of(table, backend="k-skb", **changes):
    query = {"kind": "distinct-count", "time": "ts", "item": "item", "windows": ["1 hour"], "every": "1 hour"}
    return local.apply(table, {**query, "emit": "state", "hash": "theta", **changes}, {"sketch": backend})


def one_state(table, backend="k-skb"):
    (state,) = state_of(table, backend)["state"].to_pylist()
    return state


def items_since(table, minutes):
    """The items of the hour's last `minutes` minutes, as Python values."""
    recent = np.asarray(table["ts"].cast(pa.int64())) >= START + (60 - minutes) * MINUTE
    return list(compress(table["item"].to_pylist(), recent))


def packaged(items, lg_k=LONGEST):
    sketch = update_theta_sketch(lg_k)
    for item in items:
        sketch.update(item.decode() if isinstance(item, bytes) else item)
    return sketch


def image(items, lg_k=LONGEST):
    return packaged(items, lg_k).compact().serialize()


def sketch_of(image):
    return compact_theta_sketch.deserialize(image)


RNG = np.random.default_rng(5)
NUMBERS = RNG.integers(-100, 101, 600)
TEXTS = [["", "a", "client é", "x" * 40][number % 4] + str(number // 7 or "") for number in NUMBERS.tolist()]
FLOATS = [
    [0.0, -0.0, float("nan"), float("inf"), 1e-300][number % 9] if number % 9 < 5 else number / 7
    for number in NUMBERS.tolist()
]
COLUMNS = {
    **{str(kind): pa.array(NUMBERS, kind) for kind in (pa.int8(), pa.int16(), pa.int32(), pa.int64())},
    **{str(kind): pa.array(abs(NUMBERS), kind) for kind in (pa.uint8(), pa.uint32(), pa.uint64())},
    "double": pa.array(FLOATS),
    "float": pa.array(FLOATS, pa.float32()),
    "string": pa.array(TEXTS),
    "large_string": pa.array(TEXTS, pa.large_string()),
    "string_view": pa.array(TEXTS).cast(pa.string_view()),
    "dictionary": pa.array(TEXTS).dictionary_encode(),
    "binary": pa.array([text.encode() for text in TEXTS], pa.binary()),
    "fixed_size_binary": pa.array([b"%04d" % abs(number) for number in NUMBERS.tolist()], pa.binary(4)),
}


@pytest.mark.parametrize("backend", ["k-skb", "exact"])
@pytest.mark.parametrize("name", COLUMNS)
def test_the_image_of_every_type_and_window_is_that_of_the_package(name, backend):
    """Byte for byte, while all hashes are kept; with empty text, zeros of both signs and NaN."""
    table = visits(COLUMNS[name])
    state = one_state(table, backend)
    for minutes in (60, 37, 5):
        assert states.theta(state, last=f"{minutes} minutes") == image(items_since(table, minutes))


@pytest.mark.parametrize("items", [[""], ["a"], ["a", ""], ["a", "b"], ["a", "b", "c"]])
def test_images_of_few_items_are_those_of_the_package(items):
    assert states.theta(one_state(visits(items))) == image(items)


def test_a_window_without_items_is_an_empty_sketch():
    state = one_state(visits(["a"]))
    late = states.describe(state).latest + 1
    assert states.theta(state, since=late) == image([])
    assert sketch_of(states.theta(state, since=late)).is_empty()


MANY = RNG.integers(0, 60_000, 150_000)
LARGE = visits(MANY)


def test_a_sketch_of_many_items_has_the_estimate_of_the_state():
    state = one_state(LARGE)
    for minutes in (60, 37, 2):
        items = set(items_since(LARGE, minutes))
        found, sketch = (
            states.estimate(state, last=f"{minutes} minutes"),
            sketch_of(states.theta(state, last=f"{minutes} minutes")),
        )
        assert sketch.get_estimate() == pytest.approx(found.count, abs=1e-3)
        assert sketch.get_estimate() == pytest.approx(len(items), rel=0.03)
        assert sketch.is_estimation_mode() == (len(items) >= theta_size(0.02, 0.05))


@pytest.mark.parametrize("lg_k", [12, 16])
@pytest.mark.parametrize("minutes", [60, 37])
def test_it_combines_with_other_sketches_of_the_same_rows(lg_k, minutes):
    """Each item counts once in the union, is in the intersection and not in the difference, whichever samples more."""
    ours = sketch_of(states.theta(one_state(LARGE), last=f"{minutes} minutes"))
    items = items_since(LARGE, minutes)
    theirs = packaged(items, lg_k).compact()
    union, both = theta_union(LONGEST), theta_intersection()
    for sketch in (ours, theirs):
        union.update(sketch)
        both.update(sketch)
    distinct, error = len(set(items)), 4 / np.sqrt(min(theta_size(0.02, 0.05), 2**lg_k))
    assert union.get_result().get_estimate() == pytest.approx(distinct, rel=error)
    assert both.get_result().get_estimate() == pytest.approx(distinct, rel=error)
    assert theta_a_not_b().compute(ours, theirs).get_estimate() == 0
    assert theta_a_not_b().compute(theirs, ours).get_estimate() == 0


def test_it_intersects_with_a_sketch_of_other_rows():
    ours = sketch_of(states.theta(one_state(LARGE), last="37 minutes"))
    others = list(range(40_000, 90_000))
    both = theta_intersection()
    for sketch in (ours, packaged(others, 14).compact()):
        both.update(sketch)
    exact = len({*items_since(LARGE, 37)} & {*others})
    assert both.get_result().get_estimate() == pytest.approx(exact, rel=4 / np.sqrt(10_000 * exact / 80_000))


@pytest.mark.parametrize("backend", ["k-skb", "exact"])
@pytest.mark.parametrize("table", [LARGE, visits(MANY[:3000])], ids=["many", "few"])
def test_several_states_make_the_sketch_of_their_union(table, backend):
    parts = state_of(table, backend, by=["status"])["state"].to_pylist()
    assert len(parts) == 2
    for minutes in (60, 37):
        together = states.theta(parts, last=f"{minutes} minutes")
        assert together == states.theta(states.union(parts), last=f"{minutes} minutes")
        assert together == states.theta(one_state(table, backend), last=f"{minutes} minutes")


@pytest.mark.parametrize("name", ["k-skb", "exact"])
def test_snapshots_answer_for_the_items_that_all_of_them_remember(name):
    keys = hash_column(pa.array(range(40)), THETA_SEED)
    parts = [create("sketch", name, hash="theta") for _ in range(2)]
    for part, before in zip(parts, (10, 30), strict=True):
        part.update(np.arange(40), keys)
        part.forget(before)
    blobs = [part.snapshot() for part in parts]
    assert states.theta(blobs) == states.theta(blobs[::-1]) == image(range(30, 40))
    assert states.theta(blobs[0]) == image(range(10, 40))


def test_the_hash_is_murmurhash3_with_seed_9001():
    expected = [
        mmh3.hash64(data, seed=9001, x64arch=True, signed=False)[0] for data in (b"abc", b"", b"0123456789abcdefg")
    ]
    assert hash_column(pa.array(["abc", "", "0123456789abcdefg"]), THETA_SEED).tolist() == expected
    word = struct.pack("<q", -7)
    assert hash_column(pa.array([-7]), THETA_SEED)[0] == mmh3.hash64(word, seed=9001, x64arch=True, signed=False)[0]


def test_hashes_that_no_theta_sketch_has_are_left_out():
    """0, hashes that only differ in the lowest bit, and those not below theta."""
    whole = image_of(np.array([0, 1, 4, 5, 8], np.uint64), None)
    assert [hash_ for (hash_,) in struct.iter_unpack("<Q", whole[16:])] == [2, 4]
    cut = image_of(np.array([2, 3, 6], np.uint64), 7)
    assert struct.unpack("<Q", cut[16:24]) == (3,)
    assert [hash_ for (hash_,) in struct.iter_unpack("<Q", cut[24:])] == [1]
    assert cut[5] & 4 == 0, "a sketch that has sampled is not empty"


@pytest.mark.parametrize("backend", ["k-skb", "exact"])
def test_counts_do_not_change_with_the_hash_while_they_are_exact(backend):
    """In small and large groups."""
    rng = np.random.default_rng(3)
    table = visits(rng.integers(0, 3000, 9000)).append_column(
        "page", pa.array(np.minimum(rng.geometric(0.1, 9000), 30))
    )
    query = {"kind": "distinct-count", "time": "ts", "item": "item", "windows": ["10 minutes"], "every": "5 minutes"}
    plain, theta = (
        local.apply(table, {**query, "by": ["page"], **more}, {"sketch": backend}) for more in ({}, {"hash": "theta"})
    )
    assert plain.equals(theta)


REFUSED = {
    "timestamp": pa.array([0], pa.timestamp("us")),
    "date": pa.array([0], pa.date32()),
    "boolean": pa.array([True]),
    "decimal": pa.array([1], pa.decimal128(9, 2)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_types_that_spark_refuses_are_refused(name):
    with pytest.raises(ConfigError) as caught:
        state_of(visits(REFUSED[name]))
    (problem,) = caught.value.problems
    assert problem.field == "query.item"
    said = f"column 'item' is {REFUSED[name].type}, which Spark's theta_sketch_agg refuses"
    assert said in problem.message and "cast it to a whole number, a float, text or bytes" in problem.message


@pytest.mark.parametrize(
    ("backend", "changes", "field", "said"),
    [
        ("k-skb", {"item": ["item", "status"]}, "query.item", "concatenate them in the source"),
        ("pcsa-ml", {}, "backends.sketch", "pcsa-ml has no parameter 'hash'"),
        ({"name": "k-skb", "hash": "theta"}, {"hash": None}, "query.hash", 'must be "theta", because hash of k-skb'),
        ({"name": "exact", "hash": "theta"}, {"hash": None}, "query.hash", 'must be "theta", because hash of exact'),
        ({"name": "k-skb", "seed": 7}, {}, "backends.sketch.seed", "leave it out (got 7)"),
        ("k-skb", {"hash": "tehta"}, "hash", "must be one of theta (got 'tehta')"),
    ],
)
def test_queries_that_cannot_yield_theta_sketches_are_refused(backend, changes, field, said):
    with pytest.raises(ConfigError) as caught:
        state_of(visits(["a"]), backend, **changes)
    (problem,) = caught.value.problems
    assert problem.field == field and said in problem.message


def test_states_with_other_hashes_are_refused_with_the_remedy():
    table = visits(["a"])
    plain = state_of(table, hash=None)["state"][0].as_py()
    with pytest.raises(InputError, match=r'were made without hash = "theta".*set it in the query that makes them'):
        states.theta(plain)
    with pytest.raises(InputError, match="they must be equal"):
        states.theta([one_state(table), plain])
    with pytest.raises(InputError, match="at most the last 1 hour"):
        states.theta(one_state(table), last="2 hours")
    with pytest.raises(SnapshotError):
        states.theta(one_state(table)[:-1])


def test_a_seed_in_the_header_of_a_state_is_refused():
    from skyband import snapshot
    from skyband.states.state import encode_state

    held = snapshot.decode(create("sketch", "k-skb", hash="theta").snapshot())
    blob = encode_state("sketch", "k-skb", {**held.header["parameters"], "seed": 1}, held.arrays, None)
    with pytest.raises(SnapshotError, match="does not fit the installed version: seed"):
        states.theta(blob)


@given(st.floats(0.001, 0.99), st.floats(1e-9, 0.99))
def test_one_sketch_misses_at_most_delta(epsilon, delta):
    """Computed exactly for many keys: the kth smallest hash is gamma distributed."""
    k = theta_size(epsilon, delta)
    assert scipy.stats.gamma.cdf((k - 1) / (1 + epsilon), k) + scipy.stats.gamma.sf((k - 1) / (1 - epsilon), k) <= delta


@given(st.floats(0.01, 0.5), st.floats(1e-6, 0.5), st.floats(1, 8))
def test_it_misses_less_with_fewer_keys(epsilon, delta, times):
    """Computed exactly for n keys: the kth smallest of n hashes is beta distributed."""
    k = theta_size(epsilon, delta)
    n = round(k * times)
    kth = scipy.stats.beta(k, n - k + 1)
    assert kth.cdf((k - 1) / n / (1 + epsilon)) + kth.sf((k - 1) / n / (1 - epsilon)) <= delta


def test_it_takes_less_memory_than_three_subsketches():
    (three, k), (single, larger) = skyband_shape(0.02, 0.05, theta=False), skyband_shape(0.02, 0.05, theta=True)
    assert (three, single) == (3, 1)
    assert larger < 0.7 * three * k
