"""Who may ask the port, and what others are told; where it cannot listen."""

import json
import re
import socket

import pyarrow as pa
import pytest
from served_board import TOKEN, counts, error, get, request, served
from skyband.config.redaction import hide
from skyband.errors import ConfigError

READ = ("/ask", "/answers", "/state", "/metrics", "/openapi.json")


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    return counts(tmp_path_factory.mktemp("job"))


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:8080", 200),
        ("localhost", 200),
        ("LOCALHOST:1", 200),
        ("[::1]:8080", 200),
        ("127.8.9.1", 200),
        ("evil.example", 403),
        ("evil.example:8080", 403),
        ("127.0.0.1.evil.example", 403),
        ("localhost.evil.example", 403),
        ("192.168.1.1", 403),
        ("0.0.0.0", 403),
        ("[::1", 403),
        ("[", 403),
        ("", 403),
        ("\u00fc", 403),
    ],
)
def test_a_loopback_address_answers_only_for_its_own_names(host, status, job):
    """So that a web page which gives its own name the address 127.0.0.1 reads nothing."""
    with served(job[0]) as port:
        for path in (*READ[2:], "/healthz"):
            assert request(port, path, headers={"Host": host})[0] == status


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (f"Bearer {TOKEN}", 200),
        (f"bearer  {TOKEN}", 200),
        (None, 401),
        ("", 401),
        (TOKEN, 401),
        (f"Basic {TOKEN}", 401),
        ("Bearer", 401),
        (f"Bearer {TOKEN[:-1]}", 401),
        (f"Bearer {TOKEN}0", 401),
        (f"Bearer {TOKEN.upper()}", 401),
        ("Bearer \u00fc", 401),
    ],
)
@pytest.mark.parametrize("address", ["127.0.0.1:0", "0.0.0.0:0"])
def test_with_a_token_all_but_the_health_needs_it(sent, status, address, job):
    headers = {} if sent is None else {"Authorization": sent}
    with served(job[0], http=address, token=TOKEN) as port:
        port.board.publish(1, job[1], {})
        for path in (*READ, "/nowhere"):
            got, answered, body = request(port, path, headers=headers)
            assert got == (404 if status == 200 and path == "/nowhere" else status)
            assert status == 200 or (answered["www-authenticate"] == "Bearer" and TOKEN.encode() not in body)
        assert request(port, "/healthz")[0] == 200
        port.board.unwell("the disk is full")
        got, _, body = request(port, "/healthz", headers=headers)
        told = {"status": "unwell", "reason": "the disk is full"} if status == 200 else {"status": "unwell"}
        assert (got, json.loads(body)) == (503, told)
        assert f":{port.port}" in port.out.getvalue() and TOKEN not in port.out.getvalue()


def test_an_address_for_others_answers_whatever_it_is_called(job):
    with served(job[0], http="0.0.0.0:0", token=TOKEN) as port:
        headers = {"Host": "board.example:8080", "Authorization": f"Bearer {TOKEN}"}
        assert request(port, "/state", headers=headers)[0] == 200


def test_nothing_may_be_written_and_web_pages_get_no_access(job):
    with served(job[0]) as port:
        for method in ("POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "FETCH"):
            for path in (*READ, "/healthz"):
                status, headers, _ = request(port, path, method)
                assert (status, headers["allow"]) == (405, "GET, HEAD")
        status, headers, body = request(port, "/state", "HEAD")
        assert (status, body) == (200, b"") and int(headers["content-length"]) > 10
        assert request(port, "/state", "POST", body=b"x" * 100_000)[0] == 405
        assert request(port, "/state", body=b"x")[0] == 400
        _, headers, _ = request(port, "/state", headers={"Origin": "https://evil.example"})
        assert not [name for name in headers if name.lower().startswith("access-control")]
        assert headers["x-content-type-options"] == "nosniff"


def test_a_port_that_is_taken_is_told_with_the_remedy_and_free_afterwards(job):
    with served(job[0]) as port:
        with pytest.raises(ConfigError) as told, served(job[0], http=f"127.0.0.1:{port.port}"):
            pass
        (problem,) = told.value.problems
        assert problem.field == "serve.http"
        remedy = "choose another port, one for each job, or stop what uses it"
        message = rf"127\.0\.0\.1:{port.port} cannot be listened on: .* in use; {remedy}"
        assert re.fullmatch(message, problem.message)
    with socket.socket() as free:
        assert free.connect_ex(("127.0.0.1", port.port)) != 0
    with served(job[0], http=f"127.0.0.1:{port.port}") as port:
        assert request(port, "/state")[0] == 200


def test_a_name_that_no_machine_has_is_told(job):
    with (
        pytest.raises(ConfigError, match=r"serve\.http: nowhere\.invalid:8080 cannot be listened on: "),
        served(job[0], http="nowhere.invalid:8080", token=TOKEN),
    ):
        pass


def test_a_state_that_is_damaged_is_told_without_secrets(job):
    hide(["correct horse battery"])
    *others, last = job[1]["state"].to_pylist()[-3:]
    states = [*others, last[:-1] + bytes([last[-1] ^ 1])]
    groups = ["a", "b", "correct horse battery"]
    newest = job[1].slice(len(job[1]) - 3)
    newest = newest.set_column(0, "g", pa.array(groups)).set_column(2, job[1].schema.field(2), pa.array(states))
    with served(job[0]) as port:
        port.board.publish(1, newest, {})
        told = error(port, "/ask", 500)
        assert told.startswith("the state of g = '***': damaged")
        assert (
            "correct" not in port.out.getvalue() and "'/ask' could not be answered: the state of" in port.out.getvalue()
        )
        assert [row["g"] for row in get(port, "/ask", **{"group.g": "b"})["answers"]] == ["b"]
        port.board.unwell("no answer from db:correct horse battery@host")
        assert json.loads(request(port, "/healthz")[2])["reason"] == "no answer from db:***@host"
