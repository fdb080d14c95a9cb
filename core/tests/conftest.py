"""Plugins for tests: real distributions, written into a folder on the path."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

BACKENDS = """
    from skyband import BackendInfo, hookimpl

    @hookimpl
    def skyband_backends():
        return [BackendInfo("sketch", "{name}", "{factory}", "a sketch", "exact", "a paper", api={api})]
"""


class Site:
    """A folder of installed distributions."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()

    def module(self, name: str, code: str) -> None:
        (self.folder / f"{name}.py").write_text(textwrap.dedent(code))

    def install(self, distribution: str, code: str, version: str = "1.0") -> str:
        """A distribution whose entry point is one module of `code`; the module's name is returned."""
        module = distribution.replace("-", "_").lower() + "_hooks"
        self.module(module, code)
        info = self.folder / f"{distribution.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n")
        (info / "entry_points.txt").write_text(f"[skyband]\n{module} = {module}\n")
        return module

    def install_sketch(self, distribution: str, name: str, factory: str = "nowhere:Nothing", api: int = 1) -> str:
        """A distribution that claims sketch/`name`."""
        return self.install(distribution, BACKENDS.format(name=name, factory=factory, api=api))

    def run(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """The command line in a process that sees this site."""
        env = {**os.environ, "PYTHONPATH": str(self.folder), "PYTHONIOENCODING": "utf-8", **environment}
        command = [sys.executable, "-m", "skyband", *arguments]
        return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", env=env, check=False)


@pytest.fixture
def site(tmp_path, monkeypatch):
    made = Site(tmp_path / "site")
    monkeypatch.syspath_prepend(str(made.folder))
    monkeypatch.delenv("SKYBAND_PLUGINS", raising=False)
    before = set(sys.modules)
    yield made
    for name in set(sys.modules) - before:
        if name.endswith("_hooks"):
            del sys.modules[name]
