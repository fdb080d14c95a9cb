"""The examples of top-k-workload: the job of its page, and rows for its conformance checks."""

from skyband.queries.example import JobExample, examples

_WORKLOAD = [
    {"name": "quick", "window": "30 seconds", "slide": "10 seconds", "k": 2},
    {"name": "slow", "window": "2 minutes", "slide": "1 minute", "k": 5},
]

_RANKED = {"object": "name", "score": "value", "queries": _WORKLOAD}

EXAMPLES = examples(
    {**_RANKED, "longest": "5 minutes", "most": 20},
    {**_RANKED, "order": "smallest", "carry": ["number"], "repeats": "best"},
    nullable=("number",),
)

JOB = JobExample(
    "Two screens over one stream of bids, each with its own window, slide and k:",
    "bids.csv",
    """\
ts,lot,price
2026-06-20 09:00:10,17,120
2026-06-20 09:00:40,23,310
2026-06-20 09:01:05,17,150
2026-06-20 09:01:50,42,90
2026-06-20 09:02:20,23,280
2026-06-20 09:02:45,8,205
""",
    """
[source]
format = "csv"
path = "bids.csv"
schema = "ts TIMESTAMP, lot BIGINT, price DOUBLE"
options = { header = true }

[query]
kind = "top-k-workload"
time = "ts"
object = "lot"
score = "price"
queries = [
    { name = "now", window = "1 minute", slide = "1 minute", k = 1 },
    { name = "lately", window = "3 minutes", slide = "2 minutes", k = 2 },
]
""",
)
