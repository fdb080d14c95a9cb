"""Any problem with a file, a path or an option is reported with its place, and never as a bug in Skyband."""

import datetime
import os
import re

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
import skyband
from skyband.engines import local
from skyband.errors import ConfigError, InputError, SnapshotError
from skyband.queries import kinds, load_query, make_query
from skyband.registry import installed, load_class
from skyband.registry.discovery import absent
from skyband_jobs import JobError, read_job
from skyband_jobs.job.job_file import assignment
from skyband_spark.program import shard_count
from skyband_specs.reference import Pages

START = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
TS = pa.array([START, START + datetime.timedelta(minutes=7)], pa.timestamp("us", "UTC"))
TABLE = pa.table({"ts": TS, "client": ["a", "b"]})
CSV = ["source.format=csv", "source.schema=ts TIMESTAMP, client STRING"]
JSON = ["source.format=json", "source.schema=ts TIMESTAMP, client STRING"]


def write(path, content):
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        pq.write_table(content, path)


@pytest.mark.parametrize(
    ("content", "sets", "said"),
    [
        (b"2026-01-01,a\n2026-01-01,a,b\n", CSV, "Expected 2 columns, got 3"),
        (b"2026-01-01\n", CSV, "its first line has 1 column, the schema 2 (ts, client)"),
        (b"soon,a\n", CSV, "ts, row 0: cannot be read as timestamp"),
        (b"2026-01-01,a\n2026-01-01,\xe9\n", CSV, "line 2, byte 25 of the file is not UTF-8"),
        (b'{"ts": "2026-01-01", "client": "a"\n', JSON, "line 1 has a JSON object that does not end in it"),
        (b'{"ts": 7, "client": "a"}\n', JSON, "line 1"),
        (b"[1, 2]\n", JSON, "line 1 is not a JSON object"),
        (b"null\n", JSON, "line 1 is not a JSON object"),
        (b"PAR1 and nothing of what should follow", [], "cannot be read"),
        (b"", [], "cannot be read"),
        (TABLE.set_column(1, "client", pa.array([1, 2])), [], "is int64, but string in earlier files"),
        (TABLE.set_column(0, "ts", pa.array(["now", "then"])), [], "ts: is string, but timestamp"),
    ],
)
def test_a_bad_file_is_named(folder, content, sets, said):
    for path in (folder.home / "requests").iterdir():
        path.unlink()
    first, bad = folder.home / "requests" / "first", folder.home / "requests" / "second"
    good = {"csv": b"2026-01-01,a\n", "json": b'{"ts": "2026-01-01", "client": "a"}\n'}
    write(first, good[sets[0][-4:].strip("=")] if sets else TABLE)
    os.utime(first, (1_000_000_000,) * 2)
    write(bad, content)
    ran = folder.run(*sets)
    assert ran.exit_code == 1
    assert str(bad) in ran.stderr
    assert said in ran.stderr
    assert "bug in Skyband" not in ran.stderr


def test_a_row_is_named_by_its_place_in_its_file(folder):
    table = pq.read_table(folder.home / "requests" / "2.parquet")
    times = table["ts"].cast(pa.int64()).to_pylist()
    times[17] = 2**62
    bad = folder.home / "requests" / "2.parquet"
    pq.write_table(
        table.set_column(0, "ts", pa.array(times).cast(table.schema.field("ts").type)), bad, row_group_size=5
    )
    for ran in (folder.run(), folder.call("compare", folder.job, "--backends", "sketch=exact,k-skb")):
        assert ran.stderr.startswith(f"error: {bad}, row group 3: ts, row 17: ")


@pytest.mark.parametrize("first", [0, 1])
def test_files_of_a_folder_may_differ_in_the_width_of_their_types(folder, first):
    """As pandas writes them: milliseconds and microseconds, int32 and int64, text and categories, nothing yet."""
    base = [0, 60_000_000, 120_000_000]
    us = pa.array(base, pa.int64()).cast(pa.timestamp("us"))
    wide = pa.table({"ts": us, "n": pa.array([1, 2, 2**40]), "client": ["a", "b", "c"]})
    thin = pa.table(
        {
            "ts": us.cast(pa.timestamp("ms")),
            "n": pa.array([1, 2, 3], pa.int32()),
            "client": pa.array(["a", "b", None]).dictionary_encode(),
        }
    )
    none = thin.set_column(1, "n", pa.nulls(3))
    for path in (folder.home / "requests").iterdir():
        path.unlink()
    files = [wide, thin] if first == 0 else [thin, wide]
    for number, table in enumerate([*files, none]):
        pq.write_table(table, folder.home / "requests" / f"{number}.parquet")
    ran = folder.run("query.item=n", "query.by=client", 'query.windows=["10 minutes"]')
    assert ran.exit_code == 0, ran.stderr
    counts = {row["client"]: row["count"] for row in pq.read_table(folder.home / "counts").to_pylist()}
    assert counts == {"a": 1, "b": 1, "c": 1, None: 1}


def test_no_bytes_are_changed_silently_to_make_files_match(folder):
    """Times too fine for microseconds are kept as nanoseconds; a date beyond those is reported with its file."""
    for number, (unit, value) in enumerate([("ns", 1), ("us", int(np.datetime64("3000-01-01", "us").astype(int)))]):
        table = pa.table({"ts": pa.array([value], pa.int64()).cast(pa.timestamp(unit)), "client": ["a"]})
        pq.write_table(table, folder.home / "requests" / f"far{number}.parquet")
    for number in range(3):
        (folder.home / "requests" / f"{number}.parquet").unlink()
    ran = folder.run()
    assert ran.exit_code == 1
    assert "far1.parquet: ts: cannot be read as timestamp[ns]" in ran.stderr


@pytest.mark.parametrize("kind", ["categories", "float16", "categories of integers"])
@pytest.mark.parametrize("stream", ["true", "false"])
def test_groups_of_any_plain_type(folder, kind, stream):
    values = {
        "categories": pa.array(["b", "a"]).dictionary_encode(),
        "categories of integers": pa.array([2, 1]).dictionary_encode(),
        "float16": pa.array(np.array([2, 1], np.float16)),
    }[kind]
    for number in range(3):
        pq.write_table(TABLE.append_column("kind", values), folder.home / "requests" / f"{number}.parquet")
    for sink in ("parquet", "csv", "json", "console"):
        ran = folder.run(f"source.stream={stream}", "query.by=kind", f"sink.format={sink}", f"sink.path={sink}")
        assert ran.exit_code == 0, ran.stderr
    assert set(pq.read_table(folder.home / "parquet")["kind"].to_pylist()) <= {"a", "b", 1, 2}


@pytest.mark.parametrize("line", ["not json", "[]", "{}", '{"path": 3}', "\udcff"])
def test_a_damaged_log_of_a_streaming_sink_is_named(folder, line):
    log = folder.home / "requests" / "_spark_metadata"
    log.mkdir()
    (log / "0").write_bytes(f"v1\n{line}\n".encode(errors="surrogateescape"))
    for ran in (folder.run(), folder.call("check", folder.job)):
        assert ran.exit_code == 1
        assert f"'{log / '0'}', the log of the stream that wrote this folder, is damaged" in ran.output
        assert "bug in Skyband" not in ran.output


@pytest.mark.parametrize("sep", ["", "é", '"'])
def test_what_cannot_stand_between_values_is_told_by_the_check(folder, sep):
    (folder.home / "log.csv").write_text("2026-01-01,a\n")
    sets = [*CSV, "source.path=log.csv", f"source.options.sep='{sep}'"]
    changes = [part for change in sets for part in ("--set", change)]
    checked = folder.call("check", folder.job, "--engine", "local", *changes)
    assert "source.options.sep: must be ASCII characters" in checked.stdout


@pytest.mark.parametrize("sep", ["\t", r"\t"])
def test_a_tab_may_be_written_as_spark_reads_it(folder, sep):
    (folder.home / "log.csv").write_text("2026-01-01\ta\n2026-01-01 00:10:00\tb\n")
    ran = folder.run(*CSV, "source.path=log.csv", f"source.options={{ sep = '{sep}' }}")
    assert ran.exit_code == 0, ran.stderr


def test_an_unknown_time_zone_is_told(folder):
    times = TS.cast(pa.int64()).cast(pa.timestamp("us", "Mars/Phobos"))
    for path in (folder.home / "requests").iterdir():
        pq.write_table(TABLE.set_column(0, "ts", times), path)
    for ran in (folder.run("sink.format=json"), folder.call("check", folder.job)):
        assert "source.path: column 'ts' is in the time zone 'Mars/Phobos', which is unknown here" in ran.output


@pytest.mark.parametrize("path", ["taken", "taken/counts", "/proc/counts"])
@pytest.mark.parametrize("mode", ["append", "overwrite", "errorifexists", "ignore"])
def test_a_sink_that_cannot_be_made_is_told(folder, path, mode):
    (folder.home / "taken").write_text("a file")
    ran = folder.run(f"sink.path={path}", f"sink.mode={mode}")
    assert ran.exit_code == 1
    assert "sink.path: " in ran.stderr
    assert "bug in Skyband" not in ran.stderr
    assert ran.stderr.startswith("--set: "), "the path was typed"
    assert (folder.home / "taken").read_text() == "a file"


def test_a_job_file_with_a_byte_order_mark(folder):
    folder.job.write_bytes(b"\xef\xbb\xbf" + folder.job.read_bytes())
    assert folder.run().exit_code == 0


def test_a_job_file_of_brackets(folder):
    folder.job.write_text("x = " + "[" * 2000 + "]" * 2000)
    ran = folder.run()
    assert "its brackets are nested too deeply" in ran.stderr
    assert assignment("a=" + "[" * 2000)[0] == "a"


WORKLOAD = """
[source]
format = "parquet"
path = "requests"
[query]
kind = "top-k-workload"
time = "ts"
object = "client"
score = "bytes"
queries = "queries.csv"
[sink]
format = "console"
"""


def test_a_workload_is_looked_up_next_to_the_job(folder, tmp_path_factory, monkeypatch):
    (folder.home / "queries.csv").write_text("name,window,slide,k\nquick,10 minutes,10 minutes,1\n")
    pq.write_table(TABLE.append_column("bytes", pa.array([1.0, 2.0])), folder.home / "0.parquet")
    folder.job.write_text(WORKLOAD.replace("requests", "0.parquet"))
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    ran = folder.run()
    assert ran.exit_code == 0, ran.stderr
    typed = folder.run("query.queries=none.csv")
    assert f"--set: query.queries: the table '{folder.home / 'none.csv'}' cannot be read" in typed.stderr


@pytest.mark.parametrize("k", [2**63, 2**62 + 1, 10**40])
def test_a_k_that_is_too_large_is_called_so(folder, k):
    text = WORKLOAD.replace('"queries.csv"', f'[{{ name = "a", window = "1 hour", slide = "1 hour", k = {k} }}]')
    folder.job.write_text(text.replace('score = "bytes"', 'score = "client"'))
    assert f"query.queries[0].k: must be at most 2^62 (got {k})" in folder.run().stderr


def test_what_was_typed_is_not_blamed_on_the_file(folder):
    with pytest.raises(JobError) as caught:
        read_job(folder.job, ["query.item"])
    assert str(caught.value).startswith("--set: must be KEY=VALUE")
    typed = folder.run('query.windows=["10 minutes", "0 minutes"]')
    assert typed.stderr.startswith("--set: query.windows[1]: ")
    assert folder.run().exit_code == 0
    assert folder.run("sink.path=counts").stderr.startswith("--set: sink.path: ")


def test_a_table_that_was_typed_is_not_blamed_on_the_file(folder):
    assert folder.run("nosuch.key=1").stderr.startswith("--set: nosuch: unknown; known: ")
    folder.job.write_text(folder.job.read_text() + "[mine]\nkey = 1\n")
    assert folder.run().stderr.startswith(f"{folder.job}: mine: unknown")


@pytest.mark.parametrize("kind", sorted(kinds()))
def test_a_misspelt_key_in_a_program_is_told_as_in_a_dictionary(kind):
    query = load_query(kind)
    with pytest.raises(ConfigError, match=r"^deley: unknown; did you mean 'delay'"):
        query(time="ts", deley="1 minute")


def test_a_misspelt_parameter_of_a_backend_is_told_too():
    for entry in installed().listing():
        if entry.problem is None:
            with pytest.raises(ConfigError, match=r"^no_such_parameter: unknown"):
                load_class(entry.info)(no_such_parameter=1)


def test_a_column_of_zones_that_is_not_there_is_called_so():
    keys = {"kind": "distinct-count", "time": "ts", "item": "who", "every": "1 hour", "by": ["zone"]}
    query = make_query({**keys, "windows": ["today in {nosuch}", "today in {zone}"]})
    columns = [("ts", pa.timestamp("us", "UTC")), ("who", pa.string()), ("zone", pa.string())]
    problems = [str(problem) for problem in query.check(pa.schema(columns))]
    assert problems and all("the source has no column 'nosuch'" in problem for problem in problems)


def test_another_name_of_k_leads_to_it(folder):
    for name in ("--top", "--limit"):
        told = folder.call("ask", folder.home / "requests", name, 3).stderr
        assert "-k" in told and "--at" not in told


def test_files_that_are_not_there_are_told_before_java_starts(monkeypatch):
    started = []
    monkeypatch.setattr("skyband.spark.session", lambda *_: started.append(1))
    with pytest.raises(ConfigError, match=r"^path: '.*nowhere' does not exist$"):
        skyband.spark.files("nowhere")
    assert not started


def test_files_read_in_another_order_than_their_rows_are_no_matter_of_the_delay(folder):
    for path in (folder.home / "requests").iterdir():
        path.unlink()
    for number, day in enumerate((1, 3, 2)):
        times = pa.array([datetime.datetime(2026, 1, day, hour, tzinfo=datetime.UTC) for hour in range(24)])
        path = folder.home / "requests" / f"day{day}.parquet"
        pq.write_table(pa.table({"ts": times, "client": ["a"] * 24}), path)
        os.utime(path, (1_000_000_000 + number,) * 2)
    told = folder.run("source.stream=true").stderr
    assert "24 (dropped; 1 file was read after newer ones, by their modification times" in told
    os.utime(folder.home / "requests" / "day3.parquet", (1_000_000_009,) * 2)
    assert "late     0 (dropped)" in folder.run("source.stream=true", "sink.path=again").stderr


def test_shards_beyond_all_use_are_refused(folder):
    query = read_job(folder.job).query
    assert shard_count(query, 10_000) == 10_000
    with pytest.raises(ConfigError, match=r"shards: must be at most 10,000 \(got 1000000000000000000000000000000\)"):
        shard_count(query, 10**30)


def test_a_slip_in_the_list_of_plugins_is_told(folder, monkeypatch):
    monkeypatch.setenv("SKYBAND_PLUGINS", "skyband-distnct")
    assert absent() == [
        "skyband-distnct is named in SKYBAND_PLUGINS but is not an installed plugin; did you mean 'skyband-distinct'?"
    ]
    monkeypatch.setenv("SKYBAND_PLUGINS", "skyband, Skyband_Distinct,")
    assert absent() == []


@pytest.mark.parametrize("blob", [None, "text", 3, [1]])
def test_what_is_no_bytes_is_no_snapshot(blob):
    with pytest.raises(SnapshotError, match="must be the bytes of a snapshot"):
        skyband.restore(blob)


@pytest.mark.parametrize("times", [[[1], [1, 2]], np.ma.masked_array([1, 2], [False, True])])
def test_arguments_that_are_no_plain_column(times):
    sketch = skyband.create("sketch", "exact")
    with pytest.raises(InputError, match="times: must "):
        sketch.update(times, np.array([1, 2], np.uint64))
    assert len(sketch) == 0


def test_streams_beyond_all_memory_are_refused():
    with pytest.raises(ConfigError, match=r"streams: must be at least 1 and at most 65536 \(got 1099511627776\)"):
        skyband.create("object-ranker", k=1, window=10, streams=2**40, aggregate="sum")


@pytest.mark.parametrize("kind", [pa.binary(), pa.binary(4)], ids=str)
def test_a_type_that_the_sinks_format_has_not_is_the_sinks_problem(folder, kind):
    place = pa.array([b"east"] * 20, kind)
    for path in (folder.home / "requests").iterdir():
        table = pq.read_table(path).append_column("place", place)
        feather.write_feather(table, path.with_suffix(".arrow"), compression="uncompressed")
        path.unlink()
    ran = folder.run("source.format=arrow", "query.by=place", "sink.format=csv")
    assert ran.exit_code == 1
    message = f"sink.format: CSV cannot hold the answers' column 'place', which is {kind}: use parquet or json"
    assert message in ran.stderr
    assert not (folder.home / "counts").exists()


def test_bytes_are_refused_for_csv_and_written_as_spark_does_in_json(folder):
    for number in range(3):
        path = folder.home / "requests" / f"{number}.parquet"
        table = pq.read_table(path)
        place = pa.array([b"\xff\x00"] * len(table), pa.binary())
        pq.write_table(table.append_column("place", place), path)
    ran = folder.run("query.by=place", "sink.format=csv")
    assert ran.exit_code == 1
    assert (
        "sink.format: CSV cannot hold the answers' column 'place', which is binary: use parquet or json" in ran.stderr
    )
    assert not (folder.home / "counts").exists()
    assert folder.run("query.by=place", "sink.format=json").exit_code == 0
    (written,) = (folder.home / "counts").glob("*.json")
    assert '"place": "/wA="' in written.read_text()


@pytest.mark.parametrize("path", ["a\\u0000b", "x" * 256, "x/" * 600])
@pytest.mark.parametrize("key", ["source.path", "sink.path"])
def test_what_no_file_system_accepts_is_not_a_path(folder, key, path):
    ran = folder.run(f'{key}="{path}"')
    assert ran.exit_code == 1
    assert ran.stderr.startswith(f"--set: {key}: must be ")
    assert len(ran.stderr) < 500


def test_a_file_without_an_end_is_no_job(folder):
    ran = folder.call("check", "/dev/zero")
    assert ran.exit_code == 1
    assert "/dev/zero: is not a job: it is larger than 10,000,000 bytes" in ran.output


DIGITS = "1" * 5000
ODD = [
    "query.kind=[]",
    "query.kind={}",
    "query.distribution=[]",
    f"query.k={DIGITS}",
    f"query.every={DIGITS}",
    f"query.every='{DIGITS} days'",
    f"query.windows=['{DIGITS} days in UTC']",
    f"query.windows=[{DIGITS}]",
    f"query.delay=0x{'f' * 5000}",
    f"shards=0x{'f' * 5000}",
    f"backends.sketch=0x{'f' * 5000}",
    f"spark.a={DIGITS}",
    f"name=0x{'f' * 5000}",
    f"source.where='client = {DIGITS}'",
    f"source.select=['{DIGITS} AS client']",
    f"source.idle_after='{DIGITS} days'",
    "source.where='" + "(" * 3000 + "'",
    "sink=[]",
    "query.item='a\\u0000'",
]


@pytest.mark.parametrize("change", ODD, ids=lambda change: f"{change:.40}")
def test_odd_values_are_the_jobs_problem(folder, change):
    key = change.partition("=")[0]
    for engine in ("local", "spark"):
        ran = folder.call("check", folder.job, "--engine", engine, "--set", change)
        assert "bug in Skyband" not in ran.output
        assert engine == "spark" or re.search(rf"^--set: {key}[:\[]", ran.output, re.MULTILINE)
        assert len(ran.output) < 3000


@pytest.mark.parametrize("number", [DIGITS, f"0x{'f' * 5000}"], ids=["decimal", "hexadecimal"])
def test_numbers_without_end_in_a_job_file(folder, number):
    folder.job.write_text(folder.job.read_text().replace("[sink]", f"[sink.options]\na = {number}\n[sink]"))
    ran = folder.call("check", folder.job)
    assert re.search("(line 17|sink.options.a): must be a number of at most 300 digits", ran.output)


def test_a_key_of_the_job_in_one_of_its_tables_is_told_where_it_belongs(folder):
    ran = folder.call(
        "check", folder.job, "--set", "query.shards=4", "--set", "query.checkpoint=c", "--set", "sink.name=a"
    )
    assert "query.shards: belongs outside the tables, above the first one: shards = …" in ran.output
    assert "query.checkpoint: belongs in [sink]" in ran.output
    assert "sink.name: belongs outside the tables" in ran.output


@pytest.fixture
def odd_folder(tmp_path):
    """Creates things that are not folders, by kind."""

    def make(kind):
        path = tmp_path / "odd"
        if kind == "fifo":
            os.mkfifo(path)
        elif kind == "file":
            path.write_text("")
        elif kind in ("a loop", "below a loop"):
            path.symlink_to(path)
        elif kind == "dangling":
            path.symlink_to(tmp_path / "nowhere" / "else")
        elif kind == "long":
            return "x" * 300
        elif kind == "/dev/null":
            return kind
        return path / "below" if kind.startswith("below") else path

    return make


CALLS = [["docs"], ["new", "--role", "sketch", "--name", "acme"], ["demo", "--engine", "local", "--dir"], ["savepoint"]]


@pytest.mark.parametrize("kind", ["fifo", "file", "a loop", "below a loop", "dangling", "long", "/dev/null"])
@pytest.mark.parametrize("call", CALLS, ids=lambda call: call[0])
def test_what_is_no_folder_is_told_before_anything_is_done(folder, odd_folder, call, kind):
    ran = folder.call(*call, *([folder.job] if call[0] == "savepoint" else []), odd_folder(kind))
    assert ran.exit_code == 2
    assert "is not a folder: " in ran.stderr


def test_pages_that_are_no_files_are_not_read(folder, monkeypatch):
    monkeypatch.setattr("skyband_specs.reference.all_pages", lambda: Pages({}, []))
    for name in ("a.md", "commands.md"):
        os.mkfifo(folder.home / name)
    (folder.home / "b.md").symlink_to("/dev/zero")
    assert "commands.md was not written by `skyband docs`" in folder.call("docs", folder.home).stderr
    (folder.home / "commands.md").unlink()
    assert folder.call("docs", folder.home).exit_code == 0


def test_what_the_system_refuses_is_no_fault_of_skyband(folder, monkeypatch):
    monkeypatch.setattr("skyband_specs.reference.all_pages", lambda: Pages({"roles/a.md": ""}, []))
    (folder.home / "roles").write_text("a file")
    ran = folder.call("docs", folder.home)
    assert ran.exit_code == 1
    assert f"error: {folder.home / 'roles'}: File exists" in ran.stderr
    assert "bug in Skyband" not in ran.stderr


@pytest.mark.parametrize("backends", ["exact", ["exact"], 3])
def test_backends_that_are_no_mapping(backends):
    asked = {"kind": "distinct-count", "time": "ts", "item": "client", "windows": ["1 hour"], "every": "1 hour"}
    with pytest.raises(ConfigError, match=r"^backends: must be a mapping of roles to backends"):
        local.apply(TABLE, asked, backends)
