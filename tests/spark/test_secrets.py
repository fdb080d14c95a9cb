"""Nothing that a run on Spark leaves behind contains a secret: checkpoints, savepoints, answers, metrics and logs."""

import os
import subprocess
import sys

import pytest

from . import faults

pytestmark = pytest.mark.spark

PLANTED = "hunter2planted"
SECRETS = """
"spark.hadoop.fs.s3a.secret.key" = "${PLANTED}"
"spark.hadoop.fs.azure.account.key.lake" = "${PLANTED}"
"spark.ssl.keyPassword" = "${PLANTED}"

[backends]
sketch = "exact"

[sink.options]
password = "${PLANTED}"
url = "jdbc:postgresql://reader:${PLANTED}@lake/x?password=${PLANTED}"
"s3.secret-access-key" = "${PLANTED}"
"""
RUNS = """
import os
import pathlib
import sys
from click.testing import CliRunner
from skyband.cli.commands import group

for status, *words in ([0, "run", "job.toml"], [0, "run", "job.toml"], [0, "savepoint", "job.toml", "saved"],
                       [0, "state", "job.toml"], [1, "run", "job.toml", "--set", "source.where=nothing(ts) = 1"],
                       [1, "run", "job.toml", "--set", "source.path=broken", "--set", "sink.checkpoint=of broken",
                        "--set", "sink.path=from broken"]):
    ran = CliRunner().invoke(group, words)
    print(ran.output)
    for log in pathlib.Path(os.environ["TMPDIR"]).glob("*.log"):
        print("Spark wrote", log.read_text("utf-8", "replace"))
    assert ran.exit_code == status, words
"""


@pytest.mark.slow
def test_checkpoints_savepoints_answers_and_logs_hold_no_secret(tmp_path):
    home, kept = tmp_path / "home", tmp_path / "kept"
    home.mkdir()
    kept.mkdir()
    faults.write_source(home / "source", 2)
    (home / "broken").mkdir()
    (home / "broken" / "0.parquet").write_bytes(b"PAR1 and nothing of what should follow")
    job = faults.write_job(home, "job", "local[1]", SECRETS)
    text = job.read_text().replace("maxFilesPerTrigger = 1", 'maxFilesPerTrigger = 1, token = "${PLANTED}"')
    job.write_text(f'metrics = "skyband.prom"\n{text}')
    ran = subprocess.run(
        [sys.executable, "-P", "-c", RUNS],
        cwd=home,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PLANTED": PLANTED, "TMPDIR": str(kept)},
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert PLANTED not in ran.stdout + ran.stderr
    assert "Spark wrote" in ran.stdout
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    names = {path.name for path in written}
    assert {"skyband-job.json", "savepoint.json", "skyband.prom"} <= names
    assert [path for path in written if PLANTED.encode() in path.read_bytes()] == []
