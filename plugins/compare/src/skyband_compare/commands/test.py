"""skyband test: runs a job on given rows and compares its answers with expected ones."""

import json
from pathlib import Path
from typing import Any

import click
from skyband_jobs.commands.options import settings

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command(short_help="Run a job on your own rows, and compare its answers with expected ones.")
@click.argument("job", type=click.Path(exists=True, dir_okay=False))
@click.option("--input", "inputs", required=True, multiple=True, type=FILE, metavar="FILE",
              help="Rows to use instead of the source: .csv, .json, .parquet or .arrow; repeatable, and for a "
              "stream each file is a micro-batch.")  # fmt: skip
@click.option("--expect", required=True, type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
              help="The expected answers, in a file of any of these formats.")  # fmt: skip
@click.option("--write", is_flag=True, help="Write the answers to --expect if it is missing or differs.")
@click.option("--set", "sets", metavar="KEY=VALUE", multiple=True, callback=settings,
              help="Change a key of the job, such as source.finish=true; repeatable.")  # fmt: skip
@click.option("--after-select", is_flag=True,
              help="The rows are the result of the source's where and select, which are not applied.")  # fmt: skip
@click.option("--all", "every", is_flag=True, help="Show every unexpected row, not only the first 20.")
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
def command(
    job: str,
    inputs: tuple[Path, ...],
    expect: Path,
    write: bool,
    sets: tuple[str, ...],
    after_select: bool,
    every: bool,
    as_json: bool,
) -> None:
    """Run a job on your own rows, in this process, and compare its answers with expected ones.

    The files of --input replace the job's source, and nothing is written to its sink. Everything else stays the same:
    `where`, `select`, `schema`, the query, its backends.

    Answers are compared as a set of rows, columns by name: --expect may leave columns out, and its rows may be in any
    order. A float may differ by one part in 10^9. The exit status is 1 if a row is missing, too much or different.
    """
    from skyband_jobs.job.progress import Progress

    from skyband_compare.testing import report
    from skyband_compare.testing.assertion import compared
    from skyband_compare.testing.expectation import read_expected, write_expected
    from skyband_compare.testing.job_on_rows import run

    _check_place(expect, (Path(job), *inputs), write)
    checked = _job_on(job, inputs, sets, after_select)
    answers = run(checked, Progress())
    table = answers.table
    is_there = expect.exists()
    wrong = compared(answers, read_expected(expect, table.schema) if is_there else table.slice(0, 0))
    if as_json:
        click.echo(json.dumps(report.as_data(answers, wrong), indent=2))
    elif wrong and is_there:
        report.table(wrong, None if every else report.FIRST_ROWS)
    if write and (wrong or not is_there):
        write_expected(expect, table)
        click.echo(f"{job}: {report.counted(len(table))} written to {expect} ({report.fared(answers)})", err=True)
        return
    left_out = f"; not compared: {', '.join(wrong.left_out)}" if wrong.left_out else ""
    if not wrong:
        message = f"fine, {report.counted(len(table))} as in {expect} ({report.fared(answers)}{left_out})"
        click.echo(f"{job}: {message}", err=True)
        return
    click.echo(f"{job}: {report.headline(wrong, str(expect))} ({report.fared(answers)}{left_out})", err=True)
    raise click.exceptions.Exit(1)


def _check_place(expect: Path, others: tuple[Path, ...], write: bool) -> None:
    from skyband.errors import ConfigError

    from skyband_compare.testing.file_formats import format_of

    if not expect.exists() and not write:
        message = f"{str(expect)!r} does not exist: --write writes the answers there"
        raise click.BadParameter(message, param_hint="--expect")
    if not expect.absolute().parent.is_dir():
        raise click.BadParameter(f"{str(expect.parent)!r} is not a folder", param_hint="--expect")
    same = next((path for path in others if expect.exists() and expect.samefile(path)), None)
    if same is not None:
        raise click.BadParameter(f"{str(expect)!r} is {str(same)!r} too: name another file", param_hint="--expect")
    for option, path in (("--expect", expect), *(("--input", path) for path in others[1:])):
        try:
            format_of(path)
        except ConfigError as error:
            raise click.BadParameter(error.problems[0].message, param_hint=option) from error


def _job_on(job: str, inputs: tuple[Path, ...], sets: tuple[str, ...], after_select: bool) -> Any:
    """The job on these rows; a problem with it is reported together with the engine and the files."""
    from skyband.errors import ConfigError
    from skyband_jobs.job.job_error import JobError

    from skyband_compare.testing.job_on_rows import read_job_on

    try:
        return read_job_on(job, inputs, sets, after_select)
    except JobError as error:
        click.echo(f"test runs on the local engine, over {', '.join(map(str, inputs))}:", err=True)
        raise error from None
    except ConfigError as error:
        raise JobError(job, *error.problems) from error
