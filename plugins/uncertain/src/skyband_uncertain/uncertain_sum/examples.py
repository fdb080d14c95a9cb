"""Examples of uncertain-sum: the job on its page, and the rows its conformance checks run on."""

from skyband.queries.example import JobExample, examples

_SAMPLES = {"values": "samples", "probabilities": "chances", "size": 12, "alpha": 0.9}
_BY_TIME = {"values": "samples", "probabilities": "chances", "window": "10 seconds"}
_BY_CHANGE = {"values": "samples", "probabilities": "chances", "delta": 1.5, "alpha": 0.9}

EXAMPLES = examples(
    _SAMPLES | {"statistics": ["count", "average"], "carry": ["number"]},
    _BY_TIME,
    _BY_CHANGE | {"statistics": ["average"]},
    nullable=("number",),
)

JOB = JobExample(
    "Readings that may be false alarms. The sum of the last two real ones, held with probability 0.9:",
    "readings.json",
    """\
{"at": 1, "values": [2.0, 3.0], "chances": [0.5, 0.5]}
{"at": 2, "values": [4.0], "chances": [0.6]}
{"at": 3, "values": [1.0, 5.0], "chances": [0.4, 0.5]}
{"at": 4, "values": [6.0], "chances": [1.0]}
{"at": 5, "values": [2.0], "chances": [0.95]}
""",
    """
[source]
format = "json"
path = "readings.json"
schema = "at BIGINT, values ARRAY<DOUBLE>, chances ARRAY<DOUBLE>"

[query]
kind = "uncertain-sum"
time = "at"
values = "values"
probabilities = "chances"
size = 2
alpha = 0.9
""",
)
