"""The states that the port answers from are in the checkpoint, so that a start has them at once."""

import pyarrow as pa
import pytest
from served_board import counts, get, job_of, request, served
from skyband.engines import local
from skyband.errors import SnapshotError
from skyband_serve.published import Board
from skyband_serve.settings import ServeSettings
from state_streams import counting, stream, table

from .test_asking_the_port import QUANTILES

HTTP = ServeSettings("127.0.0.1:0")


def as_data(states):
    groups = {repr(key): (time, bytes(blob)) for key, (time, blob) in states.groups.items()}
    covers = states.covers  # of any of the states
    return states.grouping, states.at, covers.at - covers.since, covers.rows, covers.changed, groups


def board_with(job, path):
    board = Board(job, HTTP)
    board.restore_states(path)
    return board


KEYS = [counting(), counting(emit="changed-state"), counting(by=[]), QUANTILES]


@pytest.mark.parametrize("keys", KEYS, ids=["state", "changed", "one group", "quantiles"])
def test_they_are_as_they_were_and_go_on(tmp_path, keys):
    rows = table(stream(1))
    job, answers = job_of(tmp_path, keys, rows), local.apply(rows, keys)
    third = len(answers) // 3
    before, path = Board(job, HTTP), tmp_path / "states.arrow"
    before.publish(1, answers.slice(0, third), {})
    before.publish(2, answers.slice(third, third), {})
    before.save_states(path, answers.schema)
    after = board_with(job, path)
    assert as_data(after.now.states) == as_data(before.now.states) and after.now.states.groups
    for board in (before, after):
        board.publish(3, answers.slice(2 * third), {})
    assert as_data(after.now.states) == as_data(before.now.states)


@pytest.mark.parametrize(
    "values",
    [[2.5, float("nan"), None], ["a", None, ""], [b"\x00", b"", None], [True, False, None]],
    ids=["doubles", "texts", "bytes", "booleans"],
)
def test_groups_have_the_values_that_they_had(tmp_path, values):
    rows = table(stream(1))
    column = pa.array((values * len(rows))[: len(rows)])
    rows = rows.set_column(rows.column_names.index("g"), "g", column)
    job, answers = job_of(tmp_path, counting(), rows), local.apply(rows, counting())
    before = Board(job, HTTP)
    before.publish(1, answers, {})
    before.save_states(tmp_path / "states.arrow", answers.schema)
    after = board_with(job, tmp_path / "states.arrow")
    assert as_data(after.now.states) == as_data(before.now.states) and len(after.now.states.groups) == len(values)


def test_a_port_answers_from_them_until_the_next_moment(tmp_path):
    job, answers = counts(tmp_path)
    path = tmp_path / "states.arrow"
    with served(job) as port:
        port.board.publish(1, answers, {})
        expected = get(port, "/ask", last="20 seconds", union="")
        port.board.save_states(path, answers.schema)
    with served(job) as port:
        assert request(port, "/ask")[0] == 503
        port.board.restore_states(path)
        assert get(port, "/ask", last="20 seconds", union="") == expected
        assert get(port, "/answers")["answers"] == []


@pytest.fixture
def saved(tmp_path):
    job, answers = counts(tmp_path)
    board = Board(job, HTTP)
    board.publish(1, answers, {})
    board.save_states(tmp_path / "states.arrow", answers.schema)
    return job, answers, tmp_path / "states.arrow"


def test_they_are_written_when_they_have_changed(saved):
    job, answers, path = saved
    board = board_with(job, path)
    first = path.stat().st_ino
    board.save_states(path, answers.schema)
    board.publish(2, answers.slice(0, 0), {})
    board.save_states(path, answers.schema)
    assert path.stat().st_ino == first
    board.publish(3, answers, {})
    board.save_states(path, answers.schema)
    assert path.stat().st_ino != first


def test_without_a_port_there_are_none_that_another_start_could_take_for_the_newest(saved):
    job, answers, path = saved
    board = Board(job, ServeSettings())
    board.restore_states(path)
    assert board.now.states is None
    board.save_states(path, answers.schema)
    assert not path.exists()
    assert board_with(job, path).now.states is None


def test_those_of_a_job_that_answered_otherwise_are_not_taken(saved, tmp_path):
    path = saved[2]
    (tmp_path / "other").mkdir()
    job, _ = counts(tmp_path / "other", windows=["30 seconds"])
    assert board_with(job, path).now.states is None


@pytest.mark.parametrize("change", [lambda content: content[:-1], lambda content: content[:99] + b"?" + content[100:],
                                    lambda _: b""])  # fmt: skip
def test_damaged_ones_are_an_error(saved, change):
    job, _, path = saved
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(SnapshotError, match=r"damaged: .*states.arrow' has other bytes than were written"):
        board_with(job, path)
