"""GET /answers: the answers of the newest moment, or all since a moment or a turn, while they are kept."""

import json

import pyarrow as pa
from skyband.errors import InputError
from skyband.states.since_or_last import moment_named
from skyband_jobs.files.states_table import AT, moments_of
from skyband_jobs.formats.json_rows import json_rows
from skyband_jobs.job.checked_job import CheckedJob

from skyband_serve.published import MOST_BYTES, Published
from skyband_serve.web.arrow_stream import stream_of
from skyband_serve.web.groups import rows_with
from skyband_serve.web.query_string import Option, Request
from skyband_serve.web.worker import Check, Work

OPTIONS = (
    Option("since", "moment", "all answers of this moment and later, such as 2026-11-22T10:30"),
    Option("after", "int", "all answers of later turns than this number: the `turn` of the reply before"),
)
WINDOW = "window"
"""A column of answers by which they may be chosen, besides those of the group."""
_ROWS = 1_000
"""Rows that are written as JSON at once."""


def answers(job: CheckedJob, now: Published, request: Request, arrow: bool) -> Work:
    """The work for a request. Raises InputError if its parameters are wrong."""
    since, after = request.values.get("since"), request.values.get("after")
    if since is not None and after is not None:
        raise InputError("after", "cannot be combined with `since`: give one of them")
    if after is not None and not isinstance(after, int):
        raise InputError("after", f"must be the number of a turn (got {after!r:.40})")
    moment = None if since is None else moment_named("since", since)
    tables = [one.table for one in now.recent if after is None or one.turn > after]
    if since is None and after is None:
        tables = tables[-1:]

    def work(check: Check) -> bytes:
        rows = pa.table({})
        if now.recent:
            schema = now.recent[-1].table.schema
            parts = [_part(table, moment, newest=after is None) for table in tables]
            names = [name for name in (*job.query.by, *job.query.separate_answers, WINDOW) if name in schema.names]
            rows = pa.concat_tables([schema.empty_table(), *parts], promote_options="permissive")  # a reload may differ
            rows = rows_with(rows, names, request.groups)
        return stream_of(rows) if arrow else _json(now, rows, check)

    return work


def _part(table: pa.Table, since: int | None, newest: bool) -> pa.Table:
    """The answers since a moment, or those of the newest moment."""
    if since is None and (not newest or AT not in table.column_names):
        return table
    if AT not in table.column_names:
        raise InputError("since", "these answers have no moment: ask for those `after` a turn")
    times = moments_of(table.column(AT))
    return table.filter(pa.array(times >= (times.max() if since is None else since)))


def _json(now: Published, rows: pa.Table, check: Check) -> bytes:
    head = json.dumps({"turn": now.turn, "from_turn": now.first})[:-1]
    parts, size = [], 0
    for start in range(0, len(rows), _ROWS):
        check()
        lines = ",\n".join(json_rows(rows.slice(start, _ROWS))).encode()
        size += len(lines)
        if size > MOST_BYTES:
            message = f"are more than {MOST_BYTES >> 20} MB: ask for fewer groups, a later moment, or Arrow"
            raise InputError("answers", message)
        parts.append(lines)
    return f'{head}, "answers": [\n'.encode() + b",\n".join(parts) + b"\n]}"
