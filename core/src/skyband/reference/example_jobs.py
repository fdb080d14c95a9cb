"""A small job for each query: the rows of its source and the job file, run for the query's page."""

import tomllib
from importlib import import_module

import pyarrow as pa
from attrs import frozen

from skyband.errors import PluginError
from skyband.job.spark_ddl import parse_ddl
from skyband.queries import examples_of, make_query
from skyband.queries.query import Query
from skyband.registry import installed


@frozen
class JobExample:
    """What it asks, a file of rows, and the job that reads it."""

    lead: str
    file: str
    rows: str
    query: str

    @property
    def files(self) -> dict[str, str]:
        """The files beside the job."""
        return {self.file: self.rows}

    @property
    def job(self) -> str:
        """The job file: the source, the query and the console."""
        return f'{self.query.strip()}\n\n[sink]\nformat = "console"\n'


DISTINCT_COUNT = JobExample(
    "How many clients came in the last ten minutes and in the last half hour, every ten minutes:",
    "visits.csv",
    """\
ts,client
2026-06-20 09:01:00,ann
2026-06-20 09:02:00,bob
2026-06-20 09:07:00,ann
2026-06-20 09:12:00,cho
2026-06-20 09:16:00,ann
2026-06-20 09:24:00,dee
2026-06-20 09:38:00,bob
""",
    """
[source]
format = "csv"
path = "visits.csv"
schema = "ts TIMESTAMP, client STRING"
options = { header = true }

[query]
kind = "distinct-count"
time = "ts"
item = "client"
windows = ["10 minutes", "30 minutes"]
every = "10 minutes"
""",
)

TOP_K = JobExample(
    "Three kinds of testers rate phones, each in its own time. The best two by what is known of the last 30 days:",
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

TOP_K_PAIRS = JobExample(
    "Which baskets of the last two days are most alike:",
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

TOP_K_WORKLOAD = JobExample(
    "Two screens over one stream of bids, each with a window, slide and k of its own:",
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

UNCERTAIN_SUM = JobExample(
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

UNCERTAIN_JOIN = JobExample(
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

EXAMPLES = {
    "distinct-count": DISTINCT_COUNT,
    "top-k": TOP_K,
    "top-k-pairs": TOP_K_PAIRS,
    "top-k-workload": TOP_K_WORKLOAD,
    "uncertain-sum": UNCERTAIN_SUM,
    "uncertain-join": UNCERTAIN_JOIN,
}


def job_example(kind: str) -> JobExample | None:
    """The job shown for a kind of query: core's, or the one called JOB in the module of the plugin's examples."""
    if kind in EXAMPLES:
        return EXAMPLES[kind]
    named = installed().query(kind).info.examples
    if named is None:
        return None
    module = import_module(named.partition(":")[0])
    job = getattr(module, "JOB", None)
    if job is not None and not isinstance(job, JobExample):
        raise PluginError(f"query {kind!r}: {module.__name__}.JOB must be a JobExample (got {job!r})")
    return job


def example_query(kind: str) -> tuple[Query, pa.Schema] | None:
    """The query of the job that is shown, else of the first example of its checks, and the schema of the source."""
    job = job_example(kind)
    if job is not None:
        tables = tomllib.loads(job.job)
        return make_query(tables["query"]), parse_ddl(tables["source"]["schema"])
    for example in examples_of(kind):
        return make_query({**example.keys, "kind": kind}), example.rows.schema
    return None
