"""The page from a topic to a dashboard: each of its steps, with a broker and a PostgreSQL."""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.error import URLError
from urllib.request import urlopen

import kafka_broker
import postgres_server
import pytest
import sqlalchemy
from postgres_server import Postgres

from .conftest import ROOT, Document

PORT = "127.0.0.1:8080"


@pytest.fixture
def page(request):
    return Document(ROOT / "core/docs/run/dashboard.md", request.config.getoption("--write"))


def asked(url):
    """The reply of a service that may not have begun to listen, or to answer."""
    ends = time.monotonic() + 60
    while True:
        try:
            with urlopen(url, timeout=10) as reply:
                return reply.read()
        except (URLError, ConnectionError):
            if time.monotonic() > ends:
                raise
            time.sleep(0.2)


@pytest.mark.skipif(postgres_server.lacking() is not None, reason=str(postgres_server.lacking()))
def test_every_step_works(page, tmp_path):
    port = f"127.0.0.1:{kafka_broker.free_port()}"
    (tmp_path / "send.py").write_text(page.blocks("python")[0].body)
    (tmp_path / "job.toml").write_text(page.blocks("toml")[0].body.replace(PORT, port))
    lines = "\n".join(block.body for block in page.blocks("sh")).splitlines()
    commands = [line.partition("#")[0].split() for line in lines]
    check, serve = ([sys.executable, "-m", *line] for line in commands if line and line[0] == "skyband")
    urls = re.findall(r"curl -s '(.*?)'", page.text)
    assert len(urls) == 3 and check[3] == "check" and serve[3] == "serve"
    with TemporaryDirectory() as folder, kafka_broker.running(tmp_path) as broker:
        server = Postgres(folder)
        server.start()
        environment = {**os.environ, "BROKERS": broker, "BOARD_URL": server.url}
        kafka_broker.make_topic(broker, "requests")
        try:
            for command in ([sys.executable, "send.py"], check):
                subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True)
            service = subprocess.Popen(serve, cwd=tmp_path, env=environment, stderr=subprocess.PIPE)
            try:
                apart, together, health = (asked(url.replace(PORT, port)) for url in urls)
            finally:
                service.terminate()
                service.communicate(timeout=60)
            engine = sqlalchemy.create_engine(server.url)
            with engine.connect() as board:
                (states,) = board.execute(sqlalchemy.text("SELECT count(*) FROM visitor_states")).one()
            engine.dispose()
        finally:
            server.stop()
    answers = json.loads(apart)["answers"]
    assert {(row["status"], row["last"]) for row in answers} == {
        (status, last) for status in (200, 404) for last in ("1 minute", "1 hour")
    }
    assert all(0 < row["low"] <= row["count"] <= row["high"] for row in answers)
    assert json.loads(together)["answers"][0]["count"] > 0 and json.loads(health)
    assert states > 2 * 300, "a state of each status every ten seconds of an hour"


def test_the_dashboard_is_where_the_page_says(page):
    code = re.search(r'python -c "(.*?)"\n', page.text)[1]
    place = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    assert json.loads(Path(place).read_text())["title"]
