"""What is kept for the port, how long, and when the service is not well; and /answers, which gives it."""

import json
import random
from datetime import UTC, datetime, timedelta
from itertools import chain

import pyarrow as pa
import pytest
from attrs import evolve
from served_board import ARROW, counts, error, get, job_of, request, served
from skyband.engines import local
from skyband_jobs.files.states_table import moments_of
from skyband_serve import published
from skyband_serve.published import Board
from skyband_serve.published_states import PublishedStates
from skyband_serve.settings import ServeSettings
from state_streams import counting, stream, table

HTTP = "127.0.0.1:0"
MINUTE = 60_000_000
"""The longest window of the counts."""
KEYS = {key: value for key, value in counting().items() if key != "emit"}


class Clock:
    """Seconds that pass when they are told to."""

    now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    """A job that emits answers, and one turn's answers a moment: six moments."""
    rows = table(stream(1))
    answers = local.apply(rows, KEYS)
    moments = answers["at"].unique()[:6]
    parts = [answers.filter(pa.compute.equal(answers["at"], moment)) for moment in moments]
    return job_of(tmp_path_factory.mktemp("job"), KEYS, rows), parts


def turns(board):
    return [one.turn for one in board.now.recent], board.now.first


def test_answers_are_kept_for_their_time_and_the_newest_for_ever(job):
    clock = Clock()
    board = Board(job[0], ServeSettings(HTTP, keep="1 minute"), clock)
    nothing = job[1][0].slice(0, 0)
    assert turns(board) == ([], 0)
    board.publish(7, job[1][0], {})
    clock.now += 40
    board.publish(8, job[1][1], {})
    board.publish(9, nothing, {})
    assert turns(board) == ([7, 8], 7)
    clock.now += 20
    board.publish(10, nothing, {})
    assert turns(board) == ([8], 8)
    clock.now += 1000
    board.publish(11, nothing, {})
    assert turns(board) == ([8], 8)
    board.publish(12, job[1][2], {})
    assert turns(board) == ([12], 9), "the turns between answered nothing"
    assert board.now.turn == 12


def test_answers_are_kept_up_to_their_bytes(job, monkeypatch):
    sizes = [part.nbytes for part in job[1]]
    monkeypatch.setattr(published, "MOST_BYTES", sum(sizes[1:4]))
    board = Board(job[0], ServeSettings(HTTP))
    for turn, part in enumerate(job[1][:4], 1):
        board.publish(turn, part, {})
    assert turns(board) == ([2, 3, 4], 2)
    monkeypatch.setattr(published, "MOST_BYTES", 1)
    board.publish(5, job[1][4], {})
    assert turns(board) == ([5], 5), "the newest is kept however large it is"
    board.publish(6, job[1][4].slice(0, 0), {})
    assert turns(board) == ([5], 5)


def test_states_are_kept_only_of_the_newest_moment(tmp_path):
    job, answers = counts(tmp_path)
    board = Board(job, ServeSettings(HTTP))
    half = len(answers) // 2
    board.publish(1, answers.slice(0, half), {})
    board.publish(2, answers.slice(half), {})
    assert turns(board) == ([2], 2)
    newest = max(answers["at"].to_pylist())
    assert board.now.states.at == int(newest.timestamp() * 1e6)
    there = {row["g"] for row in answers.to_pylist() if row["at"] == newest}
    assert {group for (group,) in board.now.states.groups} == there


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("changes", [{}, {"emit": "changed-state"}, {"by": []}], ids=["state", "changed", "one group"])
def test_the_newest_states_are_those_of_the_definition_after_each_turn(changes, seed):
    """However the answers are cut into turns, some of which are done again after a start: the newest moment stays."""
    chance, rows, keys = random.Random(seed), table(stream(seed)), counting(**changes)
    answers = local.apply(rows, keys).sort_by("at")
    times, blobs = moments_of(answers["at"]).tolist(), answers["state"].to_pylist()
    groups = list(zip(*(answers[name].to_pylist() for name in keys["by"]), strict=True)) or [()] * len(answers)
    states, begin, newest = None, 0, {}
    while begin < len(answers):
        end = min(begin + chance.randrange(1, 12), len(answers))
        states = PublishedStates.after(states, answers.slice(begin, end - begin))
        for row in range(begin, end):
            newest[groups[row]] = max(newest.get(groups[row], (0, b"")), (times[row], blobs[row]))
        at = max(time for time, _ in newest.values())
        first = at - MINUTE + 1 if states.covers.changed else at
        assert states.at == at
        assert {key: (time, bytes(blob)) for key, (time, blob) in states.groups.items()} == {
            key: state for key, state in newest.items() if state[0] >= first
        }
        begin = end if chance.random() < 0.7 else max(end - chance.randrange(1, 20), 0)


def test_without_a_port_nothing_is_kept(job):
    board = Board(job[0], ServeSettings())
    board.publish(1, job[1][0], {"rows_in": 1})
    assert (board.now.turn, board.now.recent, board.now.states) == (0, (), None)


def test_a_reader_keeps_what_it_took_while_turns_pass(job):
    board = Board(job[0], ServeSettings(HTTP))
    board.publish(1, job[1][0], {"rows_in": 1})
    before = board.now
    board.publish(2, job[1][1], {"rows_in": 2})
    assert (before.turn, before.about, [one.turn for one in before.recent]) == (1, {"rows_in": 1}, [1])
    with pytest.raises(AttributeError):
        before.turn = 3


def test_the_service_is_not_well_without_turns_while_rows_wait_or_where_it_says_so(job):
    clock = Clock()
    board = Board(job[0], ServeSettings(HTTP), clock)
    clock.now += 1000
    assert board.ailment is None, "no rows have come yet"
    board.publish(1, job[1][0], {"lag": {"0": 0, "1": 0}})
    clock.now += 1000
    assert board.ailment is None, "no rows wait"
    board.publish(2, job[1][0], {"lag": {"0": 1200, "1": 34}})
    clock.now += 30
    assert board.ailment is None
    clock.now += 1
    assert board.ailment == "no turn for 31 seconds, while 1,234 rows wait"
    board.job = evolve(board.job, sink=evolve(board.job.sink, trigger="1 minute"))
    assert board.ailment is None, "a turn is due each minute"
    clock.now += 60
    assert board.ailment == "no turn for 91 seconds, while 1,234 rows wait"
    board.unwell("the sink cannot be reached")
    assert board.ailment == "the sink cannot be reached"
    board.publish(3, job[1][0], {})
    assert board.ailment == "the sink cannot be reached", "until it says otherwise"
    board.unwell(None)
    assert board.ailment is None


def test_answers_of_the_newest_moment_since_a_moment_and_after_a_turn(job):
    parts = [part.to_pylist() for part in job[1]]
    moments = [part[0]["at"] for part in parts]
    with served(job[0]) as port:
        assert get(port, "/answers") == {"turn": 0, "from_turn": 0, "answers": []}
        assert get(port, "/answers", after="0") == {"turn": 0, "from_turn": 0, "answers": []}
        for turn, part in ((3, pa.concat_tables(job[1][:2])), (4, job[1][2]), (6, pa.concat_tables(job[1][3:]))):
            port.board.publish(turn, part, {})
        port.board.publish(9, job[1][0].slice(0, 0), {})

        def answers(**parameters):
            replied = get(port, "/answers", **parameters)
            assert (replied["turn"], replied["from_turn"]) == (9, 3)
            arrow = request(port, "/answers", headers={"Accept": ARROW}, **parameters)[2]
            rows = pa.ipc.open_stream(arrow).read_all()
            assert rows.schema == job[1][0].schema
            assert [
                {**row, "at": datetime.fromisoformat(row["at"]).replace(tzinfo=UTC)} for row in replied["answers"]
            ] == [{**row, "at": row["at"].replace(tzinfo=UTC)} for row in rows.to_pylist()]
            return rows.to_pylist()

        assert answers() == parts[5]
        assert answers(since=moments[2].isoformat()) == [*chain(*parts[2:])]
        assert answers(since=(moments[2] + timedelta(microseconds=1)).isoformat()) == [*chain(*parts[3:])]
        assert answers(since="1970-01-01") == [*chain(*parts)]
        assert answers(since="2200-01-01") == []
        assert answers(after="0") == [*chain(*parts)]
        assert answers(after="3") == [*chain(*parts[2:])]
        assert answers(after="4") == answers(after="5") == [*chain(*parts[3:])]
        assert answers(after="6") == answers(after="9" * 18) == []
        (row,) = answers(after="3", **{"group.g": parts[2][0]["g"]})[:1]
        assert row == parts[2][0]
        assert answers(**{"group.window": "1 minute"}) == parts[5] and answers(**{"group.window": "1 hour"}) == []
        assert error(port, "/answers", since="2026", after="3").startswith("after: cannot be combined with `since`")
        assert error(port, "/answers", after="x") == "after: must be the number of a turn (got 'x')"
        assert error(port, "/answers", since="x").startswith('since: must be a moment such as "2026-11-22 10:30"')
        assert error(port, "/answers", since=["1", "2"]) == "since: is given 2 times: give it once"
        assert error(port, "/answers", snce="1") == "snce: unknown; did you mean 'since'?"


def test_answers_without_a_moment_are_those_of_the_newest_turn(tmp_path):
    rows = table(stream(1))
    keys = {"kind": "row-features", "time": "ts", "windows": ["1 minute"], "by": ["g"]}
    job, answers = job_of(tmp_path, keys, rows), local.apply(rows, keys)
    assert "at" not in answers.column_names
    with served(job) as port:
        port.board.publish(1, answers.slice(0, 20), {})
        port.board.publish(2, answers.slice(20), {})
        assert len(get(port, "/answers")["answers"]) == len(answers) - 20
        assert len(get(port, "/answers", after="0")["answers"]) == len(answers)
        assert error(port, "/answers", since="2026-01-01") == (
            "since: these answers have no moment: ask for those `after` a turn"
        )


def test_answers_from_before_and_after_a_reload_are_given_together(job):
    """Columns that only one of them has are null in the other."""
    before = job[1][0]
    after = job[1][1].rename_columns([name.replace("high", "highest") for name in before.column_names])
    with served(job[0]) as port:
        port.board.publish(1, before, {})
        port.board.publish(2, after, {})
        rows = get(port, "/answers", after="0")["answers"]
        assert [row["high"] is None for row in rows] == [False] * len(before) + [True] * len(after)
        assert [row["highest"] is None for row in rows] == [True] * len(before) + [False] * len(after)
        assert rows[0].keys() == rows[-1].keys() == {*before.column_names, "highest"}
        assert get(port, "/answers")["answers"][0].keys() == {*after.column_names}


def test_json_that_would_be_too_long_says_what_to_ask_instead(job, monkeypatch):
    monkeypatch.setattr("skyband_serve.web.answers.MOST_BYTES", 100)
    with served(job[0]) as port:
        port.board.publish(1, job[1][0], {})
        assert error(port, "/answers").endswith("ask for fewer groups, a later moment, or Arrow")
        assert request(port, "/answers", headers={"Accept": ARROW})[0] == 200


def test_the_json_of_answers_is_that_of_json_files(job):
    with served(job[0]) as port:
        port.board.publish(1, job[1][0], {})
        body = request(port, "/answers")[2]
        assert json.loads(body)["answers"][0].keys() == {*job[1][0].column_names}
