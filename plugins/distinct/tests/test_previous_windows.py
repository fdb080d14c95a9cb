"""`against` of distinct-count, compared with counting the items of each window and of the one before."""

from calendar import monthrange
from collections import defaultdict
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest
from cut_run import cut_run
from in_process_shards import on_shards
from skyband import ConfigError, SnapshotError
from skyband.engines.local import LocalRun, apply
from skyband.groups import state_arrays
from skyband.queries import make_query
from skyband_distinct.distinct_count import execution
from skyband_distinct.distinct_count.previous_counts import PreviousProcessor, earlier_counts
from skyband_distinct.distinct_count.small_groups_previous import SmallPreviousCounts

EVERY = 5
EPOCH = datetime(1970, 1, 1)
QUERY = {"kind": "distinct-count", "time": "t", "item": "item", "every": "5 seconds", "against": "previous"}
NAMES = ("count", "previous", "difference", "ratio")


def stream(rng, size):
    """Rows with equal times, at moments and between them, null items, and gaps of several windows."""
    seconds = np.sort(rng.integers(0, 50, size))
    seconds += 100 * (seconds > 15) + 33 * (seconds > 30)
    items = [None if item > 9 else int(item) for item in rng.zipf(1.5, size)]
    columns = {"t": pa.array(seconds * 1_000_000, pa.timestamp("us")), "item": pa.array(items, pa.int64())}
    return pa.table(columns | {"group": rng.integers(0, 3, size), "value": rng.integers(0, 10, size)})


def expected(rows, query, of_rows=False):
    """{(group, moment or number of rows, window): (count, previous, difference, ratio)}."""
    groups, latest, answers = defaultdict(list), 0, {}
    for row in rows.to_pylist():
        if row["item"] is not None:
            group = groups[row["group"] if "by" in query else 0]
            latest = int((row["t"] - EPOCH).total_seconds())
            group.append((len(group) if of_rows else latest, row["item"]))
    windows = [int(window.split()[0]) for window in query["windows"]]
    lags = {
        window: window if query["against"] == "previous" else int(query["against"].split()[0]) for window in windows
    }
    for group, entries in groups.items():
        last = len(entries) if of_rows else latest // EVERY * EVERY + EVERY
        for at in range(0, last + 1, EVERY):
            if not any(at - max(lags.values()) - max(windows) <= time < at for time, _ in entries):
                continue
            for window in windows:
                now = len({item for time, item in entries if at - window <= time < at})
                end = at - lags[window]
                before = len({item for time, item in entries if end - window <= time < end})
                answers[group, at, window] = now, before, now - before, now / before if before else None
    return answers


def answered(table, query, of_rows=False):
    answers = {}
    for row in table.to_pylist():
        at = row["at"] if of_rows else int((row["at"] - EPOCH).total_seconds())
        assert row["difference_low"] == row["difference_high"] == row["difference"]
        answers[row.get("group", 0), at, int(row["window"].split()[0])] = tuple(row[name] for name in NAMES)
    return answers


def follow(seed, monkeypatch, any_lag=False):
    rng = np.random.default_rng([45, seed])
    monkeypatch.setattr(execution, "_FEWEST_KEYS", 1)
    monkeypatch.setattr(execution, "_MOST_KEYS", int(rng.choice([0, 2, 5, 512])))  # processors, and groups that grow
    windows, rows = [(10,), (20, 5), (5, 25, 15)][seed % 3], stream(rng, int(rng.integers(0, 60)))
    query = QUERY | {"windows": [f"{window} seconds" for window in windows]}
    query |= {"by": ["group"]} if rng.integers(2) else {}
    query |= {"against": f"{max(windows) + EVERY * int(rng.integers(0, 12))} seconds"} if any_lag else {}
    wanted, sketch = expected(rows, query), [None, {"sketch": "exact"}, {"sketch": "k-skb"}][int(rng.integers(3))]
    assert answered(apply(rows, query, sketch), query) == wanted, (seed, query)
    assert answered(cut_run(rows, query, rng, sketch)[0], query) == wanted, (seed, query, "in batches")
    if "by" not in query:
        together = on_shards(rows, make_query(query), 3, batches=2, backends=sketch)[0]
        assert answered(together, query) == wanted, (seed, query, "on shards")
    return len(wanted)


def test_counts_are_compared_with_the_window_before(monkeypatch):
    assert sum(follow(seed, monkeypatch) for seed in range(18)) > 300


@pytest.mark.filterwarnings("ignore:all .* rows were left out")
def test_counts_are_compared_with_the_window_of_any_lag(monkeypatch):
    assert sum(follow(seed, monkeypatch, any_lag=True) for seed in range(200, 218)) > 400


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:all .* rows were left out")
def test_counts_are_compared_with_the_window_before_on_ten_thousand_streams(monkeypatch):
    assert sum(follow(seed, monkeypatch) for seed in range(100, 10_100)) > 150_000


def test_windows_in_rows():
    for seed in range(4):
        rng = np.random.default_rng(seed)
        rows = stream(rng, 60)
        rows = rows.filter(rows["item"].is_valid())
        query = QUERY | {"windows": ["15 rows", "5 rows"], "every": "5 rows", "by": ["group"]}
        numbered = rows.set_column(0, "t", pa.array(np.arange(len(rows))))
        assert answered(apply(numbered, query), query, of_rows=True) == expected(rows, query, of_rows=True)


@pytest.mark.parametrize("most", [2, 5, 512])
def test_small_groups_answer_as_processors_do_however_the_input_was_cut(most, monkeypatch):
    monkeypatch.setattr(execution, "_FEWEST_KEYS", 1)
    rng = np.random.default_rng([46, most])
    rows = stream(rng, 4000).set_column(2, "group", pa.array(rng.integers(0, 150, 4000)))
    query = QUERY | {"windows": ["20 seconds", "5 seconds"], "by": ["group"]}
    query |= {"answers": "changes"} if most == 5 else {"empty": "zero"} if most == 2 else {}
    tables = []
    for size in (0, most):
        monkeypatch.setattr(execution, "_MOST_KEYS", size)
        run = LocalRun.start(query, rows.schema)
        table = getattr(run.operator._groups._small_groups, "_table", None)
        assert isinstance(table, SmallPreviousCounts) == (size > 0)
        tables += [apply(rows, query), cut_run(rows, query, rng)[0]]
    order = [(name, "ascending") for name in ("at", "group", "window")]
    first, *others = (table.sort_by(order) for table in tables)
    assert len(first) > 1500 and all(first.equals(other) for other in others)


def test_earlier_counts_of_a_growing_group_follow_from_its_keys(monkeypatch):
    """At every moment of the current window, compared with counting again."""
    query = make_query(QUERY | {"windows": ["20 seconds", "10 seconds"]})
    for seed in range(20):
        rng = np.random.default_rng([48, seed])
        times, keys = np.sort(rng.integers(0, 60, 40)), rng.integers(0, 6, 40).astype(np.uint64)
        last, following = int(times[-1]), int(times[-1]) // 5 * 5 + 5
        earlier = earlier_counts(query.schedule, last * 1_000_000, times * 1_000_000, keys)
        for window, (at, counts) in zip((20, 10), earlier, strict=True):
            wanted = {
                moment: len(set(keys[(moment - window <= times) & (times < moment)].tolist()))
                for moment in range(following - window, last + 1, 5)
            }
            assert dict(zip((at // 1_000_000).tolist(), counts.tolist(), strict=True)) == {
                moment: count for moment, count in wanted.items() if count
            }


def test_days_of_a_zone_are_compared_in_small_groups(monkeypatch):
    """Including days of 23 and 25 hours; months do not join to windows of two months, and so have processors."""
    zone, rng = ZoneInfo("Europe/Paris"), np.random.default_rng(5)
    hours = np.sort(rng.integers(0, 24 * 70, 300))
    days = [datetime(2026, 3, 20, tzinfo=zone) + timedelta(hours=int(hour)) for hour in hours]
    columns = {"t": pa.array(days, pa.timestamp("us", "UTC")), "item": rng.integers(0, 9, 300)}
    rows = pa.table(columns | {"group": rng.integers(0, 4, 300)})
    monkeypatch.setattr(execution, "_FEWEST_KEYS", 1)
    for window, kind in (("1 day", SmallPreviousCounts), ("2 weeks", SmallPreviousCounts), ("1 month", type(None))):
        query = QUERY | {"windows": [f"{window} in Europe/Paris"], "every": "1 day in Europe/Paris", "by": ["group"]}
        answers = []
        for most in (0, 4, 512):
            monkeypatch.setattr(execution, "_MOST_KEYS", most)
            small = LocalRun.start(query, rows.schema).operator._groups._small_groups
            assert isinstance(getattr(small, "_table", None), kind if most else type(None))
            answers.append(apply(rows, query).sort_by([("at", "ascending"), ("group", "ascending")]))
        assert answers[0].equals(answers[1]) and answers[0].equals(answers[2]) and len(answers[0]) > 100


def test_a_range_of_a_value_is_compared_with_itself():
    rows = pa.table({"t": pa.array([1, 2, 7, 8], pa.timestamp("s")), "item": [1, 2, 1, 3], "value": [1, 7, 8, 9]})
    query = QUERY | {"windows": ["5 seconds"], "value": "value", "ranges": [[0, 5], [5, 10]]}
    answers = apply(rows, query, {"sketch": "exact"})
    assert [(row["range"], row["count"], row["previous"]) for row in answers.to_pylist()] == [
        ("[0, 5)", 1, 0),
        ("[5, 10)", 1, 0),
        ("[0, 5)", 0, 1),
        ("[5, 10)", 2, 1),
    ]


@pytest.mark.parametrize("sketch", [{"name": "k-skb", "epsilon": 0.2, "delta": 0.001}, {"name": "pcsa-ml"}])
def test_bounds_subtract(sketch):
    rng = np.random.default_rng(1)
    rows = pa.table({"t": pa.array(np.arange(8000) // 100, pa.timestamp("s")), "item": rng.integers(0, 5000, 8000)})
    query = QUERY | {"windows": ["20 seconds"]}
    answers = apply(rows, query, {"sketch": sketch}).to_pylist()
    by_moment = {row["at"]: row for row in answers}
    for row in answers:
        before = by_moment.get(row["at"] - timedelta(seconds=20), dict.fromkeys(("count", "low", "high"), 0))
        assert row["previous"] == before["count"] and row["difference"] == row["count"] - before["count"]
        assert row["difference_low"] == row["low"] - before["high"]
        assert row["difference_high"] == row["high"] - before["low"]
    assert answers[-1]["difference_low"] < answers[-1]["difference"] < answers[-1]["difference_high"]


def test_months_are_compared_with_the_month_before():
    """A month that ends on the 31st begins on the last day of a shorter month, as does one that ends on the 30th."""
    zone = ZoneInfo("Europe/Paris")
    days = [datetime(2026, 1, 20, 12, tzinfo=zone) + timedelta(days=day) for day in range(200)]
    rows = pa.table({"t": pa.array(days, pa.timestamp("us", "UTC")), "item": range(200)})
    query = QUERY | {"windows": ["1 month in Europe/Paris"], "every": "1 day in Europe/Paris"}
    counts, compared = {}, 0
    for row in apply(rows, query).to_pylist():
        at = row["at"].astimezone(zone).date()
        counts[at] = row["count"]
        year, month = (at.year, at.month - 1) if at.month > 1 else (at.year - 1, 12)
        begin = date(year, month, min(at.day, monthrange(year, month)[1]))
        assert row["previous"] == counts.get(begin, 0), at
        compared += row["previous"] > 0
    assert compared > 150


def test_impossible_earlier_answers_in_a_state_are_refused():
    query = make_query(QUERY | {"windows": ["10 seconds"]})
    rows = stream(np.random.default_rng(3), 40)
    run = LocalRun.start(query, rows.schema)
    run.push(rows.combine_chunks().to_batches()[0])
    bindings, schema = run.operator.bindings, pa.schema(query.answer_fields(rows.schema))
    processor = PreviousProcessor(query, bindings, schema)
    header, arrays = processor.dump_state()
    past = {"of": np.array([0]), "at": np.array([5_000_000]), **dict.fromkeys(("count", "low", "high"), np.ones(1))}
    for name, wrong in (("of", np.array([1])), ("count", -np.ones(1)), ("low", np.full(1, np.nan)), ("at", np.ones(1))):
        bad = arrays | state_arrays.with_prefix("previous", past | {name: wrong})
        with pytest.raises(SnapshotError, match="earlier answers that are impossible"):
            PreviousProcessor(query, bindings, schema).load_state(header, bad)


@pytest.mark.parametrize(
    ("keys", "key", "message"),
    [
        ({"windows": ["12 seconds"]}, r"windows\[0\]", r"must be a multiple of `every` \(5 seconds\) with"),
        ({"windows": ["today"]}, r"windows\[0\]", 'has no previous window of equal length: .* "1 day in UTC"'),
        ({"windows": ["2 days in UTC"], "every": "1 week in UTC"}, r"windows\[0\]", "must be a multiple of `every`"),
        ({"windows": ["1 day in UTC"], "every": "1 day in UTC", "offset": "1 hour"}, "offset", "must be 0 with"),
        ({"against": "12 seconds"}, "against", r"must be a multiple of `every` \(5 seconds\)"),
        ({"against": "5 seconds", "windows": ["10 seconds"]}, "against", "must be at least as long as each window"),
        ({"against": "next"}, "against", 'must be a duration .*: write "previous", or a length of time'),
        ({"distance": ["ks"]}, "distance", "counts have a difference, by `against`: use heavy-hitters"),
        (
            {"against": "1 week", "windows": ["9 rows"], "every": "9 rows"},
            "against",
            'compares windows .* write "previous"',
        ),
        ({"emit": "state"}, "emit", "returns states instead of the answers that `against` compares"),
    ],
)
def test_windows_that_cannot_be_compared_are_refused(keys, key, message):
    with pytest.raises(ConfigError, match=f"{key}: {message}"):
        make_query(QUERY | {"windows": ["5 seconds"]} | keys)
