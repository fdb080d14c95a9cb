"""The features of row-features by hand: each aggregate from its definition, over all earlier rows of each row."""

import math
from datetime import datetime, timedelta
from fractions import Fraction

import numpy as np
import pyarrow as pa

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
    order = sorted(rows, key=lambda row: (row["t"], in_bytes(row[column])))
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


def in_bytes(value):
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
