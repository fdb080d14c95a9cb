"""skyband demo: makes a stream, runs a streaming job on it and shows the answers."""

import tempfile
from pathlib import Path
from typing import Any

import click
from skyband.cli.options import ENGINE
from skyband.cli.paths import FolderToWrite
from skyband.config.redaction import redact
from skyband_jobs.commands.options import settings

JOB = """\
[source]
format = "parquet"
path = "requests/"
stream = true
options = { maxFilesPerTrigger = 1 }     # each file is a micro-batch

[query]
kind = "distinct-count"
time = "ts"
item = "client"
windows = ["1 hour", "6 hours"]
every = "30 minutes"
delay = "5 minutes"                      # later rows are dropped and counted

[backends]
sketch = "pcsa-ml"                       # more: skyband backends

[sink]
format = "parquet"
path = "counts/"
checkpoint = "checkpoint/"
trigger = "available-now"                # stop when every file is read
"""


@click.command(short_help="Make a stream, run a streaming job on Spark, show the answers.")
@click.option(
    "--engine", type=ENGINE, default="spark", show_default=True,
    help="What runs the job; local needs no Java.",
)  # fmt: skip
@click.option("--rows", type=click.IntRange(10_000, 50_000_000), default=500_000, show_default=True,
              help="The number of requests in the log.")  # fmt: skip
@click.option("--dir", "folder", type=FolderToWrite(),
              help="Folder for the log, the job and the answers; by default a new temporary folder.")  # fmt: skip
@click.option(
    "--set", "sets", metavar="KEY=VALUE", multiple=True, callback=settings,
    help="Change a key of the job, such as backends.sketch=k-skb.",
)  # fmt: skip
def command(engine: str, rows: int, folder: Path | None, sets: tuple[str, ...]) -> None:
    """Make a web log, count its distinct clients with a streaming job on Spark, and show the answers."""
    if engine == "spark":
        from skyband_spark.job_session import require_spark

        require_spark()  # before anything is made
    home = _fresh(folder)
    from skyband_jobs import read_job
    from skyband_jobs.programs.engines import engine_named
    from skyband_jobs.programs.run import run_checked

    from skyband_distinct.demo.weblog import FILES, make_weblog

    log = make_weblog(rows)
    log.write(home / "requests")
    path = home / "job.toml"
    path.write_text(JOB, "utf-8")
    _say(f"1. A stream: {rows:,} web requests of one day, {int(log.late.sum())} late, in {FILES} Parquet files.")
    _say(f"2. A job: {path}\n")
    _say(click.style("\n".join(f"   {line}".rstrip() for line in JOB.splitlines()), dim=True))
    changes = " ".join(f"--set {redact(change)}" for change in sets)
    call = " ".join(
        part for part in (f"skyband run {path}", changes, "--engine local" if engine == "local" else "") if part
    )
    _say(f"\n3. {call}")
    job = read_job(path, sets, engine)
    run_checked(job, engine_named(engine))
    _say("\n4. Distinct clients in each window, next to the exact count:\n")
    _show(job, log)
    _say("\n5. Next:")
    for line, why in _next(job, engine, path):
        _say(f"   {line}\n       {why}")


def _fresh(folder: Path | None) -> Path:
    if folder is None:
        return Path(tempfile.mkdtemp(prefix="skyband-demo-"))
    if folder.exists() and any(folder.iterdir()):
        raise click.BadParameter(f"{str(folder)!r} is not empty; name a new folder", param_hint="--dir")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _say(text: str) -> None:
    click.echo(text, err=True)


def _show(job: Any, log: Any) -> None:
    """Shows the last answers of each window as a table, and all answers as a chart."""
    import pyarrow as pa
    import pyarrow.dataset as ds
    from skyband import text_tables
    from skyband.config.durations import parse

    from skyband_distinct.demo.bar_chart import bars

    answers = ds.dataset(job.sink.path, format="parquet").to_table().sort_by([("at", "ascending")])
    moments = answers.column("at").cast(pa.timestamp("us", "UTC")).cast(pa.int64()).to_pylist()
    lengths = [parse(window).length for window in answers.column("window").to_pylist()]
    exact = [log.distinct_clients(at, length) for at, length in zip(moments, lengths, strict=True)]
    answers = answers.append_column("exact", pa.array(exact))
    columns = ["at", "window", "count", "low", "high", "exact"]
    rows = [[row[name] for name in columns] for row in answers.to_pylist()]
    for row in rows:
        row[2:5] = map(round, row[2:5])
    last = rows[-4 * len(job.query.windows) :]
    text_tables.table(
        columns, sorted(last, key=lambda row: (row[1], row[0])), styles={"count": "bold green", "exact": "cyan"}
    )
    window = str(job.query.windows[0])
    counts = [(row[0], row[2]) for row in rows if row[1] == window]
    click.echo(f"\nDistinct clients in the last {window}, over the day:")
    for line in bars([count for _, count in counts], [at.strftime("%H:%M") for at, _ in counts]):
        click.echo(f"  {line}")
    errors = [abs(row[2] - row[5]) / max(row[5], 1) for row in rows]
    click.echo(
        f"\n{len(rows)} answers; the largest error is {max(errors):.1%}, the average {sum(errors) / len(errors):.1%}."
    )


def _next(job: Any, engine: str, path: Path) -> list[tuple[str, str]]:
    local = " --engine local" if engine == "local" else ""
    sketch = job.backends.get("sketch")
    sketch = sketch.get("name") if isinstance(sketch, dict) else sketch
    other = "pcsa-ml" if sketch == "k-skb" else "k-skb"
    lines = [(f"skyband demo{local} --set backends.sketch={other}", "the same job with another sketch")]
    lines.append(("skyband backends", "every algorithm; skyband describe sketch/pcsa-ml shows one in full"))
    again = f"skyband run {path}{local}"
    if engine == "local":
        lines.append((f"{again} --set sink.format=console", "the job again, with its answers on the screen"))
    else:
        lines.append((again, "the job again, from its checkpoint: add files to requests/ first"))
    return lines
