"""Examples of top-k: the job on its page, and the rows its conformance checks run on."""

from skyband.queries.example import JobExample, examples

_WINDOWS = {"window": "1 minute", "every": "15 seconds"}
_TOP_K = {"object": "name", "stream": "origin", "value": "value", "streams": ["air", "water", "soil"], "k": 4}

EXAMPLES = examples(
    {**_TOP_K, **_WINDOWS, "repeats": "per-window", "upper": 2, "offset": "5 seconds"},
    {**_TOP_K, "window": "50 rows", "every": "9 rows", "aggregate": "max", "carry": ["number"], "order": "smallest"},
    {**_TOP_K, **_WINDOWS, "repeats": "latest", "half_life": "10 seconds"},
    nullable=("number",),
)

JOB = JobExample(
    "Three kinds of testers rate phones at different times. The best two phones by the ratings of the last 30 days:",
    "ratings.csv",
    """\
day,phone,tester,rating
2026-06-01,Aster,lab,0.8
2026-06-03,Birch,shop,0.9
2026-06-08,Aster,user,0.5
2026-06-10,Cedar,lab,0.7
2026-06-17,Birch,lab,0.3
2026-06-19,Cedar,shop,0.6
2026-06-24,Cedar,user,0.4
""",
    """
[source]
format = "csv"
path = "ratings.csv"
schema = "day DATE, phone STRING, tester STRING, rating DOUBLE"
options = { header = true }

[query]
kind = "top-k"
time = "day"
object = "phone"
stream = "tester"
value = "rating"
streams = ["lab", "shop", "user"]
aggregate = "sum"
k = 2
window = "30 days"
every = "10 days"
""",
)
