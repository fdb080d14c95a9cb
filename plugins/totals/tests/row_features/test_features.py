"""The key `features` of row-features, compared with each aggregate by hand over all earlier rows of each row."""

import math
from datetime import datetime, timedelta
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from cut_run import cut_run
from skyband import ConfigError
from skyband.engines import local
from skyband.queries import make_query

EPOCH = datetime(1970, 1, 1)
TICK = timedelta(microseconds=1)
QUERY = {"kind": "row-features", "time": "t", "carry": ["number"], "delay": "3 seconds"}
FEATURES = [
    {"of": "max", "column": "paid"},
    {"of": "min", "column": "word"},
    {"of": "sum", "column": "odd"},
    {"of": "mean", "column": "paid", "where": "word <> 'b'", "name": "mean_of_others"},
    {"of": "variance", "column": "paid", "unit": 0.01},
    {"of": "std", "column": "odd"},
    {"of": "last", "column": "paid", "windows": ["9 seconds"]},
    {"of": "last", "column": "word", "k": 3, "name": "words"},
    {"of": "first", "column": "at"},
    {"of": "count", "where": "paid > 1", "name": "large"},
    {"of": "count", "column": "word"},
    {"of": "since-last", "where": "word = 'a'", "name": "since_a"},
    {"of": "distinct", "column": "word", "where": "paid IS NOT NULL"},
    {"of": "quantile", "column": "odd", "q": 0.75},
    {"of": "share", "where": "paid < 0", "name": "negative"},
]
WHERE = {
    "word <> 'b'": lambda row: row["word"] is not None and row["word"] != "b",
    "paid > 1": lambda row: row["paid"] is not None and row["paid"] > 1,
    "word = 'a'": lambda row: row["word"] == "a",
    "paid IS NOT NULL": lambda row: row["paid"] is not None,
    "paid < 0": lambda row: row["paid"] is not None and row["paid"] < 0,
}


def stream(rng, size=None):
    """Rows with equal times, out of order, with gaps and nulls; floats of every size, and some that are no numbers."""
    size = int(rng.integers(1, 40)) if size is None else size
    seconds = np.sort(rng.integers(0, 30, size)) + 60 * (np.arange(size) > size // 2)
    order = np.argsort(seconds + rng.uniform(0, 3, size), kind="stable")
    odd = np.array([0.1, 0.2, -0.3, 1e16, -1e16, 5e-324, 1e150, math.nan])
    table = pa.table(
        {
            "t": pa.array(seconds * 1_000_000, pa.timestamp("us")),
            "number": np.arange(size),
            "paid": pa.array([None if cents > 150 else cents / 100 for cents in rng.integers(-90, 190, size).tolist()]),
            "word": pa.array([[None, "a", "b", "ab", "ä"][place] for place in rng.integers(0, 5, size)], pa.string()),
            "odd": odd[np.minimum(rng.integers(0, 40, size) % 11, 7) * (rng.random(size) < 0.6)],
            "at": pa.array(rng.integers(0, 9, size), pa.timestamp("ms")),
            "group": rng.integers(0, 3, size),
        }
    )
    return table.take(pa.array(order))


def value_of(feature, inside, asked):
    """A feature of rows, by hand."""
    of, column = feature["of"], feature.get("column")
    meets = WHERE.get(feature.get("where"), lambda row: True)
    if of == "share":
        return sum(map(meets, inside)) / len(inside) if inside else None
    rows = [row for row in inside if meets(row) and (column is None or row[column] is not None)]
    if of == "count":
        return len(rows)
    if of == "since-last":
        times = [row["t"] for row in rows if row["t"] < asked]
        return (asked - max(times)).total_seconds() if times else None
    values = [row[column] for row in rows]
    if of == "distinct":
        return len(set(values))
    if any(isinstance(value, float) and not math.isfinite(value) for value in values):
        return None
    key = {"min": str.encode} if of == "min" and column == "word" else {}
    if of in ("max", "min"):
        return (max if of == "max" else min)(values, key=key.get(of), default=None)
    order = sorted(rows, key=lambda row: (row["t"], _bytes(row[column])))
    if of == "first":
        return order[0][column] if order else None
    if of == "last":
        newest = [row[column] for row in reversed(order)]
        return (newest[: feature["k"]] or None) if "k" in feature else newest[0] if newest else None
    if of == "quantile":
        return sorted(values)[max(1, math.ceil(Fraction(3, 4) * len(values))) - 1] if values else None
    return number_of(of, values, feature.get("unit"))


def number_of(of, values, cents):
    """A sum, a mean or a spread, from whole numbers."""
    exact = [Fraction(round(value * 100)) if cents else Fraction(value) for value in values]
    if of == "sum":
        return float(sum(exact))
    if of == "mean":
        return math.fsum(values) / len(values) if values else None
    count = len(values)
    if count < 2:
        return None
    spread = float(count * sum(value**2 for value in exact) - sum(exact) ** 2)
    variance = spread / (count * (count - 1)) / (100 * 100 if cents else 1)
    return variance if of == "variance" else math.sqrt(variance)


def _bytes(value):
    return value.encode() if isinstance(value, str) else value


def expected(rows, query):
    """{number: {column: value}}."""
    entries = rows.to_pylist()
    answers = {}
    for row in entries:
        mine = [other for other in entries if other["group"] == row["group"]]
        answers[row["number"]] = of_row = {"time": row["t"], "group": row["group"]}
        for feature in query["features"]:
            name = feature.get("name") or "_".join(filter(None, [feature.get("column"), feature["of"]]))
            for window in feature.get("windows", query["windows"]):
                length = timedelta(seconds=int(window.split()[0]))
                if query.get("before"):
                    inside = [other for other in mine if row["t"] - length <= other["t"] < row["t"]]
                else:
                    inside = [other for other in mine if row["t"] - length < other["t"] <= row["t"]]
                of_row[f"{name}_{window.replace(' ', '_')}"] = value_of(feature, inside, row["t"])
    return answers


def answered(table):
    counts = [name for name in table.schema.names if name.startswith("count_")]
    rows = table.drop_columns(counts).to_pylist()
    return {row.pop("number"): row for row in rows}


@pytest.mark.filterwarnings("ignore:.* rows have a value")
@pytest.mark.parametrize("seed", range(12))
def test_each_row_has_the_features_of_the_rows_before_it(seed):
    rng = np.random.default_rng([70, seed])
    rows = stream(rng)
    query = QUERY | {"by": ["group"], "windows": [["4 seconds", "20 seconds"], ["7 seconds"]][seed % 2]}
    query |= {"features": FEATURES, "before": seed % 3 == 0}
    wanted = expected(rows, query)
    assert answered(local.apply(rows, query)) == wanted
    assert answered(cut_run(rows, query, rng)[0]) == wanted
    for group in range(3):  # without groups, a processor instead of the table
        own = rows.filter(pa.compute.equal(rows["group"], group))
        if len(own):
            alone = {number: row | {"group": group} for number, row in answered(
                local.apply(own, {key: value for key, value in query.items() if key != "by"})).items()}  # fmt: skip
            assert alone == {number: row for number, row in wanted.items() if row["group"] == group}


def test_history_before_the_window_changes_no_bit():
    """Sums of floats in one pass depend on what has left: here a year of history or none is the same."""
    rng = np.random.default_rng(7)
    seconds = np.sort(rng.integers(0, 4000, 1500))
    amounts = np.round(rng.lognormal(3, 2, 1500), 2)
    table = pa.table({"t": pa.array(seconds, pa.timestamp("s")), "number": np.arange(1500), "paid": amounts})
    features = [{"of": of, "column": "paid"} for of in ("sum", "mean", "std", "max")]
    query = QUERY | {"windows": ["100 seconds", "10 minutes"], "features": features}
    whole, late = local.apply(table, query), local.apply(table.slice(700), query)
    since = seconds[700] + 600
    kept = [part.filter(pa.compute.greater(part["time"], pa.scalar(EPOCH + timedelta(seconds=int(since)))))
            for part in (whole, late)]  # fmt: skip
    assert len(kept[0]) > 200
    assert kept[0].sort_by("number").equals(kept[1].sort_by("number"))
    last = kept[0].to_pylist()[-1]
    inside = amounts[(seconds > seconds[last["number"]] - 600) & (seconds <= seconds[last["number"]])]
    assert last["paid_sum_10_minutes"] == math.fsum(inside)


def test_short_forms_and_features_agree():
    rows = stream(np.random.default_rng(3), 60)
    both = {"sums": ["paid"], "distinct": ["word"], "unit": 0.01, "by": ["group"], "windows": ["5 seconds"]}
    features = [{"of": "sum", "column": "paid", "name": "s"}, {"of": "distinct", "column": "word", "name": "d"}]
    answers = local.apply(rows, QUERY | both | {"features": [*features, {"of": "count", "name": "c"}]})
    assert answers["paid_sum_5_seconds"].equals(answers["s_5_seconds"])
    assert answers["word_distinct_5_seconds"].equals(answers["d_5_seconds"])
    assert answers["count_5_seconds"].equals(answers["c_5_seconds"])


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (pa.int8(), [-128, 127, None, 0]),
        (pa.uint64(), [2**64 - 1, 0, 2**63, None]),
        (pa.int64(), [2**63 - 1, -(2**63), None, 2**53 + 1]),
        (pa.float32(), [0.1, None, -2.5, 3.0]),
        (pa.decimal128(9, 2), ["1.10", None, "-3.05", "2.00"]),
        (pa.bool_(), [True, None, False, True]),
        (pa.date32(), [3, None, 1, 2]),
        (pa.timestamp("ns", "UTC"), [10**18 + 1, None, 10**18, 5]),
        (pa.time64("us"), [3, None, 1, 2]),
        (pa.string(), ["ab", None, "", "ä"]),
        (pa.binary(), [b"\xff", None, b"", b"a"]),
        (pa.dictionary(pa.int8(), pa.string()), ["ab", None, "", "ä"]),
    ],
    ids=str,
)
def test_values_keep_their_type(kind, values):
    column = pa.array(values).cast(kind) if pa.types.is_decimal(kind) else pa.array(values, kind)
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    rows = pa.table({"t": pa.array(range(4), pa.timestamp("s")), "number": range(4), "v": column})
    features = [{"of": of, "column": "v"} for of in ("min", "max", "last", "first")]
    features += [{"of": "quantile", "q": 0.5, "column": "v"}, {"of": "last", "column": "v", "k": 9, "name": "all"}]
    answers = local.apply(rows, QUERY | {"windows": ["1 hour"], "features": features})
    last = answers.slice(3, 1)
    there = [value for value in column.cast(plain).to_pylist() if value is not None]
    got = {name: last[f"v_{name}_1_hour"] for name in ("min", "max", "last", "first", "quantile")}
    assert {name: one.type for name, one in got.items()} == dict.fromkeys(got, plain)
    assert last["all_1_hour"].type == pa.list_(plain)
    order = sorted(there, key=_bytes)
    expected = {"min": order[0], "max": order[-1], "last": there[-1], "first": there[0], "quantile": order[1]}
    assert {name: one[0].as_py() for name, one in got.items()} == expected
    assert last["all_1_hour"][0].as_py() == there[::-1]


@pytest.mark.parametrize(
    ("features", "key", "message"),
    [
        ("max", "features", "must be a list of tables"),
        ([{"column": "paid"}], r"features\[0\].of", "must be the name of an aggregate: count, distinct, first"),
        ([{"of": "avg", "column": "paid"}], r"features\[0\].of", 'use of = "mean"'),
        ([{"of": "median", "column": "paid"}], r"features\[0\].of", r'use of = "quantile", q = 0.5 \(got'),
        ([{"of": "nunique", "column": "paid"}], r"features\[0\].of", 'use of = "distinct"'),
        ([{"of": "maxx", "column": "paid"}], r"features\[0\].of", "unknown aggregate 'maxx'; did you mean 'max'"),
        ([{"of": "max"}], r"features\[0\].column", "is required: what is 'max' of"),
        ([{"of": "max", "column": "price"}], r"features\[0\].column", "no column 'price'"),
        ([{"of": "sum", "column": "word"}], r"features\[0\].column", "column 'word' must be a number"),
        ([{"of": "max", "column": "paid", "k": 2}], r"features\[0\].k", "unknown"),
        ([{"of": "last", "column": "paid", "k": 10**6}], r"features\[0\].k", "must be at least 1 and at most 1000"),
        ([{"of": "quantile", "column": "paid"}], r"features\[0\].q", "is required"),
        ([{"of": "quantile", "column": "paid", "q": 1.5}], r"features\[0\].q", "must be a number from 0 to 1"),
        ([{"of": "share"}], r"features\[0\].where", "is required by 'share'"),
        ([{"of": "count", "where": "nothing > 1", "name": "c"}], r"features\[0\].where", "no column 'nothing'"),
        ([{"of": "count", "where": "paid +"}], r"features\[0\].where", "is not a condition that all engines support"),
        ([{"of": "count", "where": "paid", "name": "c"}], r"features\[0\].where", "not a condition: compare"),
        ([{"of": "max", "column": "paid", "windows": ["9 rows"]}], r"features\[0\].windows\[0\]", "a length of time"),
        ([{"of": "max", "column": "paid", "windows": []}], r"features\[0\].windows", "must be a list of lengths"),
        ([{"of": "count"}], r"features\[0\].name", "'count_5_seconds' is also made by windows"),
        (
            [{"of": "max", "column": "paid"}, {"of": "max", "column": "paid", "where": "paid > 1"}],
            r"features\[1\].name", r"'paid_max_5_seconds' is also made by features\[0\]: give this one another name",
        ),
    ],
)  # fmt: skip
def test_wrong_features_are_refused(features, key, message):
    rows = stream(np.random.default_rng(0), 3)
    with pytest.raises(ConfigError, match=f"{key}: .*({message})"):
        local.LocalRun.start(QUERY | {"windows": ["5 seconds"], "features": features}, rows.schema)


@pytest.mark.parametrize("key", ["aggregates", "aggs", "aggregations"])
def test_names_of_other_tools_are_pointed_here(key):
    with pytest.raises(ConfigError, match=f"{key}: row-features calls them features: `features = "):
        make_query(QUERY | {"windows": ["5 seconds"], key: []})


def test_a_checkpoint_of_other_features_is_refused():
    rows = stream(np.random.default_rng(1), 20)
    query = QUERY | {"windows": ["5 seconds"], "features": [{"of": "quantile", "column": "paid", "q": 0.5}]}
    run = local.LocalRun.start(query, rows.schema)
    run.push(rows.to_batches()[0])
    other = query | {"features": [{"of": "quantile", "column": "paid", "q": 0.25}]}
    with pytest.raises(Exception, match="made by another job"):
        local.LocalRun.start(other, rows.schema).restore(run.snapshot())
    local.LocalRun.start(query, rows.schema).restore(run.snapshot())
