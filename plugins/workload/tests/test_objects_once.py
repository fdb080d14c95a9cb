"""Workloads with each object once in an answer, by its best row in the window, against plain Python."""

from collections import defaultdict

import numpy as np
import pyarrow as pa
import pytest
import skyband
from families import events, family
from in_process_shards import on_shards, rows_of
from skyband import snapshot
from skyband.engines import local
from skyband.errors import ConfigError
from skyband.operator.bind_backends import bind

SECOND = 1_000_000
ASKED = [
    {"name": "quick", "window": "30 seconds", "slide": "10 seconds", "k": 2},
    {"name": "slow", "window": "2 minutes", "slide": "1 minute", "k": 9},
    {"name": "all", "window": "45 seconds", "slide": "15 seconds", "k": 1000},
]
WORKLOAD = {"object": "number", "queries": ASKED, "repeats": "best", "delay": "0 seconds"}


def reports(seed, count=700, objects=12):
    """Rows of a few objects, many with equal times and scores, each with a row number."""
    table = events(seed, count).sort_by("ts")
    numbers = np.random.default_rng(seed).integers(0, objects, count)
    return (
        table.drop_columns("number")
        .append_column("number", pa.array(numbers))
        .append_column("row", pa.array(np.arange(count)))
    )


def by_hand(table, by, order="largest"):
    """(group…, at, query) -> [(object, score)] for every moment up to the end of the last row's windows."""
    times = np.asarray(table["ts"].cast(pa.int64()))
    scores, objects = table["value"].to_pylist(), table["number"].to_pylist()
    groups = list(zip(*(table[name].to_pylist() for name in by), strict=True)) if by else [()] * len(table)
    sign, found = (1 if order == "smallest" else -1), {}
    for group in set(groups):
        mine = np.flatnonzero([one == group for one in groups])
        for query in ASKED:
            window, slide = (
                {"30": 30, "2": 120, "45": 45, "10": 10, "1": 60, "15": 15}[query[key].split()[0]] * SECOND
                for key in ("window", "slide")
            )
            for at in range(int(times[mine[0]]) // slide * slide + slide, int(times[mine[-1]]) + window + slide, slide):
                best = {}
                for row in mine[(times[mine] >= at - window) & (times[mine] < at)].tolist():
                    known = best.get(objects[row])
                    best[objects[row]] = scores[row] if known is None else sign * min(sign * known, sign * scores[row])
                if best:
                    ranked = sorted(best.items(), key=lambda entry: (sign * entry[1], entry[0]))[: query["k"]]
                    found[(*group, at, query["name"])] = ranked
    return found


def answers(result, by):
    at = np.asarray(result["at"].cast(pa.int64())).tolist()
    found = defaultdict(list)
    for moment, row in zip(at, result.to_pylist(), strict=True):
        found[(*(row[name] for name in by), moment, row["query"])].append((row["object"], row["score"]))
    return dict(found)


@pytest.mark.parametrize("order", ["largest", "smallest"])
@pytest.mark.parametrize("by", [[], ["place"]])
@pytest.mark.parametrize("seed", range(3))
def test_every_answer_has_the_best_row_of_each_object(seed, by, order):
    table = reports(seed)
    found = answers(local.apply(table, family("top-k-workload", by=by, order=order, **WORKLOAD)), by)
    expected = by_hand(table, by, order)
    last = {}
    for *group, at, name in found:
        last[(*group, name)] = max(at, last.get((*group, name), at))
    assert found == {key: best for key, best in expected.items() if key[-2] <= last[(*key[:-2], key[-1])]}
    assert len(found) > 70


@pytest.mark.parametrize("order", ["largest", "smallest"])
def test_carried_values_are_those_of_the_latest_best_row(order):
    table = reports(5)
    asked = family("top-k-workload", carry=["row", "place"], order=order, **{**WORKLOAD, "object": ["number", "side"]})
    times = np.asarray(table["ts"].cast(pa.int64()))
    rows = [row | {"time": time} for row, time in zip(table.to_pylist(), times.tolist(), strict=True)]
    windows = {"quick": 30, "slow": 120, "all": 45}
    result = local.apply(table, asked)
    for at, answer in zip(np.asarray(result["at"].cast(pa.int64())).tolist(), result.to_pylist(), strict=True):
        mine = [row for row in rows if (row["number"], row["side"]) == (answer["number"], answer["side"])]
        inside = [row for row in mine if at - windows[answer["query"]] * SECOND <= row["time"] < at]
        best = (min if order == "smallest" else max)(row["value"] for row in inside)
        latest = max(row["time"] for row in inside if row["value"] == best)
        alike = [row for row in inside if (row["value"], row["time"]) == (best, latest)]
        assert answer["score"] == best
        assert (answer["row"], answer["place"]) in {(row["row"], row["place"]) for row in alike}
    assert len(result) > 500


@pytest.mark.parametrize("keys", [{}, {"carry": ["row", "words"], "order": "smallest"}])
def test_answers_depend_neither_on_shards_nor_on_restarts_or_order(keys):
    table = reports(6)
    asked = family("top-k-workload", **{**WORKLOAD, "delay": "20 seconds", "object": "name", **keys})
    whole = rows_of(local.apply(table, asked))
    shuffled = table.take(pa.array(np.argsort(np.arange(700) + np.random.default_rng(6).uniform(0, 15, 700))))
    assert rows_of(local.apply(shuffled, asked)) == whole
    for shards in (2, 3):
        assert rows_of(on_shards(shuffled, asked, shards, 5)[0]) == whole


def test_windows_in_rows_rank_an_object_once():
    table = reports(7, 300)
    queries = [{"name": "a", "window": "40 rows", "slide": "15 rows", "k": 4}]
    result = local.apply(table, family("top-k-workload", **{**WORKLOAD, "queries": queries}))
    rows = table.take(pa.array(np.lexsort((table["value"], table["number"], table["ts"].cast(pa.int64()))))).to_pylist()
    found = answers(result, [])
    assert sorted(found) == [(at, "a") for at in range(15, 301, 15)]
    for (at, _), ranked in found.items():
        best = {}
        for row in rows[max(0, at - 40) : at]:
            best[row["number"]] = max(row["value"], best.get(row["number"], -1.0))
        assert ranked == sorted(best.items(), key=lambda entry: (-entry[1], entry[0]))[:4]


@pytest.mark.parametrize("order", ["rising", "falling", "random"])
def test_rows_that_wait_for_a_rare_answer_need_memory_for_objects_not_for_rows(order):
    ranker = skyband.create("workload-ranker", "paneband", queries=[(10**9, 10**9, 3)], repeats="best")
    rng, sizes = np.random.default_rng(1), []
    for first in range(0, 40_000, 1000):
        times = np.arange(first, first + 1000)
        scores = {"rising": times, "falling": -times, "random": rng.random(1000)}[order]
        ranker.update(times, times % 7, scores.astype(float))
        sizes.append(ranker.nbytes)
    assert max(sizes) <= 2 * 1000 * 32
    assert len(ranker) <= 7


def test_changed_queries_continue():
    table = reports(8).combine_chunks()
    asked, more = family("top-k-workload", **WORKLOAD), {**ASKED[0], "name": "more", "k": 7}
    changed = family("top-k-workload", **{**WORKLOAD, "queries": [*ASKED[1:], more]})
    run = local.LocalRun.start(asked, table.schema)
    run.push(table.slice(0, 350).to_batches()[0])
    later = local.LocalRun.start(changed, table.schema)
    later.operator.restore(run.operator.snapshot())
    later._latest = run._latest
    given = [later.push(table.slice(350).to_batches()[0]), later.finish()]
    found, whole = answers(pa.Table.from_batches(given), []), by_hand(table, [])
    old = {key: best for key, best in found.items() if key[-1] != "more"}
    assert old == {key: whole[key] for key in old}
    assert len(old) > 15 < len(found) - len(old)


@pytest.mark.parametrize("backend", ["mintopk", "mtoplist", "mtopband"])
def test_a_backend_without_repeats_is_refused_by_name(backend):
    said = (
        rf"^backends\.workload-ranker: {backend} has no parameter 'repeats', and the query's repeats = 'best' needs one"
    )
    with pytest.raises(ConfigError, match=said):
        bind(family("top-k-workload", **WORKLOAD), None, {"workload-ranker": backend})


def test_repeats_is_set_by_the_query_only():
    backends = {"workload-ranker": {"name": "paneband", "repeats": "best"}}
    with pytest.raises(
        ConfigError, match=r"^query\.repeats: must be set here, not for the backend: set it to 'best' here, and remove"
    ):
        bind(family("top-k-workload", **{**WORKLOAD, "repeats": "each"}), None, backends)
    with pytest.raises(ConfigError, match=r"repeats: must be one of each, best \(got 'once'\)"):
        family("top-k-workload", **{**WORKLOAD, "repeats": "once"})


def test_only_the_best_row_of_an_object_in_a_pane_is_kept():
    """Of equal ones the latest, however they arrived."""
    queries = [(8, 4, 9), (12, 6, 3)]
    for seed in range(5):
        random = np.random.default_rng(seed)
        times = np.sort(random.integers(0, 60, 300))
        objects, scores = random.integers(0, 6, 300), random.integers(0, 3, 300)
        ranker = skyband.create("workload-ranker", "paneband", queries=queries, repeats="best")
        for cut in np.split(np.arange(300), [20, 50, 170]):
            ranker.update(times=times[cut], objects=objects[cut], scores=scores[cut].astype(float))
        held = snapshot.decode(ranker.snapshot()).arrays
        pairs = list(zip(held["pane"].tolist(), held["object"].tolist(), strict=True))
        assert len(set(pairs)) == len(pairs) == len(ranker) >= 6
