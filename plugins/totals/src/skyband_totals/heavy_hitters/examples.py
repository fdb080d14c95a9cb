"""Examples of heavy-hitters: the job on its page, and the queries of its conformance checks."""

from skyband.queries.example import JobExample, QueryExample, rows

_KEYS = {"time": "ts", "object": "name", "windows": ["30 seconds", "1 minute"], "every": "15 seconds"}
_DELAY = {"delay": "20 seconds"}

_WEIGHED = {"total": "sum", "weight": "value", "unit": 0.1, "carry": ["origin"]}
_ELSEWHERE = {
    "emit": "the tests of states, because states are not plain answers",
    "empty": "the tests of empty windows, because its groups answer for ever",
    "longest": "the tests of rules, which arrive as a second table",
    "most": "the tests of rules",
}

EXAMPLES = (
    QueryExample({**_KEYS, **_DELAY, "k": 4}, rows(1), elsewhere=_ELSEWHERE),
    QueryExample({**_KEYS, **_DELAY, "total": "distinct", "value": "origin", "share": 0.05, "rest": True}, rows(2)),
    QueryExample({**_KEYS, **_DELAY, "part": "value < 0.5", "share": 0.02, "k": 5}, rows(3), nullable=("value",)),
    QueryExample(
        {**_KEYS, **_DELAY, "against": "previous", "at_least": 2, "rank_by": "ratio", "direction": "up"}, rows(4)
    ),
    QueryExample({**_KEYS, **_DELAY, "against": "2 minutes", "distance": ["total-variation"]}, rows(7)),
    QueryExample({**_KEYS, **_DELAY, "k": 4, "offset": "5 seconds", **_WEIGHED}, rows(6), nullable=("origin",)),
    QueryExample({**_KEYS, **_DELAY, "half_life": "10 seconds", "k": 3}, rows(5)),
)

JOB = JobExample(
    "The two clients that caused the most bytes in each half hour, and their share of all bytes:",
    "requests.csv",
    """\
ts,client,bytes
2026-06-20 09:01:00,ann,500
2026-06-20 09:04:00,bob,200
2026-06-20 09:15:00,ann,300
2026-06-20 09:22:00,cho,900
2026-06-20 09:41:00,bob,100
2026-06-20 09:50:00,dee,400
""",
    """
[source]
format = "csv"
path = "requests.csv"
schema = "ts TIMESTAMP, client STRING, bytes BIGINT"
options = { header = true }

[query]
kind = "heavy-hitters"
time = "ts"
object = "client"
total = "sum"
weight = "bytes"
windows = ["30 minutes"]
every = "30 minutes"
k = 2
""",
)
