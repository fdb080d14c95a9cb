"""Keys counted by how often they were seen, compared with counting every row."""

import json
import os
from collections import Counter
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import skyband
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from skyband import states
from skyband.cli.commands import group
from skyband.engines import local
from skyband.errors import ConfigError, InputError, SnapshotError
from skyband.groups.execution import execution_of
from skyband.queries import make_query
from skyband.snapshot import decode, encode
from skyband.states.state import read_state
from skyband_distinct.binomial_bounds import least_share
from skyband_distinct.k_skb.frequency_bounds import frequency_estimate
from skyband_distinct.k_skb.sum_bounds import around_k, miss_of_one
from skyband_distinct.k_skb.sweep_kernel import hash_all

MOST = 4
"""Sightings kept: fewer than some keys have."""
FEW = {"epsilon": 0.9, "delta": 0.4, "sightings": MOST}
"""k-skb of one hash function that samples 63 keys."""


def stream(rng, rows, keys, moments, ordered=True):
    """Rows of keys, some seen once and some often, many at the same moments."""
    times = rng.integers(-moments, moments, rows)
    often = rng.integers(1, 2**63, keys).astype(np.uint64)
    rare = rng.integers(1, 2**63, rows).astype(np.uint64)
    seen = np.where(rng.random(rows) < 0.7, often[(keys * rng.random(rows) ** 3).astype(int)], rare)
    return np.sort(times) if ordered else times, seen


def sketch_of(name, times, keys, cuts=(), **parameters):
    sketch = skyband.create("sketch", name, **parameters)
    for rows, own in zip(np.split(times, cuts), np.split(keys, cuts), strict=True):
        sketch.update(rows, own)
    return sketch


def by_hand(keys, seen):
    """How many keys have each number of rows; the last number is open."""
    counts = Counter(keys.tolist()).values()
    return [*(sum(count == number for count in counts) for number in seen[:-1]), sum(c >= seen[-1] for c in counts)]


def sampled_by_hand(sketch, keys, seen):
    """The same for the sample of k-skb, scaled up."""
    (salt,), k = sketch._salts, sketch._k
    hashes = keys if salt is None else hash_all(keys, salt)
    smallest = np.unique(hashes)[: k - 1]
    parts = np.array(by_hand(hashes[np.isin(hashes, smallest)], seen))
    return parts, (k - 1) / ((float(np.unique(hashes)[k - 1]) + 1) / 2.0**64) / (k - 1)


@settings(max_examples=40, deadline=None)
@given(st.data())
@pytest.mark.parametrize("name", ["exact", "k-skb"])
def test_it_counts_every_row_in_any_window_however_the_rows_came(name, data):
    """Cut into batches, split into shards, forgotten, saved: the same numbers, those of counting by hand."""
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    rows, moments = data.draw(st.sampled_from([0, 30, 500, 1500])), data.draw(st.sampled_from([1, 20, 10**12]))
    times, keys = stream(rng, rows, data.draw(st.sampled_from([1, 20, 300])), moments, data.draw(st.booleans()))
    own = {"sightings": MOST} if name == "exact" else FEW | data.draw(st.sampled_from([{}, {"hash": "theta"}]))
    whole = sketch_of(name, times, keys, **own)
    cuts = np.sort(rng.integers(0, rows + 1, 5))
    pieces = [sketch_of(name, *part, **own) for part in zip(*(np.split(of, cuts) for of in (times, keys)), strict=True)]
    cut = sketch_of(name, times, keys, cuts, **own)
    for moment in (0, moments // 2):
        cut.estimate(moment)  # sweeps what waited until now
    together = pieces[0]
    for piece in pieces[1:]:
        together.merge(skyband.restore(piece.snapshot()))
    before = data.draw(st.sampled_from([-moments, -moments // 3, moments // 2]))
    for sketch in (whole, cut, together):
        sketch.forget(before)
    blob = whole.snapshot()
    assert cut.snapshot() == blob == together.snapshot() == skyband.restore(blob).snapshot()
    seen = data.draw(st.sampled_from([[1], [3], [1, 2], [1, 2, 3, MOST], [2, MOST]]))
    for since in sorted({before, *rng.integers(before, moments, 4).tolist()}):
        found = whole.frequencies(since, seen)
        assert found.tolist() == skyband.restore(blob).frequencies(since, seen).tolist()
        assert states.frequency(blob, since=since, seen=seen).to_pylist() == [
            dict(zip(("seen", "count", "low", "high"), (text, *numbers), strict=True))
            for text, numbers in zip([*map(str, seen[:-1]), f"{seen[-1]}+"], found.tolist(), strict=True)
        ]
        inside = keys[times >= since]
        if name == "exact" or len(np.unique(inside)) < whole._k:
            assert found.tolist() == [[count] * 3 for count in by_hand(inside, seen)]
        else:
            parts, scale = sampled_by_hand(whole, inside, seen)
            assert found[:, 0] == pytest.approx(parts * scale, abs=0.002)
            assert (found[:, 1] <= found[:, 0]).all() and (found[:, 0] <= found[:, 2]).all()
            assert (found[:, 1] >= parts).all(), "the sampled keys are keys"
        if seen[0] == 1 and seen == list(range(1, seen[-1] + 1)):
            assert found[:, 0].sum() == pytest.approx(whole.estimate(since), abs=0.01)


def test_bounds_are_missed_no_more_often_than_delta():
    rng, delta, missed, asked = np.random.default_rng(5), 0.2, 0, 0
    for seed in range(40):
        sketch = skyband.create("sketch", "k-skb", epsilon=0.2, delta=delta, seed=seed, sightings=3)
        times, keys = stream(rng, 6000, 1500, 1000)
        sketch.update(times, keys)
        for since in (-1000, 0):
            truth = by_hand(keys[times >= since], [1, 2, 3])
            found = sketch.frequencies(since, [1, 2, 3])
            assert (found[:, 1] < found[:, 2]).all()
            missed += ((found[:, 1] > truth) | (found[:, 2] < truth)).any()
            asked += 1
    assert missed <= delta * asked / 2, f"{missed} of {asked}"


def test_bounds_are_products_of_those_of_the_share_and_of_all_keys():
    """Each of the four ends is missed with a quarter of delta; the keys of one sample are a least number, too."""
    from scipy.stats import binomtest

    rng, delta, k, keys = np.random.default_rng(8), 0.1, 200, 5_000.0
    numbers = [rng.multinomial(k - 1, [0.5, 0.3, 0.15, 0.05]) for _ in range(3)]
    limits = [0.04, 0.041, 0.039]
    found = frequency_estimate(numbers, limits, keys, k, delta, [1, 2, 3], least_share)
    classes = [[own[0], own[1], own[2] + own[3]] for own in numbers]
    below, above = around_k(k, miss_of_one(delta / 2, 3))
    for (count, low, high), parts in zip(found, zip(*classes, strict=True), strict=True):
        share = binomtest(int(sum(parts)), 3 * (k - 1)).proportion_ci(1 - delta / 2, method="exact")
        assert count == pytest.approx(sum(parts) / (3 * (k - 1)) * keys, abs=0.001)
        assert low == pytest.approx(share.low * below / 0.04, abs=0.01)
        assert high == pytest.approx(share.high * above / 0.04, abs=0.01)
    few = frequency_estimate([np.array([k - 2, 1])] * 3, [0.9999] * 3, float(k), k, delta, [1, 2], least_share)
    assert few[0, 1] >= k - 2, "keys that were sampled are there"
    assert few[1, 1] == 1


def test_states_of_several_groups_count_together():
    """Every state counts its own rows: an item seen once in each of three is seen three times."""
    rng = np.random.default_rng(3)
    parts = [stream(np.random.default_rng(4), 900, 300, 50), *(stream(rng, 900, 300, 50) for _ in range(2))]
    for name, own in (("exact", {"sightings": MOST}), ("k-skb", {"epsilon": 0.2, "sightings": MOST})):
        blobs = [sketch_of(name, *part, **own).snapshot() for part in [*parts, parts[0]]]
        whole = sketch_of(name, *map(np.concatenate, zip(*parts, parts[0], strict=True)), **own)
        for since in (-50, 10):
            together = states.frequency(blobs, since=since)
            assert together["seen"].to_pylist() == ["1", "2", "3", "4+"]
            found = np.array([together[column].to_pylist() for column in ("count", "low", "high")]).T
            assert found.tolist() == whole.frequencies(since, [1, 2, 3, 4]).tolist()


@pytest.mark.parametrize("name", ["exact", "k-skb"])
def test_what_it_cannot_count_is_refused(name):
    plain = skyband.create("sketch", name)
    with pytest.raises(InputError, match="seen: needs the sightings of keys, which were not kept: set `seen`"):
        plain.frequencies(0, [1])
    with pytest.raises(InputError, match="seen: needs the sightings"):
        states.frequency(plain.snapshot())
    sketch = skyband.create("sketch", name, sightings=3)
    for seen, message in [([], "must be a list"), ([2, 2], "ascending"), ([0], "from 1 to 100"), ([4], "at most 3")]:
        with pytest.raises(InputError, match=f"seen: .*{message}"):
            sketch.frequencies(0, seen)
    with pytest.raises(ConfigError, match="sightings: cannot be set with `values`"):
        skyband.create("sketch", name, sightings=3, values="latest")
    with pytest.raises(InputError):
        sketch.merge(skyband.create("sketch", name, sightings=4))
    others = skyband.create("sketch", "pcsa-ml")
    with pytest.raises(InputError, match="seen: needs the sightings of keys"):
        states.frequency(others.snapshot())


@pytest.mark.parametrize("name", ["exact", "k-skb"])
def test_sightings_that_cannot_be_are_refused(name):
    own = {"sightings": MOST} if name == "exact" else FEW
    sketch = sketch_of(name, *stream(np.random.default_rng(1), 400, 60, 1000), **own)
    sketch.forget(-500)
    snapshot = decode(sketch.snapshot())
    header, arrays = snapshot.header, snapshot.arrays
    wrong = {
        "repeats": arrays["repeats"] + np.uint8(MOST),
        "gaps": arrays["gaps"][:-1],
        "tick": np.array([2**62], np.uint64),
    }
    for array, value in [*wrong.items(), ("tick", np.array([0], np.uint64)), ("repeats", arrays["repeats"][1:])]:
        damaged = encode(header, {**arrays, array: value})
        for load in (skyband.restore, lambda blob: states.frequency(blob)):
            with pytest.raises(SnapshotError, match=f"{array}|gaps"):
                load(damaged)
    if name == "k-skb":  # a sighting outside of the sample changes no answer, but equal sketches have equal bytes
        place = int(np.argmax(arrays["hashes"]))
        repeats = arrays["repeats"].copy()
        assert repeats[place] == 0, "the largest hash is outside of the sample in all but the shortest windows"
        oldest = int(np.flatnonzero(arrays["repeats"])[0])
        repeats[[place, oldest]] = 1, repeats[oldest] - 1
        with pytest.raises(SnapshotError):
            skyband.restore(encode(header, {**arrays, "repeats": repeats}))


@pytest.fixture(scope="module")
def requests():
    """A day of requests to a web site."""
    path = Path(os.environ["SKYBAND_DATA"]) / "worldcup98_day6_sample.parquet"
    return pq.read_table(path, columns=["ts", "client_id"])


@pytest.mark.realdata
def test_visitors_of_a_web_site_are_those_of_duckdb(requests):
    """The figures of the page on reach."""
    seen = [1, 2, 3, 10]
    query = {"kind": "distinct-count", "time": "ts", "item": "client_id", "windows": ["1 day"], "every": "1 day"}
    query |= {"offset": "22 hours", "seen": seen}
    found = {name: local.apply(requests, query, {"sketch": name}).to_pylist() for name in ("exact", "k-skb")}
    database = duckdb.connect()
    database.register("requests", requests)
    each = "select count(*) as times from requests where ts < '1998-05-01 22:00:00+00' group by client_id"
    truth = [
        database.sql(f"select count(*) from ({each}) where times {sign} {number}").fetchall()[0][0]
        for sign, number in zip(["=", "=", "=", ">="], seen, strict=True)
    ]
    assert [row["count"] for row in found["exact"]] == truth == [2_081, 1_240, 1_038, 7_829]
    page = [tuple(round(row[name]) for name in ("count", "low", "high")) for row in found["k-skb"]]
    assert page == [(2_075, 1_908, 2_254), (1_286, 1_164, 1_418), (1_032, 927, 1_147), (8_052, 7_635, 8_488)]
    assert all(low <= count <= high for count, (_, low, high) in zip(truth, page, strict=True))


def answers_of(**changes):
    rows = pa.table(
        {
            "ts": pa.array([minute * 60_000_000 for minute in range(60)], pa.timestamp("us", "UTC")),
            "who": [minute % 7 * minute % 11 for minute in range(60)],
            "shop": ["ab"[minute % 2] for minute in range(60)],
        }
    )
    query = {"kind": "distinct-count", "time": "ts", "item": "who", "windows": ["30 minutes"], "every": "30 minutes"}
    query |= {"seen": [1, 2, 5], **changes}
    return query, rows, local.apply(rows, query, {"sketch": "exact"})


def test_a_curve_shows_the_newest_numbers_of_each_group():
    pytest.importorskip("vl_convert")
    from skyband_compare.plots import plot

    query, rows, answers = answers_of(by=["shop"])
    drawn = plot(answers, query).to_dict()
    (points,) = drawn["datasets"].values()
    newest = [row for row in answers.to_pylist() if row["at"] == max(answers["at"].to_pylist())]
    assert [(point["line"], point["seen"], point["count"]) for point in points] == [
        (f"{row['shop']} · 30 minutes", row["seen"], row["count"]) for row in newest
    ]
    assert {point["seen"] for point in points} == {"1", "2", "5+"}
    plain = {name: value for name, value in query.items() if name not in ("seen", "by")}
    over_time = plot(local.apply(rows, plain), plain).to_dict()
    assert "at:T" in str(over_time) or "'field': 'at'" in str(over_time)


def test_classes_of_kept_rows_may_change_and_their_number_may_not():
    _, rows, _ = answers_of()
    for seen, message in [([2, 5], None), ([1, 2], "its last number must be 5"), (None, "its last number must be 5")]:
        state = answers_of(emit="state")[2]["state"][0].as_py()
        query, _, _ = answers_of(seen=[1, 2, 5])
        query |= {"seen": seen}
        problems = execution_of(make_query(query)).state_problems(read_state(state), rows.schema)
        assert [problem.field for problem in problems] == ([] if message is None else ["seen"])
        assert all(message in problem.message for problem in problems)


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"seen": []}, r"seen: must be a list of whole numbers, such as \[1, 2, 3\] \(got \[\]\)"),
        ({"seen": [1, 101]}, "seen: must be whole numbers from 1 to 100 .got 101"),
        ({"value": "who"}, "seen: counts items by how often they were seen, not by a value: remove it or `value`"),
    ],
)
def test_a_query_says_which_classes_there_can_be(keys, said):
    with pytest.raises(ConfigError, match=said):
        answers_of(**keys)


def test_other_sketches_are_refused_with_the_remedy():
    query, rows, _ = answers_of()
    with pytest.raises(ConfigError, match="it does not know how often an item was seen: choose k-skb or exact"):
        local.apply(rows, query)
    with pytest.raises(ConfigError, match="seen: is required, because exact keeps sightings"):
        local.apply(rows, {**query, "seen": None}, {"sketch": {"name": "exact", "sightings": 3}})


def test_the_command_line_asks_states(tmp_path):
    _, _, answers = answers_of(emit="state", by=["shop"])
    pq.write_table(answers, tmp_path / "part.parquet")
    asked = ["ask", str(tmp_path), "--union", "--last", "30 minutes", "--json"]
    for more, seen in ((["--seen", "1", "--seen", "3"], [1, 3]), (["--question", "frequency"], [])):
        ran = CliRunner().invoke(group, [*asked, *more])
        assert ran.exit_code == 0, ran.stderr
        blobs = answers.slice(len(answers) - 2)["state"].to_pylist()
        expected = states.frequency(blobs, last="30 minutes", seen=seen).to_pylist()
        assert json.loads(ran.stdout)["answers"] == [{"last": "30 minutes", **row} for row in expected]
