"""Examples of near-duplicates: the job on its page, and the rows its conformance checks run on."""

from skyband.queries.example import JobExample, QueryExample, rows

_KEYS = {"time": "ts", "id": "number", "tokens": "words", "threshold": 0.6, "window": "1 minute", "delay": "20 seconds"}

_CARRYING = {**_KEYS, "output": "rows", "matches": 2, "carry": ["value"], "carry_match": ["value", "name"]}

EXAMPLES = (
    QueryExample(_KEYS, rows(1), nullable=("words",)),
    QueryExample({**_KEYS, "keep": "first", "similarity": "containment"}, rows(3), nullable=("words",)),
    QueryExample({**_KEYS, "side": "side"}, rows(4), nullable=("words",)),
    QueryExample(_CARRYING, rows(2), nullable=("words", "value", "name")),
)

JOB = JobExample(
    "Which report is similar to an earlier one of the last hour, and which is the first of its kind:",
    "reports.json",
    """\
{"ts": "2026-06-20 09:00:00", "report": 1, "words": ["disk", "full", "on", "node", "a"]}
{"ts": "2026-06-20 09:10:00", "report": 2, "words": ["disk", "full", "on", "node", "b"]}
{"ts": "2026-06-20 09:20:00", "report": 3, "words": ["login", "refused"]}
{"ts": "2026-06-20 10:15:00", "report": 4, "words": ["disk", "full", "on", "node", "a"]}
""",
    """
[source]
format = "json"
path = "reports.json"
schema = "ts TIMESTAMP, report BIGINT, words ARRAY<STRING>"

[query]
kind = "near-duplicates"
time = "ts"
id = "report"
tokens = "words"
threshold = 0.6
window = "1 hour"
matches = 1
output = "rows"
""",
)
