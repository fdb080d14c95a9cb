"""A service that runs: asked over HTTP while rows arrive, it answers what its sink has."""

import re
import signal
import socket
import subprocess
import sys
import time
from types import SimpleNamespace

import pyarrow.parquet as pq
import pytest
from served_board import get, request
from skyband_jobs.files.asking_a_table import ask, to_json
from state_streams import stream, table

JOB = """
name = "counts"

[source]
format = "parquet"
path = "rows"
stream = true
schema = "ts TIMESTAMP, g STRING, item BIGINT"

[query]
kind = "distinct-count"
time = "ts"
item = "item"
windows = ["1 minute"]
every = "20 seconds"
by = ["g"]
emit = "state"

[sink]
format = "parquet"
path = "states"
checkpoint = "checkpoint"

[serve]
http = "127.0.0.1:{port}"
commit = "1 second"
"""
PARTS = 4


@pytest.fixture
def service(tmp_path):
    """Starts a service in a folder; gives its process and address. Its rows arrive by `add`, a part at a time."""
    rows = table(stream(1))
    (tmp_path / "rows").mkdir()
    processes = []

    def add(number):
        length = -(-len(rows) // PARTS)
        pq.write_table(rows.slice(number * length, length), tmp_path / f"{number}.parquet")
        (tmp_path / f"{number}.parquet").rename(tmp_path / "rows" / f"{number}.parquet")

    def start(port=0):
        (tmp_path / "job.toml").write_text(JOB.format(port=port))
        command = [sys.executable, "-m", "skyband", "serve", "job.toml"]
        process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
        processes.append(process)
        lines = []
        while not lines or "listening" not in lines[-1]:
            lines.append(process.stderr.readline())
            assert lines[-1], "".join(lines)
        address = re.search(r"listening on http://([\d.]+):(\d+)", lines[-1])
        return SimpleNamespace(process=process, host=address[1], port=int(address[2]))

    yield SimpleNamespace(start=start, add=add, folder=tmp_path)
    for process in processes:
        process.kill()
        process.communicate()


def until(condition, what):
    """Wait for what a service does in its own time."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def test_it_answers_what_its_sink_has_and_ends_in_order(service):
    port = service.start()
    assert request(port, "/ask")[0] == 503 and get(port, "/healthz") == {"status": "well"}
    for number in range(PARTS):
        service.add(number)
        until(lambda turn=number + 1: get(port, "/state")["turn"] >= turn, "the turn has not come")
        of_sink = to_json(ask(str(service.folder / "states"), ["20 seconds"], by=["g"], united=True))
        assert request(port, "/ask", last="20 seconds", by="g", union="")[2].decode() == of_sink
    state = get(port, "/state")
    assert (state["rows_in"], state["groups"]) == (len(stream(1)), 3)
    port.process.send_signal(signal.SIGTERM)
    assert port.process.wait(30) == 130
    with socket.socket() as free:
        assert free.connect_ex((port.host, port.port)) != 0


def test_after_a_kill_it_goes_on_at_the_same_address(service):
    port = service.start()
    for number in range(2):
        service.add(number)
    until(lambda: get(port, "/state")["turn"] >= 1 and request(port, "/ask")[0] == 200, "no moment was answered")
    before = request(port, "/ask")
    port.process.kill()
    port.process.wait()
    port = service.start(port.port)
    until(lambda: request(port, "/ask")[0] == 200, "it does not answer before new rows come")
    assert request(port, "/ask")[2] == before[2]
    service.add(2)

    def agrees():
        of_sink = ask(str(service.folder / "states"))
        status, _, body = request(port, "/ask")
        return status == 200 and body.decode() == to_json(of_sink) and of_sink.at == "2025-10-09 09:04:40"

    until(agrees, "it does not answer what its sink has")


def test_a_port_that_is_taken_stops_it_before_it_writes_anything(service):
    service.add(0)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        (service.folder / "job.toml").write_text(JOB.format(port=port))
        command = [sys.executable, "-m", "skyband", "serve", "job.toml"]
        done = subprocess.run(command, cwd=service.folder, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f"serve.http: 127.0.0.1:{port} cannot be listened on: " in done.stderr
    assert not (service.folder / "states").exists() and not list((service.folder / "checkpoint").glob("turns/*"))
