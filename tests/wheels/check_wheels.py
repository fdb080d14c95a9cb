"""Builds the wheels of all distributions, installs them into a fresh environment, and tries them there.

Run it where hatchling is installed:

python tests/wheels/check_wheels.py FOLDER
"""

import json
import os
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = [ROOT / "core", *sorted((ROOT / "plugins").iterdir()), ROOT / "specs"]


def main(folder: Path) -> None:
    """Raise AssertionError or CalledProcessError at the first thing that is not as it should be."""
    for name in ("dist", "demo"):
        shutil.rmtree(folder / name, ignore_errors=True)
    wheels = build(folder / "dist")
    for wheel in wheels:
        check_content(wheel)
    python = install(folder / "venv", wheels)
    check_installed(python, len(wheels))
    check_use(python, folder)
    print(f"{len(wheels)} wheels are fine: {', '.join(wheel.name for wheel in wheels)}")  # noqa: T201


def build(folder: Path) -> list[Path]:
    """One wheel of each distribution."""
    sources = [str(package) for package in PACKAGES if (package / "pyproject.toml").exists()]
    run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", folder, *sources)
    wheels = sorted(folder.glob("*.whl"))
    assert len(wheels) == len(sources), wheels
    return wheels


def check_content(wheel: Path) -> None:
    """Typed modules and metadata, and nothing that was only lying about."""
    names = zipfile.ZipFile(wheel).namelist()
    assert any(name.endswith("/py.typed") for name in names), f"{wheel.name} is not typed"
    wanted = (".py", "/py.typed", "/comparison/page/page.css")
    strange = [name for name in names if not name.endswith(wanted) and ".dist-info/" not in name]
    assert not strange, f"{wheel.name} holds {strange}"
    metadata = next(name for name in names if name.endswith(".dist-info/METADATA"))
    lines = zipfile.ZipFile(wheel).read(metadata).decode().splitlines()
    needs = [line.partition(";")[0] for line in lines if line.startswith("Requires-Dist: ")]
    assert not [need for need in needs if "==" in need], f"{wheel.name} pins a version: {needs}"


def install(folder: Path, wheels: list[Path]) -> Path:
    """A fresh environment with the wheels and what they need, without Spark."""
    venv.create(folder, with_pip=True, clear=True)
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    run(python, "-m", "pip", "install", "-q", *wheels)
    run(python, "-m", "pip", "check")
    return python


def check_installed(python: Path, wheels: int) -> None:
    """Every distribution is there as a wheel, and every backend is found by its entry point."""
    report = json.loads(run(python, "-m", "pip", "inspect", "--local"))
    ours = [entry for entry in report["installed"] if entry["metadata"]["name"].startswith("skyband")]
    assert len(ours) == wheels
    editable = [entry["metadata"]["name"] for entry in ours if entry.get("direct_url", {}).get("dir_info")]
    assert not editable, f"installed from a folder: {editable}"
    told = json.loads(run(python, "-m", "skyband", "backends", "--json"))
    assert told["broken"] == []
    assert [entry["backend"] for entry in told["backends"] if entry["problem"]] == []
    plugins = {entry["metadata"]["name"] for entry in ours} - {"skyband", "skyband-specs"}
    assert {entry["distribution"] for entry in told["backends"]} == plugins
    defaults = {entry["role"] for entry in told["backends"] if entry["default"]}
    assert defaults == {entry["role"] for entry in told["backends"]}, "every role has its default"


def check_use(python: Path, folder: Path) -> None:
    """The demo answers, without Spark; with Spark it says what is missing."""
    shown = run(python, "-m", "skyband", "demo", "--engine", "local", "--rows", "20000", "--dir", folder / "demo")
    assert "the largest error is" in shown, shown
    without = subprocess.run(
        [python, "-m", "skyband", "run", folder / "demo" / "job.toml"], capture_output=True, text=True, check=False
    )
    assert without.returncode == 1, without
    page = folder / "demo" / "sketches.html"
    run(
        python,
        "-m",
        "skyband",
        "compare",
        folder / "demo" / "job.toml",
        "--backends",
        "sketch=pcsa-ml,exact",
        "--html",
        page,
    )
    assert "<style>" in page.read_text("utf-8")
    assert "skyband[spark]" in without.stderr or "Java" in without.stderr, without.stderr


def run(*command: object) -> str:
    """The output of a command, in a folder from which nothing can be imported by accident."""
    environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "SKYBAND_PLUGINS")}
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, text=True, check=True,
                          env=environment, cwd="/")  # fmt: skip
    return done.stdout


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
