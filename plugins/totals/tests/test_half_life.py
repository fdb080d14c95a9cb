"""`half_life` of heavy-hitters, compared with the definition: the weights of rows at each moment, added up exactly."""

from collections import defaultdict
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise
from math import fsum

import numpy as np
import pyarrow as pa
import pytest
from cut_run import cut_run
from in_process_shards import on_shards
from skyband import ConfigError, SnapshotError
from skyband.engines.local import apply
from skyband.queries import make_query
from skyband.windows.half_lives import left_after
from skyband_totals.heavy_hitters.decayed_totals import DecayedTotals, ranked_totals

EVERY = 5
CLOSE = 1e-9
EPOCH = pa.scalar(0, pa.timestamp("us")).as_py()
QUERY = {"kind": "heavy-hitters", "time": "t", "object": "key", "every": f"{EVERY} seconds"}


def stream(rng, size):
    """Rows with equal times, at moments and between them, with gaps, nulls and weights of 0."""
    micros = np.sort(rng.integers(0, 60_000, size)) * 1000
    micros[rng.random(size) < 0.4] //= 5_000_000
    micros = np.sort(np.where(micros < 100, micros * 5_000_000, micros))
    micros += 70_000_000 * (micros > 20_000_000)
    keys = [None if key > 7 else int(key) for key in rng.zipf(1.4, size)]
    columns = {"t": pa.array(micros, pa.timestamp("us")), "key": pa.array(keys, pa.int64())}
    return pa.table(columns | {"amount": rng.integers(0, 6, size) / 10, "group": rng.integers(0, 3, size)})


def decayed(entries, at, window, half_life):
    """{object: total}; the moment and the lengths are in microseconds."""
    weights = defaultdict(list)
    for time, key, amount in entries:
        if at - window <= time < at:
            weights[key].append(amount * 2.0 ** float(Fraction(time - at, half_life)))
    return {key: fsum(some) for key, some in weights.items() if fsum(some) > 0}


def check(table, rows, query):
    """Check the answers of every group, moment and window; returns their number."""
    by, k, least = "by" in query, query.get("k", 10**9), query.get("at_least", 0)
    second = 1_000_000
    windows = {text: int(text.split()[0]) * second for text in query["windows"]}
    half_life, every = int(query["half_life"].split()[0]) * second, int(query["every"].split()[0]) * second
    groups, answers, latest = defaultdict(list), defaultdict(list), 0
    times = rows["t"].cast(pa.int64()).to_pylist()
    for time, row in zip(times, rows.to_pylist(), strict=True):
        if row["key"] is not None:
            latest = time
            amount = row["amount"] if "weight" in query else 1.0
            groups[row["group"] if by else 0].append((time, row["key"], amount))
    stamps = table["at"].cast(pa.int64()).to_pylist()
    for at, row in zip(stamps, table.to_pylist(), strict=True):
        assert row["low"] == row["high"] == row["total"]
        answers[row["group"] if by else 0, at, row["window"]].append((row["rank"], row["object"], row["total"]))
    count = 0
    for group, entries in groups.items():
        for at in range(0, latest // every * every + every + 1, every):
            for text, window in windows.items():
                totals = decayed(entries, at, window, half_life)
                lines = answers.pop((group, at, text), [])
                objects = [key for _, key, _ in lines]
                sure = [key for key, total in totals.items() if total >= least * (1 + CLOSE)]
                perhaps = [key for key, total in totals.items() if total >= least * (1 - CLOSE)]
                assert min(k, len(sure)) <= len(lines) <= min(k, len(perhaps))
                assert [rank for rank, _, _ in lines] == list(range(1, len(lines) + 1))
                assert len({*objects}) == len(objects)
                for _, key, total in lines:
                    assert abs(total - totals[key]) <= CLOSE * totals[key], (key, total, totals[key])
                for (_, key, total), (_, other, less) in pairwise(lines):
                    assert total > less or (total == less and key < other)
                left = max((total for key, total in totals.items() if key not in objects), default=0)
                assert left <= least * (1 + CLOSE) or (len(lines) == k and left <= lines[-1][2] * (1 + CLOSE))
                count += bool(lines)
    assert not answers
    return count


def follow(seed):
    rng = np.random.default_rng([46, seed])
    rows = stream(rng, int(rng.integers(0, 60)))
    windows = [(10,), (20, 5), (15, 25)][seed % 3]
    query = QUERY | {"windows": [f"{window} seconds" for window in windows]}
    query |= [{"k": 2}, {"at_least": 0.5}, {"k": 1, "at_least": 0.25}, {"k": 50}][int(rng.integers(4))]
    query |= {"half_life": f"{int(rng.choice([1, 3, 60]))} seconds", "by": ["group"] if rng.integers(2) else []}
    query |= {"total": "sum", "weight": "amount", "unit": 0.1} if rng.integers(2) else {}
    query = {key: value for key, value in query.items() if value}
    answers = apply(rows, query)
    count = check(answers, rows, query)
    batches = cut_run(rows, query, rng)[0]
    if "by" in query:
        check(batches, rows, query)
    else:
        assert batches.equals(answers), (seed, query, "to the last bit, however a stream is cut")
        assert on_shards(rows, make_query(query), 3, batches=2)[0].equals(answers), (seed, query, "on shards")
    return count


def test_the_weight_of_rows_halves_with_each_half_life():
    assert sum(follow(seed) for seed in range(24)) > 200


def test_a_moment_covers_the_rows_before_it_even_with_the_shortest_panes():
    rng = np.random.default_rng(3)
    times, keys = np.sort(rng.integers(0, 40, 60)), rng.integers(0, 3, 60)
    moments = np.arange(1, 45)
    tops = DecayedTotals([4, 1], 1, 3, None, 0.0).answers(times, keys, moments=moments)
    entries = list(zip(times.tolist(), keys.tolist(), [1.0] * 60, strict=True))
    for number, top in enumerate(tops):
        expected = decayed(entries, int(moments[number // 2]), (4, 1)[number % 2], 3)
        assert dict(zip(top.objects.tolist(), top.totals.tolist(), strict=True)) == pytest.approx(expected)


@pytest.mark.parametrize("k", [None, 1, 2, 9])
@pytest.mark.parametrize("at_least", [0.0, 0.3, 0.4])
def test_no_object_outside_of_the_answer_exceeds_the_rest(k, at_least):
    rng = np.random.default_rng(4)
    numbers, objects = np.repeat(np.arange(40), 6), np.tile(np.arange(6), 40)
    totals = rng.integers(0, 6, 240) / 5 * (rng.random(240) < 0.7)
    tops = ranked_totals(numbers, objects, totals, 40, k, at_least)
    for number, (start, stop) in enumerate(pairwise(tops.offsets.tolist())):
        large = [(-total, key) for key, total in enumerate(totals[numbers == number]) if total >= max(at_least, 1e-9)]
        assert tops.objects[start:stop].tolist() == [key for _, key in sorted(large)[:k]]
        left = [-less for less, _ in sorted(large)][len(large) if k is None else k :]
        assert tops.rest[number] == max(left, default=at_least)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:all .* rows were left out")
def test_the_weight_of_rows_halves_with_each_half_life_on_ten_thousand_streams():
    assert sum(follow(seed) for seed in range(100, 10_100)) > 80_000


def test_ten_years_of_seconds_stay_as_exact_as_the_first():
    """315 million half-lives from the first row to the last: no number grows with them."""
    rng = np.random.default_rng(5)
    rows = stream(rng, 50)
    years = pa.scalar(10 * 365 * 86_400 * 1_000_000, pa.duration("us"))
    late = rows.set_column(0, "t", pa.compute.add(rows["t"], years))
    query = QUERY | {"windows": ["20 seconds"], "half_life": "1 second", "k": 3}
    both = apply(pa.concat_tables([rows, late]), query).select(["rank", "object", "total"])
    early = apply(rows, query).select(["rank", "object", "total"])
    assert both.slice(len(both) - len(early)).equals(early) and len(early) > 20


def test_the_remaining_part_is_within_one_float_of_the_nearest():
    rng = np.random.default_rng(2)
    ages = np.concatenate([[0, 1, 7, 6_999_999, 7_000_000, 7_000_001, 10**18], rng.integers(0, 10**9, 300)])
    with localcontext(prec=40):
        true = [float(Decimal(2) ** (-Decimal(int(age)) / 7_000_000)) for age in ages]
    left = left_after(ages, 7_000_000)
    assert (np.abs(left - true) <= 1e-15 * np.array(true)).all()
    assert left[0] == 1 and left[4] == 0.5 and left[6] == 0
    digits = [0.9999999009789792, 0.9999993068530596, 0.5000000495105154, 0.5, 0.4999999504894896]
    assert left[1:6].tolist() == digits, "on every machine"


@pytest.mark.parametrize("half_life", [1, 2**53 - 1, 2**53 + 1, 2**61])
def test_less_than_a_half_life_leaves_more_than_half_even_of_the_longest(half_life):
    """A part of it that rounds to the whole as a float."""
    ages = np.array([half_life, half_life - 1, 1, 0])
    with localcontext(prec=40):
        true = [float(Decimal(2) ** (-Decimal(int(age)) / half_life)) for age in ages]
    assert (np.abs(left_after(ages, half_life) - true) <= 1e-15).all()


def test_merged_shards_have_the_totals_of_both():
    one, two, all_ = (DecayedTotals((20,), 5, 3, 2, 0.0) for _ in range(3))
    times, objects = np.arange(12), np.arange(12) % 3
    for totals, some in ((one, times < 7), (two, times >= 7), (all_, times >= 0)):
        totals.answers(times[some], objects[some], moments=np.empty(0, np.int64))
    one.merge(two)
    none = np.empty(0, np.int64)
    mine, whole = (totals.answers(none, none, moments=np.array([15])) for totals in (one, all_))
    assert mine.objects.tolist() == whole.objects.tolist()
    assert np.allclose(mine.totals, whole.totals, rtol=1e-14)


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("amounts", [1, 2], "lacks the columns"),
        ("amounts", [0.0, 1.0], "entries that are in no pane"),
        ("amounts", [float("inf"), 1.0], "entries that are in no pane"),
        ("ends", [5, 11], "entries that are in no pane"),
        ("ends", [10, 5], "entries that are not in order"),
        ("objects", [1], "entries that are in no pane"),
    ],
)
def test_an_impossible_state_is_refused(column, values, message):
    state = {"ends": np.array([5, 10]), "objects": np.array([1, 1]), "amounts": np.array([0.5, 1.0])}
    DecayedTotals((20,), 5, 3, 2, 0.0).load_state(state)
    with pytest.raises(SnapshotError, match=message):
        DecayedTotals((20,), 5, 3, 2, 0.0).load_state(state | {column: np.array(values)})


@pytest.mark.parametrize(
    ("keys", "key", "message"),
    [
        ({"half_life": "0 seconds"}, "half_life", "must be longer than 0"),
        ({"half_life": "-1 hour"}, "half_life", "must be longer than 0"),
        ({"half_life": "soon"}, "half_life", "must be a duration such as"),
        ({"half_life": "10 rows"}, "half_life", "must be a length of time, and needs windows in time"),
        (
            {"windows": ["9 rows"], "every": "3 rows"},
            "half_life",
            "must be a length of time, and needs windows in time",
        ),
        ({"windows": ["today"]}, "half_life", "needs windows and `every` of fixed length"),
        ({"total": "distinct", "value": "group"}, "total", "counts values, which have no weight"),
        ({"share": 0.1}, "share", "needs totals without decay"),
        ({"part": "amount > 0.1"}, "part", "divides totals without decay"),
        ({"rest": True}, "rest", "needs totals without decay"),
        ({"against": "previous"}, "against", "subtracts totals without decay"),
        ({"emit": "state"}, "emit", "returns states of totals without decay"),
        ({"k": None}, "k", "is required without `share` or `at_least`"),
    ],
)
def test_keys_without_decay_are_refused(keys, key, message):
    with pytest.raises(ConfigError, match=f"{key}: {message}"):
        make_query(QUERY | {"windows": ["5 seconds"], "k": 3, "half_life": "1 second"} | keys)


def test_no_ranker_is_used():
    query = QUERY | {"windows": ["5 seconds"], "k": 3, "half_life": "1 second"}
    with pytest.raises(ConfigError, match="total-ranker"):
        apply(stream(np.random.default_rng(0), 9), query, {"total-ranker": "misra-gries"})


def test_the_state_does_not_depend_on_the_moments_answered_at_once():
    rng = np.random.default_rng(9)
    times, objects = np.sort(rng.integers(0, 200, 300)), rng.integers(0, 50, 300)
    moments = np.arange(4, 204, 4)
    states = []
    for at_once in (1, 2, 7, len(moments)):
        totals = DecayedTotals([8, 20], 4, 3, None, 0.0)
        for some in np.split(moments, range(at_once, len(moments), at_once)):
            rows = slice(*np.searchsorted(times, [int(some[0]) - 4, int(some[-1])]))
            totals.answers(times[rows], objects[rows], moments=some)
        states.append(totals.dump_state())
    for state in states[1:]:
        assert all(np.array_equal(state[name], column) for name, column in states[0].items())


def test_expired_entries_are_forgotten_at_each_answer():
    """Objects occur once: only those that the next answer needs are kept, and all of them."""
    totals, window, every = DecayedTotals([8, 20], 4, 3, None, 0.0), 20, 4
    for at in range(every, 400, every):
        times = np.arange(at - every, at)
        tops = totals.answers(times, times, moments=np.array([at]))
        assert np.diff(tops.offsets).tolist() == [min(at, 8), min(at, window)]
        assert len(totals) == min(at, window - every)
