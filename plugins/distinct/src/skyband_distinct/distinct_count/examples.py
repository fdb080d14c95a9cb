"""Examples of distinct-count: the job on its page, and the queries of its conformance checks."""

from skyband.queries.example import JobExample, examples

_RANGES = {"value": "value", "ranges": [[0, 0.5], [0.5, 1], [1, float("inf")]]}

_ELSEWHERE = {
    "emit": "the tests of states, because states are not plain answers",
    "empty": "the tests of empty windows, because its groups answer for ever",
    "longest": "the tests of rules, which arrive as a second table",
}

EXAMPLES = (
    examples(
        {"item": "name", "windows": ["30 seconds", "1 minute"], "every": "15 seconds", "offset": "5 seconds"},
        {"item": "name", "windows": ["20 rows"], "every": "7 rows"},
        {"item": "name", "windows": ["30 seconds", "15 seconds"], "every": "15 seconds", "against": "previous"},
        {"item": "name", "windows": ["30 seconds", "1 minute"], "every": "15 seconds", "against": "2 minutes"},
        elsewhere=_ELSEWHERE,
    )
    + examples(
        {"item": "name", "windows": ["30 seconds", "1 minute"], "every": "15 seconds", "hash": "theta", **_RANGES},
        {"item": "name", "windows": ["20 rows"], "every": "7 rows", **_RANGES},
        backends={"sketch": "k-skb"},
    )
    + examples(
        {"item": "name", "windows": ["30 seconds", "1 minute"], "every": "15 seconds", "value": "value"},
        {"item": "name", "windows": ["20 rows"], "every": "7 rows", "value": "value"},
        {"item": "name", "windows": ["30 seconds", "1 minute"], "every": "15 seconds", "seen": [1, 2, 4]},
        backends={"sketch": "exact"},
    )
    + examples(
        {"item": "name", "windows": ["30 seconds"], "every": "15 seconds", "value": "value", "lower": 0.2, "upper": 1},
        backends={"sketch": "k-skb"},
    )
)

JOB = JobExample(
    "The number of clients in the last ten minutes and in the last half hour, every ten minutes:",
    "visits.csv",
    """\
ts,client
2026-06-20 09:01:00,ann
2026-06-20 09:02:00,bob
2026-06-20 09:07:00,ann
2026-06-20 09:12:00,cho
2026-06-20 09:16:00,ann
2026-06-20 09:24:00,dee
2026-06-20 09:38:00,bob
""",
    """
[source]
format = "csv"
path = "visits.csv"
schema = "ts TIMESTAMP, client STRING"
options = { header = true }

[query]
kind = "distinct-count"
time = "ts"
item = "client"
windows = ["10 minutes", "30 minutes"]
every = "10 minutes"
""",
)
