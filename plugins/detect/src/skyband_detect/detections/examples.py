"""Examples of detections: the job on its page, and the queries of its conformance checks."""

from typing import Any

from skyband.queries.example import JobExample, QueryExample, rows

_KEYS = {"time": "ts", "delay": "20 seconds"}
_START = "2025-06-15T15:06:50Z"
"""Some seconds after the first row."""
_ELSEWHERE = dict.fromkeys(
    ("keys", "keep", "rule_columns", "rule_numbers"), "the tests of rules that come, as a second table"
)


def _crossings(sources: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The answers of the first example by definition, for rows with a time."""
    from datetime import timedelta

    answers = []
    for time, origin in sorted({(row["ts"], row["origin"]) for row in sources if row["origin"] is not None}):
        own = [row["ts"] for row in sources if row["origin"] == origin]
        recent = [other for other in own if time - timedelta(seconds=10) < other <= time]
        count = float(len(recent))
        if sum(other < time for other in recent) < 3 <= count:
            numbers = {"value": count, "low": count, "high": count}
            answers.append({"time": time, "rule": "many", "key": f'{{"origin": "{origin}"}}', **numbers})
    return answers


EXAMPLES = (
    QueryExample(
        {**_KEYS, "detections": [{"name": "many", "key": ["origin"], "window": "10 seconds", "at_least": 3}]},
        rows(1),
        nullable=("origin",),
        oracle=_crossings,
    ),
    QueryExample(
        {
            **_KEYS,
            "detections": [
                {"name": "all", "window": "5 seconds", "at_least": 6, "tell": "each", "silence": "3 seconds"},
                {"name": "pair", "key": ["origin", "side"], "window": "30 seconds", "at_least": 4, "tell": "each"},
                {"name": "more", "key": ["origin", "side"], "window": "20 seconds", "at_least": 7},
                {
                    "name": "names", "key": ["origin"], "measure": "distinct name", "window": "15 seconds",
                    "at_least": 4, "where": "value > 0.2",
                },
                {
                    "name": "mean", "key": ["side"], "measure": "mean number", "window": "20 seconds", "at_least": 40.5,
                    "least": 3, "tell": "each",
                },
                {"name": "middle", "measure": "median of number", "window": "9 seconds", "at_least": 60},
                {"name": "few", "key": ["origin"], "below": 2, "window": "7 seconds", "silence": "2 seconds"},
                {
                    "name": "steps", "key": ["origin"], "measure": "sequence", "window": "30 seconds", "tell": "each",
                    "steps": [{"at_least": 2, "window": "9 seconds", "where": "value > 0.5"}, "value < 0.3"],
                },
                {
                    "name": "all of", "key": ["side"], "measure": "sequence", "window": "20 seconds", "any_order": True,
                    "steps": ["value > 0.8", "value < 0.2", "value < 0.7"], "where": "value <> 0.1",
                },
                {"name": "new", "key": ["name"], "measure": "unseen", "window": "1 minute", "after": _START},
            ],
            "carry": ["number"],
            "unit": 0.5,
        },
        rows(2),
        nullable=("origin", "side", "name", "value", "number"),
        elsewhere=_ELSEWHERE,
    ),
)  # fmt: skip

JOB = JobExample(
    "Three failed logins of a user within ten minutes, an address that tries three users, and 1,000 bytes in an hour:",
    "logins.csv",
    """\
ts,user,address,ok,bytes
2026-06-20 09:01:00,ann,198.51.100.7,false,0
2026-06-20 09:02:00,bob,198.51.100.7,false,0
2026-06-20 09:04:00,ann,203.0.113.9,false,0
2026-06-20 09:05:00,cy,198.51.100.7,true,700
2026-06-20 09:09:00,ann,203.0.113.9,false,0
2026-06-20 09:30:00,ann,203.0.113.9,true,300
2026-06-20 09:40:00,cy,198.51.100.7,true,400
""",
    """
[source]
format = "csv"
path = "logins.csv"
schema = "ts TIMESTAMP, user STRING, address STRING, ok BOOLEAN, bytes BIGINT"
options = { header = true }

[query]
kind = "detections"
time = "ts"
carry = ["address"]

[[query.detections]]
name = "failed logins"
where = "NOT ok"
key = ["user"]
window = "10 minutes"
at_least = 3

[[query.detections]]
name = "many users"
key = ["address"]
measure = "distinct user"
window = "10 minutes"
at_least = 3

[[query.detections]]
name = "much out"
key = ["user"]
measure = "sum bytes"
window = "1 hour"
at_least = 1000
""",
)
