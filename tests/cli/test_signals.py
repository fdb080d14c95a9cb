"""However a command ends, and wherever its output goes, the status says so, and nothing half-done is left."""

import signal
import subprocess
import sys

import pytest

HEARS = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
"""
"""The tests may run with these ignored, as under `nohup` or in the background, which child processes inherit."""

ENDS = f"""{HEARS}
import os, sys
from skyband.__main__ import main
from skyband_jobs.local import run as run_local

answers, number = run_local._answers, int(sys.argv.pop())

def ends(*arguments):
    yield next(answers(*arguments))
    os.kill(os.getpid(), number)

run_local._answers = ends
sys.argv = ["skyband", "run", *sys.argv[1:]]
main()
"""


def ended(folder, number, *sets):
    changes = [part for change in sets for part in ("--set", change)]
    call = [sys.executable, "-P", "-c", ENDS, str(folder.job), "--engine", "local", *changes, str(int(number))]
    return subprocess.run(call, cwd=folder.home, capture_output=True, text=True)


@pytest.mark.parametrize(
    ("number", "said"),
    [(signal.SIGINT, "interrupted"), (signal.SIGTERM, "ended by SIGTERM"), (signal.SIGHUP, "ended by SIGHUP")],
)
def test_a_batch_that_a_signal_ends_leaves_nothing_and_says_which(folder, number, said):
    ran = ended(folder, number)
    assert (ran.returncode, ran.stderr.splitlines()[-1]) == (128 + number, said), ran.stderr
    assert "Traceback" not in ran.stderr
    assert list((folder.home / "counts").iterdir()) == []


def test_sigterm_stops_a_stream_of_the_local_engine_as_ctrl_c_does(folder):
    ran = ended(folder, signal.SIGTERM, "source.stream=true")
    assert ran.returncode == 130, ran.stderr
    assert ran.stderr.splitlines()[-1] == "stopped"
    assert len(list((folder.home / "counts").glob("part-*.parquet"))) == 1


def test_a_signal_that_whoever_started_us_ignores_stays_ignored(folder):
    """As `nohup` does."""
    ignoring = ENDS.replace("import os, sys", "import os, signal, sys; signal.signal(signal.SIGHUP, signal.SIG_IGN)")
    call = [sys.executable, "-P", "-c", ignoring, str(folder.job), "--engine", "local", str(int(signal.SIGHUP))]
    ran = subprocess.run(call, cwd=folder.home, capture_output=True, text=True)
    assert "ended by" not in ran.stderr


def test_ctrl_c_while_the_command_line_is_imported_shows_no_traceback():
    code = f"""{HEARS}
import os, sys
class Interrupting:
    def find_spec(self, name, *_):
        if name == "click":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupting())
from skyband.__main__ import main
main()
"""
    ran = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (130, "interrupted\n")


@pytest.mark.parametrize(
    ("ends", "status", "said"),
    [
        (">&-", 1, "error: stdout cannot be written: Bad file descriptor\n"),
        (">/dev/full", 1, "error: stdout cannot be written: No space left on device\n"),
        ("2>&-", 0, ""),
        ("2>/dev/full", 0, ""),
        ("<&- >&- 2>&-", 1, ""),
    ],
)
def test_words_that_cannot_be_written(ends, status, said):
    line = f"{sys.executable} -P -m skyband queries {ends}"
    ran = subprocess.run(["sh", "-c", line], capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (status, said)
    assert bool(ran.stdout) == (status == 0)


@pytest.mark.parametrize("call", ["--help", "--version", "run --help", "queries --json", "describe sketch/exact"])
def test_a_full_stdout_is_reported_once_by_help_too(call):
    line = f"{sys.executable} -P -m skyband {call} >/dev/full"
    ran = subprocess.run(["sh", "-c", line], capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (1, "error: stdout cannot be written: No space left on device\n")
