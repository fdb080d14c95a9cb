"""GET /ask: the questions of `skyband ask`, over the newest state of each group."""

import pyarrow as pa
from skyband.errors import InputError
from skyband_jobs.files import asking_a_table
from skyband_jobs.files.asking_a_table import Answers
from skyband_jobs.job.checked_job import CheckedJob

from skyband_serve.published import Published
from skyband_serve.published_states import PublishedStates
from skyband_serve.web.arrow_stream import stream_of
from skyband_serve.web.groups import groups_with
from skyband_serve.web.query_string import Option, Request
from skyband_serve.web.refused_error import RefusedError
from skyband_serve.web.worker import Check, Work

WINDOWS = (
    Option(
        "last",
        "duration",
        'length of a window that ends at the moment, such as "37 minutes"; default: everything that the states cover',
        several=True,
    ),
    Option("at", "moment", "the moment to answer for: the newest, which is the default, as older ones are in the sink"),
    Option("by", "column", "merge the states of each value of this column", several=True),
    Option("union", "bool", "add the union of all groups; without `by`, answer only it"),
    Option("question", "str", "one of the questions that the states answer; default: the first with these parameters"),
)


def options() -> list[Option]:
    """The windows, and the parameters of all questions about states of installed backends."""
    of_questions = asking_a_table.parameters().values()
    return [*WINDOWS, *(Option.of(one.question, one.parameter, one.several) for one in of_questions)]


def ask(job: CheckedJob, now: Published, request: Request, arrow: bool) -> Work:
    """The work for a request. Raises InputError if the job has no states, RefusedError if it has none yet."""
    if not job.query.gives_states:
        message = 'needs the states of groups, but this job emits answers: set query.emit = "state", or ask /answers'
        raise InputError("ask", message)
    states = now.states
    if states is None:
        raise RefusedError(503, "no moment has been answered yet: ask later", {"retry-after": "1"})
    return lambda check: _ask(states, request, arrow, check)


def _ask(states: PublishedStates, request: Request, arrow: bool, check: Check) -> bytes:
    own = {option.name for option in WINDOWS}
    values = {name: value for name, value in request.values.items() if name not in own}
    answers = asking_a_table.ask_table(
        states.only(groups_with(states, request.groups), check),
        request.values.get("last", ()),
        request.values.get("at"),
        request.values.get("by", ()),
        request.values.get("union", False),
        request.values.get("question"),
        values,
        check,
    )
    return stream_of(_table(answers)) if arrow else asking_a_table.to_json(answers).encode()


def _table(answers: Answers) -> pa.Table:
    rows = [{**row.group, "last": row.window, **row.numbers} for row in answers.rows]
    names = dict.fromkeys(name for row in rows for name in row)
    return pa.table({name: [row.get(name) for row in rows] for name in names}).replace_schema_metadata(
        {"at": answers.at}
    )
