"""Examples of row-features: the job on its page, and the queries of its conformance checks."""

import pyarrow as pa
from skyband.queries.example import JobExample, QueryExample, rows

_KEYS = {"time": "ts", "delay": "20 seconds"}

EXAMPLES = (
    QueryExample(
        {**_KEYS, "windows": ["10 seconds", "1 minute"], "distinct": ["name"], "carry": ["number"]},
        rows(1),
        nullable=("name", "number"),
    ),
    QueryExample(
        {**_KEYS, "windows": ["30 seconds"], "sums": ["value"], "unit": 0.1, "before": True, "distinct": ["origin"]},
        rows(2),
        nullable=("value", "origin"),
    ),
    QueryExample(
        {**_KEYS, "windows": ["20 seconds"], "carry": ["number"]}
        | {
            "features": [
                {"of": "max", "column": "value"},
                {"of": "std", "column": "value", "windows": ["10 seconds", "1 minute"]},
                {"of": "last", "column": "name", "k": 3},
                {"of": "min", "column": "origin"},
                {"of": "quantile", "column": "value", "q": 0.5, "where": "origin <> 'air'"},
                {"of": "since-last", "where": "value > 0.5"},
                {"of": "share", "where": "value > 0.5"},
            ]
        },
        rows(3),
        nullable=("value", "origin", "name", "number"),
    ),
    QueryExample(
        {**_KEYS, "windows": ["20 seconds"], "asks": "asked", "carry": ["number"], "distinct": ["origin"]}
        | {"features": [{"of": "sum", "column": "value"}, {"of": "since-last"}]},
        rows(5).append_column("asked", pa.array([place % 3 == 0 for place in range(len(rows(5)))])),
        nullable=("value", "origin", "number", "asked"),
    ),
    QueryExample(
        {**_KEYS, "windows": ["20 seconds", "1 minute"], "distinct": ["origin"], "emit": "state", "every": "10 seconds"}
        | {"features": [{"of": "mean", "column": "value"}, {"of": "last", "column": "name"}]},
        rows(4),
        nullable=("value", "origin", "name"),
    ),
)

JOB = JobExample(
    "The amount that a card has paid in the hour up to each payment, the number of shops and the largest amount, this "
    "payment included:",
    "payments.csv",
    """\
ts,card,shop,paid
2026-06-20 09:01:00,c1,books,12.50
2026-06-20 09:20:00,c2,shoes,80.00
2026-06-20 09:40:00,c1,books,7.50
2026-06-20 09:55:00,c1,bikes,900.00
2026-06-20 10:30:00,c1,books,5.00
""",
    """
[source]
format = "csv"
path = "payments.csv"
schema = "ts TIMESTAMP, card STRING, shop STRING, paid DOUBLE"
options = { header = true }

[query]
kind = "row-features"
time = "ts"
by = ["card"]
windows = ["1 hour"]
sums = ["paid"]
unit = 0.01
distinct = ["shop"]
features = [{ of = "max", column = "paid" }]
""",
)
