"""Spark's errors are shown in one sentence, the cause first, without stack traces and plans."""

import resource

import pytest
from attrs import evolve
from skyband.errors import EngineError
from skyband_jobs.tables.model import Job, Sink, Source
from skyband_spark.errors import plain_errors, sentence

JOB = Job("counts", Source("parquet"), None, {}, Sink("parquet", "counts", "checkpoint"), {}, None)
FAILED = "[STREAM_FAILED] Query [id = 0c2e, runId = 0649] terminated with exception: "
PLAN = """
=== Streaming Query ===
Identifier: counts [id = 0c2e, runId = 0649]
Current State: ACTIVE

Logical Plan:
~WriteToMicroBatchDataSourceV1 FileSink[file:/c/counts], [checkpointLocation=/c/checkpoint/state], Append
"""
CALL = """An error occurred while calling o188.start.
: java.lang.RuntimeException: java.io.IOException: wrapped
\tat org.apache.spark.Foo.bar(Foo.scala:3)
Caused by: java.io.FileNotFoundException: /c/answers (Permission denied)
\tat java.base/java.io.FileOutputStream.open0(Native Method)
\t... 3 more
"""
WORKER = (
    'Traceback (most recent call last):\n  File "worker.py", line 3, in main\n'
    "skyband.errors.InputError: ts, row 3: 4 is out of range\n"
)
BACK = "restore it and run again, or start over with another table and another checkpoint"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"{FAILED}Python worker failed to connect. SQLSTATE: XXKST{PLAN}", "Python worker failed to connect."),
        (f"{FAILED}{CALL}{PLAN}", "FileNotFoundException: /c/answers (Permission denied)"),
        (CALL, "FileNotFoundException: /c/answers (Permission denied)"),
        ("An error occurred while calling o1.x.\n: java.lang.Error: no room\n\tat x\n", "Error: no room"),
        ("[X_Y] The table is gone. SQLSTATE: 42P01;\n'Project [a]\n", "[X_Y] The table is gone."),
        ("", "failed without saying why"),
    ],
)
def test_the_innermost_cause_is_told(text, told):
    assert sentence(text, JOB) == f"Spark: {told}"


TABLES = evolve(JOB, source=Source("table", table="shop.requests"), sink=Sink("table", table="shop.counts"))


@pytest.mark.parametrize(("name", "key"), [("counts", "sink.table"), ("requests", "source.table")])
def test_a_table_that_was_dropped_is_told_by_its_key(name, key):
    text = f"[TABLE_OR_VIEW_NOT_FOUND] The table or view `spark_catalog`.`shop`.`{name}` cannot be found. Verify it."
    told = f"{key}: the table `spark_catalog`.`shop`.`{name}` is gone: restore it and run again, or start over"
    assert sentence(f"{FAILED}{text}{PLAN}", TABLES).startswith(told)
    assert sentence(text.replace(name, "others"), TABLES).startswith("Spark: [TABLE_OR_VIEW_NOT_FOUND]")


def test_a_place_that_cannot_be_written_is_reported_by_its_key():
    job = evolve(JOB, sink=Sink("parquet", "/c/answers", "/c/state"))
    told = "FileNotFoundException: /c/answers (Permission denied)"
    assert sentence(CALL, job) == f"Spark: {told}: check the permissions of sink.path, or choose another place"


@pytest.mark.parametrize(
    "text", ["[FAILED_READ_FILE.FILE_NOT_EXIST] Error while reading file file:///c/0.", "Option 'basePath' not found"]
)
def test_a_file_that_has_gone_is_not_called_damaged(text):
    assert "a file of the source is gone, or its table was dropped; restore it" in sentence(text, JOB)
    assert "damaged" not in sentence(text, JOB)


@pytest.mark.parametrize(
    "cause",
    [
        "org.apache.hadoop.util.Shell$ExitCodeException: chmod: cannot access '/c/t/.0.parquet.crc': No such file or "
        "directory",
        "java.io.FileNotFoundException: File file:/c/t/0.parquet does not exist",
        "java.nio.file.NoSuchFileException: /c/t/_temporary",
    ],
)
def test_a_file_removed_while_it_is_written_is_reported_with_a_remedy(cause):
    told = sentence(f"{FAILED}Job aborted.\nCaused by: {cause}\n{PLAN}", JOB)
    assert told.endswith(": it disappeared while the job ran, with its folder or table; " + BACK)


def test_a_full_disk_is_told_rather_than_a_damaged_checkpoint():
    cause = "Caused by: java.io.IOException: No space left on device\n"
    text = f"{cause}{FAILED}[CANNOT_WRITE_STATE_STORE] No commit.{PLAN}"
    told = "IOException: No space left on device: fix that and run again"
    assert sentence(text, JOB) == f"Spark: {told}: 'checkpoint' has the state of the last completed micro-batch"
    assert sentence(text) == f"Spark: {told}"


@pytest.mark.parametrize(
    "tail",
    ["", "\n\tat org.Foo", "\n\nDriver stacktrace:\n\tat x", PLAN, " SQLSTATE: 38000" + PLAN, "\nCaused by: x"],
)
def test_our_own_message_is_shown_alone(tail):
    assert sentence(f"{FAILED}{WORKER.rstrip()}{tail}", JOB) == "ts, row 3: 4 is out of range"


def test_what_a_python_worker_raised_is_told():
    trace = (
        'Traceback (most recent call last):\n  File "worker.py", line 20, in pack\n    settle(plan)\n'
        "    ^^^^^^^^^^^^\nModuleNotFoundError: No module named 'scipy'\n SQLSTATE: 38000\n\tat org.Foo\n"
    )
    text = f"{FAILED}[PYTHON_EXCEPTION] An exception was thrown from the Python worker: {trace}{PLAN}"
    told = "a Python worker of Spark failed: ModuleNotFoundError: No module named 'scipy'; see Spark's log for where"
    assert sentence(text, JOB) == told


def test_a_damaged_checkpoint_is_named_with_the_remedy():
    log = "Failed to read log file file:/c/checkpoint of counts/offsets/0. [MALFORMED_LOG_FILE] Log file was malformed:"
    told = sentence(f"{FAILED}{log} failed to read correct log version from garbage. SQLSTATE: KD002{PLAN}", JOB)
    assert told.startswith(
        f"Spark: {log} failed to read correct log version from garbage.: the checkpoint 'checkpoint' "
    )
    assert told.endswith("start over with another checkpoint and another path")
    assert "Streaming Query" not in told


def test_a_damaged_identity_of_the_checkpoint_is_named_though_spark_names_no_file():
    call = "An error occurred while calling o996.start.\n: com.fasterxml.jackson.core.JsonParseException: It is"
    assert "the checkpoint 'checkpoint' is damaged or incomplete" in sentence(
        f"{call} 'garbage': was expecting\n at [", JOB
    )


def unread(file):
    return f"[FAILED_READ_FILE.NO_HINT] Encountered error while reading file {file}."


@pytest.mark.parametrize("name", ["02.parquet", "a b.parquet", "a%20b.parquet"])
def test_a_damaged_file_of_the_source_is_named_with_the_remedy(name, tmp_path):
    (tmp_path / name).touch()
    cause = unread(f"file://{tmp_path / name}".replace(" ", "%20"))
    told = sentence(f"{FAILED}{cause} SQLSTATE: KD001{PLAN}", JOB)
    assert told == f"Spark: {cause}: a file of the source is damaged; fix it or move it away, and run again"


def test_a_file_deleted_while_it_is_read_is_not_called_damaged(tmp_path):
    """By then Spark has opened it, and gives no reason."""
    cause = unread(f"file://{tmp_path}/02.parquet")
    told = f"Spark: {cause}: a file of the source is gone, or its table was dropped; {BACK}"
    assert sentence(f"{FAILED}{cause} SQLSTATE: KD001{PLAN}", JOB) == told
    elsewhere = unread("s3a://shop/02.parquet")
    assert "is damaged" in sentence(f"{FAILED}{elsewhere} SQLSTATE: KD001{PLAN}", JOB)
    lost = "Suppressed: java.io.FileNotFoundException: File s3a://shop/02.parquet does not exist"
    assert "source is gone" in sentence(f"{FAILED}{elsewhere} SQLSTATE: KD001\n\tat x\n\t{lost}{PLAN}", JOB)


def test_a_file_of_other_types_is_not_called_damaged():
    cause = "[PARQUET_COLUMN_DATA_TYPE_MISMATCH] Expected Spark type int, actual Parquet type INT64."
    text = f"{FAILED}[FAILED_READ_FILE.{cause[1:]}\nEncountered error while reading file file:///c/source/02.parquet. "
    told = sentence(f"{text}\nCaused by: org.apache.spark.SparkException: {cause}{PLAN}", JOB)
    assert "(file:///c/source/02.parquet)" in told
    assert "is not damaged: use the wider type in source.schema" in told
    assert "move it away" not in told


def test_other_exceptions_pass():
    with pytest.raises(ZeroDivisionError), plain_errors(JOB):
        raise ZeroDivisionError
    with pytest.raises(EngineError, match="of ours"), plain_errors(JOB):
        raise EngineError("of ours")


def test_a_python_that_java_hung_up_on_is_told_with_what_the_system_refuses(tmp_path):
    """It only knows that Java stopped answering; the cause is a checkpoint that cannot be written."""
    worker = '[PYTHON_EXCEPTION] failed\nTraceback (most recent call last):\n  File "w.py", line 3\nEOFError\n'
    job = evolve(JOB, sink=evolve(JOB.sink, checkpoint=str(tmp_path)))
    assert sentence(worker, job) == "a Python worker of Spark failed: EOFError; see Spark's log for where"
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024, before[1]))
    try:
        said = sentence(worker, job)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert said.startswith(f"Spark: File too large: '{tmp_path}': fix that and run again")
