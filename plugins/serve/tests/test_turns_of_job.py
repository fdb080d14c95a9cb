"""Turns are done again only by the job that began them, whichever of them says what the job was."""

import pytest
from attrs import evolve
from served_board import job_of
from skyband.errors import ConfigError
from skyband_serve.turns import Turn
from skyband_serve.turns_of_job import answers_of, check_as_before
from state_streams import counting, stream, table

TURNS = 4


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    keys = {key: value for key, value in counting(ahead="1 day").items() if key != "emit"}
    return job_of(tmp_path_factory.mktemp("job"), keys, table(stream(1)))


def another(as_now, change):
    """The same with a key that was otherwise, was not there, or was there."""
    query = dict(as_now["query"])
    if change == "query.windows":
        return {**as_now, "query": {**query, "windows": ["7 seconds"]}}
    if change == "query.ahead":
        del query["ahead"]
        return {**as_now, "query": query}
    return {**as_now, "idle_after": "5 seconds"}


@pytest.mark.parametrize("notes", range(1 << TURNS))
@pytest.mark.parametrize("changed", range(TURNS))
@pytest.mark.parametrize("change", ["query.windows", "query.ahead", "source.idle_after"])
def test_a_change_is_refused_by_its_key_wherever_it_was_noted(job, notes, changed, change):
    """A turn notes the job, or says nothing, as it is the same as before; a reload makes one note another."""
    as_now = answers_of(job)
    turns = [Turn(place + 1, job=as_now if notes >> place & 1 else None) for place in range(TURNS)]
    check_as_before(job, turns)
    turns[changed] = evolve(turns[changed], job=another(as_now, change))
    with pytest.raises(ConfigError) as raised:
        check_as_before(job, turns)
    assert [problem.field for problem in raised.value.problems] == [change]


def test_what_happens_to_bad_rows_may_change(job):
    as_now = answers_of(job)
    check_as_before(job, [Turn(1, job={**as_now, "query": {**as_now["query"], "bad_rows": "count"}})])
