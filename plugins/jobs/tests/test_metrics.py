"""Metrics of a run for Prometheus: its own parsers read them, and problems are reported in time."""

import io
import json
import re
import socket
import threading
import time
from contextlib import ExitStack, contextmanager, suppress
from http.client import HTTPConnection
from importlib.resources import files
from types import SimpleNamespace
from urllib.request import Request, urlopen

import pytest
from attrs import evolve
from skyband.errors import ConfigError
from skyband_jobs.job.progress import Progress, Totals
from skyband_jobs.metrics import server
from skyband_jobs.metrics.export import exported
from skyband_jobs.metrics.place import place_of, problems_of

pytest.importorskip("prometheus_client")
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as plain

TOTALS = Totals(
    rows_in=7,
    rows_late=2,
    dropped={"null time": 3},
    answers=5,
    retained=4,
    groups=2,
    state_bytes=99,
    watermark=1_500_000,
    micro_batches=6,
    batch_seconds=0.25,
)
SAMPLES = {
    "skyband_rows_total": 7,
    "skyband_late_rows_total": 2,
    "skyband_dropped_rows_total": 3,
    "skyband_answers_total": 5,
    "skyband_micro_batches_total": 6,
    "skyband_watermark_seconds": 1.5,
    "skyband_state_bytes": 99,
    "skyband_retained": 4,
    "skyband_groups": 2,
    "skyband_micro_batch_seconds": 0.25,
    "skyband_running": 1,
}


def job(metrics):
    return SimpleNamespace(name="board", query=SimpleNamespace(kind="top-k"), metrics=metrics)


def samples(families):
    return [sample for family in families for sample in family.samples]


def scrape(address):
    request = Request(f"http://{address}/metrics", headers={"Accept": "application/openmetrics-text; version=1.0.0"})
    with urlopen(request, timeout=10) as answer:
        assert answer.headers["Content-Type"].startswith("application/openmetrics-text")
        return samples(openmetrics(answer.read().decode()))


def test_the_endpoint_has_the_figures_of_the_run_while_it_runs():
    out = io.StringIO()
    progress = Progress(out)
    with exported(job("127.0.0.1:0"), progress):
        (address,) = re.findall(r"metrics at http://(\S+)/metrics", out.getvalue())
        assert {sample.name: sample.value for sample in scrape(address)} == {
            "skyband_rows_total": 0,
            "skyband_late_rows_total": 0,
            "skyband_answers_total": 0,
            "skyband_micro_batches_total": 0,
            "skyband_running": 1,
        }, "before the first micro-batch"
        progress.micro_batch(TOTALS)
        seen = scrape(address)
        assert {sample.name: sample.value for sample in seen} == SAMPLES
        assert all((one.labels["job"], one.labels["kind"]) == ("board", "top-k") for one in seen)
        assert [one.labels["reason"] for one in seen if "dropped" in one.name] == ["null time"]
        with (
            pytest.raises(ConfigError, match=f"{address} cannot be listened on: .*; choose another port"),
            exported(job(address), Progress(io.StringIO())),
        ):
            pass
    with socket.socket() as free:
        assert free.connect_ex((address.partition(":")[0], int(address.partition(":")[2]))) != 0


@contextmanager
def served(figures=TOTALS):
    """The host and port of the endpoint for a run's metrics."""
    out = io.StringIO()
    progress = Progress(out)
    with exported(job("127.0.0.1:0"), progress):
        progress.micro_batch(figures)
        host, port = re.search(r"metrics at http://(.+):(\d+)/metrics", out.getvalue()).groups()
        yield host, int(port)


def test_idle_clients_take_few_threads_and_are_hung_up_on(monkeypatch):
    """So they take neither memory nor the run's file descriptors, and soon others are answered again."""
    monkeypatch.setattr(server, "_SECONDS", 1.5)
    before = threading.active_count()
    with served() as address, ExitStack() as clients:
        idle = [clients.enter_context(socket.create_connection(address, timeout=30)) for _ in range(60)]
        for client in idle:
            with suppress(OSError):
                client.sendall(b"GET /metrics HTTP/1.1\r\nX-Slow: ")
        assert _read_to_end(idle[-1]) == b"", "the server has come to the last of them"
        assert threading.active_count() - before <= 1 + 2 * server._AT_ONCE
        assert [_read_to_end(client) for client in idle] == [b""] * 60
        assert scrape(":".join(map(str, address)))


def _read_to_end(client):
    try:
        return client.recv(1)
    except ConnectionError:
        return b""


@pytest.mark.parametrize(
    "request_", [b"", b"\r\n", b"GET\r\n\r\n", b"\xff" * 70_000, b"POST /metrics HTTP/1.1\r\n\r\n"]
)
def test_what_is_no_request_ends_only_its_connection(request_):
    with served() as address:
        with socket.create_connection(address, timeout=30) as client, suppress(ConnectionError):
            client.sendall(request_)
            client.shutdown(socket.SHUT_WR)
            client.recv(1)
        assert scrape(":".join(map(str, address)))


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:9464", 200),
        ("localhost", 200),
        ("LOCALHOST:1", 200),
        ("[::1]:9464", 200),
        ("127.8.9.1", 200),
        ("evil.example", 403),
        ("evil.example:9464", 403),
        ("127.0.0.1.evil.example", 403),
        ("", 403),
        ("[", 403),
        ("10.0.0.1", 403),
        ("localhost.evil.example", 403),
        ("evil.example@127.0.0.1@x", 403),
    ],
)
def test_metrics_are_served_to_requests_for_this_machine_by_its_own_names(host, status):
    """A web page whose own name resolves to 127.0.0.1 uses that name."""
    with served() as address:
        connection = HTTPConnection(*address, timeout=30)
        connection.putrequest("GET", "/metrics", skip_host=True)
        connection.putheader("Host", host)
        connection.endheaders()
        answer = connection.getresponse()
        assert (answer.status, b"skyband" in answer.read()) == (status, status == 200)
        connection.close()


def test_the_file_is_complete_and_says_that_the_run_has_ended(tmp_path):
    progress = Progress(io.StringIO())
    with pytest.raises(OSError, match="of its own"), exported(job(str(tmp_path / "skyband.prom")), progress):
        progress.micro_batch(TOTALS)
        raise OSError("a run that fails, for reasons of its own")
    written = samples(plain((tmp_path / "skyband.prom").read_text()))
    assert {sample.name: sample.value for sample in written} == {**SAMPLES, "skyband_running": 0}
    assert [path.name for path in tmp_path.iterdir()] == ["skyband.prom"]


@pytest.mark.parametrize("in_rows", [False, True])
def test_the_end_of_a_run_took_no_micro_batch_and_a_row_is_no_time(in_rows, tmp_path):
    progress, totals = Progress(io.StringIO()), evolve(TOTALS, batch_seconds=None, in_rows=in_rows)
    with exported(job(str(tmp_path / "skyband.prom")), progress):
        exposition = progress.listeners[0].__self__
        progress.micro_batch(totals)
        figures = exposition._figures
        time.sleep(0.002)
        progress.summary(totals, "nowhere")
    assert exposition._figures == {**figures, "running": 0}, "how long the last one took among them"
    assert figures["watermark_seconds"] == (None if in_rows else 1.5)


def test_a_file_that_can_no_longer_be_written_is_reported_once_and_the_run_continues(tmp_path):
    out = io.StringIO()
    progress, folder = Progress(out), tmp_path / "here"
    folder.mkdir()
    with exported(job(str(folder / "skyband.prom")), progress):
        (folder / "skyband.prom").unlink()
        folder.rmdir()
        progress.summary(TOTALS, "nowhere")
        progress.summary(TOTALS, "nowhere")
    assert out.getvalue().count("warning: metrics: ") == 1 and "the run continues without" in out.getvalue()


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("0.0.0.0:9464", "use 127.0.0.1"),
        ("example.org:9464", "use 127.0.0.1"),
        (":9464", "use 127.0.0.1"),
        ("127.0.0.1:65536", "must have a port of at most 65535"),
        ("skyband.txt", "a file whose name ends in .prom"),
        (9464, 'must be "127.0.0.1:9464" or a file'),
        ("nowhere/skyband.prom", "is not a folder: create it"),
    ],
)
def test_places_that_cannot_be_are_told_by_check(value, words, tmp_path):
    (problem,) = problems_of(value, tmp_path)
    assert problem.field == "metrics" and words in problem.message


@pytest.mark.parametrize("value", ["127.0.0.1:9464", "localhost:9464", "[::1]:9464", "127.8.9.1:0", "skyband.prom"])
def test_places_on_this_machine_are_accepted(value, tmp_path):
    assert problems_of(value, tmp_path) == []
    assert value.endswith(".prom") == (place_of(value, tmp_path) == tmp_path / value)


def test_the_dashboard_asks_for_metrics_that_there_are():
    dashboard = json.loads((files("skyband_jobs.metrics") / "grafana.json").read_text())
    asked = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    asked += [one["query"]["query"] for one in dashboard["templating"]["list"] if one["type"] == "query"]
    names = set(re.findall(r"\bskyband_\w+", " ".join(asked)))
    assert names == SAMPLES.keys(), "all of them, and no other"


def test_a_run_that_ends_before_its_first_micro_batch_reports_that_it_read_nothing(tmp_path):
    with exported(job(str(tmp_path / "skyband.prom")), Progress(io.StringIO())):
        pass
    written = samples(plain((tmp_path / "skyband.prom").read_text()))
    assert {sample.name: sample.value for sample in written} == {
        "skyband_rows_total": 0,
        "skyband_late_rows_total": 0,
        "skyband_answers_total": 0,
        "skyband_micro_batches_total": 0,
        "skyband_running": 0,
    }
