"""A PostgreSQL of the tests' own: in a folder, on a free port, with a user that has a password."""

import os
import shutil
import socket
import subprocess
from importlib.util import find_spec
from pathlib import Path

BINARIES = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
PASSWORD = "a-secret-of-7"


def lacking():
    """Why it cannot be started here; None where it can."""
    if not BINARIES and shutil.which("initdb") is None:
        return "PostgreSQL is not here: apt-get install postgresql"
    return None if find_spec("psycopg") else "its driver is not here: pip install 'psycopg[binary]'"


class Postgres:
    """Started by `start`; `stop` ends it, at once where it is to lose what is not committed."""

    def __init__(self, folder):
        self.folder = Path(folder)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"postgresql+psycopg://skyband:{PASSWORD}@127.0.0.1:{self.port}/postgres"
        password = self.folder / "password"
        password.write_text(PASSWORD)
        if os.geteuid() == 0:  # PostgreSQL does not run as root
            self.folder.chmod(0o777)
            password.chmod(0o666)
        self._run("initdb", "-D", self.data, "-U", "skyband", f"--pwfile={password}", "-A", "scram-sha-256", "-N")

    @property
    def data(self):
        return str(self.folder / "data")

    def start(self):
        options = f"-p {self.port} -k {self.folder} -c listen_addresses=127.0.0.1 -c deadlock_timeout=100ms"
        self._run("pg_ctl", "-D", self.data, "-w", "-l", str(self.folder / "log"), "-o", options, "start")

    def stop(self, mode="immediate"):
        self._run("pg_ctl", "-D", self.data, "-w", "-m", mode, "stop")

    def _run(self, program, *arguments):
        path = next((str(folder / program) for folder in BINARIES), program)
        as_another = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.geteuid() == 0 else []
        subprocess.run([*as_another, path, *arguments], check=True, stdout=subprocess.DEVNULL, cwd="/")
