"""What earlier releases left behind still works: states are read, plugins run, a job goes on from its checkpoint.

What a released version wrote is never written again; `freeze.py` does it for the next one.
"""

import json
import os
import shutil
import subprocess
import sys
import tomllib
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from families import family
from release.freeze import FROZEN, SPLIT, answers_file, combinations, unpack
from skyband.cli.commands import group
from skyband.engines import local
from skyband.engines.local import LocalRun
from third_party.conftest import example

VERSIONS = sorted(path.name for path in FROZEN.iterdir())
ANSWERS = [
    (version, f"{path.parent.name} {path.stem}")
    for version in VERSIONS
    for path in sorted((FROZEN / version / "answers").glob("*/*.parquet"))
]
STATES = [(version, name) for version, name in ANSWERS if (FROZEN / version / "states").is_dir()]
PLUGINS, JOBS = ([version for version in VERSIONS if (FROZEN / version / name).is_dir()] for name in ("plugins", "job"))
DELAY = timedelta(seconds=20)
HINT = "if this is meant and the version is not released: python tests/release/freeze.py"


@pytest.mark.parametrize(("version", "name"), ANSWERS)
def test_the_answers_are_those_of_then(version, name):
    """Before 0.1 is released only its answers stand: no state of a version that nobody has is read."""
    kind, role, backend = name.split()
    rows = pq.read_table(FROZEN / version / "rows.parquet").combine_chunks()
    run, again = (LocalRun.start(family(kind, by=["place"]), rows.schema, {role: backend}) for _ in range(2))
    run.push(rows.slice(0, SPLIT).to_batches()[0])
    again.operator.restore(run.operator.snapshot())
    answers = pa.Table.from_batches([again.push(rows.slice(SPLIT).to_batches()[0]), again.finish()])
    expected = pq.read_table(answers_file(FROZEN / version, *name.split()))
    assert answers.to_pylist() == expected.to_pylist(), HINT
    assert answers.num_rows > 10


@pytest.mark.parametrize(("version", "name"), STATES)
def test_a_state_goes_on_with_the_answers_of_then(version, name):
    kind, role, backend = name.split()
    rows = pq.read_table(FROZEN / version / "rows.parquet").combine_chunks()
    run = LocalRun.start(family(kind, by=["place"]), rows.schema, {role: backend})
    run.operator.restore((FROZEN / version / "states" / name).read_bytes())
    answers = pa.Table.from_batches([run.push(rows.slice(SPLIT).to_batches()[0]), run.finish()])
    expected = pq.read_table(answers_file(FROZEN / version, *name.split()))
    assert answers.to_pylist() == expected.to_pylist(), HINT
    assert answers.num_rows > 10


def test_every_query_with_every_backend_has_left_its_answers():
    newest = {name for version, name in ANSWERS if version == VERSIONS[-1]}
    assert newest >= {" ".join(names) for names in combinations()}, HINT


@pytest.mark.parametrize("version", PLUGINS)
def test_plugins_written_then_install_are_found_and_answer(version, tmp_path):
    plugins = sorted((FROZEN / version / "plugins").iterdir())
    copies = [shutil.copytree(plugin, tmp_path / "plugins" / plugin.name) for plugin in plugins]
    site = tmp_path / "site"
    isolated = ("--no-deps", "--no-build-isolation", "--target", str(site))
    run(tmp_path, sys.executable, "-m", "pip", "install", "-q", *isolated, *map(str, copies))
    listed = json.loads(run(site, sys.executable, "-m", "skyband", "backends", "--json"))
    found = {entry["backend"]: entry["problem"] for entry in listed["backends"] if "/frozen-" in entry["backend"]}
    assert found == {f"{plugin.name}/frozen-{plugin.name}": None for plugin in plugins}
    for plugin in plugins:
        program, said = example(plugin / "README.md")
        assert run(site, sys.executable, "-c", program).splitlines() == said, f"{plugin.name}: {HINT}"


def run(site: Path, *command: str) -> str:
    """What a command prints in a process that sees the plugins installed in `site`."""
    environment = {key: value for key, value in os.environ.items() if key != "SKYBAND_PLUGINS"}
    environment["PYTHONPATH"] = str(site)
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.spark
@pytest.mark.parametrize("version", JOBS)
def test_a_job_goes_on_from_its_checkpoint(session, version, tmp_path):
    shutil.copy(FROZEN / version / "job" / "job.toml", tmp_path)
    unpack(FROZEN / version / "job" / "left.zip", tmp_path)
    rows = pq.read_table(FROZEN / version / "rows.parquet").select(["ts", "name", "place"])
    (tmp_path / "source").mkdir()
    for number, part in enumerate((rows.slice(0, SPLIT), rows.slice(SPLIT))):
        pq.write_table(part, tmp_path / "source" / f"{number}.parquet")
    ran = CliRunner().invoke(group, ["run", str(tmp_path / "job.toml")])
    assert ran.exit_code == 0, ran.output
    query = tomllib.loads((tmp_path / "job.toml").read_text("utf-8"))["query"]
    before, after = (pc.max(part["ts"]).as_py() - DELAY for part in (rows.slice(0, SPLIT), rows))
    expected = local.apply(rows, query, {"sketch": {"name": "k-skb", "epsilon": 0.05}})
    expected = expected.filter((pc.field("at") > before) & (pc.field("at") <= after))
    answers = pq.read_table(tmp_path / "answers").select(expected.column_names)
    assert sorted(map(repr, answers.to_pylist())) == sorted(map(repr, expected.to_pylist())), HINT
    assert answers.num_rows > 10
