"""A stream on Spark whose Java is killed alone, or whose whole process group is told to end, reports it and resumes."""

import os
import re
import signal

import pytest

from .. import faults

pytestmark = [pytest.mark.spark, pytest.mark.slow]

ENDS = {
    "Java is killed alone": (
        lambda process: faults.kill_all(faults.children(process.pid, "java")),
        1,
        r"error: Spark's Java process ended by SIGKILL \(out of memory\?\) while the job ran: give it more",
    ),
    "SIGTERM to all, as systemd and containers send it": (
        lambda process: os.killpg(process.pid, signal.SIGTERM),
        130,
        r"stopped; run it again to resume from its checkpoint|interrupted",
    ),
}


@pytest.mark.parametrize("end", ENDS)
def test_a_stream_that_is_ended_names_the_cause(tmp_path, end):
    ends, status, said = ENDS[end]
    faults.write_source(tmp_path / "source", 3)
    job = faults.write_job(tmp_path, "counts", "local[1]")
    process = faults.start(job, "--set", "sink.trigger=1 second")
    try:
        assert faults.after_next_commit(process, tmp_path / "checkpoint of counts", 0.2)
        ends(process)
        output = process.communicate(timeout=60)[0].decode()
    finally:
        if process.poll() is None:
            faults.kill_group(process)
    assert process.returncode == status, output
    assert re.search(said, output), output
    assert not re.search("Traceback|WARN|ERROR|bug in Skyband|py4j", output), output
    assert faults.committed(tmp_path / "checkpoint of counts"), "it goes on from there"
