"""What the port answers: as `skyband ask --json` over the same states, one turn at a time."""

import json
import threading
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from served_board import ARROW, counts, error, get, job_of, request, served
from skyband.cli.commands import group
from skyband.engines import local
from skyband_jobs.files import asking_a_table
from skyband_serve.published import Board
from skyband_serve.settings import ServeSettings
from state_streams import counting, stream, table, totals

QUANTILES = {
    "kind": "quantiles", "time": "ts", "value": "item", "windows": ["1 minute"], "every": "20 seconds", "by": ["g"],
    "emit": "state",
}  # fmt: skip
FEATURES = {
    "kind": "row-features", "time": "ts", "windows": ["20 seconds", "1 minute"], "every": "20 seconds", "by": ["g"],
    "sums": ["item"], "distinct": ["item"], "emit": "changed-state",
}  # fmt: skip
QUESTIONS = [
    ({}, {}),
    ({}, {"last": ["20 seconds", "1 minute"]}),
    ({}, {"by": "g", "union": ""}),
    ({}, {"union": "true", "last": "37 seconds"}),
    ({"emit": "changed-state"}, {"last": "20 seconds", "union": "true", "by": "g"}),
    (totals(), {"k": "2", "last": "20 seconds"}),
    (totals(), {"union": "", "share": "0.1"}),
    (QUANTILES, {"q": ["0.5", "0.9"], "last": "20 seconds"}),
    (QUANTILES, {"above": ["3", "5.5"], "union": ""}),
    (QUANTILES, {"question": "share"}),
    (FEATURES, {"now": "2100-01-01T00:00:00"}),
    (FEATURES, {"now": "2000-01-01T00:00:00"}),
    (FEATURES, {"union": "", "feature": ["item_sum_1_minute", "count_20_seconds"]}),
]


def command_line(parameters):
    """The same question for `skyband ask`."""
    for name, values in parameters.items():
        for value in [values] if isinstance(values, str) else values:
            dashes = "-" if len(name) == 1 else "--"
            yield from [f"{dashes}{name}"] if name == "union" else [f"{dashes}{name}", value]


@pytest.fixture
def published(tmp_path):
    """Publishes a query's answers, turn by turn; gives the job and the folder with the states."""

    def publish(keys):
        rows = table(stream(1))
        job, answers = counts(tmp_path, **keys) if "kind" not in keys else (job_of(tmp_path, keys, rows), None)
        answers = local.apply(rows, keys) if answers is None else answers
        (tmp_path / "states").mkdir()
        pq.write_table(answers, tmp_path / "states" / "part.parquet")
        return job, answers, str(tmp_path / "states")

    return publish


@pytest.mark.parametrize(("keys", "parameters"), QUESTIONS)
@pytest.mark.parametrize("turns", [1, 5])
def test_the_json_is_that_of_skyband_ask_over_the_same_states(keys, parameters, turns, published):
    job, answers, states = published(keys)
    asked = CliRunner().invoke(group, ["ask", states, "--json", *command_line(parameters)])
    with served(job) as port:
        length = -(-len(answers) // turns)
        for turn in range(turns):
            port.board.publish(turn + 1, answers.slice(turn * length, length), {})
        status, _, body = request(port, "/ask", **parameters)
        if asked.exit_code:
            assert status == 400 and asked.stderr.strip().endswith(json.loads(body)["error"])
        else:
            assert (status, body.decode()) == (200, asked.stdout.rstrip("\n"))
            assert request(port, "/ask", **parameters)[2] == body, "kept for the next request"


@pytest.mark.parametrize("emit", ["state", "changed-state"])
@pytest.mark.parametrize("order", [1, -1])
def test_after_each_turn_the_states_are_those_of_a_table_that_has_so_many(emit, order, tmp_path):
    """Also where a group has fallen silent, and if the rows of a turn are in another order."""
    job, answers = counts(tmp_path, emit=emit)
    moments = answers["at"].unique().to_pylist()
    board, sizes = Board(job, ServeSettings("127.0.0.1:0")), set[int]()
    for turn in range(2, len(moments) + 2, 2):
        places = [row for row, at in enumerate(answers["at"].to_pylist()) if at in moments[turn - 2 : turn]]
        board.publish(turn, answers.take(places[::order]), {})
        before = answers.filter(pc.less_equal(answers["at"], moments[turn - 2 : turn][-1]))
        pq.write_table(before, tmp_path / "states.parquet")
        for lasts in ((), ("20 seconds", "1 minute")):
            of_table = asking_a_table.ask(str(tmp_path / "states.parquet"), lasts)
            assert asking_a_table.ask_table(board.now.states, lasts) == of_table
        sizes.add(len(of_table.rows))
    assert len(sizes) > 1, "a group came or went"


def test_groups_are_chosen_by_their_values(published):
    job, answers, _ = published({})
    with served(job) as port:
        port.board.publish(1, answers, {})
        of_all = {row["g"]: row for row in get(port, "/ask")["answers"]}
        assert {*of_all} == {"a", "b", "c"}
        assert get(port, "/ask", **{"group.g": "b"})["answers"] == [of_all["b"]]
        assert get(port, "/ask", **{"group.g": ["c", "a"]})["answers"] == [of_all["a"], of_all["c"]]
        (union,) = get(port, "/ask", **{"group.g": ["c", "a"], "union": ""})["answers"]
        assert union["count"] >= max(of_all["a"]["count"], of_all["c"]["count"]) and "g" not in union
        assert error(port, "/ask", **{"group.g": "d"}) == "group.g: no group has 'd'; known: a, b, c"
        said = "group.h: no grouping column of this name; known: group.g"
        assert error(port, "/ask", **{"group.h": "a"}) == error(port, "/answers", **{"group.h": "a"}) == said
        assert {row["g"] for row in get(port, "/answers", **{"group.g": ["a", "c"]})["answers"]} == {"a", "c"}
        assert get(port, "/answers", **{"group.g": "d"})["answers"] == []


def test_numbers_and_nulls_of_groups_are_written_as_in_the_reply(tmp_path):
    rows = pa.table({
        "ts": pa.array([0, 1, 2, 3], pa.timestamp("s", "UTC")),
        "g": pa.array([200, 404, None, 200]),
        "h": pa.array([1.5, float("nan"), 2.0, 1.5]),
        "item": ["x", "y", "z", "w"],
    })  # fmt: skip
    keys = {"kind": "distinct-count", "time": "ts", "item": "item", "windows": ["1 minute"], "every": "1 minute"}
    keys |= {"by": ["g", "h"]}
    for emit in ({"emit": "state"}, {}):
        job = job_of(tmp_path, {**keys, **emit}, rows)
        with served(job) as port:
            port.board.publish(1, local.apply(rows, {**keys, **emit}), {})
            for column, text, expected in (
                ("g", "200", 200),
                ("g", "null", None),
                ("h", "NaN", "NaN"),
                ("h", "2.0", 2.0),
            ):
                found = get(port, "/ask" if emit else "/answers", **{f"group.{column}": text})["answers"]
                assert [row[column] for row in found] == [expected], (emit, column, text)


def test_only_the_newest_moment_is_answered_and_others_are_told(published):
    job, answers, _ = published({})
    with served(job) as port:
        status, headers, body = request(port, "/ask")
        assert (status, headers["retry-after"]) == (503, "1") and b"no moment has been answered yet" in body
        port.board.publish(1, answers, {})
        newest = get(port, "/ask")["at"]
        assert json.loads(request(port, f"/ask?at={newest.replace(' ', '%20')}")[2])["at"] == newest
        said = f"at: there is no state at 2025-10-09 00:00:00: only the newest is served, at {newest}; the sink has"
        assert request(port, "/ask?at=2025-10-09")[2].decode().startswith(f'{{"error": "{said}')
        assert error(port, "/ask", last="2 minutes").startswith("last: ") and error(port, "/ask", k="3").startswith(
            "k: "
        )


def test_a_job_without_states_says_what_to_add(tmp_path):
    keys = {key: value for key, value in counting().items() if key != "emit"}
    job, answers = job_of(tmp_path, keys, table(stream(1))), local.apply(table(stream(1)), keys)
    with served(job) as port:
        port.board.publish(1, answers, {})
        assert error(port, "/ask") == (
            'ask: needs the states of groups, but this job emits answers: set query.emit = "state", or ask /answers'
        )


def test_arrow_has_the_rows_of_the_json(published):
    job, answers, _ = published({})
    with served(job) as port:
        port.board.publish(1, answers, {})
        asked = {"last": ["20 seconds", "1 minute"], "by": "g", "union": ""}
        _, headers, body = request(port, "/ask", headers={"Accept": f"{ARROW}, */*"}, **asked)
        rows = pa.ipc.open_stream(body).read_all()
        replied = get(port, "/ask", **asked)
        assert headers["content-type"] == ARROW and rows.schema.metadata == {b"at": replied["at"].encode()}
        assert rows.to_pylist() == [{"g": None, **row} for row in replied["answers"]]
        states = pa.ipc.open_stream(request(port, "/answers", headers={"Accept": ARROW})[2]).read_all()
        assert states.schema == answers.schema and len(states) == 3, "those of the newest moment"


def steady(turns, copies=3):
    """Rows of groups that have the same count at each moment: 1, 2, … 40, 1, …"""
    rows = [
        (20 * turn, f"g{copy}", item)
        for turn in range(turns)
        for item in range(turn % 40 + 1)
        for copy in range(copies)
    ]
    times, groups, items = zip(*rows, strict=True)
    return pa.table({"ts": pa.array(times, pa.timestamp("s", "UTC")), "g": groups, "item": items})


@pytest.mark.parametrize("path", ["/ask", "/answers"])
def test_a_reply_is_of_one_turn_while_others_are_published(path, tmp_path):
    rows = steady(400)
    keys = {"kind": "distinct-count", "time": "ts", "item": "item", "windows": ["20 seconds"], "every": "20 seconds"}
    keys |= {"by": ["g"]} | ({"emit": "state"} if path == "/ask" else {})
    job, answers = job_of(tmp_path, keys, rows), local.apply(rows, keys, {"sketch": "exact"})
    moments = answers["at"].unique().to_pylist()
    parts = [answers.filter(pc.equal(answers["at"], moment)) for moment in moments]
    with served(job) as port:
        port.board.publish(1, parts[0], {})
        publisher = threading.Thread(target=_publish, args=(port.board, parts))
        publisher.start()
        seen = set[int]()
        while publisher.is_alive():
            replied = get(port, path)
            values = {row["count"] for row in replied["answers"]}
            assert len(values) == 1 and len(replied["answers"]) == 3, replied
            moment = replied["at"] if path == "/ask" else replied["answers"][0]["at"]
            turn = moments.index(datetime.fromisoformat(moment).replace(tzinfo=UTC)) + 1
            assert values == {(turn - 1) % 40 + 1} and replied.get("turn", turn) == turn
            seen.add(turn)
        publisher.join()
        assert len(seen) > 3, "several turns were read"


def _publish(board, parts):
    for turn, part in enumerate(parts[1:], 2):
        board.publish(turn, part, {})
        threading.Event().wait(0.005)
