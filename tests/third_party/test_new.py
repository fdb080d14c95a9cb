"""`skyband new`: what it makes installs, is found, passes its own conformance run and answers."""

import re
import sys
import tomllib
import venv
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import get_type_hints

import pytest
from packaging.requirements import Requirement
from skyband import BackendInfo
from skyband.registry import installed, interface_of
from skyband_specs.checks import checks_for
from skyband_specs.runner import subject, verify_subject
from skyband_specs.scaffold.copied_project import COPIED, render_copy
from skyband_specs.scaffold.project import render, template_of
from third_party.conftest import example

WITH_TEMPLATE = [name for name in installed().roles if template_of(name).source is not None]
QUICK = ("seeded_streams_equal_the_oracle", "restored_goes_on_as_undisturbed", "new_backend_is_as_asked")


@pytest.mark.parametrize("role", WITH_TEMPLATE)
def test_a_template_is_a_correct_backend(role):
    report = verify_subject(template(role), checks=[check for check in checks_for(role) if check.name in QUICK])
    assert report.ok, report.text()
    assert len(report.results) == len(QUICK)


@pytest.mark.parametrize("role", WITH_TEMPLATE)
def test_a_plugin_is_short_enough_to_read(role):
    for path, text in render(role, "mine").items():
        if path == "LICENSE":
            continue
        assert text.count("\n") < 160, path
        assert max(map(len, text.splitlines()), default=0) <= 120, path


@pytest.mark.parametrize("role", WITH_TEMPLATE)
def test_a_plugin_bears_its_own_name_throughout(role):
    files = render(role, "k-best-7")
    own = {path: text for path, text in files.items() if path != "LICENSE"}
    assert not [path for path, text in own.items() if "mine" in text.lower().replace("determine", "")]
    for path, text in files.items():
        if path.endswith(".py"):
            compile(text, path, "exec")
    needs = [line for line in files["pyproject.toml"].splitlines() if line.startswith("dependencies")]
    requirement = Requirement(next(part for part in needs[0].split('"') if part.startswith("skyband")))
    assert version("skyband") in requirement.specifier


KINDS = tuple(COPIED)


@pytest.mark.parametrize(
    "files", [render("sketch", "best"), *(render_copy(kind, "best") for kind in KINDS)], ids=["backend", *KINDS]
)
def test_a_plugin_has_a_licence_a_ci_file_and_the_badge(files):
    assert files["LICENSE"] == (Path(__file__).parents[2] / "LICENSE").read_text()
    project = tomllib.loads(files["pyproject.toml"])["project"]
    assert (project["license"], project["license-files"]) == ("Apache-2.0", ["LICENSE"])
    steps = re.findall(r"- run: (.*)", files[".github/workflows/tests.yml"])
    assert steps[0] == 'pip install -e ".[test]"' and "test" in project["optional-dependencies"]
    assert steps[1] in files["README.md"] and steps[2:] == ["pytest"]
    assert "${{ matrix.python }}" in files[".github/workflows/tests.yml"]
    (specs,) = re.findall(r"^\[!\[verified with skyband-specs (.*)\]\[badge\]\]", files["README.md"], re.MULTILINE)
    assert version("skyband-specs").startswith(f"{specs}.")
    assert f"skyband--specs%20{specs}-" in files["README.md"]
    assert re.search(r"^\[checks\]: (.*)", files["README.md"], re.MULTILINE)[1] in files


def test_a_name_that_says_its_role_is_not_doubled():
    assert "class MySketch(Sketch)" in render("sketch", "my-sketch")["src/skyband_my_sketch/sketch.py"]
    assert "class BestSketch(Sketch)" in render("sketch", "best")["src/skyband_best/sketch.py"]


def test_a_made_plugin_installs_is_found_verified_and_answers(maker):
    folder, site = maker.make("sketch"), maker.home / "site"
    maker.install(folder, sys.executable, "--target", str(site))
    told = maker.run(sys.executable, "-m", "skyband", "verify", "sketch/my-sketch", site=site)
    assert told.splitlines()[-1] == "52 passed, 5 not applicable (guarantee), 0 failed"
    program, said = example(folder / "README.md")
    assert maker.run(sys.executable, "-c", program, site=site).splitlines() == said
    quick = [folder, "-k", "new_backend_is_as_asked or documentation"]
    tested = maker.run(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *quick, site=site)
    assert "sketch/my-sketch: 1 passed" in tested and "\n2 passed" in tested


@pytest.mark.slow
@pytest.mark.parametrize("role", WITH_TEMPLATE)
def test_a_plugin_of_every_role_in_a_fresh_environment(maker, role):
    folder = maker.make(role)
    python = environment(maker.home / "venv")
    maker.install(folder, python)
    assert f"{role}/my-{role}" in maker.run(python, "-m", "skyband", "backends", "--role", role)
    assert f"skyband-my-{role} 0.1.0" in maker.run(python, "-m", "skyband", "describe", f"{role}/my-{role}")
    assert maker.run(python, "-m", "skyband", "verify", f"{role}/my-{role}").endswith(" 0 failed\n")
    program, said = example(folder / "README.md")
    assert maker.run(python, "-c", program).splitlines() == said
    few = "new_backend_is_as_asked or documentation"
    tested = maker.run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", folder, "-k", few)
    assert f"{role}/my-{role}: 1 passed" in tested and "\n2 passed" in tested


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("K-Skb", "try --name k-skb"),
        ("größe", "try --name grosse"),
        ("Ｆｕｌｌ", "try --name full"),
        ("my sketch", "try --name my-sketch"),
        ("../up", "try --name up"),
        ("7-best", "try --name best"),
        ("-", "(got '-')\n"),
        ("", "(got '')\n"),
        ("数", "(got '数')\n"),
        ("a--b", "try --name a-b"),
        ("a" * 200, "try --name " + "a" * 60 + "\n"),
    ],
)
def test_a_name_that_is_none_comes_with_the_closest(maker, name, said):
    called = maker.new(maker.home / "x", "--role", "sketch", "--name", name)
    assert called.exit_code == 2
    assert "--name: must be lower-case words joined by hyphens" in called.stderr
    assert said in called.stderr
    assert not (maker.home / "x").exists()


@pytest.mark.parametrize(
    ("role", "name", "said"),
    [
        ("sketch", "exact", f"sketch/exact is taken: it comes with skyband-distinct {version('skyband-distinct')}"),
        ("window", "specs", "the distribution skyband-specs"),
    ],
)
def test_a_name_that_is_taken_says_by_whom(maker, role, name, said):
    called = maker.new(maker.home / "x", "--role", role, "--name", name)
    assert called.exit_code == 2
    assert said in called.stderr
    assert not (maker.home / "x").exists()


@pytest.mark.parametrize("name", ["class", "none", "hooks", "sketch", "array", "x"])
def test_names_that_mean_something_to_python_do(name):
    for path, text in render("sketch", name).items():
        if path.endswith(".py"):
            compile(text, path, "exec")
    scope = {"__name__": "made"}
    exec(render("sketch", name)[f"src/skyband_{name}/sketch.py"], scope)
    assert scope[f"{name.capitalize()}Sketch"].name == name


def test_the_folder_gives_the_name(maker, monkeypatch):
    folder = maker.home / "skyband-panes-of-mine"
    folder.mkdir()
    monkeypatch.chdir(folder)
    assert maker.new(".", "--role", "sketch").exit_code == 0
    assert 'name = "skyband-panes-of-mine"' in (folder / "pyproject.toml").read_text()
    assert 'name: ClassVar[str] = "panes-of-mine"' in (folder / "src/skyband_panes_of_mine/sketch.py").read_text()


def test_files_are_listed_on_stdout_and_what_to_do_next_on_stderr(maker):
    called = maker.new(maker.home / "a b", "--role", "matcher", "--name", "near")
    assert {Path(line) for line in called.stdout.splitlines()} == {
        maker.home / "a b" / path for path in render("matcher", "near")
    }
    assert f"pip install -e '{maker.home / 'a b'}[test]'" in called.stderr
    assert "skyband verify matcher/near" in called.stderr


@pytest.mark.parametrize("there", ["pyproject.toml", ".git", "notes.txt"])
def test_what_is_there_is_not_overwritten(maker, there):
    (maker.home / "x").mkdir()
    (maker.home / "x" / there).write_text("precious")
    called = maker.new(maker.home / "x", "--role", "sketch")
    assert called.exit_code == 2
    assert "is not empty: name a new folder" in called.stderr
    assert [path.name for path in (maker.home / "x").iterdir()] == [there]
    assert (maker.home / "x" / there).read_text() == "precious"


def test_a_file_is_no_folder(maker):
    (maker.home / "x").write_text("precious")
    assert maker.new(maker.home / "x", "--role", "sketch").exit_code == 2
    assert maker.new(maker.home / "x" / "y", "--role", "sketch").exit_code == 2
    assert (maker.home / "x").read_text() == "precious"


def test_wrong_calls(maker):
    assert maker.new(maker.home / "x").exit_code == 2
    called = maker.new(maker.home / "x", "--role", "windw")
    assert called.exit_code == 2
    assert "did you mean 'window'?" in called.stderr
    assert not (maker.home / "x").exists()


def template(role: str):
    """The template of a role as it stands in its conformance package, to be tried."""
    cls = getattr(import_module(template_of(role).source), f"Mine{interface_of(role).__name__}")
    facts = template_of(role)
    factory = f"{cls.__module__}:{cls.__name__}"
    return subject(BackendInfo(role, "mine", factory, facts.summary, "exact", facts.reference, facts.lacks), cls)


def environment(folder: Path) -> Path:
    """The interpreter of a fresh environment that sees what this one has installed, and keeps its own beside it."""
    venv.create(folder, with_pip=True)
    python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    sites = [path for path in sys.path if path.endswith("site-packages")]
    home = next(folder.rglob("site-packages"))
    (home / "outer.pth").write_text("".join(f"import site; site.addsitedir({path!r})\n" for path in sites))
    return python


@pytest.mark.parametrize("role", [name for name in installed().roles if name not in WITH_TEMPLATE])
def test_a_plugins_role_without_a_template_begins_with_the_methods_of_its_interface(role):
    files = render(role, "k-best-7")
    (source,) = [text for path, text in files.items() if path.endswith(f"/{role.replace('-', '_')}.py")]
    scope = {"__name__": "made"}
    exec(source, scope)
    (made,) = [cls for cls in scope.values() if getattr(cls, "name", None) == "k-best-7"]
    assert issubclass(made, interface_of(role))
    assert not made.__abstractmethods__
    for method in interface_of(role).__abstractmethods__:
        written = vars(made)[method]
        assert get_type_hints(written.fget if isinstance(written, property) else written), "its types are imported"
    project = tomllib.loads(files["pyproject.toml"])["project"]
    home = next(entry.distribution for entry in installed().role_listing if entry.info.name == role)
    assert home in [Requirement(one).name for one in project["dependencies"]]
    assert "once its methods are written" in files["README.md"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_copied_plugin_is_short_and_has_its_own_name_throughout(kind):
    for path, text in render_copy(kind, "k-best-7").items():
        if path == "LICENSE":
            continue
        assert "mine" not in text.lower().replace("determine", ""), path
        assert "scaffold" not in text, path
        if path.endswith(".py"):
            compile(text, path, "exec")
            assert text.count("\n") < 160 and max(map(len, text.splitlines()), default=0) <= 120, path


OPTIONS = {"query": "--query", "format": "--format", "role": "--new-role", "command": "--command"}
VERIFIED = {
    "query": ("query/my-own", "33 passed, 0 not applicable, 0 failed"),
    "format": ("format/my-own", "14 passed, 7 not applicable (current), 0 failed"),
    "role": ("my-own/plain", "29 passed, 2 not applicable (trials), 0 failed"),
}
LISTED = {"query": ["queries"], "format": ["formats"], "role": ["backends"], "command": ["--help"]}
SOME = {
    "query": "travels or schema or declared",
    "format": "keys",
    "role": "new_backend or documentation",
    "command": "",
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_made_plugin_of_every_kind_installs_is_listed_verified_and_passes_its_tests(maker, kind):
    folder, site = maker.home / "my-own", maker.home / "site"
    called = maker.new(folder, OPTIONS[kind], "my-own")
    assert called.exit_code == 0, called.stderr
    maker.install(folder, sys.executable, "--target", str(site))
    assert "my-own" in maker.run(sys.executable, "-m", "skyband", *LISTED[kind], site=site)
    if kind in VERIFIED:
        key, passed = VERIFIED[kind]
        told = maker.run(sys.executable, "-m", "skyband", "verify", key, site=site)
        assert told.splitlines()[-1] == passed, told
        program, said = example(folder / "README.md")
        assert maker.run(sys.executable, "-c", program, site=site).splitlines() == said
    some = [folder, "-k", SOME[kind]]
    tested = maker.run(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *some, site=site)
    assert re.search(r"^\d+ passed", tested, re.MULTILINE) and "failed" not in tested.replace("0 failed", ""), tested


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "give one of --role ROLE (for a backend), --query, --format, --new-role, --command"),
        (["--role", "sketch", "--query", "x"], "give one of --role ROLE"),
        (["--format", "x", "--command", "x"], "give one of --role ROLE"),
        (["--format", "csv"], "format/csv is taken: it comes with Skyband itself"),
        (["--format", "delta"], "format/delta is taken: it comes with skyband-lakes "),
        (["--new-role", "sketch"], "sketch is taken: it comes with skyband "),
        (["--new-role", "query"], "query is taken: it comes with Skyband itself"),
        (["--command", "run"], "run is taken: it comes with an installed distribution"),
        (["--command", "A b"], "try --command a-b"),
        (["--query", "top-k"], "query/top-k is taken: it comes with skyband-incomplete "),
        (["--query", "Top K"], "try --query top-k"),
        (["--query", "x", "--name", "y"], "--query sets the name"),
    ],
)
def test_a_new_plugin_that_cannot_be_is_a_wrong_call(maker, arguments, said):
    called = maker.new(maker.home / "x", *arguments)
    assert called.exit_code == 2
    assert said in called.stderr
    assert not (maker.home / "x").exists()


def test_a_folder_that_cannot_be_made_is_named(maker):
    for folder in (Path("/proc/x"), maker.home.joinpath(*"a" * 1500)):
        called = maker.new(folder, "--role", "sketch", "--name", "x")
        assert called.exit_code == 1
        assert f"{folder} cannot be written: " in " ".join(called.stderr.split())
