"""Examples of uncertain-join: the job on its page, and the rows its conformance checks run on."""

from skyband.queries.example import JobExample, examples

_SAMPLES = {"values": "samples", "probabilities": "chances", "size": 12, "alpha": 0.9}
_BY_TIME = {"values": "samples", "probabilities": "chances", "window": "10 seconds"}
_BY_CHANGE = {"values": "samples", "probabilities": "chances", "delta": 1.5, "alpha": 0.9}
_JOINED = {"side": "side", "id": "number", "beta": 0.2, "epsilon": 0.1}
_POINTS = {"values": ["samples", "heights"], "epsilon": 0.6}

EXAMPLES = examples(
    _SAMPLES | _JOINED | {"carry": ["number"]},
    _BY_TIME | _JOINED,
    {key: value for key, value in (_BY_CHANGE | _JOINED).items() if key != "side"},
    _SAMPLES | _JOINED | _POINTS,
    _SAMPLES | _JOINED | _POINTS | {"distance": "great-circle", "epsilon": 100_000},
)

JOB = JobExample(
    "Two sensors measure with errors. Which readings are within 0.5 of each other with probability 0.5 or more:",
    "positions.json",
    """\
{"at": 1, "sensor": "left", "reading": "a1", "values": [1.0, 1.4], "chances": [0.5, 0.5]}
{"at": 2, "sensor": "right", "reading": "b1", "values": [1.2], "chances": [0.9]}
{"at": 3, "sensor": "left", "reading": "a2", "values": [3.0], "chances": [1.0]}
{"at": 4, "sensor": "right", "reading": "b2", "values": [2.8, 9.0], "chances": [0.7, 0.3]}
{"at": 5, "sensor": "right", "reading": "b3", "values": [3.4, 9.0], "chances": [0.2, 0.8]}
""",
    """
[source]
format = "json"
path = "positions.json"
schema = "at BIGINT, sensor STRING, reading STRING, values ARRAY<DOUBLE>, chances ARRAY<DOUBLE>"

[query]
kind = "uncertain-join"
time = "at"
side = "sensor"
id = "reading"
values = "values"
probabilities = "chances"
size = 3
epsilon = 0.5
beta = 0.5
""",
)
