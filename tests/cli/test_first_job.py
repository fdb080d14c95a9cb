"""`skyband check` of data without a job: it prints one that runs."""

import bz2
import gzip
import json
import tomllib

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from first_job_forms import FORMS, ROWS

LATEST = 10
"""Seconds by which late rows are late."""
TIMES = {"iso": lambda time: time.isoformat(), "plain": lambda time: time.strftime("%Y-%m-%d %H:%M:%S")}


def csv_text(mark=",", header=True, written="plain"):
    lines = [mark.join(["when", "the client", "ms"])] if header else []
    return "\n".join([*lines, *(mark.join([TIMES[written](time), who, str(ms)]) for time, who, ms in ROWS)]) + "\n"


def json_text():
    return "".join(json.dumps({"when": time.isoformat(), "the client": who, "ms": ms}) + "\n" for time, who, ms in ROWS)


def first_job(folder, monkeypatch, path):
    """The text of the job that is proposed, with the folder as the working directory."""
    monkeypatch.chdir(folder.home)
    told = folder.call("check", path)
    assert told.exit_code == 0, told.output
    assert "skyband check" in told.stderr and "job.toml" in told.stderr
    return told.stdout


def each_query(job):
    """The job, and the job with each of the other proposed queries."""
    head, *others, sink = job.split("\n\n# ")[0], *job.split("\n\n# ")[1:-1], job.split("\n\n# ")[-1]
    last, _, sink = sink.partition("\n\n[sink]")
    for part in [*others, last]:
        table = "\n".join(line.removeprefix("# ") for line in part.splitlines()[1:])
        yield f"{head}\n\n{table}\n\n[sink]{sink}"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("log.csv", csv_text()),
        ("log.tsv", csv_text("\t", written="iso")),
        ("odd.csv", csv_text(";")),
        ("nameless.csv", csv_text(header=False)),
        ("log.jsonl", json_text()),
        ("log.csv.gz", gzip.compress(csv_text().encode(), mtime=0)),
        ("log.jsonl.bz2", bz2.compress(json_text().encode())),
    ],
    ids=lambda value: value if isinstance(value, str) and len(value) < 20 else "",
)
def test_the_job_that_is_proposed_answers_and_so_do_the_others(folder, monkeypatch, name, text):
    (folder.home / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    job = first_job(folder, monkeypatch, name)
    kinds = []
    for number, one in enumerate(each_query(job)):
        path = folder.home / f"job{number}.toml"
        path.write_text(one)
        ran = folder.call("run", path, "--engine", "local")
        assert ran.exit_code == 0, ran.output
        assert "600" in ran.stderr, "all rows are read"
        assert " late" not in ran.stderr, "the delay is that of the rows"
        kinds.append(tomllib.loads(one)["query"]["kind"])
    assert kinds == sorted({"distinct-count", "heavy-hitters", "quantiles", "top-k-workload"})


@pytest.mark.parametrize("name", FORMS)
def test_the_job_over_a_raw_form_runs_as_it_is_printed_and_says_what_was_guessed(folder, monkeypatch, name):
    (folder.home / name).write_bytes(FORMS[name].content)
    monkeypatch.chdir(folder.home)
    told = folder.call("check", name)
    assert told.exit_code == 0, told.output
    for text in FORMS[name].said:
        assert text in told.stderr
    (folder.home / "first.toml").write_text(told.stdout)
    ran = folder.call("run", folder.home / "first.toml", "--engine", "local")
    assert ran.exit_code == 0, ran.output
    assert ran.stderr.split()[:3] == ["rows", "in", "600"], "all rows are read"
    assert " late" not in ran.stderr, "the delay is that of the rows"


def test_rising_numbers_order_rows_without_times_and_lists_get_their_own_query(folder, monkeypatch):
    baskets = [[number % 5, number % 7] for number in range(600)]
    pq.write_table(pa.table({"seq": pa.array(range(600)), "items": baskets}), folder.home / "baskets.parquet")
    job = first_job(folder, monkeypatch, "baskets.parquet")
    assert tomllib.loads(job)["query"] == {
        "kind": "near-duplicates",
        "time": "seq",
        "id": "seq",
        "tokens": "items",
        "threshold": 0.8,
        "window": "10 rows",
        "matches": 1,
    }
    (folder.home / "first.toml").write_text(job)
    ran = folder.call("run", folder.home / "first.toml", "--engine", "local")
    assert ran.exit_code == 0, ran.output
    assert ran.stderr.split()[:3] == ["rows", "in", "600"]


def test_folders_are_columns(folder, monkeypatch):
    for day in (1, 2):
        path = folder.home / "days" / f"day=2026-03-0{day}"
        path.mkdir(parents=True)
        (path / "a.csv").write_text(csv_text())
    job = first_job(folder, monkeypatch, "days")
    assert tomllib.loads(job)["source"]["schema"] == "when TIMESTAMP, `the client` STRING, ms DOUBLE, day DATE"
    (folder.home / "first.toml").write_text(job)
    ran = folder.call("run", folder.home / "first.toml", "--engine", "local")
    assert ran.exit_code == 0, ran.output
    assert ran.stderr.split()[:3] == ["rows", "in", "1,200"]


def test_a_large_file_of_one_object_is_read_to_its_end(folder, monkeypatch):
    feature = {"properties": {"time": 1_767_225_600_000, "text": "x" * 1000, "who": "a"}}
    features = [json.loads(json.dumps(feature)) for _ in range(5_000)]
    for number, one in enumerate(features):
        one["properties"] |= {"time": 1_767_225_600_000 + 1000 * number, "who": f"w{number % 7}"}
    (folder.home / "large.geojson").write_text(json.dumps({"features": features}, indent=1))
    assert "5,000 of its rows" in folder.call("check", folder.home / "large.geojson").stdout


def test_a_job_without_its_suffix_is_a_job(folder):
    (folder.home / "nightly").write_text(folder.job.read_text())
    assert "fine" in folder.call("check", folder.home / "nightly", "--engine", "local").stderr
    (folder.home / "nightly").write_text(folder.job.read_text() + "a b c\n")
    assert folder.call("check", folder.home / "nightly").exit_code == 1
    assert "line " in folder.call("check", folder.home / "nightly").output, "it is told as a job"


def test_it_says_what_the_columns_are(folder, monkeypatch):
    (folder.home / "log.csv").write_text(csv_text())
    job = first_job(folder, monkeypatch, "log.csv")
    table = tomllib.loads(job)
    assert table["source"] == {
        "format": "csv",
        "path": str(folder.home / "log.csv"),
        "schema": "when TIMESTAMP, `the client` STRING, ms DOUBLE",
        "options": {"header": True},
    }
    assert table["query"] == {
        "kind": "distinct-count",
        "time": "when",
        "item": "the client",
        "windows": ["1 minute"],
        "every": "1 minute",
        "delay": f"{LATEST} seconds",
    }
    assert "#   the client  string, 6 distinct from c0 to c9" in job
    assert "#   ms          double, 97 distinct from 0.0 to 48.0" in job


def test_parquet_is_its_own_schema(folder, monkeypatch):
    job = first_job(folder, monkeypatch, "requests")
    assert tomllib.loads(job)["source"] == {"format": "parquet", "path": str(folder.home / "requests")}
    (folder.home / "first.toml").write_text(job)
    assert folder.call("run", folder.home / "first.toml", "--engine", "local").exit_code == 0


@pytest.mark.parametrize(
    ("unit", "function"), [(1, "timestamp_seconds"), (1_000, "timestamp_millis"), (1_000_000, "timestamp_micros")]
)
def test_whole_numbers_since_1970_are_times(folder, monkeypatch, unit, function):
    times = pa.array([int(time.timestamp() * unit) for time, _, _ in ROWS], pa.int64())
    pq.write_table(
        pa.table({"n": pa.array(range(600)), "t": times, "who": [who for _, who, _ in ROWS]}), folder.home / "e.parquet"
    )
    job = first_job(folder, monkeypatch, "e.parquet")
    table = tomllib.loads(job)
    assert table["source"]["select"] == ["n", f"{function}(t) AS t", "who"]
    assert (table["query"]["time"], table["query"]["windows"]) == ("t", ["1 minute"])
    (folder.home / "first.toml").write_text(job)
    ran = folder.call("run", folder.home / "first.toml", "--engine", "local")
    assert ran.exit_code == 0, ran.output
    assert "2026-03-01 12:01:00  1 minute" in ran.stdout


def test_a_large_text_is_cut_between_its_records(folder, monkeypatch):
    """Its line breaks are nearly all within quotes, so that a cut at the last one would be."""
    verse = 'a ""line"" of many' + 200 * "\n"
    lines = "".join(f'2026-03-01 12:00:00,"{number} {verse}",1\n' for number in range(10))
    (folder.home / "large.csv").write_text("ts,text,n\n" + lines * (5_000_000 // len(lines)))
    assert '#   text  string, 10 distinct from 0 a "line" of many' in first_job(folder, monkeypatch, "large.csv")


def test_columns_of_any_type(folder, monkeypatch):
    count = range(300)
    columns = {
        "ts": pa.array(
            [1_767_225_600_000_000_000 + second * 10**9 for second in count], pa.timestamp("ns", "Asia/Tokyo")
        ),
        "word": pa.array([f"w{number % 7}" for number in count]).dictionary_encode(),
        "truth": pa.array([number % 2 == 0 for number in count]),
        "bytes": pa.array([b"x" * (number % 5) for number in count]),
        "length": pa.array(count, pa.duration("s")),
        "price": pa.array(count, pa.int64()).cast(pa.decimal128(21, 2)),
        "nothing": pa.nulls(300),
        "pair": pa.array([{"a": 1}] * 300),
        "many": pa.array(count, pa.uint64()),
    }
    pq.write_table(pa.table(columns), folder.home / "odd.parquet")
    job = first_job(folder, monkeypatch, "odd.parquet")
    assert tomllib.loads(job)["query"]["item"] == "word"
    assert "#   word     string, 7 distinct from w0 to w6" in job
    for number, one in enumerate(each_query(job)):
        (folder.home / f"odd{number}.toml").write_text(one)
        ran = folder.call("run", folder.home / f"odd{number}.toml", "--engine", "local")
        assert ran.exit_code == 0, ran.output
    pq.write_table(pa.table(columns).slice(0, 0), folder.home / "empty.parquet")
    assert "'empty.parquet' has no rows" in folder.call("check", "empty.parquet").output


def test_of_many_rows_the_first_are_looked_at(folder, monkeypatch):
    times = pa.array(range(250_000), pa.timestamp("s"))
    pq.write_table(
        pa.table({"ts": times, "who": ["a", "b"] * 125_000}), folder.home / "many.parquet", row_group_size=70_000
    )
    job = first_job(folder, monkeypatch, "many.parquet")
    assert "from 100,000 of its rows:" in job
    assert "100,000 distinct from 1970-01-01 00:00:00 to 1970-01-02 03:46:39" in job


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        (
            "words.txt",
            "hello world\nthis is nothing\n",
            "'words.txt' has no column of times, only value string: it needs text such as",
        ),
        ("no_times.csv", "a,b\n2,x\n1,y\n", "has no column of times"),
        ("empty.csv", "", "is empty"),
        ("broken.json", '{"a": \n', "broken.json"),
        ("only_times.csv", "ts\n2026-01-01\n2026-01-02\n", "has a first question for its columns (ts)"),
    ],
)
def test_what_no_job_can_be_made_of(folder, monkeypatch, name, text, said):
    (folder.home / name).write_text(text)
    monkeypatch.chdir(folder.home)
    told = folder.call("check", name)
    assert told.exit_code == 1
    assert said in told.output
    assert "Traceback" not in told.output


def test_a_folder_without_data(folder, monkeypatch):
    (folder.home / "notes").mkdir()
    (folder.home / "notes" / "read.me").write_text("nothing")
    monkeypatch.chdir(folder.home)
    told = folder.call("check", "notes")
    assert told.exit_code == 1
    assert "'notes' has no file that ends in .csv" in told.output


def test_data_in_the_place_of_a_job(folder):
    (folder.home / "log.csv").write_text(csv_text())
    told = folder.call("run", folder.home / "log.csv", "--engine", "local")
    assert told.exit_code == 1
    assert "is data, not a job: `skyband check" in told.output


def test_a_plugin_that_fails_is_named_and_the_others_answer(folder, monkeypatch):
    from skyband.queries import load_query
    from skyband.queries.presentation import load_presentation

    def fails(cls, sample):
        raise RuntimeError("of its own")

    monkeypatch.setattr(load_presentation(load_query("distinct-count")), "first_query", classmethod(fails))
    (folder.home / "log.csv").write_text(csv_text())
    job = first_job(folder, monkeypatch, "log.csv")
    assert tomllib.loads(job)["query"]["kind"] == "heavy-hitters"
    assert "\n# distinct-count has no first query here: RuntimeError: of its own\n" in job
