"""skyband plot: the answers of a job or table in every format, while they grow, and the errors."""

import json
import re
import shutil
import subprocess

import click
import pyarrow.parquet as pq
import pytest
from skyband.queries import kinds, load_query
from skyband.queries.presentation import load_presentation
from skyband_compare.commands.plot import watch_answers
from skyband_compare.plots.sinks import answers_at
from skyband_specs.reference.example_jobs import job_example

pytest.importorskip("vl_convert")

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)


def plot(folder, place, *arguments):
    return folder.call("plot", place, *arguments)


def spec_of(page):
    return json.loads(re.search(r'<script type="application/json" id="spec">(.*?)</script>', page.read_text())[1])[
        "chart"
    ]


def rows_of(page):
    (rows,) = spec_of(page)["datasets"].values()
    return {(row["when"].split()[1][:5], row["line"], row["value"]) for row in rows}


def test_a_job_is_drawn_from_its_sink_alone_into_a_page_of_its_name(folder, monkeypatch):
    monkeypatch.chdir(folder.home)
    assert folder.run().exit_code == 0
    shutil.rmtree(folder.home / "requests")
    for _ in range(2):  # a page of its own may be written again
        called = plot(folder, folder.job)
        assert (called.exit_code, called.stderr, called.stdout) == (0, "plot: job.html\n", "")
    page = folder.home / "job.html"
    assert rows_of(page) == set(folder.answers())
    assert spec_of(page)["title"]["text"] == "distinct-count of job"
    page.write_text("mine")
    refused = plot(folder, folder.job)
    assert refused.exit_code == 1 and "is not a page of `skyband plot`: name a file with --output" in refused.stderr
    assert page.read_text() == "mine"


OWN = """
def draw(alt, answers):
    return alt.Chart(alt.Data(values=[{"is": "its own"}])).mark_text().encode(text="is:N"), ["its own chart"]
"""


def test_a_table_names_its_query_whose_own_chart_is_drawn(folder, monkeypatch):
    (folder.home / "acme_table_chart.py").write_text(OWN)
    monkeypatch.syspath_prepend(folder.home)
    assert folder.run("sink.path=there").exit_code == 0
    monkeypatch.setattr(load_presentation(load_query("distinct-count")), "chart", "acme_table_chart:draw")
    page = folder.home / "own.html"
    assert plot(folder, folder.home / "there", "-o", page).exit_code == 0
    assert "its own chart" in json.dumps(spec_of(page))
    assert spec_of(page)["title"]["text"] == "distinct-count of there"


@pytest.mark.parametrize("format", ["parquet", "csv", "json", "delta"])
def test_every_format_of_a_sink_gives_the_same_picture(folder, format):
    if format == "delta":
        pytest.importorskip("deltalake")
    where = (f"sink.format={format}", "sink.path=there")
    assert folder.run(*where).exit_code == 0
    page, table = folder.home / "x.html", folder.home / "y.html"
    sets = [part for change in where for part in ("--set", change)]
    assert plot(folder, folder.job, *sets, "--output", page).exit_code == 0
    assert plot(folder, folder.home / "there", "--output", table).exit_code == 0
    assert rows_of(page) == rows_of(table)
    assert len(rows_of(page)) == 24


TABLES = {
    "iceberg": (
        'table = "db.there"\ncatalog = { uri = "sqlite:///lake.db", warehouse = "lake/" }',
        "sink.catalog.uri: no such file",
    ),
    "sql": ('table = "there"\nurl = "sqlite:///there.db"', "sink.table: there is no table 'there' in the database"),
}


@pytest.mark.parametrize("format", TABLES)
def test_a_table_that_is_no_file_is_drawn_by_its_job(folder, format):
    pytest.importorskip({"iceberg": "pyiceberg", "sql": "sqlalchemy"}[format])
    job, (keys, lacking) = folder.home / "lake.toml", TABLES[format]
    job.write_text(
        folder.job.read_text().replace('format = "parquet"\npath = "counts"', f'format = "{format}"\n{keys}')
    )
    nothing = plot(folder, job, "--output", folder.home / "x.html")
    assert nothing.exit_code == 1 and lacking in nothing.stderr
    assert folder.call("run", job, "--engine", "local").exit_code == 0
    before = answers_at(str(job)).version()
    assert plot(folder, job, "--output", folder.home / "x.html").exit_code == 0
    assert len(rows_of(folder.home / "x.html")) == 24
    assert folder.call("run", job, "--engine", "local", "--set", "sink.mode=append").exit_code == 0
    assert before and answers_at(str(job)).version() != before


@pytest.mark.parametrize("kind", kinds())
def test_every_query_has_a_picture_of_the_answers_on_its_page(kind, tmp_path, folder):
    example = job_example(kind)
    for name, text in example.files.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "page.toml").write_text(example.job)
    sink = ["sink.format=parquet", "sink.path=answers"]
    sets = [part for change in sink for part in ("--set", change)]
    assert folder.call("run", tmp_path / "page.toml", "--engine", "local", *sets).exit_code == 0
    called = plot(folder, tmp_path / "page.toml", *sets, "--output", tmp_path / "x.svg")
    assert called.exit_code == 0, called.stderr
    drawn = (tmp_path / "x.svg").read_text()
    assert f"{kind} of page" in drawn and "NaN" not in drawn
    answers = pq.read_table(tmp_path / "answers")
    named = [name for name in ("object", "left", "match", "id") if name in answers.column_names][:1]
    assert all(str(answers[name].drop_null()[-1]) in drawn for name in named)


def test_pictures_and_what_they_are_of(folder):
    assert folder.run().exit_code == 0
    for name, begins in (("x.png", b"\x89PNG"), ("x.svg", b"<svg")):
        called = plot(
            folder, folder.job, "--output", folder.home / name, "--last", "20 minutes", "--only", "window=1 hour"
        )
        assert called.exit_code == 0, called.stderr
        assert (folder.home / name).read_bytes().startswith(begins)
    drawn = (folder.home / "x.svg").read_text()
    assert "only window = 1 hour" in drawn and "the last 20 minutes" in drawn
    assert "00:45" in drawn and "00:30" not in drawn


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (("JOB", "--output", "x.pdf"), 1, "must end in .html, .png, .svg"),
        (("JOB", "--output", "none/x.png"), 1, "'none' is not a folder"),
        (("JOB", "--only", "window"), 2, "must be COLUMN=VALUE"),
        (("JOB", "--only", "window=2 hours"), 1, "no answer has window = '2 hours'"),
        (("JOB", "--set", "sink.format=console"), 1, "sink.format: answers can be read from files of parquet, csv"),
        (("JOB", "--set", "sink.path=s3a://bucket/x"), 1, "sink.path: only local files are read"),
        (("JOB", "--set", "sink.path=nowhere"), 1, "nowhere' does not exist"),
        (("JOB", "--set", "sink.format=csv", "--set", "sink.options.header=false"), 1, "sink.options.header: is false"),
        (("JOB", "--set", "query.kind=top-l"), 1, "did you mean"),
        (("JOB", "--set", "query.emit=state"), 1, "query.emit: emits states, and only answers are drawn"),
        (("requests", "--set", "sink.path=x"), 1, "changes a job"),
        (("requests",), 1, "has no column 'at' or 'time'"),
        ((".",), 1, "contains no file that ends in .parquet"),
    ],
)
def test_what_cannot_be_drawn_says_why(folder, monkeypatch, arguments, status, said):
    monkeypatch.chdir(folder.home)
    assert folder.run().exit_code == 0
    called = plot(folder, folder.job if arguments[0] == "JOB" else arguments[0], *arguments[1:])
    assert called.exit_code == status
    assert said in " ".join(called.stderr.split())
    assert list(folder.home.glob("*.html")) == []


def test_a_watched_sink_is_drawn_again_when_answers_have_come(folder, capsys):
    """Replaces waiting: nothing yet, a first file, no change, another file, Ctrl-C."""
    assert folder.run("sink.path=all").exit_code == 0
    (done,) = (folder.home / "all").glob("*.parquet")
    answers, page = pq.read_table(done), folder.home / "x.html"
    seen = []

    def wait(_):
        seen.append((page.stat().st_mtime_ns, len(rows_of(page))) if page.exists() else None)
        sink = folder.home / "counts"
        if len(seen) == 1:
            sink.mkdir()
            pq.write_table(answers.slice(0, 10), sink / "a.parquet")
        elif len(seen) == 2:
            assert '<meta http-equiv="refresh"' in page.read_text()
        elif len(seen) == 3:
            (sink / "b.parquet").write_bytes(b"half")
        elif len(seen) == 4:
            pq.write_table(answers.slice(10), sink / "b.parquet")
        elif len(seen) == 5:
            raise KeyboardInterrupt

    with pytest.raises(click.exceptions.Exit) as ended:
        watch_answers(answers_at(str(folder.job)), page, {"last": None, "by": (), "only": {}}, wait)
    assert ended.value.exit_code == 130
    assert seen[0] is None and [found[1] for found in seen[1:]] == [10, 10, 10, 24]
    assert seen[1] == seen[2] == seen[3], "nothing is drawn again without new answers"
    assert '<meta http-equiv="refresh"' not in page.read_text() and len(rows_of(page)) == 24
    said = capsys.readouterr().err
    assert said.count("waiting: ") == 1 and "b.parquet" in said


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium on PATH: apt-get install chromium")
def test_a_browser_draws_the_page_and_loads_nothing(folder):
    assert folder.run().exit_code == 0
    page = folder.home / "x.html"
    assert plot(folder, folder.job, "--output", page).exit_code == 0
    assert 800_000 < len(page.read_bytes()) < 1_000_000
    ran = subprocess.run(
        [
            CHROMIUM,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--enable-logging=stderr",
            "--virtual-time-budget=5000",
            "--disable-background-networking",
            f"--user-data-dir={folder.home / 'profile'}",
            "--dump-dom",
            page.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert [line for line in ran.stderr.splitlines() if "CONSOLE" in line] == []
    drawn = re.search(r'<div id="chart".*?<svg.*?</svg>', ran.stdout, re.DOTALL)[0]
    assert "distinct-count of job" in drawn and "10 minutes" in drawn and "2026-01-01 00:05:00 UTC" in drawn
