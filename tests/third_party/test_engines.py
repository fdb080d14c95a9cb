"""A stranger's engine, installed: listed, verified, and jobs run on it; what is wrong with an engine is said."""

import json
import re
import shutil
import sys
from pathlib import Path

import pytest
from skyband_specs.engines import CHECKS, EngineSubject, verify_engine_subject

THREADS = Path(__file__).parent / "threads"
JOB = """
[source]
format = "parquet"
path = "visits.parquet"

[query]
kind = "distinct-count"
time = "ts"
item = "who"
by = ["shop"]
windows = ["1 minute"]
every = "1 minute"

[sink]
format = "json"
path = "answers"
"""
VISITS = """
import pyarrow as pa, pyarrow.parquet as pq
rows = range(4000)
times = pa.array([1_750_000_000 + row for row in rows], pa.timestamp("s", "UTC"))
shops = [f"shop {row % 97}" for row in rows]
pq.write_table(pa.table({"ts": times, "who": [f"w{row % 13}" for row in rows], "shop": shops}), "visits.parquet")
"""


@pytest.fixture
def site(maker, tmp_path):
    """A folder in which the engine is installed."""
    folder = tmp_path / "site"
    maker.install(THREADS, sys.executable, "--target", folder)
    return folder


def test_an_installed_engine_is_listed_and_described_and_runs_a_job(maker, site, tmp_path):
    skyband = [sys.executable, "-m", "skyband"]
    listing = json.loads(maker.run(*skyband, "engines", "--json", site=site))["engines"]
    (threads,) = [each for each in listing if each["engine"] == "threads"]
    assert threads["distribution"] == "skyband-threads" and threads["problem"] is None
    assert "one operator a thread" in maker.run(*skyband, "describe", "engine/threads", site=site)
    (tmp_path / "job.toml").write_text(JOB)
    maker.run(sys.executable, "-c", VISITS)
    answers = []
    for engine in ("local", "threads"):
        maker.run(*skyband, "run", "job.toml", "--engine", engine, "--set", f"sink.path={engine}", site=site)
        (part,) = (tmp_path / engine).glob("*.json")
        answers.append(part.read_bytes())
    assert answers[0] == answers[1] and answers[0].count(b"\n") > 97


@pytest.fixture
def second_claim(maker, site, tmp_path):
    """Another distribution that brings an engine of the same name."""
    copy = shutil.copytree(THREADS, tmp_path / "threads_too", ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "src" / "skyband_threads").rename(copy / "src" / "skyband_threads_too")
    for path in (copy / "pyproject.toml", *copy.rglob("*.py")):
        text = path.read_text("utf-8")
        path.write_text(re.sub(r"skyband([-_])threads", r"skyband\1threads\1too", text), "utf-8")
    maker.install(copy, sys.executable, "--target", site)


def test_verify_asks_for_the_distribution_of_an_engine_that_two_bring(maker, site, second_claim):
    verify = [sys.executable, "-m", "skyband", "verify", "engine/threads"]
    with pytest.raises(AssertionError, match="skyband-threads-too"):
        maker.run(*verify, site=site)
    with pytest.raises(AssertionError, match="threads is not in skyband-spark; it is in"):
        maker.run(*verify, "--distribution", "skyband-spark", site=site)


@pytest.mark.slow
def test_an_installed_engine_is_verified(maker, site, second_claim):
    verify = [
        sys.executable,
        "-m",
        "skyband",
        "verify",
        "engine/threads",
        "--distribution",
        "skyband-threads",
        "--json",
    ]
    report = json.loads(maker.run(*verify, site=site))
    assert report["backend"] == "engine/threads" and report["counts"]["passed"] == len(CHECKS)


@pytest.mark.parametrize("check", [check for check in CHECKS if check.group in ("rows", "state")], ids=lambda c: c.name)
def test_a_strangers_engine_passes_the_checks(monkeypatch, check):
    """Those that take seconds; all of them above."""
    monkeypatch.syspath_prepend(str(THREADS / "src"))
    subject = EngineSubject("engine/threads", "skyband_threads.engine:ThreadsEngine")
    report = verify_engine_subject(subject, checks=[check])
    assert report.ok, report.text()
