"""The guides for authors: the role that one shows works whole; they and new plugins import only what is public."""

import ast
import os
import re
import subprocess
import sys

import pytest
from skyband.registry import installed
from skyband_specs.reference.author_api import PUBLIC, SHARED
from skyband_specs.scaffold.copied_project import COPIED, render_copy
from skyband_specs.scaffold.project import render

from .conftest import ROOT, Document

EXTEND = ROOT / "core" / "docs" / "extend"
GUIDES = ("writing.md", "writing-queries.md", "writing-roles.md", "writing-formats.md", "hooks.md", "conformance.md")
USERS = ("skyband.engines", "skyband.spark")
"""What a program imports that asks queries, as the examples of plugins do."""


ASKED = ("skyband.states", "skyband.spark.states")
"""What a program asks states with: their pages are for users."""


def blocks(guide, language="python"):
    return [block.body for block in Document(EXTEND / guide, False).blocks(language)]


def imported(source):
    """The modules that a source imports from Skyband, each name of which is one of its own or of a module."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and re.match(r"skyband(_specs)?(\.|$)", node.module or ""):
            yield node.module, [alias.name for alias in node.names]


@pytest.fixture
def shown(tmp_path):
    """The role of the guide as an installed distribution; gives a function that calls the command line."""
    for body in blocks("writing-roles.md"):
        path = tmp_path / re.match(r"# (\S+\.py)\n", body)[1]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(body)
    for folder in ("skyband_averager", "skyband_averager/conformance"):
        (tmp_path / folder / "__init__.py").touch()
    info = tmp_path / "skyband_averager-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: skyband-averager\nVersion: 0.1.0\n")
    (info / "entry_points.txt").write_text("[skyband]\naverager = skyband_averager.hooks\n")
    env = {**os.environ, "PYTHONPATH": str(tmp_path), "SKYBAND_PLUGINS": "skyband-averager"}

    def call(*arguments):
        command = [sys.executable, "-m", "skyband", *arguments]
        ran = subprocess.run(command, capture_output=True, text=True, env=env, check=False, cwd=tmp_path)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return ran.stdout

    return call


def test_the_role_of_the_guide_is_verified_and_begun_anew(shown, tmp_path):
    told = shown("verify", "averager/plain")
    assert told.splitlines()[-1] == "29 passed, 2 not applicable (trials), 0 failed", told
    assert "averager/plain  default  exact" in " ".join(shown("backends", "--role", "averager").split(" "))
    shown("new", "mine", "--role", "averager")
    made = (tmp_path / "mine" / "src" / "skyband_mine" / "averager.py").read_text()
    assert "from skyband_averager.role import Averager" in made
    assert "skyband-averager>=0.1.0" in (tmp_path / "mine" / "pyproject.toml").read_text()


SHOWN = {
    "writing-queries.md": ("query", "rates", 1),
    "writing-formats.md": ("format", "acme-log", 3),
    "writing-roles.md": ("role", "averager", 5),
    "hooks.md": ("command", "moments", 2),
}
"""By guide, the kind of plugin that it shows, its name, and the number of its files that are shown whole."""


@pytest.mark.parametrize("guide", SHOWN)
def test_a_guide_shows_the_files_that_skyband_new_makes(guide, request):
    page = Document(EXTEND / guide, request.config.getoption("--write"))
    kind, name, count = SHOWN[guide]
    made = render_copy(kind, name)
    page.holds(page.blocks("text")[0].body, "".join(f"{path}\n" for path in sorted(made)))
    shown_whole = [block.body for block in page.blocks("python") if block.body.startswith(f"# skyband_{name[:4]}")]
    assert len(shown_whole) == count
    for body in shown_whole:
        first, _, _ = body.partition("\n")
        page.holds(body, f"{first}\n{made['src/' + first.removeprefix('# ')]}")


def test_the_guide_to_writing_shows_the_aggregate_that_skyband_new_makes(request):
    page = Document(EXTEND / "writing.md", request.config.getoption("--write"))
    (body,) = [block.body for block in page.blocks("python") if block.body.startswith("# skyband_entropy/")]
    first, _, _ = body.partition("\n")
    page.holds(body, f"{first}\n{render('row-aggregate', 'entropy')['src/' + first.removeprefix('# ')]}")


@pytest.mark.parametrize("guide", GUIDES)
def test_a_guide_imports_what_is_public(guide):
    for body in blocks(guide):
        if (
            "skyband_specs.sketch.minimal" not in body
        ):  # the conformance guide breaks the sketch that a plugin begins with
            assert_public(body)


@pytest.mark.parametrize(
    "files", [*(render(role, "best") for role in installed().roles), *(render_copy(kind, "best") for kind in COPIED)]
)
def test_what_a_new_plugin_imports_is_public(files):
    for path, text in files.items():
        if path.endswith(".py"):
            assert_public(text)


def assert_public(source):
    for module, names in imported(source):
        assert module in PUBLIC or module.startswith(USERS), f"{module} is on no page"
        shown_there = {*PUBLIC.get(module, ()), "hookimpl", "*"}
        classes = [name for name in names if not name.isupper() and module not in ("skyband", "skyband.arrays")]
        hidden = (
            [] if module.startswith((*USERS, "skyband.roles")) else [one for one in classes if one not in shown_there]
        )
        assert not hidden, f"{module}: {hidden} are not on the page of what authors import"


def test_the_guides_name_public_modules():
    for guide in GUIDES:
        text = (EXTEND / guide).read_text("utf-8")
        for module in re.findall(r"`(skyband(?:_specs)?\.[a-z_]+(?:\.[a-z_]+)*)(?:\.[A-Z]\w+)?`", text):
            home, _, name = module.rpartition(".")
            assert module in (*PUBLIC, *ASKED) or name in (*PUBLIC.get(home, ()), "hookimpl"), f"{guide}: {module}"


def test_what_the_plugins_import_is_on_the_page_and_nothing_else():
    """Of core, specs, jobs and engines; skyband.engines, skyband.spark and what else a program calls is for users."""
    taken = set()
    for path in ROOT.glob("plugins/*/src/**/*.py"):
        shared = {"skyband", "skyband_specs", "skyband_expressions", "skyband_jobs", "skyband_spark"}
        shared -= {path.relative_to(ROOT).parts[3]}  # its own
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in shared:
                for alias in node.names:
                    inner = f"{node.module}.{alias.name}"
                    taken.add(inner if _is_module(inner) else node.module)
    listed = {name for names in SHARED.values() for name in names}
    assert sorted(taken - PUBLIC.keys() - listed - {*USERS, "skyband.docstrings", "skyband.states"}) == []
    assert sorted(listed - taken) == [], "no plugin imports these any more"
    assert listed & PUBLIC.keys() == set()


def _is_module(name):
    home = name.partition(".")[0]
    sources = (ROOT / "core" / "src", ROOT / "specs" / "src", *ROOT.glob("plugins/*/src"))
    paths = [source.joinpath(*name.split(".")) for source in sources if (source / home).is_dir()]
    return any(path.with_suffix(".py").is_file() or (path / "__init__.py").is_file() for path in paths)
