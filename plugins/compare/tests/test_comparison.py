"""The parts of a comparison: steps, watched backends, parsed names, and figures and positions on a page."""

import gc
import inspect
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
import skyband
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from skyband.engines import local
from skyband.errors import ConfigError
from skyband.queries import make_query
from skyband.registry import installed, interface_of
from skyband.roles.sketch import Sketch
from skyband_compare.comparison import candidates, moment_bins, number_format
from skyband_compare.comparison.instrumentation import Watch, Watched, _public, watched
from skyband_compare.comparison.measurement import measure
from skyband_compare.comparison.page import charts
from skyband_compare.comparison.replay_steps import MOST, steps_of
from skyband_compare.comparison.results import run_case
from skyband_compare.comparison.scenarios import scenario

NAMED_IN_KEYS = "row-aggregate"
"""A role of which a query names backends in its keys: they answer different questions."""
COMPARED = [role for role in installed().roles if role != NAMED_IN_KEYS]
EVERY_MINUTE = {"kind": "distinct-count", "time": "t", "item": "k", "windows": ["3 minutes"], "every": "1 minute"}


def silent(choice, share):
    assert 0 < share <= 1


def scene(role, rows=600, window=50):
    keys, table = scenario(role).make(rows, window)
    return make_query(keys), table


@pytest.mark.parametrize("role", COMPARED)
def test_steps_give_the_answers_of_the_local_engine_and_all_is_measured(role):
    query, table = scene(role)
    steps = steps_of(query, table.to_batches(max_chunksize=170), table.schema)
    default = candidates.every(role)[0]
    found = measure(default, role, steps, {}, 60.0, silent)
    assert found.failed is None
    expected = local.apply(table, query, {role: default.name})
    order = [(name, "ascending") for name in expected.column_names]
    assert found.answers.sort_by(order).equals(expected.sort_by(order))
    assert found.rows == len(table) == steps.cuts[-1]
    assert 0 < found.own_seconds < found.seconds
    assert 0 < len(found.latencies) <= len(steps)
    assert found.retained.max() > 0 and found.nbytes.max() > 0 and found.snapshot_bytes > 0
    assert not found.stopped


@pytest.mark.parametrize(
    "info", [info for info in skyband.backends() if info.role in COMPARED], ids=lambda info: info.key
)
def test_small_groups_do_not_replace_compared_backends(info):
    """A small group gets the answers that the backend gives without groups."""
    query, table = scene(info.role, rows=240)
    table = table.append_column("of", pa.array(np.arange(len(table)) % 3))
    choice = candidates.Choice(info.name, info.name)
    steps = steps_of(evolve(query, by="of"), table.to_batches(), table.schema)
    found = measure(choice, info.role, steps, {}, 60.0, silent)
    assert found.failed is None
    assert found.retained.max() > 0, "the backend itself was called"
    assert len(found.answers) > 0
    for group in range(3):
        own = table.filter(pc.equal(table["of"], group))
        alone = local.apply(own, query, {info.role: info.name}).to_pylist()
        together = found.answers.filter(pc.equal(found.answers["of"], group)).drop_columns("of").to_pylist()
        assert {*map(str, alone)} <= {*map(str, together)}


IN_TIME = {"time": "ts", "by": "of", "every": "1 minute"}
TOGETHER = {
    "sketch": IN_TIME | {"kind": "distinct-count", "item": "item", "windows": ["1 hour"]},
    "total-ranker": IN_TIME | {"kind": "heavy-hitters", "object": "item", "windows": ["1 hour"], "k": 3},
    "quantile-sketch": IN_TIME | {"kind": "quantiles", "value": "value", "windows": ["1 hour"], "at": [0.5]},
    "object-ranker": IN_TIME
    | {"kind": "top-k", "object": "item", "stream": "stream", "value": "value", "streams": ["a"], "k": 3}
    | {"window": "1 hour", "repeats": "latest"},
    "workload-ranker": {"kind": "top-k-workload", "time": "ts", "by": "of", "object": "item", "score": "value"}
    | {"queries": [{"name": "q", "window": "1 hour", "slide": "1 minute", "k": 3}]},
    "set-matcher": {"kind": "near-duplicates", "time": "ts", "by": "of", "id": "item", "tokens": "words"}
    | {"window": "1 hour", "threshold": 0.8},
    "vector-matcher": {"kind": "near-vectors", "time": "ts", "by": "of", "id": "item", "vector": "words"}
    | {"dimensions": 2, "window": "1 hour", "threshold": 0.8},
}


def test_all_calls_of_several_backends_are_watched():
    assert {role for role in installed().roles if _public(interface_of(role), inspect.ismethod)} == TOGETHER.keys()


@pytest.mark.parametrize("role", TOGETHER)
def test_backends_of_many_groups_that_have_their_turns_by_one_call_are_timed(role, monkeypatch):
    place = np.arange(900)
    columns = {"of": place % 30, "item": place * 7 % 11, "value": place % 5 / 4, "stream": np.full(900, "a")}
    columns |= {"ts": pa.array(place * 1_000_000, pa.timestamp("us", "UTC")), "words": [[n % 7, 8] for n in place]}
    table = pa.table(columns)
    steps = steps_of(make_query(TOGETHER[role]), table.to_batches(), table.schema)
    calls, timed = list[str](), Watch.timed

    def noted(watch, call):
        calls.append(call.__qualname__)
        return timed(watch, call)

    monkeypatch.setattr(Watch, "timed", noted)
    found = measure(candidates.every(role)[0], role, steps, {}, 60.0, silent)
    assert found.failed is None
    assert any("together" in call for call in calls), "a call for several backends"


def test_every_role_has_streams_to_bench():
    assert all(scenario(role).windows for role in COMPARED)
    with pytest.raises(ConfigError, match="row-aggregate has no streams to bench"):
        scenario(NAMED_IN_KEYS)


def test_rows_out_of_order_and_of_one_time_are_cut_where_no_order_can_change():
    rng = np.random.default_rng(0)
    times = rng.integers(0, 30, 500)
    table = pa.table({"t": times, "k": rng.integers(0, 90, 500)})
    query = make_query({**EVERY_MINUTE, "windows": ["80 rows"], "every": "20 rows"})
    steps = steps_of(query, table.to_batches(max_chunksize=90), table.schema)
    ordered = steps.frame.column("time").to_numpy()
    assert (np.diff(ordered) >= 0).all()
    assert all(ordered[cut - 1] < ordered[cut] for cut in steps.cuts[1:-1].tolist())
    found = measure(candidates.Choice("exact", "exact"), "sketch", steps, {}, 60.0, silent)
    assert found.answers.equals(local.apply(table, query, {"sketch": "exact"}))


def test_many_moments_are_merged_and_none_is_lost():
    times = pa.array(np.arange(50) * 3_600_000_000, pa.timestamp("us"))
    table = pa.table({"t": times, "k": np.arange(50)})
    steps = steps_of(make_query(EVERY_MINUTE), table.to_batches(), table.schema)
    assert len(steps) <= MOST < 49 * 60
    assert steps.each == 3
    found = measure(candidates.Choice("exact", "exact"), "sketch", steps, {}, 60.0, silent)
    assert found.answers.equals(local.apply(table, make_query(EVERY_MINUTE), {"sketch": "exact"}))


def test_nothing_to_compare_on():
    empty = pa.table({"t": pa.array([], pa.timestamp("us")), "k": pa.array([], pa.string())})
    with pytest.raises(ConfigError, match="it has no rows"):
        steps_of(make_query(EVERY_MINUTE), empty.to_batches(), empty.schema)
    nulls = pa.table({"t": pa.array([1, 2], pa.timestamp("us")), "k": pa.array([None, None], pa.string())})
    with pytest.raises(ConfigError, match=r"all 2 rows are left out \(2 with null item\)"):
        steps_of(make_query(EVERY_MINUTE), nulls.to_batches(), nulls.schema)


def test_a_backend_whose_time_is_up_is_compared_on_its_answers_so_far():
    query, table = scene("sketch", 3000)
    steps = steps_of(query, table.to_batches(), table.schema)
    names = [candidates.Choice("pcsa-ml", "pcsa-ml"), candidates.Choice("exact", "exact")]
    case = run_case("a case", "sketch", steps, names, names[1], {}, 1e-9, lambda *_: None)
    for entry in case.entries:
        assert entry.measured.stopped
        assert 0 < entry.measured.rows < 3000
        assert entry.accuracy.error == 0
    assert case.reference.label == "exact"


def test_positions_on_an_axis_are_in_the_unit_of_the_answers():
    times = pa.array([10, 20, 30, 40], pa.timestamp("s"))
    table = pa.table({"t": times, "k": ["a", "b", "a", "c"], "v": [1.0, 2.0, 3.0, 4.0], "p": [0.5] * 4})
    counted = {**EVERY_MINUTE, "windows": ["3 rows"], "every": "1 rows"}
    each = {"kind": "uncertain-sum", "time": "t", "values": "v", "probabilities": "p", "size": 2}
    for keys, in_rows, last in ((counted, True, 4), (each, False, 40_000_000), (EVERY_MINUTE, False, 40_000_000)):
        steps = steps_of(make_query(keys), table.to_batches(), table.schema)
        assert (steps.in_rows, steps.end(len(steps) - 1)) == (in_rows, last)


def test_an_interrupt_keeps_finished_measurements():
    query, table = scene("sketch")
    steps = steps_of(query, table.to_batches(), table.schema)
    names = [candidates.Choice(name, name) for name in ("pcsa-ml", "exact")]

    def stop(choice, share):
        if choice.name == "pcsa-ml":
            raise KeyboardInterrupt

    case = run_case("a case", "sketch", steps, names, names[1], {}, 60.0, stop)
    assert [entry.measured.failed for entry in case.entries] == ["interrupted", None]


@pytest.mark.parametrize("info", skyband.backends(), ids=lambda info: info.key)
def test_a_watched_backend_is_the_same_backend(info):
    from skyband.registry import load_class

    cls = load_class(info)
    assert watched(cls) is watched(cls)
    assert issubclass(watched(cls), cls)
    assert (watched(cls).role, watched(cls).name) == (cls.role, cls.name)


def test_a_watch_counts_each_call_once_and_forgets_dropped_backends():
    watch = Watch()
    binding = Watched.of(installed().bind("sketch", "exact"), watch)
    one, two = binding.create(), binding.create()
    made = watch.seconds
    one.update(np.arange(1000), np.arange(1000, dtype=np.uint64))
    assert watch.seconds > made
    assert watch.size() == (1000, one.nbytes + two.nbytes)
    plain = skyband.create("sketch", "exact")
    plain.update(np.arange(1000), np.arange(1000, dtype=np.uint64))
    assert one.snapshot() == plain.snapshot()
    before = watch.seconds
    watch.timed(lambda: watch.timed(lambda: sum(range(50_000))))
    once = watch.seconds - before
    assert once > 0
    with pytest.raises(skyband.InputError):
        one.update([1, 2], [3])
    assert watch.timed(lambda: 7) == 7, "an error does not stop the clock for good"
    del one
    gc.collect()
    assert watch.size() == (0, two.nbytes)


def test_names_with_parameters():
    found = candidates.choices("sketch", "pcsa-ml, k-skb:epsilon=0.05:seed=3 ,exact", {"name": "pcsa-ml", "delta": 0.1})
    assert [choice.label for choice in found] == ["pcsa-ml", "k-skb epsilon=0.05 seed=3", "exact"]
    assert [dict(choice.parameters) for choice in found] == [{"delta": 0.1}, {"epsilon": 0.05, "seed": 3}, {}]
    assert candidates._COMMA.split("a:weights=[1,2],b") == ["a:weights=[1,2]", "b"]


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ("pcsaml,exact", "unknown backend 'pcsaml'; did you mean 'pcsa-ml'?"),
        ("exact,exact", "exact is named twice"),
        ("exact,", "name is missing"),
        ("exact:seed", "NAME:KEY=VALUE"),
    ],
)
def test_invalid_names(names, said):
    with pytest.raises(ConfigError) as raised:
        candidates.choices("sketch", names)
    assert said in str(raised.value)


def test_invalid_roles():
    with pytest.raises(ConfigError, match="did you mean 'sketch'"):
        candidates.role_and_names("sketsh=a,b")
    with pytest.raises(ConfigError, match="must be ROLE=A,B,C"):
        candidates.role_and_names("sketch")


def chosen(role, names, against=None):
    held = None if against is None else candidates.Choice(against, against)
    return candidates.reference(role, [candidates.Choice(name, name) for name in names], held).name


def test_answers_are_held_against_an_exact_backend_unless_another_is_named():
    assert chosen("sketch", ["pcsa-ml", "k-skb"]) == "exact"
    assert chosen("window", ["normal", "rf1"]) == "rf1", "one of the compared"
    assert chosen("window", ["normal", "poisson"]) == "exact"
    assert chosen("object-ranker", ["approx", "approx"]) == "eaa", "the role's default"
    assert chosen("sketch", ["pcsa-ml", "exact"], "k-skb") == "k-skb"


def test_without_an_exact_backend_one_has_to_be_named(monkeypatch):
    from skyband.registry import Registry

    bounded = [plugin for plugin in installed().plugins if plugin.distribution == "skyband-panes"]
    monkeypatch.setattr(candidates, "installed", lambda: Registry(bounded))
    with pytest.raises(ConfigError, match=r"no exact backend of the role sketch is installed.*--against NAME"):
        chosen("sketch", ["hll-panes"])
    assert chosen("sketch", ["hll-panes"], "hll-panes") == "hll-panes"


@pytest.mark.parametrize("values", [[3.0], [0.0], [0.0, 1e-9], [1.0, 2.0], [1e-6, 1e6], [0.0, 1.0, 900.0], [5.0] * 9])
def test_charts_of_any_values_draw_every_mark_and_ticks(values):
    pytest.importorskip("vl_convert")
    names = [f"<b {number}>" for number in range(len(values))]
    some = [value or 1e-3 for value in values]
    bars = [charts.Bar(name, "red", value, 2 * value, "rows", name) for name, value in zip(names, some, strict=True)]
    spans = [charts.Bar(name, "red", value, 2 * value, "", name) for name, value in zip(names, some, strict=True)]
    dots = [charts.Point(name, "red", cost, value, name) for name, cost, value in zip(names, some, values, strict=True)]
    across = {"type": "quantitative", "axis": {"values": [1, 2]}}
    series = [charts.Line(name, "red", np.array([value, value])) for name, value in zip(names, values, strict=True)]
    for drawn, marks in (
        (charts.bars("t", "told", bars), 2),
        (charts.ranges("t", "told", spans, charts.SECONDS), 3),
        (charts.points("t", "told", dots, charts.SECONDS, charts.SHARE, "cost"), 1),
        (charts.lines("t", "told", [1, 2], across, ["one", "two"], series, charts.NUMBER, bound=(0.5, "0.5")), 1),
    ):
        root = ElementTree.fromstring(drawn)
        tips = [title.text for title in root.iter("title")]
        assert all(tips.count(name) == marks for name in names), tips
        assert "NaN" not in drawn and "Infinity" not in drawn and "undefined" not in drawn
        ticks = [text.text for text in root.iter("text") if (text.text or " ")[0].isdigit()]
        assert len(ticks) >= (0 if "rows" in drawn else 2), ticks


@given(st.lists(st.integers(0, 100), min_size=1), st.integers(1, 20))
def test_long_series_are_shortened_with_the_same_mean(at, most):
    at = np.array(sorted(at))
    ends = moment_bins.grid(at, most)
    assert 1 <= len(ends) <= most
    assert ends[-1] == at.max()
    values = np.sqrt(at + 1.0)
    weights = np.diff(np.searchsorted(at, ends, "right"), prepend=0)
    assert np.average(moment_bins.on_grid(at, values, ends), weights=weights) == pytest.approx(values.mean())


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (number_format.share(0.0), "0 %"),
        (number_format.share(0.00412), "0.41 %"),
        (number_format.share(0.99987), "99.987 %"),
        (number_format.share(1.0), "100 %"),
        (number_format.share(1e-9), "< 0.001 %"),
        (number_format.share(float("inf")), "unbounded"),
        (number_format.rate(12_345_678), "12.3 M"),
        (number_format.rate(999_900), "1.00 M"),
        (number_format.rate(42), "42.0"),
        (number_format.seconds(0.0000041), "4.10 µs"),
        (number_format.seconds(1.5), "1.50 s"),
        (number_format.brief("2.00 ms"), "2 ms"),
        (number_format.brief("500 k"), "500 k"),
        (number_format.times(24.0), "24 times"),
        (number_format.moment(1_500_000, True), "row 1,500,000"),
        (number_format.moment(0, False), "1970-01-01 00:00:00"),
    ],
)
def test_figures_are_readable(shown, text):
    assert shown == text


def test_only_public_methods_of_the_role_are_timed():
    cls = watched(type(skyband.create("sketch", "exact")))
    assert "counts_together" in vars(cls)
    assert {name for name in vars(cls) if not name.startswith("_")} - {"exact_up_to"} == {
        name for name in vars(Sketch) if not name.startswith("_") and callable(getattr(Sketch, name))
    } - {"snapshot", "parameters"}
