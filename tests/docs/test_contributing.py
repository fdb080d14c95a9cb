"""CONTRIBUTING: the backend it adds is found and keeps its role's contract."""

import os
import re
import subprocess
import sys
import tomllib

from .conftest import ROOT


def test_the_backend_it_adds_passes_every_check(contributing, tmp_path):
    for block in contributing.blocks("python"):
        name = re.match(r"# (\w+\.py)\n", block.body)[1]
        (tmp_path / name).write_text(block.body)
    project = tomllib.loads(contributing.blocks("toml")[0].body)["project"]
    info = tmp_path / "skyband_newest-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    points = "\n".join(f"{name} = {value}" for name, value in project["entry-points"]["skyband"].items())
    (info / "entry_points.txt").write_text(f"[skyband]\n{points}\n")
    (console,) = contributing.blocks("console")
    command = console.body.strip().removeprefix("$ skyband ").split()
    ran = subprocess.run(
        [sys.executable, "-m", "skyband", *command],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ran.stdout.splitlines()[-1].endswith(" 0 failed")


def test_the_folders_and_tox_environments_it_names_are_there(contributing):
    house, rooms = contributing.text.split("The rooms of `core/src/skyband`")
    for place, table in ((ROOT, house), (ROOT / "core" / "src" / "skyband", rooms)):
        for folder in re.findall(r"^\| `(\w+)/", table, re.MULTILINE):
            assert (place / folder).is_dir()
    headings = re.findall(r"\[testenv:([\w-]*){?([\w,]+)}?\]", (ROOT / "tox.ini").read_text())
    there = {first + name for first, names in headings for name in names.split(",")} | {"alone-"}
    named = {name for names in re.findall(r"tox -e ([\w,-]+)", contributing.text) for name in names.split(",")}
    assert named <= there, named - there


def test_the_files_that_tox_names_are_there():
    """Under pytest-xdist a run that is given one that is not collects nothing, and says no more than that."""
    named = re.findall(r"\b(?:core|plugins|specs|tests)/[\w/.]+", (ROOT / "tox.ini").read_text())
    assert [name for name in named if not (ROOT / name).exists()] == []
    assert len(named) > 20


def test_tox_and_readme_know_every_plugin():
    tox, readme = (ROOT / "tox.ini").read_text(), (ROOT / "README.md").read_text("utf-8")
    for plugin in sorted((ROOT / "plugins").iterdir()):
        name = f"plugins/{plugin.name}"
        assert re.search(rf"-e \./{name}(\[[\w,]+\])?\n", tox)
        assert f"{name}/src" in tox
        assert f"-p skyband_{plugin.name}" in tox
        assert f"({name}/README.md)" in readme


def test_the_rooms_it_names_are_there(contributing):
    text = contributing.text
    rooms = re.search(r"The rooms of .*?(?=A backend never)", text, re.DOTALL).group()
    for room in re.findall(r"`(\w+)(/?)`", rooms):
        name, folder = room
        path = ROOT / "core" / "src" / "skyband" / (name if folder else f"{name}.py")
        assert path.exists(), path
