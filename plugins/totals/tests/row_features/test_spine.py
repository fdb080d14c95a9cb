"""Moments of a second table, each answered with the features just before it: by hand, and whatever comes later."""

import math
from datetime import timedelta

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from cut_run import cut_run
from features_by_hand import EPOCH, FEATURES, QUERY, stream, value_of
from skyband import ConfigError
from skyband.engines import local
from skyband.errors import InputError
from skyband.queries import make_query
from skyband_expressions.spine import with_spine

WINDOWS = ["4 seconds", "20 seconds"]
SPINE = QUERY | {"by": ["group"], "windows": WINDOWS, "features": FEATURES, "asks": "asked"}


def moments(rng, rows, size=30):
    """Moments at and near the times of rows and of their leaving, also of a group without rows, and of none."""
    times = rows["t"].cast(pa.int64()).to_numpy()
    near = rng.choice(times, size) + rng.choice([0, 0, 1, -1], size) + 1_000_000 * rng.choice([0, 4, 20, 7], size)
    groups = pa.array([None if group == 4 else group for group in rng.integers(0, 5, size).tolist()], pa.int64())
    paid = np.array([math.nan, math.inf, 9e6, 1.5])[rng.integers(0, 4, size)]
    own = {"number": np.arange(size) + 1000, "group": groups, "paid": paid, "word": pa.array(["ZZ"] * size)}
    return pa.table({"t": pa.array(near, pa.timestamp("us")), **own})


def by_hand(rows, spine, grouped=True):
    """{number: features}, over [t - window, t)."""
    entries = rows.to_pylist()
    answers = {}
    for asked in spine.to_pylist():
        mine = [row for row in entries if not grouped or row["group"] == asked["group"]]
        answers[asked["number"]] = of_moment = {"time": asked["t"]}
        for feature in [{"of": "count"}, *FEATURES]:
            name = feature.get("name") or "_".join(filter(None, [feature.get("column"), feature["of"]]))
            for window in feature.get("windows", WINDOWS):
                length = timedelta(seconds=int(window.split()[0]))
                inside = [row for row in mine if asked["t"] - length <= row["t"] < asked["t"]]
                of_moment[f"{name}_{window}".replace(" ", "_")] = value_of(feature, inside, asked["t"])
    return answers


def answered(table):
    return {
        row.pop("number"): row for row in table.drop_columns(["group"] * ("group" in table.schema.names)).to_pylist()
    }


@pytest.mark.filterwarnings("ignore:.* rows have a value")
@pytest.mark.parametrize("seed", range(8))
def test_each_moment_has_the_features_just_before_it(seed):
    """Also if it carries columns that features are of: its own values are returned, and are in no feature."""
    rng = np.random.default_rng([72, seed])
    rows = stream(rng)
    spine = moments(rng, rows)
    query = SPINE | {"before": bool(seed % 2), "carry": ["number", *["word"] * (seed % 4 > 1)]}
    wanted = by_hand(rows, spine)
    wanted = {number: row | {"word": "ZZ"} if seed % 4 > 1 else row for number, row in wanted.items()}
    both = with_spine(rows, spine, query)
    answers = local.apply(both, query)
    assert answered(answers) == wanted
    assert pc.sum(answers["group"].is_null()).as_py() == spine["group"].null_count
    in_order = both.sort_by("t")
    run = cut_run(in_order, query | {"delay": "0 seconds"}, rng)[0]
    assert answered(run) == wanted
    alone = {key: value for key, value in query.items() if key != "by"}
    if "word" not in query["carry"]:
        assert answered(local.apply(with_spine(rows, spine, alone), alone)) == by_hand(rows, spine, grouped=False)


@pytest.mark.filterwarnings("ignore:.* rows have a value")
def test_a_moment_is_not_reported_for_the_values_that_it_carries():
    rng = np.random.default_rng(6)
    rows = stream(rng, 60)
    query = SPINE | {"carry": ["number", "paid"]}
    alone = local.LocalRun.start({key: value for key, value in query.items() if key != "asks"}, rows.schema)
    both = with_spine(rows, moments(rng, rows), query)
    asked = local.LocalRun.start(query, both.schema)
    dropped = []
    for run, table in ((alone, rows), (asked, both)):
        run.push(table.combine_chunks().to_batches()[0])
        run.finish()
        dropped.append({why: count for why, count in run.operator.take_metrics().dropped.items() if count})
    assert dropped[0] == dropped[1] and dropped[0]


@pytest.mark.filterwarnings("ignore:.* rows have a value")
def test_a_label_planted_at_the_moment_or_after_it_is_in_no_feature():
    rng = np.random.default_rng(3)
    rows, at = stream(rng, 60), EPOCH + timedelta(seconds=20)
    spine = pa.table({"t": [at] * 3, "number": [0, 1, 2], "group": [0, 1, 2]})
    label = {"t": at, "number": 5, "paid": 9e6, "word": "ZZ", "odd": 7e77, "at": at, "group": 1}
    planted = [label | {"t": at + after} for after in (timedelta(0), timedelta(microseconds=1), timedelta(seconds=3))]
    before = rows.filter(pc.less(rows["t"], pa.scalar(at, pa.timestamp("us"))))
    wanted = local.apply(with_spine(before, spine, SPINE), SPINE)
    assert pc.sum(wanted["count_20_seconds"]).as_py() > 10
    leaky = pa.concat_tables([rows, pa.Table.from_pylist(planted, rows.schema)])
    assert local.apply(with_spine(leaky, spine, SPINE), SPINE).equals(wanted)
    early = pa.Table.from_pylist([label | {"t": at - timedelta(microseconds=1)}], rows.schema)
    seen = local.apply(with_spine(pa.concat_tables([rows, early]), spine, SPINE), SPINE)
    assert not seen.equals(wanted), "one microsecond earlier it is seen"


def test_a_question_counts_for_nobody_and_keeps_no_group():
    rows = pa.table({"t": pa.array([0, 5], pa.timestamp("s")), "group": [1, 1], "paid": [2, 3]})
    spine = pa.table({"t": pa.array([1, 2, 3, 3, 20], pa.timestamp("ms")), "group": [1, 1, 1, 2, 2]})
    query = {"kind": "row-features", "time": "t", "by": "group", "windows": ["9 seconds"], "sums": "paid", "asks": "q"}
    both = with_spine(rows, spine, query).sort_by("t")
    run = local.LocalRun.start(query, both.schema)
    counts = run.push(both.slice(0, 5).to_batches()[0]).column("count_9_seconds").to_pylist()
    assert counts == [1, 1]
    run.push(both.slice(5).to_batches()[0])
    metrics = run.operator.take_metrics()
    assert (metrics.groups, metrics.retained) == (1, 1), "the row at 0; that at 5 waits, and the questions are gone"


def test_rows_with_null_in_the_column_of_questions_are_rows():
    rows = pa.table({"t": pa.array([0, 1, 2], pa.timestamp("s")), "q": [None, False, True]})
    query = {"kind": "row-features", "time": "t", "windows": ["9 seconds"], "asks": "q"}
    assert local.apply(rows, query)["count_9_seconds"].to_pylist() == [2]


def changed(table, **columns):
    for name, column in columns.items():
        table = table.set_column(table.schema.get_field_index(name), name, column)
    return table


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda spine: spine.drop_columns(["group"]), "has no column 'group', which the query names in `by`: rename"),
        (lambda spine: spine.drop_columns(["t"]), "has no column 't', which the query names in `time`"),
        (lambda spine: spine.drop_columns(["number"]), "has no column 'number', which the query names in `carry`"),
        (
            lambda spine: changed(spine, t=spine["t"].cast(pa.int64())),
            r"column 't' must be timestamp\[us\], as it is in the rows \(it is int64\)",
        ),
        (
            lambda spine: changed(spine, t=spine["t"].cast(pa.timestamp("us", "UTC"))),
            r"column 't' must be timestamp\[us\].*\(it is timestamp\[us, tz=UTC\]\)",
        ),
        (
            lambda spine: changed(spine, group=spine["group"].cast(pa.string())),
            r"column 'group' must be int64, as it is in the rows \(it is string\)",
        ),
    ],
)
def test_a_spine_that_does_not_fit_is_refused_by_name(change, message):
    rng = np.random.default_rng(1)
    rows = stream(rng, 9)
    with pytest.raises(InputError, match=f"spine: {message}"):
        with_spine(rows, change(moments(rng, rows, 3)), SPINE)


def test_units_zones_and_widths_may_differ():
    rows = pa.table({"t": pa.array([0, 5], pa.timestamp("s", "UTC")), "key": pa.array([1, 2], pa.int32())})
    rows = changed(rows, key=rows["key"].combine_chunks().dictionary_encode()).append_column("label", [["no", "yes"]])
    spine = pa.table({"t": pa.array([1, 5001], pa.timestamp("ms", "Europe/Paris")), "key": [1, 2**40], "label": [7, 8]})
    query = {"kind": "row-features", "time": "t", "by": "key", "windows": ["9 seconds"], "asks": "q", "carry": "label"}
    answers = local.apply(with_spine(rows, spine, query), query)
    assert answers.select(["key", "count_9_seconds", "label"]).to_pylist() == [
        {"key": 1, "count_9_seconds": 1, "label": 7},
        {"key": 2**40, "count_9_seconds": 0, "label": 8},
    ]


def test_a_moment_that_the_times_of_the_rows_cannot_hold_is_refused():
    rows = pa.table({"t": pa.array([0], pa.timestamp("ns")), "key": [1]})
    spine = pa.table({"t": pa.array([10**11], pa.timestamp("s")), "key": [1]})
    query = {"kind": "row-features", "time": "t", "by": "key", "windows": ["9 seconds"], "asks": "q"}
    with pytest.raises(InputError, match=r"spine: column 't' does not fit.*timestamp\[ns\].*out of bounds.*cast one"):
        with_spine(rows, spine, query)


def test_keys_that_do_not_go_with_questions_are_refused():
    rows = stream(np.random.default_rng(1), 9)
    with pytest.raises(InputError, match="query: a row-features answers a spine only with `asks`"):
        with_spine(rows, rows, {key: value for key, value in SPINE.items() if key != "asks"})
    with pytest.raises(InputError, match="rows: have a column 'word', which marks the moments"):
        with_spine(rows, rows, SPINE | {"asks": "word"})
    with pytest.raises(ConfigError, match="asks: column 'word' must be truth values"):
        local.LocalRun.start(SPINE | {"asks": "word"}, rows.schema)
    with pytest.raises(ConfigError, match="asks: cannot be combined with `emit`"):
        make_query(SPINE | {"emit": "state", "every": "1 minute", "carry": []})
