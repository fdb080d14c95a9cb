"""top-k on the local engine, compared with ranking each window in plain Python."""

from collections import defaultdict
from contextlib import nullcontext

import numpy as np
import pyarrow as pa
import pytest
from skyband.columns.ids import to_ids
from skyband.columns.values_by_id import ValuesById
from skyband.engines import local
from skyband.errors import ConfigError, InputError
from skyband.groups.execution import execution_of
from skyband.queries import make_query

SECOND = 1_000_000
STREAMS = ["north", "south", "west"]


def stream(seed, rows=300, groups=2, text=True):
    """Objects that report each stream at most once, in random order, with a long silence in the middle."""
    rng = np.random.default_rng(seed)
    pairs = rng.permutation(len(STREAMS) * rows)[:rows]
    objects = pairs // len(STREAMS) % 90 + 90 * (pairs % groups)
    seconds = objects // 2 + rng.integers(0, 12, rows)
    seconds = np.where(seconds > 60, seconds + 500, seconds) - 20
    _, firsts = np.unique(np.stack([objects, pairs % len(STREAMS)]), axis=1, return_index=True)
    keep = np.isin(np.arange(rows), firsts)
    values = rng.random(rows) if text else rng.choice([0.0, 0.25, 0.5, 1.0], rows)
    table = pa.table(
        {
            "ts": pa.array(seconds * SECOND + rng.integers(0, 2, rows), pa.timestamp("us", "UTC")),
            "who": pa.array([f"object {i}" for i in objects.tolist()] if text else objects.astype(np.int32)),
            "from": pa.array([STREAMS[i] for i in (pairs % len(STREAMS)).tolist()]),
            "how_much": pa.array(values),
            "place": pa.array([f"group {g}" for g in (objects // 90).tolist()]),
        }
    )
    return table.filter(pa.array(keep))


def by_hand(table, by, window, every, k, weights=(1.0, 1.0, 1.0)):
    """(group…, at) -> [(object, score)], ranked, if [at − window, at) has a row."""
    rows = defaultdict(list)
    columns = [table[name].to_pylist() for name in (*by, "who", "from", "how_much")]
    for time, *rest in zip(np.asarray(table["ts"].cast(pa.int64())).tolist(), *columns, strict=True):
        rows[tuple(rest[: len(by)])].append((time, *rest[len(by) :]))
    last = max(time for group in rows.values() for time, *_ in group)
    expected = {}
    for group, seen in rows.items():
        first = min(time for time, *_ in seen)
        for at in range((first // every + 1) * every, (last // every + 1) * every + 1, every):
            values = defaultdict(lambda: [0.0, 0.0, 0.0])
            for time, who, origin, value in seen:
                if at - window <= time < at:
                    values[who][STREAMS.index(origin)] = value
            scores = {who: sum(w * v for w, v in zip(weights, found, strict=True)) for who, found in values.items()}
            if scores:
                expected[(*group, at)] = sorted(scores.items(), key=lambda entry: (-entry[1], entry[0]))[:k]
    return expected


def answers(result, by):
    found = defaultdict(list)
    at = np.asarray(result["at"].cast(pa.int64())).tolist()
    columns = [result[name].to_pylist() for name in (*by, "rank", "object", "score")]
    for moment, *rest in zip(at, *columns, strict=True):
        rank, who, score = rest[len(by) :]
        found[(*rest[: len(by)], moment)].append((who, score))
        assert rank == len(found[(*rest[: len(by)], moment)])
    return dict(found)


def query(**changes):
    keys = {"time": "ts", "object": "who", "stream": "from", "value": "how_much", "streams": STREAMS, "k": 4}
    return make_query({"kind": "top-k", **keys, "window": "10 seconds", "every": "5 seconds", **changes})


@pytest.mark.parametrize("by", [[], ["place"]])
@pytest.mark.parametrize("text", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_every_window_equals_ranking_it_by_hand(seed, text, by):
    table = stream(seed, text=text)
    result = local.apply(table, query(by=by))
    assert answers(result, by) == by_hand(table, by, 10 * SECOND, 5 * SECOND, 4)
    assert result.schema.field("object").type == table.schema.field("who").type


def test_weights_and_k_above_the_number_of_objects():
    table = stream(7)
    result = local.apply(table, query(aggregate=[2.0, 0.25, 0.5], k=1000))
    assert answers(result, []) == by_hand(table, [], 10 * SECOND, 5 * SECOND, 1000, (2.0, 0.25, 0.5))


@pytest.mark.parametrize("backend", ["sla", {"name": "approx", "chance": 1}])
def test_backends_agree(backend):
    table = stream(8)
    assert local.apply(table, query(), {"object-ranker": backend}).equals(local.apply(table, query()))


@pytest.mark.parametrize("text", [True, False])
def test_batches_and_snapshots_make_no_difference(text):
    table = stream(9, text=text).sort_by("ts").combine_chunks()
    whole = local.apply(table, query(by=["place"]))
    rng = np.random.default_rng(9)
    run = local.LocalRun.start(query(by=["place"], delay="20 seconds"), table.schema)
    order = np.argsort(np.asarray(table["ts"].cast(pa.int64())) + rng.integers(0, 20 * SECOND, len(table)))
    pieces = []
    for rows in np.array_split(order, 17):
        pieces.append(run.push(table.take(pa.array(rows)).combine_chunks().to_batches()[0]))
        restored = local.LocalRun.start(run.operator.query, table.schema)
        restored.operator.restore(run.operator.snapshot())
        restored._latest = run._latest
        assert restored.operator.snapshot() == run.operator.snapshot()
        run = restored
    pieces.append(run.finish())
    assert answers(pa.Table.from_batches(pieces), ["place"]) == answers(whole, ["place"])


@pytest.mark.parametrize("text", [True, False])
def test_shards_merge_to_one_answer(text):
    table = stream(10, text=text)
    shard = np.random.default_rng(1).integers(0, 3, 1000)
    ids, _ = to_ids(table["who"].combine_chunks())
    owner = shard[ids % 1000]
    for by in ([], ["place"]):
        runs = [local.LocalRun.start(query(by=by), table.schema) for _ in range(3)]
        for number, run in enumerate(runs):
            run.add(table.filter(pa.array(owner == number)).combine_chunks().to_batches()[0])
        latest = max(run._latest for run in runs)
        partial = pa.Table.from_batches([run.operator.finish(latest) for run in runs])
        assert answers(execution_of(query(by=by)).merge(partial), by) == answers(local.apply(table, query(by=by)), by)


def test_occurrences_in_a_window_are_summed_and_a_report_a_window_old_makes_room():
    table = pa.table({"ts": pa.array([0, 5, 10, 15], pa.timestamp("s")), "who": ["a"] * 4, "from": ["x"] * 4})
    table = table.append_column("how_much", pa.array([0.5, 0.25, 1.0, 0.125]))
    found = {}
    for repeats in ("never", "per-window", 2):
        broken = {"never": 2, "per-window": 2, 2: 0}[repeats]
        with pytest.warns(match=f"^{broken} rows break") if broken else nullcontext():
            result = local.apply(table, query(streams=["x"], repeats=repeats))
        found[repeats] = result["score"].to_pylist()
    assert found == {
        "never": [0.5, 0.5, 1.0, 1.0],
        "per-window": [0.5, 0.5, 1.0, 1.0],
        2: [0.5, 0.75, 1.25, 1.125],
    }


def again_and_again(seed, rows=400):
    """Seven objects that report two streams again and again, several times at one moment."""
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "ts": pa.array(rng.integers(0, 60, rows) * SECOND, pa.timestamp("us", "UTC")),
            "who": [f"object {i}" for i in rng.integers(0, 7, rows)],
            "from": [STREAMS[i] for i in rng.integers(0, 2, rows)],
            "how_much": rng.integers(0, 65, rows) / 64,
            "place": [f"group {i}" for i in rng.integers(0, 2, rows)],
        }
    )


@pytest.mark.parametrize("by", [[], ["place"]])
@pytest.mark.parametrize(
    ("repeats", "reduced"),
    [
        ("latest", lambda reports: max(reports)[1]),
        ("largest", lambda reports: max(value for _, value in reports)),
        ("smallest", lambda reports: min(value for _, value in reports)),
        ("mean", lambda reports: sum(value for _, value in reports) / len(reports)),
    ],
)
def test_which_of_many_reports_counts_equals_doing_it_by_hand(repeats, reduced, by):
    """Values are dyadic, so that sums do not depend on order. Of reports at one time the largest is the latest."""
    table, columns = again_and_again(3), ("who", "from", "how_much")
    cells = defaultdict(lambda: defaultdict(list))
    groups = table["place"].to_pylist() if by else [None] * len(table)
    times = np.asarray(table["ts"].cast(pa.int64())).tolist()
    rows = list(zip(times, *(table[name].to_pylist() for name in columns), strict=True))
    expected = {}
    for at in range(5 * SECOND, 61 * SECOND, 5 * SECOND):
        cells = defaultdict(lambda: defaultdict(list))
        for group, (time, who, origin, value) in zip(groups, rows, strict=True):
            if at - 10 * SECOND <= time < at:
                cells[group][who, origin].append((time, value))
        for group, reports in cells.items():
            scores = defaultdict(float)
            for who, origin in sorted(reports, key=lambda cell: STREAMS.index(cell[1])):
                scores[who] += reduced(reports[who, origin])
            best = sorted(scores.items(), key=lambda entry: -entry[1])[:4]
            expected[(*([group] if by else []), at)] = [score for _, score in best]
    asked = query(by=by, repeats=repeats)
    found = answers(local.apply(table, asked), by)
    assert {key: [score for _, score in entries] for key, entries in found.items()} == expected


@pytest.mark.parametrize("repeats", ["latest", "largest", "smallest", "mean"])
def test_batches_and_snapshots_cannot_be_seen_where_objects_report_again(repeats):
    table = again_and_again(4).sort_by("ts").combine_chunks()
    asked = query(by=["place"], repeats=repeats)
    whole = local.apply(table, asked)
    run, pieces = local.LocalRun.start(asked, table.schema), []
    for batch in table.to_batches(max_chunksize=37):
        pieces.append(run.push(batch))
        restored = local.LocalRun.start(asked, table.schema)
        restored.operator.restore(run.operator.snapshot())
        restored._latest = run._latest
        run = restored
    pieces.append(run.finish())
    late = run.operator.take_metrics().rows_late
    assert late == 0
    assert answers(pa.Table.from_batches(pieces), ["place"]) == answers(whole, ["place"])


def test_values_have_no_limit_unless_an_object_may_still_gain():
    table = pa.table({"ts": pa.array([1, 2], pa.timestamp("s")), "who": ["a", "b"], "from": ["north"] * 2})
    table = table.append_column("how_much", pa.array([41_000.0, 1e300]))
    assert local.apply(table, query())["score"].to_pylist() == [1e300, 41_000.0]
    for changes in ({"repeats": "never"}, {"aggregate": max}):
        with pytest.raises(InputError, match=r"from 0 to 1, query.upper \(got 41000.0\)"):
            local.apply(table, query(**changes))
    assert local.apply(table, query(repeats="never", upper=1e300))["score"].to_pylist() == [1e300, 41_000.0]


def test_the_default_drops_no_rows():
    table = again_and_again(5)
    run = local.LocalRun.start(query(), table.schema)
    run.push(table.combine_chunks().to_batches()[0])
    run.finish()
    assert not run.operator.take_metrics().dropped


@pytest.mark.parametrize("by", [[], ["place"]])
def test_repeated_reports_are_counted_once_whatever_the_batches_and_snapshots(by):
    table = stream(11).sort_by("ts")
    again = table.filter(pa.array(np.random.default_rng(2).random(len(table)) < 0.3))
    times = np.asarray(again["ts"].cast(pa.int64())) + SECOND
    again = again.set_column(0, table.field("ts"), pa.array(times, pa.int64()).cast(table.schema.field("ts").type))
    table = pa.concat_tables([table, again]).sort_by("ts").combine_chunks()
    for step in (len(table), 40):
        run, counted = local.LocalRun.start(query(by=by, repeats="never"), table.schema), 0
        for batch in table.to_batches(max_chunksize=step):
            run.push(batch)
            restored = local.LocalRun.start(run.operator.query, table.schema)
            restored.operator.restore(run.operator.snapshot())
            restored._latest = run._latest
            counted += run.operator.take_metrics().dropped.get("repeated report", 0)
            run = restored
        run.finish()
        metrics = run.operator.take_metrics()
        assert counted + metrics.dropped.get("repeated report", 0) == len(again)


def test_rows_without_information_are_counted():
    times = pa.array([0, 1, 2, 3], pa.timestamp("s"))
    table = pa.table({"ts": times, "who": ["a", None, "b", "c"], "from": ["north"] * 3 + ["nowhere"]})
    table = table.append_column("how_much", pa.array([0.5, 0.5, None, None]))
    run = local.LocalRun.start(query(), table.schema)
    run.push(table.combine_chunks().to_batches()[0])
    assert run.finish()["object"].to_pylist() == ["a"]
    assert run.operator.take_metrics().dropped == {"null object": 1, "null value": 2}


def test_windows_in_rows_answer_every_n_rows():
    table = pa.table({"seq": range(6), "who": [1, 2, 3, 1, 4, 5], "from": [0, 0, 0, 1, 0, 1]})
    table = table.append_column("how_much", pa.array([0.5, 0.25, 0.5, 0.5, 0.75, 0.0]))
    rows = query(time="seq", streams=[0, 1], window="4 rows", every="2 rows", k=2)
    result = local.apply(table, rows)
    assert result["at"].to_pylist() == [2, 2, 4, 4, 6, 6]
    assert result["object"].to_pylist() == [1, 2, 1, 3, 4, 1]
    assert result["score"].to_pylist() == [0.5, 0.25, 1.0, 0.5, 0.75, 0.5]


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("from", ["north", "nort"], "from, row 1: 'nort' is not in streams; did you mean 'north'"),
        (
            "how_much",
            [0.5, 1.5],
            r"how_much, row 1: must be at most 1, query.upper \(got 1.5\): set query.upper to",
        ),
        ("how_much", [0.5, float("nan")], r"how_much, row 1: must be a finite number \(got nan\): leave such rows out"),
    ],
)
def test_bad_rows_are_named(column, values, message):
    columns = {
        "ts": pa.array([1, 2], pa.timestamp("s")),
        "who": ["a", "b"],
        "from": ["north"] * 2,
        "how_much": [0.0, 1.0],
    }
    with pytest.raises(InputError, match=message):
        local.apply(pa.table({**columns, column: values}), query(upper=1))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"k": 0}, "k: must be at least 1"),
        ({"every": "10 rows"}, "every: must be in time"),
        ({"aggregate": "median"}, "aggregate: unknown 'median': only functions that never fall"),
        ({"aggregate": [1.0]}, "aggregate: must hold a weight for each of the 3 streams"),
        ({"streams": []}, "streams: must be a list of names"),
        ({"streams": ["a", "a"]}, "streams: lists a name twice"),
        ({"streams": ["a", 1]}, "streams: mixes text, numbers, true and false"),
        (
            {"repeats": 0},
            "repeats: must be one of latest, largest, smallest, mean, never, per-window, or the occurrences",
        ),
        ({"repeats": "lastest"}, "repeats: unknown 'lastest': did you mean 'latest'"),
        ({"upper": 0}, "upper: must be above 0"),
    ],
)
def test_a_wrong_key_is_named_with_the_remedy(changes, message):
    with pytest.raises(ConfigError, match=message):
        query(**changes)


def test_streams_of_another_type_than_the_column_are_named():
    table = pa.table({"ts": pa.array([1], pa.timestamp("s")), "who": ["a"], "from": [1], "how_much": [0.5]})
    with pytest.raises(ConfigError, match=r"query.streams: must be values of the column 'from', which is int64"):
        local.apply(table, query())


@pytest.mark.parametrize(
    "values",
    [
        pa.array([3, -5, 2**63 - 1]),
        pa.array([1, 2**64 - 1, 7], pa.uint64()),
        pa.array(["x", "", "y"]),
        pa.array(["x", "", "y"]).dictionary_encode(),
        pa.array([0.5, -1.0, 2.0]),
        pa.array([1, 2, 3], pa.date32()),
    ],
)
def test_objects_of_any_type_come_back(values):
    table = pa.table({"ts": pa.array([1, 2, 3], pa.timestamp("s")), "from": ["north"] * 3, "how_much": [0.9, 0.8, 0.7]})
    result = local.apply(table.append_column("who", values), query())
    assert result["object"].to_pylist()[:3] == values.to_pylist()


def test_names_expire_with_the_window():
    names = ValuesById(pa.string())

    class Batch(dict):
        pass

    for start in range(0, 50_000, 100):
        column = pa.array([f"name {i}" for i in range(start, start + 100)])
        ids, spelled = to_ids(column)
        names.update(np.arange(start, start + 100), Batch(object=ids, name=spelled))
        assert names.lookup(ids[-3:]).to_pylist() == column[-3:].to_pylist()
        names.forget(start)
    assert len(names.frame()) == 100
