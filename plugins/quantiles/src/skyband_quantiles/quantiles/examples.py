"""The examples of quantiles: the job of its page, and rows for its conformance checks."""

from skyband.queries.example import JobExample, QueryExample, rows

_KEYS = {"time": "ts", "value": "value", "windows": ["30 seconds", "1 minute"], "every": "15 seconds"}
_DELAY = {"delay": "20 seconds"}
_APART = {"distance": ["ks", "wasserstein", "psi"]}

_ELSEWHERE = {
    "emit": "the tests of states, as states are no plain answers",
    "longest": "the tests of rules, which come as a second table",
}

EXAMPLES = (
    QueryExample(
        {**_KEYS, **_DELAY, "at": [0.5, 0.95], "above": [0.4], "offset": "5 seconds"}, rows(1), elsewhere=_ELSEWHERE
    ),
    QueryExample(
        {**_KEYS, **_DELAY, **_APART, "at": [0.5], "above": [0.4], "against": "2 minutes", "bins": [0.2, 0.6]}, rows(3)
    ),
    QueryExample(
        {**_KEYS, **_DELAY, **_APART, "windows": ["30 seconds"], "at": [0.9], "against": "previous", "bins": 4},
        rows(4),
        backends={"quantile-sketch": "buckets"},
    ),
    QueryExample({**_KEYS, **_DELAY, "at": [0.07, 0.28, 1], "windows": ["20 rows"], "every": "7 rows"}, rows(2)),
)

JOB = JobExample(
    "The longest duration of the fastest half and nine tenths of requests, and the share of those over 400 ms:",
    "requests.csv",
    """\
ts,endpoint,millis
2026-06-20 09:00:02,search,120
2026-06-20 09:00:05,search,80
2026-06-20 09:00:06,cart,40
2026-06-20 09:00:11,search,950
2026-06-20 09:00:14,cart,35
2026-06-20 09:00:21,search,100
2026-06-20 09:00:29,search,90
""",
    """
[source]
format = "csv"
path = "requests.csv"
schema = "ts TIMESTAMP, endpoint STRING, millis BIGINT"
options = { header = true }

[query]
kind = "quantiles"
time = "ts"
value = "millis"
by = ["endpoint"]
at = [0.5, 0.9]
above = [400]
windows = ["30 seconds"]
every = "30 seconds"
""",
)
