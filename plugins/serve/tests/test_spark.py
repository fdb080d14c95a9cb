"""A service grows into a stream on Spark, and back: each starts from the savepoint of the other."""

import pytest

from .test_kills import FOLDER, JOB, TO_THE_END, rows_in, service, whole

pytestmark = [pytest.mark.spark, pytest.mark.slow]
HALF = 6
ELSEWHERE = ["--set", "sink.path=counts after", "--set", "sink.checkpoint=checkpoint after",
             "--set", "query.late_rows.path=late after"]  # fmt: skip


def halves(folder):
    """Hide the later half of the files, and return a function that shows them."""
    rows_in(folder)
    (folder / "job.toml").write_text(JOB.format(sink=FOLDER))
    later = sorted((folder / "in").iterdir())[HALF:]
    hidden = [path.rename(path.with_name(f"_{path.name}")) for path in later]
    return lambda: [path.rename(path.with_name(path.name[1:])) for path in hidden]


def ran(folder, *arguments):
    told = service(folder, "-m", "skyband", *arguments)
    assert told.returncode == 0, told.stderr
    return told.stderr


def whole_of_both(folder):
    """The answers and the late rows of both streams; neither has a row of the other's."""
    return tuple(sorted(whole(folder, name) + whole(folder, f"{name} after")) for name in ("counts", "late"))


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    halves(folder)()
    ran(folder, "serve", "job.toml", *TO_THE_END)
    return whole(folder, "counts"), whole(folder, "late")


@pytest.mark.parametrize("shards", [1, 3])
def test_a_service_goes_on_as_a_stream_on_spark(tmp_path, undisturbed, shards):
    show = halves(tmp_path)
    ran(tmp_path, "serve", "job.toml", "--set", "sink.trigger=available-now")
    (savepoint,) = (path for path in (tmp_path / "checkpoint").iterdir() if path.name.isdigit())
    show()
    arguments = [*TO_THE_END, *ELSEWHERE, "--set", f"shards={shards}"]
    ran(tmp_path, "run", "job.toml", "--from", str(savepoint), *arguments)
    assert whole_of_both(tmp_path) == undisturbed


def test_a_stream_on_spark_goes_on_as_a_service(tmp_path, undisturbed):
    show = halves(tmp_path)
    ran(tmp_path, "run", "job.toml", "--set", "sink.trigger=available-now", "--set", "shards=3")
    ran(tmp_path, "savepoint", "job.toml", "saved", "--set", "shards=3")
    show()
    ran(tmp_path, "serve", "job.toml", "--from", "saved", *TO_THE_END, *ELSEWHERE)
    assert whole_of_both(tmp_path) == undisturbed
    refused = service(tmp_path, "-m", "skyband", "serve", "job.toml", *TO_THE_END)
    assert refused.returncode == 1 and "is a checkpoint of Spark" in refused.stderr
