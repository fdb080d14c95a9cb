"""Plugins made by `skyband new`, installed into a folder or an environment of their own."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from skyband.cli.commands import group


class Maker:
    """Makes plugins and installs them; offline where hatchling is there already."""

    def __init__(self, home: Path) -> None:
        self.home = home

    def new(self, *arguments):
        return CliRunner().invoke(group, ["new", *map(str, arguments)])

    def make(self, role: str) -> Path:
        folder = self.home / f"my-{role}"
        called = self.new(folder, "--role", role)
        assert called.exit_code == 0, called.stderr
        return folder

    def install(self, folder: Path, python: str | Path = sys.executable, *options: str) -> None:
        isolated = [] if importlib.util.find_spec("hatchling") is None else ["--no-build-isolation"]
        self.run(python, "-m", "pip", "install", "-q", "--no-deps", *isolated, *options, folder)

    def run(self, *command, site: Path | None = None) -> str:
        """What a command writes on stdout; it must succeed."""
        path = {} if site is None else {"PYTHONPATH": str(site)}
        hidden = ("PYTHONPATH", "SKYBAND_PLUGINS")
        env = {**{key: value for key, value in os.environ.items() if key not in hidden}, **path}
        done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False, env=env, cwd=self.home)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture
def maker(tmp_path):
    return Maker(tmp_path)


def example(readme: Path) -> tuple[str, list[str]]:
    """The program in a README and the lines that its comments say it prints."""
    program = re.search(r"```python\n(.*?)```", readme.read_text("utf-8"), re.DOTALL)[1]
    said = [*re.findall(r"print\(.*\)  # (.*)", program), *re.findall(r"^# (.*)", program, re.MULTILINE)]
    return program, said
