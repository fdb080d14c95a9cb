"""Writes what a release leaves behind, for later ones to read: states, a plugin, a job with its checkpoint.

python tests/release/freeze.py      into tests/release/frozen/MAJOR.MINOR; again only until that version is released
"""

import shutil
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import skyband
from click.testing import CliRunner
from skyband.cli.commands import group
from skyband.engines.local import LocalRun
from skyband.registry import installed

TESTS = Path(__file__).parents[1]
FROZEN = Path(__file__).parent / "frozen"
SPLIT = 700
"""Rows before a state is taken."""

OTHERS = {"hll-panes", "frequent-items-panes"}
"""Backends whose answers are another library's."""

HERE = "FOLDER"
"""Stands for the folder of the job in what Spark wrote of its files: it notes absolute paths."""

JOB = """\
shards = 2

[source]
format = "parquet"
path = "source/"
stream = true
schema = "ts TIMESTAMP, name STRING, place STRING"
options = { maxFilesPerTrigger = 1 }

[query]
kind = "distinct-count"
time = "ts"
item = "name"
by = ["place"]
windows = ["30 seconds", "1 minute"]
every = "15 seconds"
delay = "20 seconds"

[backends]
sketch = { name = "k-skb", epsilon = 0.05 }

[sink]
format = "parquet"
path = "answers/"
checkpoint = "checkpoint/"
trigger = "available-now"

[spark]
"spark.master" = "local[2]"
"spark.sql.shuffle.partitions" = 2
"spark.ui.enabled" = false
"spark.driver.bindAddress" = "127.0.0.1"
"spark.driver.host" = "127.0.0.1"
"""


def main() -> None:
    """Everything of this version, anew."""
    sys.path[:0] = [str(TESTS), str(TESTS / "systems")]
    folder = FROZEN / skyband.__version__.rpartition(".")[0]
    shutil.rmtree(folder, ignore_errors=True)
    for name in ("states", "answers", "plugins", "job"):
        (folder / name).mkdir(parents=True)
    freeze_states(folder)
    freeze_plugins(folder / "plugins")
    freeze_job(folder / "job")


def combinations() -> Iterator[tuple[str, str, str]]:
    """Every kind of query of ours with every backend of each role that its example asks."""
    from families import FAMILIES, family

    for kind in FAMILIES:
        for role in family(kind).asked_roles:
            for info in installed().backends(role):
                if "snapshot" not in info.lacks and info.name not in OTHERS:
                    yield kind, role, info.name


def freeze_states(folder: Path) -> None:
    """Operators' states in the middle of a stream, the stream, and what was answered after."""
    from families import events, family

    rows = events(1).combine_chunks()
    pq.write_table(rows, folder / "rows.parquet")
    for kind, role, name in combinations():
        run = LocalRun.start(family(kind, by=["place"]), rows.schema, {role: name})
        run.push(rows.slice(0, SPLIT).to_batches()[0])
        (folder / "states" / f"{kind} {role} {name}").write_bytes(run.operator.snapshot())
        answers = [run.push(rows.slice(SPLIT).to_batches()[0]), run.finish()]
        file = answers_file(folder, kind, role, name)
        file.parent.mkdir(exist_ok=True)
        pq.write_table(pa.Table.from_batches(answers), file)


def answers_file(folder: Path, kind: str, role: str, name: str) -> Path:
    """Where a version keeps the answers of a query with a backend."""
    return folder / "answers" / kind / f"{role} {name}.parquet"


def freeze_plugins(folder: Path) -> None:
    """A plugin of every role, as its author begins: what `skyband new` makes, without its tests."""
    for role in installed().roles:
        made = CliRunner().invoke(group, ["new", str(folder / role), "--role", role, "--name", f"frozen-{role}"])
        assert made.exit_code == 0, made.stderr
        shutil.rmtree(folder / role / "tests")


def freeze_job(folder: Path) -> None:
    """A job, and after its first file the checkpoint and the sink's log of answers."""
    from families import events

    (folder / "job.toml").write_text(JOB, "utf-8")
    rows = events(1).select(["ts", "name", "place"])
    with tempfile.TemporaryDirectory() as place:
        home = Path(place).resolve()
        (home / "source").mkdir()
        shutil.copy(folder / "job.toml", home)
        pq.write_table(rows.slice(0, SPLIT), home / "source" / "0.parquet")
        ran = CliRunner().invoke(group, ["run", str(home / "job.toml")])
        assert ran.exit_code == 0, ran.stderr
        pack([home / "checkpoint", home / "answers" / "_spark_metadata"], folder / "left.zip", home)


def pack(folders: list[Path], archive: Path, home: Path) -> None:
    """Folders of a job as one file, without the checksums of what holds a path."""
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for path in sorted(path for folder in folders for path in folder.rglob("*")):
            summed = path.with_name(path.name.removeprefix(".").removesuffix(".crc"))
            if path.is_file() and (summed == path or str(home).encode() not in _held(summed)):
                info = zipfile.ZipInfo(path.relative_to(home).as_posix())
                packed.writestr(info, _held(path).replace(str(home).encode(), HERE.encode()), zipfile.ZIP_DEFLATED)


def unpack(archive: Path, home: Path) -> None:
    """What a job left behind, in a folder of its own."""
    with zipfile.ZipFile(archive) as packed:
        for name in packed.namelist():
            path = home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(packed.read(name).replace(HERE.encode(), str(home).encode()))


def _held(path: Path) -> bytes:
    return path.read_bytes() if path.is_file() else b""


if __name__ == "__main__":
    main()
