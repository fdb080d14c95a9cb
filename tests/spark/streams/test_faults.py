"""Faults around a stream: its answers stay those of an undisturbed run, or it stops with a clear error and,
after the remedy, goes on without losing or repeating a row."""

import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException, StreamingQueryException
from skyband import spark
from skyband.engines import local
from skyband.queries import make_query

from .. import faults
from ..conftest import rows_of, up_to_watermark

pytestmark = pytest.mark.spark


FILES = 3


class Stream:
    """The stream of visitors in this session, one file a micro-batch, the answers of each in a folder of its own."""

    def __init__(self, session, source: Path, home: Path) -> None:
        self.session, self.source, self.home = session, source, home
        self.checkpoint = home / "checkpoint"

    def start(self):
        source = self.session.readStream.schema(faults.SCHEMA).option("maxFilesPerTrigger", 1)
        answers = spark.apply(source.parquet(str(self.source)), faults.QUERY, shards=2)

        def write(rows, batch):
            rows.write.mode("overwrite").parquet(str(self.home / "answers" / f"batch={batch}"))

        writer = answers.writeStream.foreachBatch(write).option("checkpointLocation", str(self.checkpoint))
        return writer.trigger(availableNow=True).start()

    def run(self) -> None:
        """To the end of the source. Raises StreamingQueryException where the stream fails."""
        self.start().awaitTermination()

    def error(self) -> str:
        """What a run that must fail says, in one sentence if it is ours."""
        with pytest.raises(StreamingQueryException) as raised:
            self.run()
        return str(raised.value)

    def answers(self) -> list[str]:
        """What all micro-batches wrote, whichever of them did."""
        return sorted(map(str, self.session.read.parquet(str(self.home / "answers")).drop("batch").collect()))

    def copy(self, name: str) -> "Stream":
        """A stream that continues from here by itself: its state is loaded again, because it is in another place."""
        shutil.copytree(self.home, self.home.parent / name)
        return Stream(self.session, self.source, self.home.parent / name)


@pytest.fixture
def visits(session, tmp_path):
    faults.write_source(tmp_path / "source", files=FILES)
    return Stream(session, tmp_path / "source", tmp_path / "disturbed")


@pytest.fixture
def calm(session, tmp_path):
    """The answers of an undisturbed run over the source as it is when this is called."""

    def answers() -> list[str]:
        left_alone = Stream(session, tmp_path / "source", tmp_path / "calm")
        left_alone.run()
        return left_alone.answers()

    return answers


@pytest.mark.parametrize("failures", [1, pytest.param(10, marks=pytest.mark.slow)])
def test_a_python_worker_killed_in_a_micro_batch(session, visits, calm, failures):
    jvm = session._jvm.ProcessHandle.current().pid()
    visits.run()
    chance, failed, number = random.Random(failures), 0, FILES
    while failed < failures:
        faults.write_file(visits.source, number)
        number += 1
        started = visits.start()
        time.sleep(chance.uniform(0.2, 2.0))
        while started.isActive:  # idle workers of the run before die unnoticed: go on until one at work is hit
            faults.kill_all(faults.workers(jvm))
        try:
            started.awaitTermination()  # well where none was at work just then: go on with another file
        except StreamingQueryException as error:
            said = (
                "Python worker exited unexpectedly",
                "failed to launch worker",
                "EOFException",
                "SocketException",
                "Broken pipe",
            )
            assert any(text in str(error) for text in said), error
            failed += 1
    visits.run()
    assert visits.answers() == calm()


LITTLE = 1024
"""Bytes: less than what Spark writes of every micro-batch before it begins."""


def test_no_room_for_the_checkpoint(session, visits, calm):
    visits.run()
    faults.write_file(visits.source, FILES)
    with faults.no_file_above(session, LITTLE):
        said = visits.error()
    assert "File too large" in said
    visits.run()
    assert visits.answers() == calm()


FULL = """
mount -t tmpfs -o size={small} tmpfs "{checkpoint}" || exit 77
"{python}" -m skyband run {job}
echo "first: $?"
df "{checkpoint}"
mount -o remount,size=1g "{checkpoint}"
"{python}" -m skyband run {job}
echo "second: $?"
"""


@pytest.mark.slow
def test_a_disk_full_of_checkpoint(session, tmp_path):
    """A real file system without room, mounted where only this test sees it."""
    faults.write_source(tmp_path / "source", files=20)
    calm = Stream(session, tmp_path / "source", tmp_path / "calm")
    calm.run()
    job = faults.write_job(tmp_path, "full")
    checkpoint = tmp_path / "checkpoint of full"
    checkpoint.mkdir()
    script = FULL.format(small="300k", checkpoint=checkpoint, python=sys.executable, job=job)
    if shutil.which("unshare") is None:
        pytest.skip("needs unshare, to mount a small file system")
    ran = subprocess.run(
        ["unshare", "--map-root-user", "--mount", "sh", "-c", script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    if ran.returncode == 77 or "unshare failed" in ran.stderr:
        pytest.skip(f"may not mount here: {ran.stderr.strip()}")
    assert "first: 1" in ran.stdout, ran.stderr
    told = f"error: Spark: IOException: No space left on device: fix that and run again: '{checkpoint}' has"
    assert told in ran.stderr
    assert "Traceback" not in ran.stderr
    assert "second: 0" in ran.stdout, ran.stderr
    assert faults.rows(session, tmp_path / "full") == calm.answers()


def flip(path: Path, at: int) -> None:
    """One bit of a file."""
    data = bytearray(path.read_bytes())
    data[at % len(data)] ^= 0x10
    path.write_bytes(data)


@pytest.mark.parametrize("flips", [2, pytest.param(60, marks=pytest.mark.slow)])
def test_a_damaged_checkpoint(session, visits, calm, flips):
    """Any file of it, one bit flipped: either it was not needed, or the stream stops; never another answer.

    But for the log of the files read, which Spark keeps without a checksum: it may read a file again.
    """
    held = faults.write_file(visits.source, FILES).rename(visits.source.parent / "held back")
    visits.run()
    held.rename(visits.source / f"{FILES:02}.parquet")
    expected = calm()
    names = sorted(path.relative_to(visits.checkpoint) for path in visits.checkpoint.rglob("[!.]*") if path.is_file())
    state = [name for name in names if name.suffix == ".changelog"]
    needed = max(state, key=lambda name: (int(name.stem), (visits.checkpoint / name).stat().st_size))
    others = [name for name in names if "sources" not in name.parts]
    chance, stopped = random.Random(flips), []
    for name in [needed, *(chance.choice(others) for _ in range(flips - 1))]:
        copy = visits.copy(f"damaged {chance.random()}")
        flip(copy.checkpoint / name, chance.randrange(1 << 20))
        try:
            copy.run()
        except (PySparkException, Py4JJavaError):  # in a micro-batch or at the start, as Spark has it or the JVM
            stopped.append(name)
        else:
            assert copy.answers() == expected, name
        shutil.rmtree(copy.home)
    assert needed in stopped
    visits.run()
    assert visits.answers() == expected


SUMS = {"kind": "uncertain-sum", "time": "ts", "values": "v", "probabilities": "p", "size": 5, "alpha": 0.9}


def uncertain(rows: int, probability: float | None = None) -> pa.Table:
    rng = np.random.default_rng(rows)
    chances = rng.uniform(0.2, 0.9, rows)
    if probability is not None:
        chances[150] = probability
    times = pa.array(np.arange(rows) * 1_000_000, pa.timestamp("us", "UTC"))
    return pa.table({"ts": times, "v": rng.normal(size=rows), "p": chances})


def test_poison_stops_the_stream_before_its_state_and_the_remedy_resumes_it(session, files, stream):
    """A row no window takes, then a file that is none: each is named, fixed in place, and nothing was lost."""
    clean = uncertain(400)
    folder = Path(files(clean, 4))
    good = {path: path.read_bytes() for path in sorted(folder.iterdir())}
    times = [path.stat().st_mtime for path in good]
    _, row, broken, _ = good
    pq.write_table(uncertain(400, probability=1.5).slice(100, 100), row)
    broken.write_bytes(b"PAR1 and nothing of what should follow")
    for path, when in zip(good, times, strict=True):
        os.utime(path, (when, when))  # files are read in this order
    asked = make_query(SUMS)
    with pytest.raises(
        StreamingQueryException, match=r"probabilities, row 50: must be numbers from 0 to 1 \(got 1.5\)"
    ):
        stream(str(folder), asked)
    row.write_bytes(good[row])
    with pytest.raises(StreamingQueryException, match=broken.name):
        stream(str(folder), asked)
    broken.write_bytes(good[broken])
    answers, _ = stream(str(folder), asked)
    expected = up_to_watermark(local.apply(clean, asked), clean, asked)
    assert rows_of(answers, expected.column_names) == rows_of(expected.to_pylist(), expected.column_names)


def test_a_set_of_very_many_tokens_is_a_row_like_any_other(files, stream):
    rng = np.random.default_rng(3)
    tokens = [rng.integers(0, 60, 8) for _ in range(60)]
    tokens[20] = np.arange(100_000)
    tokens[40] = np.arange(5, 100_005)
    times = pa.array(np.arange(60) * 1_000_000, pa.timestamp("us", "UTC"))
    table = pa.table({"ts": times, "id": np.arange(60), "tokens": [list(entry) for entry in tokens]})
    keys = {"time": "ts", "id": "id", "tokens": "tokens", "k": 3, "window": "40 seconds", "every": "10 seconds"}
    asked = make_query({"kind": "top-k-pairs", **keys})
    answers, _ = stream(files(table, 3), asked)
    expected = up_to_watermark(local.apply(table, asked), table, asked)
    assert rows_of(answers, expected.column_names) == rows_of(expected.to_pylist(), expected.column_names)
    assert {row["similarity"] for row in answers if (row["left"], row["right"]) == (20, 40)} == {99_995 / 100_005}
