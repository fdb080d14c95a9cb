"""`against` of heavy-hitters, compared with two windows added up and subtracted, on random streams."""

from collections import Counter, defaultdict
from datetime import datetime, timedelta
from fractions import Fraction
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest
from cut_run import cut_run
from in_process_shards import on_shards
from skyband import ConfigError
from skyband.engines import local
from skyband.queries import make_query
from skyband_totals.heavy_hitters import execution
from skyband_totals.heavy_hitters.movers import MoverRule, every_other, movers_of
from skyband_totals.top import Tops

EVERY = 5
BOUNDED = {"misra-gries": {"epsilon": 0.5}, "frequent-items-panes": {"epsilon": 0.4}}
BOUNDED["k-skb"] = {"epsilon": 0.5, "delta": 1e-5}
LIMITS = [{"k": 1}, {"k": 3}, {"k": 50}, {"at_least": 2}, {"k": 2, "at_least": 3}]
EPOCH = pa.scalar(0, pa.timestamp("us")).as_py()
QUERY = {"kind": "heavy-hitters", "time": "t", "object": "key", "every": f"{EVERY} seconds", "against": "previous"}


def stream(rng, size=None):
    """Rows with equal times, at moments and between them, with gaps, nulls and weights of 0."""
    size = int(rng.integers(0, 60)) if size is None else size
    seconds = np.sort(rng.integers(0, 60, size))
    seconds += 70 * (seconds > 20) + 13 * (seconds > 40)
    keys = [None if key > 7 else int(key) for key in rng.zipf(1.4, size)]
    columns = {"t": pa.array(seconds * 1_000_000, pa.timestamp("us")), "key": pa.array(keys, pa.int64())}
    return pa.table(columns | {"amount": rng.integers(0, 6, size) / 10, "group": rng.integers(0, 3, size)})


def far(now, before, rank_by):
    """The sort key of objects; the change of an object in only one window is infinite."""
    if rank_by == "difference":
        return abs(now - before)
    return Fraction(max(now, before), min(now, before)) if min(now, before) else float("inf")


def line(rank, key, now, before, unit, rank_by):
    """A row of an answer, with tenths as numbers."""
    ratio = now / before if before else None
    status = (
        "new" if not before else "gone" if not now else "same" if now == before else "up" if now > before else "down"
    )
    bound = ratio if rank_by == "ratio" else (now - before) / unit
    return rank, key, now / unit, before / unit, (now - before) / unit, ratio, bound, bound, status


def expected(rows, query, of_rows=False):
    """{(group, moment or number of rows, window): its rows}."""
    unit, by, k, least = 10 if "weight" in query else 1, "by" in query, query.get("k"), query.get("at_least", 0)
    rank_by, direction = query.get("rank_by", "difference"), query.get("direction", "both")
    groups, latest, answers = defaultdict(list), 0, {}
    for row in rows.to_pylist():
        if row["key"] is not None:
            group = groups[row["group"] if by else 0]
            latest = int((row["t"] - EPOCH).total_seconds())
            amount = round(row["amount"] * 10) if "weight" in query else 1
            group.append((len(group) if of_rows else latest, row["key"], amount))
    windows = [int(window.split()[0]) for window in query["windows"]]
    lag = None if query["against"] == "previous" else int(query["against"].split()[0])
    for group, entries in groups.items():
        last = len(entries) if of_rows else latest // EVERY * EVERY + EVERY
        for at in range(0, last + 1, EVERY):
            for window in windows:
                now, before = Counter(), Counter()
                for time, key, amount in entries:
                    now[key] += amount * (at - window <= time < at)
                    before[key] += amount * (-window <= time - at + (lag or window) < 0)
                keys = [key for key in now if max(now[key], before[key]) >= max(least * unit, 1)]
                keys = [key for key in keys if direction != "up" or now[key] > before[key]]
                keys = [key for key in keys if direction != "down" or now[key] < before[key]]
                keys.sort(key=lambda key: (-far(now[key], before[key], rank_by), -abs(now[key] - before[key]), key))
                if keys:
                    answers[group, at, window] = [
                        line(rank, key, now[key], before[key], unit, rank_by) for rank, key in enumerate(keys[:k], 1)
                    ]
    return answers


def answered(table, by, of_rows=False):
    answers = defaultdict(list)
    names = ("rank", "object", "total", "previous", "difference", "ratio", "low", "high", "status")
    for row in table.to_pylist():
        at = row["at"] if of_rows else int((row["at"] - EPOCH).total_seconds())
        place = row["group"] if by else 0, at, int(row["window"].split()[0])
        answers[place].append(tuple(row[name] for name in names))
    return dict(answers)


def random_query(rng, unit):
    query = QUERY | LIMITS[int(rng.integers(len(LIMITS)))]
    query |= {"rank_by": str(rng.choice(["difference", "ratio"])), "direction": str(rng.choice(["both", "up", "down"]))}
    query |= {"total": "sum", "weight": "amount", "unit": 0.1} if rng.integers(2) else {}
    windows = [(10,), (20, 5), (15, 25), (5, 10)][int(rng.integers(4))]
    return query | {"windows": [f"{window} {unit}" for window in windows], "every": f"{EVERY} {unit}"}


def follow(seed, any_lag=False):
    rng = np.random.default_rng([44, seed])
    query, rows = random_query(rng, "seconds"), stream(rng)
    if any_lag:
        longest = max(int(window.split()[0]) for window in query["windows"])
        query["against"] = f"{longest + EVERY * int(rng.integers(0, 12))} seconds"
    query |= {"by": ["group"]} if rng.integers(2) else {}
    wanted = expected(rows, query)
    assert answered(local.apply(rows, query), "by" in query) == wanted, (seed, query)
    assert answered(cut_run(rows, query, rng)[0], "by" in query) == wanted, (seed, query, "in batches")
    if "by" not in query:
        assert answered(on_shards(rows, make_query(query), 3, batches=2)[0], by=False) == wanted, (
            seed,
            query,
            "on shards",
        )
    return len(wanted)


def test_objects_rank_by_their_change():
    assert sum(follow(seed) for seed in range(24)) > 200


@pytest.mark.filterwarnings("ignore:all .* rows were left out")
def test_objects_rank_by_their_change_since_any_lag(monkeypatch):
    told = 0
    for seed in range(200, 224):
        monkeypatch.setattr(execution, "_MOST_IF_COSTLY", [0, 3, 8, 512][seed % 4])  # processors, and groups that grow
        told += follow(seed, any_lag=True)
    assert told > 300


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:all .* rows were left out")
def test_objects_rank_by_their_change_on_ten_thousand_streams():
    assert sum(follow(seed) for seed in range(100, 10_100)) > 80_000


def test_windows_in_rows():
    for seed in range(8):
        rng = np.random.default_rng(seed)
        query, rows = random_query(rng, "rows"), stream(rng, 60)
        query["by"] = ["group"]
        rows = rows.filter(rows["key"].is_valid())
        numbered = rows.set_column(0, "t", pa.array(np.arange(len(rows))))
        rows = rows.set_column(0, "t", pa.array(np.arange(len(rows)), pa.timestamp("us")))
        assert answered(local.apply(numbered, query), by=True, of_rows=True) == expected(rows, query, of_rows=True)


@pytest.mark.parametrize("rank_by", ["difference", "ratio"])
@pytest.mark.parametrize("name", BOUNDED)
def test_bounds_contain_the_change(name, rank_by):
    rng = np.random.default_rng(7)
    size = 8000 if name == "misra-gries" else 4000
    rows = stream(rng, size).set_column(1, "key", pa.array(rng.zipf(1.3, size) % 200))
    query = QUERY | {"windows": ["30 seconds"], "every": "10 seconds", "at_least": 20, "rank_by": rank_by}
    answers = local.apply(rows, query, {"total-ranker": {"name": name, **BOUNDED[name]}})
    keys, seconds = rows["key"].to_numpy(), rows["t"].cast(pa.int64()).to_numpy() // 1_000_000
    unsure = open_ = 0
    for row in answers.to_pylist():
        at = int((row["at"] - EPOCH).total_seconds())
        now = int(((keys == row["object"]) & (at - 30 <= seconds) & (seconds < at)).sum())
        before = int(((keys == row["object"]) & (at - 60 <= seconds) & (seconds < at - 30)).sum())
        true = now - before if rank_by == "difference" else now / before if before else float("inf")
        low, high = (float("inf") if row[side] is None else row[side] for side in ("low", "high"))
        assert low - 1e-9 * min(abs(low), 1e6) <= true <= high + 1e-9 * min(abs(high), 1e6), (name, row)
        unsure, open_ = unsure + (low < high), open_ + (row["high"] is None)
    assert unsure and (open_ > 0) == (rank_by == "ratio")


def of_pairs(answers, rule):
    return movers_of(every_other(answers, 0), every_other(answers, 1), rule, together=True)


@pytest.mark.parametrize("rank_by", ["difference", "ratio"])
def test_bounds_hold_for_all_possible_totals(rank_by):
    """Any totals between the bounds of one and of two windows are possible."""
    rng = np.random.default_rng(3)
    true, before = rng.integers(1, 9, 2000), rng.integers(0, 9, 2000)
    columns = []
    for totals in (true, true + before):
        off = rng.integers(0, 4, (2, 2000))
        low, high = np.maximum(totals - off[0], 0), totals + off[1]
        columns += [[rng.integers(low, high + 1) + 0.0, low + 0.0, high + 0.0]]
    offsets, objects = np.array([0, 2000, 4000]), np.arange(2000)
    grand = [np.full(2, 1e6)] * 3
    answers = Tops(offsets, np.tile(objects, 2), *map(np.concatenate, zip(*columns, strict=True)), *grand, np.zeros(2))
    tops = of_pairs(answers, MoverRule(rank_by, "both", None, 1, 1.0)).tops
    moved = (true - before)[tops.objects] + 0.0
    if rank_by == "ratio":
        some = before[tops.objects] > 0
        moved = np.where(some, true[tops.objects] / np.where(some, before[tops.objects], 1), np.inf)
    low, high = (np.where(np.isnan(side), np.inf, side) for side in (tops.low, tops.high))
    assert len(tops.objects) > 1900
    assert ((low <= moved) & (moved <= high)).all()


def test_calendar_windows_are_compared_with_the_day_and_the_month_before():
    """Days of 23 and 25 hours, months of 28 to 31 days: the window before ends where this one begins."""
    zone = ZoneInfo("Europe/Paris")
    begin = datetime(2026, 1, 1, tzinfo=zone)
    rng = np.random.default_rng(3)
    times = sorted(begin + timedelta(hours=int(hour)) for hour in rng.integers(0, 24 * 320, 400))
    keys = rng.integers(0, 3, 400).tolist()
    rows = pa.table({"t": pa.array(times, pa.timestamp("us", "UTC")), "key": keys})
    for unit in ("day", "month"):
        query = QUERY | {"windows": [f"1 {unit} in Europe/Paris"], "every": f"1 {unit} in Europe/Paris", "k": 9}
        answers = local.apply(rows, query).to_pylist()
        of = Counter((period(time.astimezone(zone), unit), key) for time, key in zip(times, keys, strict=True))
        for row in answers:
            last = period(row["at"].astimezone(zone) - timedelta(hours=12), unit)
            before = period(datetime(*last, tzinfo=zone) - timedelta(hours=12), unit)
            assert (row["total"], row["previous"]) == (of[last, row["object"]], of[before, row["object"]])
        assert sum(row["total"] for row in answers) == 400


def period(time, unit):
    return time.year, time.month, time.day if unit == "day" else 1


def test_the_name_of_an_object_is_known_when_it_is_gone():
    keys, seconds = ["ann", "bob", "ann", "cho"], [1, 2, 12, 21]
    rows = pa.table({"t": pa.array(seconds, pa.timestamp("s")), "key": keys, "page": [7, 8, 9, 6]})
    query = QUERY | {"windows": ["10 seconds"], "every": "10 seconds", "k": 5, "carry": ["page"]}
    answers = local.apply(rows, query).select(["object", "status", "page"]).to_pylist()
    told = [tuple(row.values()) for row in answers]
    assert {*told[:2]} == {("ann", "new", 7), ("bob", "new", 8)}
    assert told[2:4] == [("bob", "gone", 8), ("ann", "same", 9)]
    assert {*told[4:]} == {("ann", "gone", 9), ("cho", "new", 6)}


@pytest.mark.parametrize(
    ("keys", "key", "message"),
    [
        ({"share": 0.1}, "share", "is for one window, but `against` compares two: set at_least, k, or both"),
        ({"part": "amount > 0.1"}, "part", "ranks by a part of one total, but `against` by two totals"),
        ({"rest": True}, "rest", "is for one window, but `against` compares two: remove one of the two"),
        ({"emit": "state"}, "emit", "returns states instead of the answers"),
        ({"total": "distinct", "value": "group"}, "total", "counts a value in both windows only once"),
        ({"windows": ["today"]}, r"windows\[0\]", 'has no previous window of equal length: .* "1 day in UTC"'),
        ({"windows": [f"{2**61} microseconds"]}, r"windows\[0\]", "must be at most 1152921504606846976 microseconds"),
        (
            {"against": "next"},
            "against",
            'must be a duration .*: write "previous", or a length of time',
        ),
        ({"against": None, "rank_by": "ratio"}, "rank_by", 'needs `against`: add against = "previous"'),
        ({"against": None, "direction": "up"}, "direction", "needs `against`"),
        ({"carry": ["status"]}, "carry", "'status' is also the name of another column of the answers"),
    ],
)
def test_keys_that_cannot_be_compared_are_refused(keys, key, message):
    rows = stream(np.random.default_rng(0), 3).append_column("status", pa.array([1, 2, 3]))
    with pytest.raises(ConfigError, match=f"{key}: {message}"):
        local.LocalRun.start(QUERY | {"windows": ["5 seconds"], "k": 3} | keys, rows.schema)


@pytest.mark.parametrize("most", [6.0, 9.0])
@pytest.mark.parametrize("least", range(1, 10))
def test_an_object_that_may_reach_the_total_in_either_window_is_included(most, least):
    """By its upper bound, which exceeds its total if the ranker is not exact."""
    bounds = np.array([2.0, 3.0]), np.array([5.0, most])
    grands = [np.array([20.0, 30.0])] * 3
    tops = Tops(np.array([0, 1, 2]), np.array([7, 7]), np.array([3.0, 4.0]), *bounds, *grands, np.zeros(2))
    movers = of_pairs(tops, MoverRule("difference", "both", None, least, 1.0))
    assert movers.tops.objects.tolist() == ([7] if least <= max(5, most - 2) else [])
