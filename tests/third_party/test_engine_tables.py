"""A stranger's engine adds a table to jobs: checked on every engine, told to its own, and looked for only if needed."""

import json
import os
import subprocess
import sys

import pytest

HOOKS = """
from skyband import EngineInfo, hookimpl

@hookimpl
def skyband_engines():
    return [
        EngineInfo("butler", "acme_butler:Butler", "serves the answers on a tray"),
        EngineInfo("cook", "acme_butler:Cook", "must know which dish"),
    ]
"""
ENGINES = """
from attrs import define
from skyband.config.parameters import choice, integer
from skyband.engines.reference import LocalEngine
from skyband_jobs.local.engine import LocalJobs

@define
class Tray:
    "How the answers are carried."

    metal: str = choice("silver", "tin", default="silver", help="what it is made of")
    glasses: int = integer(2, at_least=1, help="how many it holds")

@define
class Stove:
    "What is cooked."

    dish: str = choice("soup", "fish", help="the only one today")

class Butler(LocalJobs):
    name = "butler"
    own_tables = {"tray": Tray}

    def __init__(self):
        super().__init__(LocalEngine())
        self.name = "butler"

class Cook(Butler):
    name = "cook"
    own_tables = {"stove": Stove}

    def __init__(self):
        super().__init__()
        self.name = "cook"
"""
JOB = """
[source]
format = "csv"
path = "visits.csv"
schema = "ts TIMESTAMP, who STRING"
options = { header = true }

[query]
kind = "distinct-count"
time = "ts"
item = "who"
windows = ["1 minute"]
every = "1 minute"

[sink]
format = "console"
"""

READ = """
import json, sys
from attrs import asdict
from skyband.errors import PluginError
from skyband_jobs import JobError, read_job

for engine, tables in json.loads(sys.argv[1]):
    with open("job.toml", "w") as file:
        file.write(sys.argv[2] + tables)
    try:
        read = {name: asdict(table) for name, table in read_job("job.toml", [], engine).own.items()}
    except JobError as error:
        read = [str(problem) for problem in error.problems]
    except PluginError as error:
        read = str(error)
    print(json.dumps(read))
"""


@pytest.fixture
def acme(tmp_path):
    """Calls Python in a folder in which the engines are installed, as a distribution."""
    (tmp_path / "visits.csv").write_text("ts,who\n2026-01-01T00:00:00Z,a\n")
    (tmp_path / "acme_hooks.py").write_text(HOOKS)
    (tmp_path / "acme_butler.py").write_text(ENGINES)
    info = tmp_path / "acme_butler-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-butler\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[skyband]\nacme = acme_hooks\n")

    def call(*arguments):
        env = {**os.environ, "PYTHONPATH": str(tmp_path)}
        command = [sys.executable, *arguments]
        return subprocess.run(command, capture_output=True, text=True, env=env, check=False, cwd=tmp_path)

    def read(*cases):
        """For each engine and text of tables: the tables of engines in the job, its problems, or a plugin's error."""
        done = call("-c", READ, json.dumps(cases), JOB)
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    call.folder, call.read = tmp_path, read
    return call


def test_the_engine_gets_its_table_checked_and_with_defaults(acme):
    cases = [("butler", ""), ("butler", '[tray]\nmetal = "tin"'), ("butler", '[stove]\ndish = "soup"'), ("cook", "")]
    silver = {"metal": "silver", "glasses": 2}
    assert acme.read(*cases) == [
        {"tray": silver},
        {"tray": {"metal": "tin", "glasses": 2}},
        {"stove": {"dish": "soup"}, "tray": silver},
        ["stove.dish: is required: the only one today"],
    ]


def test_every_engine_accepts_and_checks_the_table_of_another(acme):
    tin = '[tray]\nmetal = "tin"\n[stove]\ndish = "soup"'
    gold = tin.replace("tin", "gold")
    engines = ("local", "spark", "cook")
    own = {"tray": {"metal": "tin", "glasses": 2}, "stove": {"dish": "soup"}}
    assert acme.read(*((engine, tin) for engine in engines)) == [own] * len(engines)
    wrong = ["tray.metal: must be one of silver, tin (got 'gold')"]
    assert acme.read(*((engine, gold) for engine in engines)) == [wrong] * len(engines)


def test_what_is_misspelt_is_told_with_the_nearest_name(acme):
    misspelt = '[trya]\nmetal = "tin"\n[tray]\nglases = 3\nglasses = 0\npath = "x"'
    problems = [
        "trya: unknown; did you mean 'tray'?",
        "tray.path: belongs in [source] or [sink]",
        "tray.glases: unknown; did you mean 'glasses'?",
        "tray.glasses: must be at least 1 (got 0)",
    ]
    cases = [("butler", misspelt), ("local", misspelt), ("cook", '[stov]\ndish = "soup"'), ("local", "[[tray]]")]
    assert acme.read(*cases) == [
        problems,
        problems,
        ["stov: unknown; did you mean 'stove'?"],
        ["tray: must be a table, [tray] (got [{}])"],
    ]


def test_engines_are_not_imported_for_a_job_without_such_a_table(acme):
    (acme.folder / "job.toml").write_text(JOB)
    script = "import sys; from skyband_jobs import read_job; read_job('job.toml', [], 'local'); print(*sys.modules)"
    imported = set(acme("-c", script).stdout.split())
    assert "skyband_jobs.programs.parsing" in imported
    assert not {"acme_butler", "skyband_spark.engine"} & imported
    (acme.folder / "job.toml").write_text(f'{JOB}[stove]\ndish = "fish"')
    assert "acme_butler" in acme("-c", script).stdout.split()


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('{"tray": Tray}', '{"sink": Tray}', "its table [sink] has a name that every job has"),
        ('{"tray": Tray}', '{"tray": dict}', "its table [tray] must be an attrs class"),
        ("import integer", "import integral", "cannot import name 'integral'"),
    ],
)
def test_an_engine_that_is_wrong_is_told_where_its_table_may_be_missing(acme, old, new, reason):
    text = ENGINES.replace("import choice, integer", "import choice; from skyband.config.parameters import integer")
    assert old in text
    (acme.folder / "acme_butler.py").write_text(text.replace(old, new))
    (told,), usual, own = acme.read(("local", "[tray]"), ("local", ""), ("butler", ""))
    assert told.startswith("tray: unknown; known: ") and "engine/butler" in told and reason in told
    assert usual == {} and reason in own


def test_the_page_of_the_job_file_has_it(acme):
    page = acme("-c", "from skyband_specs.reference.job_file import job_page; print(job_page())").stdout
    assert "\n| `[tray]` | how the answers are carried |\n" in page
    assert "\n## `[tray]`\n\nOf the engine `butler`; the others ignore it.\n\n| name |" in page
    assert "\n| `glasses` | int | `2` | at least 1 | how many it holds |\n" in page
