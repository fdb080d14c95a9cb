"""Examples of near-vectors: the job on its page, and the rows its conformance checks run on."""

from skyband.queries.example import JobExample, QueryExample, rows

_KEYS = {
    "time": "ts",
    "id": "number",
    "vector": "samples",
    "dimensions": 3,
    "threshold": 0.9,
    "window": "1 minute",
    "delay": "20 seconds",
}

_CARRYING = {**_KEYS, "output": "rows", "matches": 2, "carry": ["value"], "carry_match": ["value", "name"]}

_NEAREST = {key: value for key, value in _KEYS.items() if key != "threshold"}

EXAMPLES = (
    QueryExample(_KEYS, rows(1)),
    QueryExample({**_KEYS, "keep": "first", "threshold": -0.7, "similarity": "euclidean"}, rows(3)),
    QueryExample({**_KEYS, "side": "side", "threshold": 1.5, "similarity": "dot"}, rows(4)),
    QueryExample(_CARRYING, rows(2), nullable=("value", "name")),
    QueryExample({**_NEAREST, "matches": 3, "window": "20 rows"}, rows(5)),
)

JOB = JobExample(
    "Which title says the same as an earlier one of the last day, and which is the first of its story:",
    "titles.json",
    """\
{"ts": "2026-06-20 09:00:00", "title": "Storm closes the harbour", "embedding": [0.9, 0.1, 0.1, 0.4]}
{"ts": "2026-06-20 11:30:00", "title": "Port shut by gale", "embedding": [0.8, 0.2, 0.1, 0.5]}
{"ts": "2026-06-20 12:00:00", "title": "New mayor takes office", "embedding": [0.1, 0.9, 0.3, 0.0]}
{"ts": "2026-06-21 15:00:00", "title": "Harbour closed again", "embedding": [0.9, 0.1, 0.1, 0.4]}
""",
    """
[source]
format = "json"
path = "titles.json"
schema = "ts TIMESTAMP, title STRING, embedding ARRAY<FLOAT>"

[query]
kind = "near-vectors"
time = "ts"
id = "title"
vector = "embedding"
dimensions = 4
threshold = 0.95
window = "1 day"
matches = 1
output = "rows"
""",
)
