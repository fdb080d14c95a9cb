"""A Redis of the tests' own: in a folder, on a free port, with a password; and what the checks try it with."""

import base64
import json
import os
import shutil
import socket
import subprocess
import time
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from zlib import crc32

from skyband_jobs.formats import TableKeys
from skyband_specs.formats import FormatTrial

PASSWORD = "a-secret-of-8"


def lacking():
    """Why it cannot be started here; None where it can."""
    if shutil.which("redis-server") is None:
        return "Redis is not here: apt-get install redis-server"
    return None if find_spec("redis") else "its library is not here: pip install 'skyband-lakes[redis]'"


class RedisServer:
    """Started by `start`, with what it wrote before unless `forgets`; `kill` ends it at once."""

    def __init__(self, folder):
        self.folder = Path(folder)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"redis://:{PASSWORD}@127.0.0.1:{self.port}/0"

    def start(self, forgets=False):
        append = ["--appendonly", "no" if forgets else "yes", "--appendfsync", "always", "--save", ""]
        command = [
            "redis-server",
            "--port",
            str(self.port),
            "--bind",
            "127.0.0.1",
            "--dir",
            str(self.folder),
            *append,
            "--requirepass",
            PASSWORD,
        ]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        import redis

        ends = time.monotonic() + 30
        while True:
            try:
                with self.client() as client:
                    client.ping()
                return
            except redis.exceptions.ConnectionError:
                if time.monotonic() > ends:
                    raise
                time.sleep(0.01)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def client(self):
        import redis

        return redis.Redis.from_url(self.url, decode_responses=True)


class RedisTrial(FormatTrial):
    """Its tables are read by the library alone, at the server TRIAL_URL."""

    def keys(self, folder):
        return TableKeys(url=os.environ["TRIAL_URL"], table=f"board of {crc32(bytes(folder))}", writes=True)

    def rows(self, format, keys):
        import redis

        with redis.Redis.from_url(keys.url, decode_responses=True) as client:
            rows = []
            for name in client.smembers(f"skyband_groups:{keys.table}"):
                table = client.hgetall(f"{name}:rows")
                scores = dict(client.zrange(name, 0, -1, withscores=True))
                assert scores == {member: json.loads(row)["rank"] for member, row in table.items()}
                rows += map(json.loads, table.values())
        return [
            {
                **row,
                "at": datetime.fromisoformat(row["at"]),
                "count": _number(row["count"]),
                "state": _bytes(row["state"]),
            }
            for row in rows
        ]


def _bytes(text):
    return None if text is None else base64.b64decode(text)


def _number(value):
    """Numbers that JSON has not stand there by their names."""
    return float(value) if isinstance(value, str) else value
