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
    keys = {key: value for key, value in counting().items() if key != "emit"}
    return job_of(tmp_path_factory.mktemp("job"), keys, table(stream(1)))


@pytest.mark.parametrize("notes", range(1 << TURNS))
@pytest.mark.parametrize("changed", range(TURNS))
def test_a_change_is_refused_by_its_key_wherever_it_was_noted(job, notes, changed):
    """A turn notes the job, or says nothing, as it is the same as before; a reload makes one note another."""
    as_now = answers_of(job)
    other = {**as_now, "query": {**as_now["query"], "windows": ["7 seconds"]}}
    turns = [Turn(place + 1, job=as_now if notes >> place & 1 else None) for place in range(TURNS)]
    check_as_before(job, turns)
    turns[changed] = evolve(turns[changed], job=other)
    with pytest.raises(ConfigError) as raised:
        check_as_before(job, turns)
    assert [problem.field for problem in raised.value.problems] == ["query.windows"]
