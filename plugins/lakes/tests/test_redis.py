"""Tables in a running Redis that goes away and comes back, loses data, and has keys of other programs."""

import json
import threading
import time

import pyarrow as pa
import pytest
from board import OTHER_COLUMNS, BoardJob, in_order, newest, visits
from redis_server import PASSWORD, RedisServer, RedisTrial, lacking
from skyband.errors import ConfigError, EngineError
from skyband_jobs.formats import open_sink
from skyband_specs.formats import CHECKS, FormatSubject, verify_format_subject

if lacking() is not None:
    pytest.skip(lacking(), allow_module_level=True)

KEY = ["place", "rank"]
TRIAL = f"{RedisTrial.__module__}:{RedisTrial.__qualname__}"
SUBJECT = FormatSubject("format/redis", "skyband_lakes.redis.format:RedisFormat", TRIAL, ("streams", "current"))


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    one = RedisServer(tmp_path_factory.mktemp("redis"))
    one.start()
    yield one
    one.kill()


@pytest.fixture
def other_server(tmp_path):
    """A separate server for a test to stop and start."""
    one = RedisServer(tmp_path)
    one.start()
    yield one
    one.kill()


CHECKED = [
    pytest.param(one, id=one.name, marks=[pytest.mark.slow] if one.group == "kills" else [])
    for one in CHECKS
    if {*one.needs} <= {"shows", "streams", "current"}
]


@pytest.mark.parametrize("one", CHECKED)
def test_conformance(one, server, monkeypatch):
    monkeypatch.setenv("TRIAL_URL", server.url)
    report = verify_format_subject(SUBJECT, checks=[one])
    assert report.ok and report.counts()["passed"], report.text()


def log(batch):
    return RedisTrial().log(batch)


def sink(server, table, key=KEY, **options):
    return open_sink("redis", server.url, {"table": table, **options}, key=key)


def rows(server, table):
    with server.client() as client:
        names = client.smembers(f"skyband_groups:{table}")
        return {name: client.hgetall(f"{name}:rows") for name in sorted(names)}


def test_a_group_is_a_sorted_set_of_its_members_and_a_hash_of_its_rows(server):
    places = pa.array(["a:b", "a:b", "50%", None])
    answers = pa.table(
        {
            "place": places,
            "at": pa.array([1] * 4, pa.timestamp("us", "UTC")),
            "change": ["entered"] * 4,
            "page": ["/x", "%null", None, "/x"],
            "total": [2.0, 7.5, float("nan"), None],
        }
    )
    sink(server, "top", ["place", "page"], score="total").append(answers)
    with server.client() as client:
        assert client.zrevrange("top:a%3Ab", 0, -1, withscores=True) == [("%%null", 7.5), ("/x", 2.0)]
        assert json.loads(client.hget("top:a%3Ab:rows", "/x")) == {
            "place": "a:b",
            "at": "1970-01-01T00:00:00.000001+00:00",
            "page": "/x",
            "total": 2.0,
        }
        assert client.hkeys("top:50%25:rows") == ["%null"] and not client.exists("top:50%25")
        assert client.hkeys("top:%null:rows") == ["/x"]
    left = answers.set_column(2, "change", pa.array(["left"] * 4))
    sink(server, "top", ["place", "page"], score="total").append(left)
    assert rows(server, "top") == {}, "an empty group is removed from the list"


def test_a_group_of_many_rows(server):
    count = 5001
    one = pa.table(
        {
            "at": pa.array([1] * count, pa.timestamp("us", "UTC")),
            "change": ["entered"] * count,
            "page": list(map(str, range(count))),
            "rank": list(range(count)),
        }
    )
    sink(server, "many", ["page"]).append(one)
    with server.client() as client:
        assert client.zrange("many", 0, -1) == one["page"].to_pylist() and client.hlen("many:rows") == count
    sink(server, "many", ["page"]).append(one.set_column(1, "change", pa.array(["left"] * count)))
    assert rows(server, "many") == {}


def test_a_score_is_a_column_of_numbers(server):
    for score, told in (("pace", "must be a column of the answers, place"), ("place", "'place' is string")):
        with pytest.raises(ConfigError, match=f"options.score: .*{told}"):
            sink(server, "scores", score=score).append(log(0))
    assert rows(server, "scores") == {}


def test_keys_of_other_programs_are_refused_and_kept(server):
    with server.client() as client:
        client.set("taken:a:rows", "mine")
    with pytest.raises(ConfigError, match="table: 'taken:a:rows' is a string of another program"):
        sink(server, "taken").append(log(0))
    with server.client() as client:
        assert client.get("taken:a:rows") == "mine" and not client.exists("taken:%null:rows")


def test_a_server_that_goes_away_and_comes_back_is_waited_for(other_server):
    server = other_server
    board = sink(server, "board")
    board.write(log(0), "one", 0)
    server.kill()
    with pytest.raises(EngineError, match="check that it runs") as told:
        sink(server, "board", retry_seconds=0).write(log(1), "one", 1)
    assert PASSWORD not in str(told.value) and f"redis://127.0.0.1:{server.port}/0" in str(told.value)
    waiting = threading.Thread(target=lambda: board.write(log(1), "one", 1))
    waiting.start()
    time.sleep(0.2)
    assert waiting.is_alive()
    server.start()
    waiting.join()
    assert board.latest("one") == 1
    board.append(log(0).slice(0, 0))
    there = rows(server, "board")
    sink(server, "whole").write(log(0), "one", 0)
    sink(server, "whole").write(log(1), "one", 1)
    whole = {name.replace("whole", "board"): value for name, value in rows(server, "whole").items()}
    assert there == whole != {}
    server.kill()
    server.start(forgets=True)
    with pytest.raises(EngineError, match="had micro-batch 1 of this stream, and has lost it: turn on its append"):
        board.write(log(2), "one", 2)
    assert rows(server, "board") == {}


def test_a_user_without_rights_gets_an_error_and_changes_nothing(server):
    sink(server, "guarded").write(log(0), "one", 0)
    before = rows(server, "guarded")
    with server.client() as client:
        client.acl_setuser("guest", enabled=True, passwords=[f"+{PASSWORD}"], keys="*", categories=["+@read"])
    guest = server.url.replace("redis://:", "redis://guest:")
    with pytest.raises(EngineError, match=r"no permissions to run the 'eval.*: check its URL, its rights") as told:
        open_sink("redis", guest, {"table": "guarded"}, key=KEY).write(log(1), "one", 1)
    assert PASSWORD not in str(told.value)
    assert rows(server, "guarded") == before and sink(server, "guarded").latest("one") == 0


def test_a_wrong_password_is_reported_without_it(server):
    url = server.url.replace(PASSWORD, "not-the-secret")
    with pytest.raises(EngineError, match=r"the server redis://127.0.0.1:\d+/0: .*check its URL") as told:
        open_sink("redis", url, {"table": "board"}, key=KEY).exists()
    assert "not-the-secret" not in str(told.value)


SINK = """format = "redis"
url = "${BOARD_URL}"
"""


@pytest.fixture
def call(tmp_path, server, monkeypatch):
    pytest.importorskip("skyband_totals")  # the query of the job; the plugin may be alone
    monkeypatch.setenv("BOARD_URL", server.url)
    return BoardJob(tmp_path, SINK)


def test_a_job_leaves_the_newest_answer(call, server):
    for command in ("check", "run"):
        called = call(command)
        assert called.exit_code == 0 and PASSWORD not in called.output, called.output
    hashes = rows(server, "board").values()
    assert in_order(json.loads(row) for table in hashes for row in table.values()) == newest(visits()) != []
    with server.client() as client:
        assert client.zrange("board:y:20 seconds", 0, -1) == ["/c"]
        assert not client.exists("board:x:10 seconds")
    again = call("run")
    assert again.exit_code == 1 and "sink.table: 'board' already exists" in again.stderr, again.stderr
    told = call("check", "sink.mode=append", *OTHER_COLUMNS)
    assert told.exit_code == 1 and "sink.table: the table 'board' has columns" in told.stdout, told.stdout


@pytest.mark.parametrize(
    ("sets", "told"),
    [
        (["sink.url=http://x"], "sink.url: must be written redis://user:"),
        (["sink.url=redis://x:y"], "sink.url: must be written redis://"),
        (["-sink.url"], "sink.url: is required for redis"),
        (["-sink.table"], "sink.table: is required for redis"),
        (["sink.table=skyband_tables"], "sink.table: must not start like Skyband's own keys"),
        (["sink.path=out"], "sink.path: is for files: name the server with url"),
        (["sink.options.scores=rank"], "sink.options.scores: is not an option of redis; did you mean 'score'?"),
        (["sink.options.retry_seconds=soon"], "sink.options.retry_seconds: must be a number of seconds"),
        (["query.answers=all"], "sink.format: the local engine writes "),
    ],
)
def test_wrong_keys_of_a_job_are_reported_before_it_runs(call, sets, told):
    checked = call("check", *sets)
    assert checked.exit_code == 1 and told in checked.stdout and PASSWORD not in checked.output, checked.stdout
