"""Examples of top-k-pairs: the job on its page, and the rows its conformance checks run on."""

from skyband.queries.example import JobExample, examples

_WINDOWS = {"window": "1 minute", "every": "15 seconds"}
_PAIRS = {"id": "number", "tokens": "words", "similarity": "jaccard", "k": 5}


EXAMPLES = examples(
    {**_PAIRS, **_WINDOWS, "carry": ["number"], "offset": "5 seconds"},
    {**_PAIRS, **_WINDOWS, "side": "side"},
)

JOB = JobExample(
    "Which baskets of the last two days are most similar:",
    "baskets.json",
    """\
{"at": "2026-06-20 09:00:00", "basket": 1, "items": ["bread", "milk", "eggs"]}
{"at": "2026-06-20 11:30:00", "basket": 2, "items": ["tea", "honey"]}
{"at": "2026-06-20 18:00:00", "basket": 3, "items": ["bread", "milk", "jam"]}
{"at": "2026-06-21 10:00:00", "basket": 4, "items": ["eggs", "bread", "milk"]}
{"at": "2026-06-22 08:00:00", "basket": 5, "items": ["tea", "honey", "lemon"]}
""",
    """
[source]
format = "json"
path = "baskets.json"
schema = "at TIMESTAMP, basket BIGINT, items ARRAY<STRING>"

[query]
kind = "top-k-pairs"
time = "at"
id = "basket"
tokens = "items"
similarity = "jaccard"
k = 2
window = "2 days"
every = "1 day"
""",
)
