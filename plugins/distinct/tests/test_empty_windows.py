"""`empty = "zero"` of distinct-count, compared with the definition: groups answer at every moment after a first row."""

import numpy as np
import pyarrow as pa
import pytest
from cut_run import cut_run
from skyband import ConfigError
from skyband.engines import local
from skyband.engines.local import LocalRun

EVERY = 5
WINDOWS = [(10,), (20, 5), (5, 25, 15)]
SKETCHES = ["pcsa-ml", "k-skb", "se-fm", "se-pcsa", "exact"]


def stream(rng, size):
    """Rows with equal times, at moments and between them, null items, and gaps of several windows."""
    seconds = np.sort(rng.integers(0, 40, size))
    seconds += 200 * (seconds > 15) + 63 * (seconds > 30)
    items = [None if item > 9 else int(item) for item in rng.zipf(1.5, size)]
    return pa.table(
        {
            "t": pa.array(seconds * 1_000_000, pa.timestamp("us")),
            "item": pa.array(items, pa.int64()),
            "group": rng.integers(0, 4, size),
        }
    )


def expected(rows, windows, by):
    """[(group, moment, window, count)], sorted."""
    seconds = rows["t"].cast(pa.int64()).to_numpy() // 1_000_000
    entries = zip(rows["group"].to_pylist(), seconds.tolist(), rows["item"].to_pylist(), strict=True)
    entries = [(group if by else 0, second, item) for group, second, item in entries if item is not None]
    if not entries:
        return []
    last = max(second for _, second, _ in entries) // EVERY * EVERY + EVERY
    answers = []
    for group in {group for group, _, _ in entries}:
        own = [(second, item) for of, second, item in entries if of == group]
        for at in range(min(own)[0] // EVERY * EVERY + EVERY, last + 1, EVERY):
            counts = {window: len({item for t, item in own if at - window <= t < at}) for window in windows}
            answers += [(group, at, window, float(count)) for window, count in counts.items()]
    return sorted(answers)


def lines(table, by):
    answers = []
    for row in table.to_pylist():
        at, window = row["at"].minute * 60 + row["at"].second, int(row["window"].split()[0])
        answers.append((row["group"] if by else 0, at, window, row["count"], row["low"], row["high"]))
    return sorted(answers)


def follow(seed):
    rng = np.random.default_rng([42, seed])
    windows, by = WINDOWS[seed % 3], bool(rng.integers(2))
    rows = stream(rng, int(rng.integers(0, 50)))
    query = {"kind": "distinct-count", "time": "t", "item": "item", "every": f"{EVERY} seconds", "empty": "zero"}
    query |= {"windows": [f"{window} seconds" for window in windows], "by": ["group"] if by else []}
    wanted = [(*place, count, count, count) for *place, count in expected(rows, windows, by)]
    sketch = {"sketch": [None, "exact", "k-skb"][int(rng.integers(3))]}
    found = lines(cut_run(rows, query, rng, sketch if sketch["sketch"] else None)[0], by)
    assert found == wanted, (seed, query)
    return sum(line[3] == 0 for line in found)


def test_a_group_answers_at_every_moment_after_its_first_row():
    assert sum(follow(seed) for seed in range(24)) > 1000


@pytest.mark.slow
def test_a_group_answers_at_every_moment_on_ten_thousand_streams():
    assert sum(follow(seed) for seed in range(100, 10_100)) > 100_000


VALUES = {"items": {}, "their sum": {"value": "item"}, "by ranges": {"value": "item", "ranges": [[0, 3], [3, 100]]}}


@pytest.mark.parametrize("by", [[], ["group"]])
@pytest.mark.parametrize("what", VALUES)
def test_groups_continue_to_answer_when_none_of_them_gets_a_row(what, by):
    """Several turns in which no window has a key give the same answers as one turn that includes the last keys."""
    rows = stream(np.random.default_rng(5), 40)
    query = {"kind": "distinct-count", "time": "t", "item": "item", "windows": ["10 seconds"], "every": "5 seconds"}
    query |= {"empty": "zero", "by": by, **VALUES[what]}
    moments = [[500], range(300, 501, 5)]
    logs = []
    for ends in moments:
        run = LocalRun.start(query, rows.schema, {"sketch": "exact"})
        answers = [run.push(batch) for batch in rows.to_batches()]
        answers += [run.operator.advance(end * 1_000_000) for end in ends]
        logs.append(sorted(map(str, pa.Table.from_batches(answers).to_pylist())))
    assert logs[0] == logs[1]
    assert sum("'count': 0.0" in line for line in logs[0]) > 40


@pytest.mark.parametrize("name", SKETCHES)
def test_a_sketch_counts_0_in_an_empty_window(name):
    """With more items than it counts exactly, so that the group has its own sketch."""
    rng = np.random.default_rng(3)
    seconds = np.sort(rng.integers(0, 20, 3000))
    rows = pa.table(
        {
            "t": pa.array(np.append(seconds, 100) * 1_000_000, pa.timestamp("us")),
            "item": rng.integers(0, 2000, 3001),
            "group": np.zeros(3001, np.int64),
        }
    )
    query = {"kind": "distinct-count", "time": "t", "item": "item", "windows": ["10 seconds"], "every": "5 seconds"}
    found = lines(cut_run(rows, {**query, "empty": "zero"}, rng, {"sketch": name})[0], by=False)
    quiet = [line for line in found if 30 <= line[1] <= 100]
    assert [line[1] for line in found] == list(range(5, 106, 5))
    assert [line[3:] for line in quiet] == [(0.0, 0.0, 0.0)] * 15
    assert found[-1][3:] == (1.0, 1.0, 1.0)


def test_empty_calendar_days():
    days = pa.array(["2026-03-27 12:00", "2026-03-31 01:00"]).cast(pa.timestamp("us"))
    rows = pa.table({"t": days.cast(pa.timestamp("us", "UTC")), "item": ["a", "b"]})
    query = {"kind": "distinct-count", "time": "t", "item": "item", "windows": ["1 day in Europe/Paris"]}
    query |= {"every": "1 day in Europe/Paris", "empty": "zero"}
    found = local.apply(rows, query).to_pylist()
    assert [(row["at"].day, row["at"].hour, row["count"]) for row in found] == [
        (27, 23, 1.0),
        (28, 23, 0.0),
        (29, 22, 0.0),
        (30, 22, 0.0),
        (31, 22, 1.0),
    ]


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"windows": ["5 rows"], "every": "5 rows"}, "needs windows in time: a window in rows is never empty"),
        ({"emit": "state"}, "cannot be combined with `emit`: remove one of the two"),
        ({"empty": "null"}, "must be one of zero"),
    ],
)
def test_queries_without_empty_windows_are_refused(keys, said):
    query = {"kind": "distinct-count", "time": "t", "item": "item", "windows": ["5 seconds"], "every": "5 seconds"}
    with pytest.raises(ConfigError, match=f"empty: {said}"):
        LocalRun.start({**query, "empty": "zero", **keys}, stream(np.random.default_rng(0), 1).schema)
