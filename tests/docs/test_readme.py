"""README: every block runs, every generated part is up to date, every link leads somewhere."""

import os
import re
import shlex
import shutil
import subprocess
import sys

import pytest
from click.testing import CliRunner
from skyband.cli.commands import group
from skyband.queries import kinds, load_query
from skyband.registry import installed
from skyband_distinct.demo.weblog import make_weblog

from .conftest import ROOT
from .navigation import kinds_in_order, roles_in_order

QUICK = {"PYSPARK_SUBMIT_ARGS": "--master local[2] --conf spark.ui.enabled=false pyspark-shell", "COLUMNS": "120"}


def call(*arguments):
    return CliRunner().invoke(group, [str(argument) for argument in arguments])


@pytest.fixture
def log(tmp_path, monkeypatch):
    """The demo's files and the README's job in a folder, where the test then works."""
    make_weblog(20_000).write(tmp_path / "requests")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.spark
@pytest.mark.xdist_group("the demo")
def test_the_demo_shows_what_it_says(readme, tmp_path):
    _, block, _ = readme.blocks("text")
    line = block.body.splitlines()[0]
    command = [sys.executable, "-m", *line.removeprefix("$ ").split()]
    env = {**os.environ, **QUICK, "PYTHONIOENCODING": "utf-8"}
    shown = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        cwd=tmp_path,
        env={**env, "PYTHONUNBUFFERED": "1"},
        check=False,
    )
    assert shown.returncode == 0, shown.stdout
    left = f"{line}\n{_timeless(_kept(shown.stdout))}"
    for part in _timeless(block.body).split("…\n"):
        before, found, left = left.partition(part)
        assert found, f"the demo prints no such lines after what the README shows before them:\n{part}\n{before}"


def _kept(output):
    """The demo's output as a terminal keeps it: without the lines that are drawn over each other."""
    passing = re.compile(r"waiting for|starting Spark|compiling kernels|[\d,]+ rows · ")
    return "".join(line for line in output.splitlines(keepends=True) if not passing.match(line))


def _timeless(text):
    return re.sub(r"^took .*$", "took", text, flags=re.MULTILINE)


def test_the_first_program_is_short_and_prints_what_it_says(readme):
    program, _ = readme.blocks("python")
    printed, *_ = readme.blocks("text")
    assert len(program.body.splitlines()) <= 12
    ran = subprocess.run([sys.executable, "-c", program.body], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    readme.holds(printed.body, ran.stdout)


def test_the_factors_are_those_of_the_page_and_their_commands_are_there(readme):
    table = readme.text.partition("| rows per second on Spark |")[2].partition("\n\n")[0]
    figures = (ROOT / "core" / "docs" / "run" / "scale.md").read_text("utf-8")
    measured = figures.partition("The factors are the rows per second of Skyband")[2]
    assert measured
    factors = [
        figure
        for cell in re.findall(r"\| ([^|]* times [^|]*) \|", table)
        for figure in re.findall(r"[\d.]+ times", cell)
    ]
    assert len(factors) == 4
    for factor in factors:
        assert f"| {factor.removesuffix(' times')} " in measured, factor
    for command in re.findall(r"`python (tests/bench/\w+\.py)", readme.text):
        assert (ROOT / command).is_file(), command


@pytest.mark.spark
@pytest.mark.xdist_group("the demo")
def test_the_same_in_pyspark_gives_the_demos_answers(readme, log):
    _, block = readme.blocks("python")
    assert len(block.body.strip().splitlines()) <= 11
    ran = subprocess.run(
        [sys.executable, "-c", block.body],
        capture_output=True,
        text=True,
        cwd=log,
        env={**os.environ, **QUICK},
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    counts = [re.split(r" *\| *", line.strip("|")) for line in ran.stdout.splitlines() if line.startswith("|2026")]
    assert call("demo", "--engine", "local", "--rows", "20000", "--dir", log / "demo").exit_code == 0
    local = call(
        "run",
        log / "demo" / "job.toml",
        "--engine",
        "local",
        "--set",
        "sink.format=console",
        "--set",
        'query.windows=["1 hour"]',
    )
    expected = [re.split(r"  +", line) for line in local.stdout.splitlines()[1:5]]
    assert [float(row[2]) for row in counts] == pytest.approx([float(row[2]) for row in expected], abs=1e-3)
    assert len(counts) == 4


def test_compare_shows_what_it_says_but_for_the_figures(readme, log):
    pytest.importorskip("vl_convert")
    _, _, block = readme.blocks("text")
    assert call("demo", "--engine", "local", "--rows", "20000", "--dir", log / "demo").exit_code == 0
    compared = call(*shlex.split(block.body.splitlines()[0].removeprefix("$ skyband ")))
    assert compared.exit_code == 0, compared.stdout
    said, shown = block.body.splitlines()[2:], compared.stdout.splitlines()[1:]
    assert list(map(without_figures, [*shown, "page: sketches.html"])) == list(map(without_figures, said))
    assert (log / "sketches.html").stat().st_size < 100_000


def without_figures(line):
    """The names in a line of a table; other lines as they are."""
    cells = re.split(r"  +", line)
    return cells if cells[0] == "backend" or len(cells) == 1 else cells[:1]


def test_the_job_is_fine_and_runs(readme, log):
    (block,) = readme.blocks("toml")
    (log / "job.toml").write_text(block.body)
    checked = call("check", "job.toml")
    assert checked.exit_code == 0, checked.stdout
    ran = call("run", "job.toml", "--engine", "local", "--set", "query.every=1 hour")
    assert ran.exit_code == 0, ran.stderr
    assert any((log / "counts").iterdir())


def test_what_is_said_of_errors_is_so(readme, log):
    (log / "job.toml").write_text(readme.blocks("toml")[0].body)
    (block,) = readme.blocks("console")
    command = block.body.splitlines()[0]
    called = call(*shlex.split(command.removeprefix("$ skyband ")))
    readme.holds(block.body, f"{command}\n{called.stdout}")
    assert called.exit_code == 1


def test_the_commands_named_in_the_text_are_there(readme):
    named = {match[1] for match in re.finditer(r"`(?:\.venv/bin/)?skyband ([a-z]+)", readme.text)}
    assert named <= set(group.list_commands(None))
    assert {"demo", "check", "run", "backends", "describe", "verify"} <= named


def test_the_tables_of_queries_and_backends_are_up_to_date(readme):
    text = readme.text
    start = text.index("| query | asks | roles |")
    end = text.index("\n\n", start)
    lines = ["| query | asks | roles |", "|---|---|---|"]
    lines += [
        f"| `{kind}` | {kinds()[kind].summary} | {', '.join(load_query(kind).roles)} |" for kind in kinds_in_order()
    ]
    readme.holds(text[start:end], "\n".join(lines))
    text = readme.text
    start = text.index("| role | backends, the default in bold | from |")
    end = text.index("\n\n", start)
    lines = ["| role | backends, the default in bold | from |", "|---|---|---|"]
    for role in map(installed().roles.__getitem__, roles_in_order()):
        listed = [entry for entry in installed().listing(role.name) if entry.distribution.startswith("skyband")]
        names = [f"**{entry.info.name}**" if entry.info.name == role.default else entry.info.name for entry in listed]
        homes = sorted({entry.distribution for entry in listed})
        lines.append(f"| {role.name}: {role.summary} | {', '.join(names)} | {', '.join(homes)} |")
    readme.holds(text[start:end], "\n".join(lines))


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md"])
def test_links_lead_somewhere(document):
    text = (ROOT / document).read_text("utf-8")
    links = re.findall(r"\]\(([^)#]+)\)", text)
    for link in links:
        assert link.startswith("https://") or (ROOT / link).exists(), link


def test_each_setup_is_one_line_that_names_what_is_there(readme):
    setups = [block.body.strip() for block in readme.blocks("sh")]
    assert len(setups) == 2
    assert all(len(setup.splitlines()) == 1 for setup in setups)
    assert setups[0].endswith("skyband demo")
    assert setups[1].endswith("tox")
    assert (ROOT / "core" / "pyproject.toml").exists() and (ROOT / "tox.ini").exists()


@pytest.mark.slow
@pytest.mark.spark
def test_the_first_setup_works_on_a_fresh_clone(readme, tmp_path):
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", ROOT, clone], check=True)
    bash = shutil.which("bash")
    assert bash, "the line is for a shell"
    env = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "VIRTUAL", "TOX"))}
    ran = subprocess.run(
        [bash, "-c", readme.blocks("sh")[0].body], capture_output=True, text=True, cwd=clone, env=env, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert "the largest error is" in ran.stdout
