"""Compares a job's answers with a file, for users' own tests."""

import io
from collections.abc import Iterable, Sequence
from os import PathLike
from pathlib import Path

import pyarrow as pa
from skyband_jobs.job.progress import Progress

from skyband_compare.testing import report
from skyband_compare.testing.difference import Difference, difference
from skyband_compare.testing.expectation import read_expected
from skyband_compare.testing.job_on_rows import Answers, read_job_on, run


def assert_answers(
    job: str | PathLike[str],
    input: str | PathLike[str] | Sequence[str | PathLike[str]],
    expect: str | PathLike[str],
    sets: Iterable[str] = (),
    after_select: bool = False,
) -> pa.Table:
    """Run a job on given rows, and raise AssertionError if its answers are not as expected.

    Parameters
    ----------
    job : path
        the job's TOML file
    input : path or list of paths
        rows to use instead of its source: .csv, .json, .parquet or .arrow; for a stream, each file is a micro-batch
    expect : path
        the expected answers, in a file of any of these formats: columns by name in any order, rows in any order
    sets : list of str, default none
        changes to the job, such as "query.k=10"
    after_select : bool, default False
        whether the rows are the result of the source's `where` and `select`, which are then not applied

    Returns
    -------
    pyarrow.Table
        the answers with all their columns, for further checks

    Raises
    ------
    AssertionError
        rows are missing, too much or different: its message lists them
    JobError
        the job is wrong, or does not fit these rows, with all problems
    ConfigError
        `expect` cannot be read, or has a column that the answers lack
    InputError
        a row is invalid
    """
    __tracebackhide__ = True
    paths = [input] if isinstance(input, str | PathLike) else list(input)
    answers = run(read_job_on(Path(job), [Path(path) for path in paths], sets, after_select), Progress(io.StringIO()))
    wrong = compared(answers, read_expected(Path(expect), answers.table.schema))
    if wrong:
        raise AssertionError(report.message(wrong, str(expect)))
    return answers.table


def compared(answers: Answers, expected: pa.Table) -> Difference:
    """The difference between answers and expected ones."""
    query, names = answers.job.query, answers.table.column_names
    by = len(query.by)
    return difference(answers.table, expected, (names[by], *names[:by]), query.compared_columns)
