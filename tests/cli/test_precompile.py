"""Compiling a job's kernels while Spark starts."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from attrs import evolve
from skyband.queries import make_query
from skyband_jobs.programs.parsing import read_job
from skyband_spark.warming import compiled_kernels_marker
from skyband_spark.warming.precompile import Warming
from skyband_spark.warming.rehearsal import rehearse


@pytest.fixture
def fresh(folder, tmp_path):
    """Runs Python with an empty folder for kernels; returns the kernels in it afterwards."""
    cache = tmp_path / "kernels"

    def call(*arguments):
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
        subprocess.run([sys.executable, "-m", *map(str, arguments)], check=True, env=environment, capture_output=True)
        return {path.name for path in cache.rglob("*.nb[ic]")}

    return call


def test_after_a_rehearsal_a_run_compiles_nothing_more(folder, fresh):
    rehearsed = fresh("skyband_spark.warming.rehearsal", folder.job)
    assert rehearsed
    assert not (folder.home / "counts").exists()
    assert fresh("skyband", "run", folder.job, "--engine", "local") == rehearsed


def test_a_rehearsal_applies_the_changes_of_the_call(folder, fresh):
    assert any(
        "hash_words" in kernel for kernel in fresh("skyband_spark.warming.rehearsal", folder.job, "query.item=ts")
    )


def test_what_was_rehearsed_is_not_until_code_or_kernels_change(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "kernels"))
    job, other = (read_job(folder.job, sets, "spark") for sets in ([], ["query.item=ts"]))
    assert not rehearse(job), "so few rows do not call all kernels"
    (file, *_) = sorted((folder.home / "requests").iterdir())
    rows = pq.read_table(file)
    pq.write_table(pa.concat_tables([rows] * (5000 // len(rows) + 1)), file)
    subprocess.run([sys.executable, "-m", "skyband_spark.warming.rehearsal", str(folder.job)], check=True)
    assert compiled_kernels_marker.is_current(job)
    assert not compiled_kernels_marker.is_current(other)
    (record,) = (tmp_path / "cache" / "skyband").glob("*.json")
    noted = json.loads(record.read_text())
    assert noted["code"] and {Path(file).suffix for file in noted["kept"]} == {".nbi"}
    warming = Warming(folder.job, [])
    warming.start(job)
    assert warming._process is None
    code = {file: [stamp[0] + 1, *stamp[1:]] for file, stamp in noted["code"].items()}
    for wrong in (noted | {"code": code}, noted | {"kept": [str(tmp_path / "gone.nbi")]}, {}, [], 7):
        record.write_text(json.dumps(wrong))
        assert not compiled_kernels_marker.is_current(job)
    record.write_text(json.dumps(noted))
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "others"))
    assert not compiled_kernels_marker.is_current(job)


def test_a_job_with_a_function_is_rehearsed_each_time(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    spec = {"kind": "top-k", "time": "ts", "object": "who", "stream": "place", "value": "bytes", "streams": ["a"]}
    window = {"k": 1, "window": "1 minute", "every": "1 minute"}
    query = make_query(spec | window | {"aggregate": lambda values: values.sum()})
    job = evolve(read_job(folder.job, [], "spark"), query=query)
    compiled_kernels_marker.write(job)
    assert not compiled_kernels_marker.is_current(job)
    assert not list(tmp_path.glob("cache/skyband/*.json"))
