"""A service reads its job again at SIGHUP: what its state allows is taken, the rest is refused by its key."""

import signal
import subprocess
import sys
import time

import pyarrow.dataset
import pytest
from skyband_serve.signals import Signals

from .test_kills import FOLDER, JOB, TO_THE_END, rows_in, service, whole


class Running:
    """A service that runs in a folder; `said` is what it has said so far."""

    def __init__(self, folder):
        self.folder = folder
        command = [sys.executable, "-m", "skyband", "serve", "job.toml", "--set", "sink.trigger=50 milliseconds"]
        self._said = (folder / "said").open("wb")
        self.process = subprocess.Popen(command, cwd=folder, stderr=self._said)

    @property
    def said(self):
        return (self.folder / "said").read_text()

    def wait_for(self, condition):
        ends = time.monotonic() + 60
        while not condition():
            assert self.process.poll() is None and time.monotonic() < ends, self.said
            time.sleep(0.02)

    def reload(self, before, after):
        text = (self.folder / "job.toml").read_text()
        assert before in text
        (self.folder / "job.toml").write_text(text.replace(before, after))
        count = self.said.count("reading the job again")
        self.process.send_signal(signal.SIGHUP)
        self.wait_for(lambda: self.said.count("reading the job again") > count and not self.said.endswith("again\n"))

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(60)
        self._said.close()


def parts(folder):
    return len(list((folder / "counts").glob("part-*")))


@pytest.fixture
def running(tmp_path):
    rows_in(tmp_path)
    later = sorted((tmp_path / "in").iterdir())[6:]
    hidden = [path.rename(path.with_name(f"_{path.name}")) for path in later]
    (tmp_path / "job.toml").write_text(JOB.format(sink=FOLDER))
    one = Running(tmp_path)
    one.wait_for(lambda: parts(tmp_path) >= 2)
    one.show = lambda: [path.rename(path.with_name(path.name[1:])) for path in hidden]
    yield one
    one.stop()


def windows(folder):
    return {row["window"] for row in pyarrow.dataset.dataset(folder / "counts").to_table().to_pylist()}


def test_a_signal_ends_one_wait_only():
    signals = Signals()
    signals.ask(signal.SIGHUP)
    assert signals.wait(60) and not signals.wait(0)
    assert signals.take_reload() and not signals.take_reload()


def test_a_window_joins_a_stream_that_runs(running):
    running.reload('["1 minute"]', '["1 minute", "30 seconds"]')
    assert "the job has changed" in running.said, running.said
    running.show()
    running.wait_for(lambda: windows(running.folder) == {"1 minute", "30 seconds"})
    running.stop()
    ended = service(running.folder, "-m", "skyband", "serve", "job.toml", *TO_THE_END)
    assert ended.returncode == 0, ended.stderr


REFUSED = [
    ('item = "client"', 'item = "status"', "query.item"),
    ('path = "counts"', 'path = "others"\nmode = "sideways"', "sink.mode"),
    ('"checkpoint"', '"other"', "sink.checkpoint: cannot change while the stream runs"),
    ('path = "in"', 'path = "elsewhere"', "source.path"),
    ('kind = "distinct-count"', "kind = ", "line "),
]


def test_what_must_not_change_is_refused_and_the_stream_goes_on(running, tmp_path):
    job = (tmp_path / "job.toml").read_text()
    for before, after, message in REFUSED:
        count = len(running.said)
        running.reload(before, after)
        said = running.said[count:]
        assert "warning: the job stays as it was: " in said and message in said, said
        (tmp_path / "job.toml").write_text(job)
    running.show()
    count = parts(tmp_path)
    running.wait_for(lambda: parts(tmp_path) > count)
    running.stop()
    calm = tmp_path / "calm"
    calm.mkdir()
    rows_in(calm)
    for folder in (tmp_path, calm):
        (folder / "job.toml").write_text(job)
        assert service(folder, "-m", "skyband", "serve", "job.toml", *TO_THE_END).returncode == 0
    assert whole(tmp_path, "counts") == whole(calm, "counts")
