"""Builds all distributions as they are released, twice, installs them into a fresh environment, and tries them there.

Run it where hatchling and uv are installed; what would be published is then in FOLDER/dist:

python tests/wheels/check_wheels.py FOLDER
"""

import filecmp
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from email.message import Message
from email.parser import Parser
from pathlib import Path

from hatchling.build import build_sdist, build_wheel

ROOT = Path(__file__).parents[2]
PACKAGES = [path.parent for pattern in ("*", "plugins/*") for path in sorted(ROOT.glob(f"{pattern}/pyproject.toml"))]
WITHOUT_BACKENDS = {
    f"skyband{name}" for name in ("", "-specs", "-compare", "-expressions", "-jit", "-jobs", "-lakes", "-serve")
}
"""The framework, the kit of authors, and those that bring commands, formats, expressions or a compiler."""

ON_SPARK = "skyband_spark-"
"""What PySpark comes with: its wheel is built, and left out where the others are tried."""


def main(folder: Path) -> None:
    """Raise AssertionError or CalledProcessError at the first thing that is not as it should be."""
    for name in ("dist", "again", "unpacked", "demo"):
        shutil.rmtree(folder / name, ignore_errors=True)
    for package in PACKAGES:
        build(package, folder)
    wheels = sorted((folder / "dist").glob("*.whl"))
    assert len(wheels) == len(PACKAGES) == len(list((folder / "dist").glob("*.tar.gz"))), wheels
    for wheel in wheels:
        check_content(wheel)
        check_page(metadata_of(wheel))
    assert len({metadata_of(wheel)["Version"] for wheel in wheels}) == 1, "all distributions are of one version"
    without_spark = [wheel for wheel in wheels if not wheel.name.startswith(ON_SPARK)]
    assert len(without_spark) == len(wheels) - 1
    python = install(folder / "venv", without_spark)
    check_installed(python, len(without_spark))
    check_use(python, folder)
    print(f"{len(wheels)} distributions are fine: {', '.join(wheel.name for wheel in wheels)}")  # noqa: T201


def build(package: Path, folder: Path) -> None:
    """The source distribution and the wheel of a package, each built twice: equal.

    The second wheel is made of the source distribution, which so lacks nothing.
    """
    sdist, wheel = (made_in(package, hook, folder / "dist") for hook in (build_sdist, build_wheel))
    with tarfile.open(sdist) as archive:
        lying_about = [name for name in archive.getnames() if "__pycache__" in name]
        assert not lying_about, f"{sdist.name} holds {lying_about}"
        archive.extractall(folder / "unpacked", filter="data")
    unpacked = folder / "unpacked" / sdist.name.removesuffix(".tar.gz")
    again = made_in(package, build_sdist, folder / "again"), made_in(unpacked, build_wheel, folder / "again")
    for first, second in zip((sdist, wheel), again, strict=True):
        assert filecmp.cmp(first, second, shallow=False), f"{first.name} is another when built again"


def made_in(package: Path, hook: Callable[[str], str], folder: Path) -> Path:
    """What a hook of the build backend makes of a package; it works in the current folder."""
    folder.mkdir(parents=True, exist_ok=True)
    before = Path.cwd()
    os.chdir(package)
    try:
        return folder / hook(str(folder))
    finally:
        os.chdir(before)


def check_content(wheel: Path) -> None:
    """Typed modules, metadata and the licence, and nothing that was only lying about."""
    archive = zipfile.ZipFile(wheel)
    names = archive.namelist()
    assert any(name.endswith("/py.typed") for name in names), f"{wheel.name} is not typed"
    wanted = (".py", ".pyi", "/py.typed", "/comparison/page/page.css", "/plots/page.html", "/grafana.json")
    made = [f"skyband_specs/scaffold/{kind}_plugin/README.md" for kind in ("command", "format", "query", "role")]
    strange = [name for name in names if not (name.endswith(wanted) or ".dist-info/" in name or name in made)]
    assert not strange, f"{wheel.name} holds {strange}"
    licence = next(name for name in names if name.endswith(".dist-info/licenses/LICENSE"))
    assert archive.read(licence) == (ROOT / "LICENSE").read_bytes(), f"{wheel.name} has a licence of its own"


def metadata_of(wheel: Path) -> Message:
    """What the package page is made of."""
    archive = zipfile.ZipFile(wheel)
    name = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
    return Parser().parsestr(archive.read(name).decode())


def check_page(metadata: Message) -> None:
    """A package page says what the distribution is, and leads nowhere that is not there."""
    name, page = metadata["Name"], str(metadata.get_payload())
    needs = [str(need).partition(";")[0] for need in metadata.get_all("Requires-Dist", [])]
    assert not [need for need in needs if "==" in need], f"{name} pins a version: {needs}"
    assert metadata["License-Expression"] == "Apache-2.0" and metadata["Keywords"], name
    assert metadata["Description-Content-Type"] == "text/markdown" and len(page.split()) > 100, f"{name} has no readme"
    assert {"Development Status", "Typing"} <= {kind.partition(" ::")[0] for kind in metadata.get_all("Classifier", [])}
    relative = [link for link in re.findall(r"\]\(([^)]+)\)", page) if not link.startswith(("https://", "#"))]
    assert not relative, f"{name}: a package page has no folder for {relative}"


def install(folder: Path, wheels: list[Path]) -> Path:
    """A fresh environment with the wheels and what they need, charts among it, without Spark."""
    run("uv", "venv", "-q", "--clear", "--python", sys.executable, folder)
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    run("uv", "pip", "install", "-q", "--python", python, *_with_charts(wheels))
    run("uv", "pip", "check", "--python", python)
    return python


def _with_charts(wheels: list[Path]) -> list[str]:
    """The wheels, core's with its extra for charts."""
    return [f"{wheel}[plot]" if wheel.name.startswith("skyband-") else str(wheel) for wheel in wheels]


INSTALLED = """
import json
from importlib.metadata import distributions
print(json.dumps({found.name: found.read_text("direct_url.json") for found in distributions()}))
"""


def check_installed(python: Path, wheels: int) -> None:
    """Every distribution is there as a wheel, and every backend is found by its entry point."""
    installed = json.loads(run(python, "-c", INSTALLED))
    ours = {name: json.loads(origin) for name, origin in installed.items() if name.startswith("skyband")}
    assert len(ours) == wheels
    folders = [name for name, origin in ours.items() if "dir_info" in origin]
    assert not folders, f"installed from a folder: {folders}"
    told = json.loads(run(python, "-m", "skyband", "backends", "--json"))
    assert told["broken"] == []
    assert [entry["backend"] for entry in told["backends"] if entry["problem"]] == []
    assert {entry["distribution"] for entry in told["backends"]} == ours.keys() - WITHOUT_BACKENDS
    defaults = {entry["role"] for entry in told["backends"] if entry["default"]}
    assert defaults == {entry["role"] for entry in told["backends"]}, "every role has its default"


def check_use(python: Path, folder: Path) -> None:
    """The demo answers, without Spark; with Spark it says what is missing."""
    shown = run(python, "-m", "skyband", "demo", "--engine", "local", "--rows", "20000", "--dir", folder / "demo")
    assert "the largest error is" in shown, shown
    without = subprocess.run(
        [python, "-m", "skyband", "run", folder / "demo" / "job.toml"], capture_output=True, text=True, check=False
    )
    assert without.returncode == 2, without
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
    counts = folder / "demo" / "counts.html"
    run(python, "-m", "skyband", "plot", folder / "demo" / "job.toml", "--output", counts)
    assert "vegaEmbed" in counts.read_text("utf-8")
    assert "pip install skyband-spark" in without.stderr, without.stderr


def run(*command: object) -> str:
    """The output of a command, in a folder from which nothing can be imported by accident."""
    environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "SKYBAND_PLUGINS")}
    done = subprocess.run(
        [str(part) for part in command], stdout=subprocess.PIPE, text=True, check=True, env=environment, cwd="/"
    )
    return done.stdout


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
