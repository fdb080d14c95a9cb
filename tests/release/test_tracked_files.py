"""What is kept in the repository: nothing that a machine makes of it, such as compiled kernels."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="no repository, such as an archive of the sources")
def test_nothing_is_tracked_that_is_ignored():
    command = ["git", "ls-files", "--cached", "--ignored", "--exclude-standard"]
    tracked = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    assert tracked == []
