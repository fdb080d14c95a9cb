"""The page of the port: its requests give what it shows, and what it names is there."""

import json
import re
import tomllib
from importlib.resources import files
from urllib.parse import urlsplit

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from served_board import request, served
from skyband.engines import local
from skyband_jobs import read_job
from skyband_serve import published
from skyband_serve.web import app, connections, worker
from skyband_serve.web.endpoints import PATHS

from .conftest import ROOT, Document


@pytest.fixture
def page(request):
    return Document(ROOT / "core/docs/run/serve-http.md", request.config.getoption("--write"))


@pytest.fixture
def port(page, tmp_path):
    """The page's job, served with an hour and a half of requests."""
    (tmp_path / "requests").mkdir()
    rng = np.random.default_rng(7)
    times = np.sort(rng.integers(0, 5_400_000_000, 50_000)) + 1_760_000_400_000_000
    status = rng.choice(["200", "404", "500"], 50_000, p=[0.8, 0.19, 0.01])
    clients = rng.integers(0, 9_000, 50_000)
    rows = pa.table({"ts": pa.array(times, pa.timestamp("us", "UTC")), "client": clients, "status": status})
    pq.write_table(rows, tmp_path / "requests" / "part.parquet")
    text = page.blocks("toml")[0].body
    (tmp_path / "job.toml").write_text(text)
    job = read_job(tmp_path / "job.toml", engine="serve")
    assert str(job.own["serve"].address) == "127.0.0.1:8080"
    with served(job) as port:
        port.board.publish(1, local.apply(rows, tomllib.loads(text)["query"]), {})
        yield port


def test_its_requests_give_what_it_shows(page, port):
    shown = re.findall(r"```sh\ncurl -s '(.*?)'\n```\n(?:```json\n(.*?)```)?", page.text, re.DOTALL)
    assert len(shown) == 2
    for url, reply in shown:
        parts = urlsplit(url)
        assert parts.netloc == "127.0.0.1:8080"
        status, _, body = request(port, f"{parts.path}?{parts.query}")
        assert status == 200, body
        if parts.path == "/ask":
            command = f"curl -s '{url}'\n```\n```json\n"
            page.holds(f"{command}{reply}```", f"{command}{body.decode()}\n```")


def test_it_names_every_path_and_metric(page, port):
    rows = re.findall(r"^\| `(/[\w.]+)` \|", page.text, re.MULTILINE)
    assert rows == [*PATHS]
    named = set(re.findall(r"^\| `(skyband_serve_\w+)` \|", page.text, re.MULTILINE))
    port.board.publish(2, port.board.now.recent[0].table, {"savepoint_age": 1.0, "seconds": 0.1, "lag": {"0": 1}})
    metrics = request(port, "/metrics")[2].decode()
    assert named == {name for name, _ in re.findall(r"^# TYPE (skyband_serve_\w+?)(_created)? ", metrics, re.MULTILINE)}


def test_its_limits_are_those_of_the_port(page):
    words = " ".join(page.text.split())
    assert f"{connections.MOST} connections at once; a request has {app.MOST_HEAD >> 10} KB" in words
    assert (
        f"{connections.IDLE:g} seconds to arrive" in words and f"has {connections.ANSWERING:g} seconds to take" in words
    )
    assert f"{worker.MOST_WAITING} may wait (more get 429), for {worker.SECONDS:g} seconds at most" in words
    assert f"Replies of {published.MOST_BYTES >> 20} MB at most, and {app._SENDING >> 20} MB for all" in words


def test_its_dashboard_is_in_the_package(page):
    ((package, name),) = re.findall(r"files\('(\w+)'\) / '([\w.]+)'", page.text)
    assert json.loads((files(package) / name).read_text("utf-8"))["title"] == "Skyband service"
