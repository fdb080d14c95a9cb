"""What strangers can take from a service: few connections for a short time, and no request that ends it."""

import functools
import gc
import json
import random
import select
import socket
import threading
import time
from contextlib import ExitStack, suppress
from http.client import HTTPException
from urllib.parse import quote

import pyarrow as pa
import pytest
from served_board import counts, error, get, job_of, request, served
from skyband_serve.web import app, connections, endpoints, worker

PATHS = (
    "", "/", "//", "//ask", "/ask/", "/ASK", "/ask/../state", "/./ask", "/%61sk/x", "/%2e%2e/%2e%2e/etc/passwd",
    "/ask%00", "/ask%0d%0aX: y", "/\\ask", "/ask;x", "/%ff%fe", "/%", "/" + "a" * 9_000, "http://evil.example/ask",
    "/openapi.json/..",
)  # fmt: skip
VALUES = (
    "", "0", "-1", "1e999", "nan", "1_000", "\u0661", "1 minute", "-1 minute", "9" * 400, "1 " * 600 + "minutes", "\0",
    "\ud800", "a" * 5_000, "null", "[]", "{}", "true", "g", "state", "at", "${HOME}", "../../etc/passwd", "' OR 1=1",
    "1,2", "2,1", "inf,-inf", ",", "2026-11-22T10:30", "9999-99-99", "estimate", "quantiles", "compare_items",
    "\r\nX: y", "%s%n", "\u202e",
)  # fmt: skip
NAMES = (
    "last", "at", "by", "union", "question", "between", "k", "q", "above", "share", "at_least", "since", "after",
    "group.g", "group.", "group.state", "column", "json", "states", "readers", "", "__class__", "lasts", "\0", "\ud800",
    "a" * 500,
)  # fmt: skip
RIGHT = (("last", "20 seconds"), ("by", "g"), ("union", "true"), ("group.g", "a"), ("between", "1,5"))


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    return counts(tmp_path_factory.mktemp("job"))


def raw(port, head, *, end=True):
    """What comes back for bytes that are sent as they are, until the port closes the connection."""
    with socket.create_connection((port.host, port.port), timeout=30) as client:
        client.sendall(head)
        if end:
            client.shutdown(socket.SHUT_WR)
        received = b""
        with suppress(ConnectionError):
            while part := client.recv(65536):
                received += part
        return received


def test_no_path_but_those_that_there_are_is_answered(job):
    with served(job[0]) as port:
        for path in PATHS:
            head = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode()
            status = raw(port, head).split(b" ")[1]
            assert status in (b"404", b"400"), path
        assert "warning" not in port.out.getvalue()
        assert error(port, "/nowhere", 404) == f"there is nothing here; there is {', '.join(endpoints.PATHS)}"


@pytest.mark.parametrize("seed", range(4))
def test_parameters_at_random_are_answered_or_wrong_and_never_a_fault(seed, job):
    rng = random.Random(seed)
    with served(job[0]) as port:
        port.board.publish(1, job[1], {"lag": {"0": 3}})
        seen = set()
        for _ in range(250):
            pairs = [
                rng.choice(RIGHT) if rng.random() < 0.6 else (rng.choice(NAMES), rng.choice(VALUES))
                for _ in range(rng.randrange(1, 4))
            ]
            query = "&".join("=".join(quote(text, errors="surrogatepass") for text in pair) for pair in pairs)
            path = rng.choice(["/ask", "/ask", "/answers", *endpoints.PATHS])
            status, _, body = request(port, f"{path}?{query}")
            assert status in (200, 400), (path, pairs, body)
            assert status == 200 or set(json.loads(body)) == {"error"}
            seen.add((path, status))
        assert "warning" not in port.out.getvalue() and {("/ask", 200), ("/ask", 400)} <= seen


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"\r\n",
        b"GET\r\n\r\n",
        b"\xff" * 70_000,
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 500,
        b"GET /state HTTP/1.1\r\n\r\n",
        b"GET /state HTTP/9.9\r\nHost: localhost\r\n\r\n",
        b"GET /state HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"GET /st\xc3\xa4te HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /state HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"GET /state HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"GET /state HTTP/1.1\r\nHost: localhost\r\nX: " + b"y" * 17_000 + b"\r\n\r\n",
        b"GET /state HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * 4_000 + b"\r\n",
        b"GET /state?" + b"a" * 17_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /ask?" + b"last=1&" * 65 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /state HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ],
)
def test_what_is_no_request_ends_only_its_connection(head, job):
    with served(job[0]) as port:
        received = raw(port, head)
        assert not received or received.split(b" ")[1] in (b"200", b"400", b"404", b"431", b"505")
        if len(head) > 16 << 10:
            assert received.split(b" ")[1:2] in ([b"400"], [b"431"], []), "too long, however it arrives"
        assert get(port, "/healthz") == {"status": "well"}
        assert "warning" not in port.out.getvalue()


def test_further_clients_are_hung_up_on_at_once(job):
    threads = threading.active_count()
    with served(job[0]) as port, ExitStack() as clients:
        idle = [clients.enter_context(socket.create_connection((port.host, port.port), timeout=30)) for _ in range(150)]
        for client in idle:
            with suppress(OSError):
                client.sendall(b"GET /state HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
        ended, deadline = [], time.monotonic() + connections.IDLE / 2
        while len(ended) < 150 - connections.MOST and time.monotonic() < deadline:
            ended, _, _ = select.select(idle, [], [], 0.1)
        assert len(ended) == 150 - connections.MOST and not any(map(_ends, ended))
        assert threading.active_count() - threads <= 3
        for client in {*idle} - {*ended}:
            client.close()
        assert _eventually_well(port)


def _ends(client):
    """What is left to read of a connection that has been closed."""
    with suppress(ConnectionError):
        return client.recv(4096)
    return b""


def _eventually_well(port):
    """Whether others are answered, once the port knows that its clients have gone."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        with suppress(ConnectionError):
            return get(port, "/healthz") == {"status": "well"}
    return False


@pytest.mark.parametrize("before", [b"", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"])
def test_a_client_that_sends_a_letter_at_a_time_is_hung_up_on(before, job, monkeypatch):
    monkeypatch.setattr(connections, "IDLE", 1.0)
    with served(job[0]) as port, socket.create_connection((port.host, port.port), timeout=30) as client:
        client.sendall(before)
        begun = time.monotonic()
        with pytest.raises(ConnectionError):
            for letter in "GET /state HTTP/1.1\r\nHost: localhost\r\nX: " + "y" * 400:
                client.sendall(letter.encode())
                threading.Event().wait(0.05)
        assert time.monotonic() - begun < 20
        assert get(port, "/healthz") == {"status": "well"}


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A job and answers of 40 MB."""
    rows = pa.table({"ts": pa.array([0], pa.timestamp("s", "UTC")), "g": ["a"], "item": ["x"]})
    keys = {"kind": "distinct-count", "time": "ts", "item": "item", "windows": ["1 minute"], "every": "1 minute"}
    answers = pa.table({"g": ["x" * 4_000] * 10_000, "at": pa.array([60] * 10_000, pa.timestamp("s", "UTC"))})
    return job_of(tmp_path_factory.mktemp("large"), {**keys, "by": ["g"]}, rows), answers


def test_a_client_that_takes_nothing_of_a_large_answer_is_hung_up_on(large, monkeypatch):
    monkeypatch.setattr(connections, "ANSWERING", 4.0)
    with served(large[0]) as port, socket.socket() as client:
        port.board.publish(1, large[1], {})
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect((port.host, port.port))
        client.sendall(b"GET /answers HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert client.recv(15) == b"HTTP/1.1 200 OK"
        threading.Event().wait(6)
        client.settimeout(30)
        received = 0
        with suppress(ConnectionError):
            while part := client.recv(1 << 20):
                received += len(part)
        assert received < 20_000_000, "it was cut off"
        assert len(get(port, "/answers")["answers"]) == 10_000


def test_large_answers_that_clients_do_not_take_are_limited(large, monkeypatch):
    monkeypatch.setattr(app, "_SENDING", 60_000_000)
    with served(large[0]) as port, socket.socket() as client:
        port.board.publish(1, large[1], {})
        client.connect((port.host, port.port))
        client.sendall(b"GET /answers HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert client.recv(15) == b"HTTP/1.1 200 OK"
        status, headers, body = request(port, "/answers")
        assert (status, headers["retry-after"]) == (503, "1") and b"other clients are taking large answers" in body
        assert request(port, "/state")[0] == 200


class Slow:
    """Work that takes until it is let go, unless it is checked."""

    def __init__(self, checks):
        self.begun, self.go, self.checks = threading.Semaphore(0), threading.Event(), checks

    def __call__(self, check):
        self.begun.release()
        while not self.go.wait(0.01):
            if self.checks:
                check()
        return b"{}"


@pytest.mark.parametrize("checks", [True, False])
def test_at_most_32_requests_wait_and_none_longer_than_5_seconds(checks, job, monkeypatch):
    monkeypatch.setattr(worker, "SECONDS", 1.5)
    slow = Slow(checks)
    monkeypatch.setattr(endpoints.asking, "ask", lambda *_: slow)
    statuses = []
    with served(job[0]) as port:
        asking = [
            threading.Thread(target=lambda n=n: statuses.append(request(port, "/ask", last=str(n))[0]))
            for n in range(40)
        ]
        for thread in asking:
            thread.start()
        assert slow.begun.acquire(timeout=30)
        assert get(port, "/healthz") == {"status": "well"}, "the others are answered meanwhile"
        for thread in asking:
            thread.join()
        assert sorted(statuses) == [429] * (40 - worker.MOST_WAITING) + [503] * worker.MOST_WAITING
        slow.go.set()
        assert request(port, "/ask")[0] == 200, "and afterwards these too"


def test_the_port_closes_in_order_whatever_clients_do(large):
    heads = (
        b"",
        b"GET /sta",
        b"GET /answers HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /state HTTP/1.1\r\nHost: localhost\r\n\r\n",
    )
    with ExitStack() as clients:
        with served(large[0]) as port:
            port.board.publish(1, large[1], {})
            connect = functools.partial(socket.create_connection, (port.host, port.port), timeout=30)
            sockets = [clients.enter_context(connect()) for _ in heads]
            for client, head in zip(sockets, heads, strict=True):
                client.sendall(head)
            assert sockets[2].recv(15) == b"HTTP/1.1 200 OK", "the large answer is under way"
            assert get(port, "/healthz") == {"status": "well"}
            begun = time.monotonic()
        assert time.monotonic() - begun < 10
        for client in sockets:
            client.settimeout(10)
            with suppress(ConnectionError):
                while client.recv(1 << 20):
                    pass
        with socket.socket() as free:
            assert free.connect_ex((port.host, port.port)) != 0
    assert "skyband-port" not in [thread.name for thread in threading.enumerate()]
    gc.collect()  # a connection that was left open would warn


def test_questions_that_wait_when_the_port_closes_do_not_hold_it_up(job, monkeypatch):
    slow, replies = Slow(checks=True), []
    monkeypatch.setattr(endpoints.asking, "ask", lambda *_: slow)

    def ask(port, number):
        with suppress(ConnectionError, HTTPException):
            replies.append(request(port, "/ask", last=str(number))[0])

    with served(job[0]) as port:
        asking = [threading.Thread(target=ask, args=(port, number)) for number in range(8)]
        for thread in asking:
            thread.start()
        assert slow.begun.acquire(timeout=30)
        begun = time.monotonic()
    assert time.monotonic() - begun < 10
    for thread in asking:
        thread.join()
    assert set(replies) <= {500, 503} and "warning" not in port.out.getvalue()
