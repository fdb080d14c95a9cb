"""What compiles a job's kernels while Spark starts."""

import os
import subprocess
import sys

import pytest


@pytest.fixture
def fresh(folder, tmp_path):
    """Runs Python with a folder of kernels that begins empty; returns the kernels in it after that."""
    cache = tmp_path / "kernels"

    def call(*arguments):
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
        subprocess.run([sys.executable, "-m", *map(str, arguments)], check=True, env=environment, capture_output=True)
        return {path.name for path in cache.rglob("*.nb[ic]")}

    return call


def test_after_a_rehearsal_a_run_compiles_nothing_more(folder, fresh):
    rehearsed = fresh("skyband.job.precompile", folder.job)
    assert rehearsed
    assert not (folder.home / "counts").exists()
    assert fresh("skyband", "run", folder.job, "--engine", "local") == rehearsed


def test_a_rehearsal_takes_the_changes_of_the_call(folder, fresh):
    assert any("hash_words" in kernel for kernel in fresh("skyband.job.precompile", folder.job, "query.item=ts"))
