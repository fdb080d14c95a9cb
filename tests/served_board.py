"""A board that is served over HTTP, with the answers of a small stream, and requests to it."""

import io
import json
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import quote, urlencode

import pyarrow.parquet as pq
from skyband.engines import local
from skyband_jobs import read_job
from skyband_jobs.job.progress import Progress
from skyband_serve.published import Board
from skyband_serve.settings import ServeSettings
from skyband_serve.web.serving import serving
from state_streams import counting, stream, table

ARROW = "application/vnd.apache.arrow.stream"
TOKEN = "0123456789abcdef0123456789abcdef"


def job_of(folder: Path, keys, rows, name="counts"):
    """A checked job with this query over these rows."""
    pq.write_table(rows, folder / "rows.parquet")
    lines = [f"{key} = {json.dumps(value)}" for key, value in keys.items()]
    source, sink = '[source]\nformat = "parquet"\npath = "rows.parquet"\n', '[sink]\nformat = "parquet"\npath = "out"\n'
    text = "\n".join([f'name = "{name}"', source, "[query]", *lines, sink])
    (folder / f"{name}.toml").write_text(text)
    return read_job(folder / f"{name}.toml", (), "local")


def counts(folder, **changes):
    """The job that counts in a small stream, and all of its answers."""
    rows = table(stream(1))
    job = job_of(folder, counting(**changes), rows)
    return job, local.apply(rows, counting(**changes))


@contextmanager
def served(job, clock=None, **settings):
    """A board of the job, and its address: `board`, `host`, `port`, `progress`, and `out`, what was noted."""
    out = io.StringIO()
    progress, chosen = Progress(out), ServeSettings(**{"http": "127.0.0.1:0", **settings})
    board = Board(job, chosen, *([] if clock is None else [clock]))
    with serving(job, board, chosen, progress) as address:
        yield SimpleNamespace(board=board, host="127.0.0.1", port=address.port, progress=progress, out=out)


def request(port, path, method="GET", headers=None, body=None, **parameters):
    """The status, the headers and the body of a reply."""
    client = HTTPConnection(port.host, port.port, timeout=30)
    try:
        query = urlencode(parameters, doseq=True, quote_via=quote)
        client.request(method, f"{path}?{query}" if query else path, body, headers or {})
        reply = client.getresponse()
        return reply.status, dict(reply.getheaders()), reply.read()
    finally:
        client.close()


def get(port, path, **parameters):
    """The JSON of a reply that must be 200."""
    status, _, body = request(port, path, **parameters)
    assert status == 200, body
    return json.loads(body)


def error(port, path, status=400, **parameters):
    """The error of a reply that must have this status."""
    got, _, body = request(port, path, **parameters)
    assert got == status, body
    return json.loads(body)["error"]
