"""What of a job decides the answers of its turns: turns are done again only by a job that has not changed."""

from collections.abc import Iterable
from typing import Any

from skyband.errors import ConfigError, Problem
from skyband.queries import make_query
from skyband_jobs.running.savepoint import fact_text, keys_of
from skyband_jobs.tables.model import Job

from skyband_serve.turns import Turn

_BAD_ROWS = "bad_rows"
"""May change: a turn that a bad row ended wrote nothing, and must be done again otherwise."""


def answers_of(job: Job) -> dict[str, Any]:
    """The keys of a job that decide the answers of a turn, as data."""
    idle = job.source.idle_after
    return {"query": keys_of(job.query), "idle_after": None if idle is None else str(idle)}


def check_as_before(job: Job, turns: Iterable[Turn]) -> None:
    """Raise ConfigError, with every change, where turns that are to be done again were begun by another job.

    A sink has the answers of some of them: those of a changed job could be there twice, or not at all.
    """
    now, bad_rows = answers_of(job), job.query.bad_rows
    for turn in turns:
        if turn.job is None or turn.job == now:
            continue
        query = keys_of(make_query({**turn.job["query"], _BAD_ROWS: bad_rows}))
        before = {f"query.{key}": value for key, value in query.items()} | {"source.idle_after": turn.job["idle_after"]}
        current = {f"query.{key}": value for key, value in now["query"].items()}
        current |= {"source.idle_after": now["idle_after"]}
        problems = [
            Problem(key, f"was {fact_text(before.get(key))} for micro-batches that are done again after a kill "
                    f"(got {fact_text(current.get(key))}): change it back, run the job and stop it; then change it")
            for key in sorted({*before, *current})
            if before.get(key) != current.get(key)
        ]  # fmt: skip
        if problems:
            raise ConfigError(*problems)
