"""The key `features` of row-features, compared with each aggregate by hand over all earlier rows of each row."""

import math
from datetime import timedelta

import numpy as np
import pyarrow as pa
import pytest
from cut_run import cut_run
from features_by_hand import EPOCH, FEATURES, QUERY, answered, expected, in_bytes, stream
from skyband import ConfigError
from skyband.engines import local
from skyband.queries import make_query


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
    there = values_of(column.cast(plain).drop_null())
    got = {name: last[f"v_{name}_1_hour"] for name in ("min", "max", "last", "first", "quantile")}
    assert {name: one.type for name, one in got.items()} == dict.fromkeys(got, plain)
    assert last["all_1_hour"].type == pa.list_(plain)
    order = sorted(there, key=in_bytes)
    expected = {"min": order[0], "max": order[-1], "last": there[-1], "first": there[0], "quantile": order[1]}
    assert {name: values_of(one)[0] for name, one in got.items()} == expected
    assert values_of(last["all_1_hour"].combine_chunks().flatten()) == there[::-1]


def values_of(column):
    """Its values; times as numbers, since without pandas those in nanoseconds have no form in Python."""
    return (column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column).to_pylist()


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
