"""The small job of a kind of query: the rows of its source and the job file, run for the query's page."""

import tomllib
from importlib import import_module

import pyarrow as pa
from skyband.errors import PluginError
from skyband.queries import examples_of, make_query
from skyband.queries.example import JobExample
from skyband.queries.query import Query
from skyband.registry import installed
from skyband_jobs.tables.spark_ddl import parse_ddl


def job_example(kind: str) -> JobExample | None:
    """The job shown for a kind of query, called JOB in the module of its examples; None where there is none."""
    named = installed().queries.named(kind).info.examples
    if named is None:
        return None
    module = import_module(named.partition(":")[0])
    job = getattr(module, "JOB", None)
    if job is not None and not isinstance(job, JobExample):
        raise PluginError(f"query {kind!r}: {module.__name__}.JOB must be a JobExample (got {job!r})")
    return job


def example_query(kind: str) -> tuple[Query, pa.Schema] | None:
    """The query of that job, else of the first example of its checks, and the schema of the source."""
    job = job_example(kind)
    if job is not None:
        tables = tomllib.loads(job.job)
        return make_query(tables["query"]), parse_ddl(tables["source"]["schema"])
    for example in examples_of(kind):
        return make_query({**example.keys, "kind": kind}), example.rows.schema
    return None
