"""Core without any plugin lists nothing, and says what to install."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from skyband.registry import installed
from skyband.registry.install_hints import comes_with

ROOT = Path(__file__).parents[3]
JOB = """
source = { format = "parquet", path = ".", stream = true }
query = { kind = "distinct-count", time = "t", item = "k", windows = ["1 minute"], every = "1 minute" }
sink = { format = "parquet", path = "counts", checkpoint = "checkpoint" }
"""


def test_without_plugins_nothing_is_listed_without_an_error(site):
    ran = site.run("queries", SKYBAND_PLUGINS="skyband")
    assert (ran.returncode, ran.stderr) == (0, "") and len(ran.stdout.splitlines()) == 1  # the head of the table


def test_a_job_and_its_checkpoint_say_which_plugin_their_query_lacks(site, tmp_path):
    (tmp_path / "job.toml").write_text(JOB)
    for command in ("check", "state"):
        ran = site.run(command, str(tmp_path / "job.toml"), SKYBAND_PLUGINS="skyband")
        assert ran.returncode == 1
        assert "query.kind: unknown 'distinct-count'; it comes with skyband-distinct" in ran.stdout + ran.stderr


@pytest.mark.parametrize(
    ("arguments", "missing", "home"),
    [
        (["demo"], "no command 'demo'", "skyband-distinct"),
        (["describe", "quantile-sketch/buckets"], "unknown role 'quantile-sketch'", "skyband-quantiles"),
    ],
)
def test_a_command_and_a_role_say_which_plugin_brings_them(site, arguments, missing, home):
    ran = site.run(*arguments, SKYBAND_PLUGINS="skyband")
    assert ran.returncode and missing in ran.stderr and f"it comes with {home}: pip install {home}" in ran.stderr


@pytest.mark.parametrize(("command", "home"), [("run", "skyband-jobs"), ("savepoint", "skyband-spark")])
def test_a_command_of_jobs_or_spark_says_which_distribution_brings_it(command, home):
    without = "from skyband.registry import discovery; discovery.TOOLS = (); from skyband.__main__ import main; main()"
    ran = subprocess.run(
        [sys.executable, "-c", without, command, "job.toml"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "SKYBAND_PLUGINS": "skyband"},
    )
    assert ran.returncode and f"no command {command!r}" in ran.stderr
    assert f"; it comes with {home}: pip install {home}" in ran.stderr


def test_help_names_the_distribution_of_the_first_command(site):
    begin = "Begin with `skyband demo`"
    assert site.run("--help").stdout.endswith(f"{begin}.\n")
    text = " ".join(site.run("--help", SKYBAND_PLUGINS="skyband").stdout.split())
    assert text.endswith(f"{begin}; it comes with skyband-distinct: pip install skyband-distinct")


def test_the_distribution_of_every_query_is_known():
    homes = {one.info.kind: one.distribution for one in installed().queries.listing}
    assert {kind: comes_with(kind).rpartition(" ")[2] for kind in homes} == homes


def test_every_plugin_has_an_environment_of_its_own_in_tox_and_in_ci():
    plugins = {path.parent.name for path in ROOT.glob("plugins/*/pyproject.toml")}
    tox, weekly = (ROOT / "tox.ini").read_text(), (ROOT / ".github/workflows/weekly.yml").read_text()
    assert set(re.search(r"alone-{(.*)}", tox)[1].split(",")) == plugins
    assert set(re.search(r"plugin: \[(.*)\]", weekly)[1].split(", ")) == plugins
