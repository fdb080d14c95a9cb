"""A job's answers held against a file, for tests of one's own."""

import io
from collections.abc import Iterable, Sequence
from os import PathLike
from pathlib import Path

import pyarrow as pa
from skyband_jobs.running.progress import Progress

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
    """Run a job on rows of one's own, and raise AssertionError where its answers are not those expected.

    Parameters
    ----------
    job : path
        the job's TOML file
    input : path or list of paths
        rows that take the place of its source: .csv, .json, .parquet or .arrow; of a stream, each file is a micro-batch
    expect : path
        the answers that it should give, in a file of any of these formats: columns by name in any order, rows in any
    sets : list of str, default none
        changes to the job, such as "query.k=10"
    after_select : bool, default False
        whether the rows are those that the source's `where` and `select` leave, which are then not applied

    Returns
    -------
    pyarrow.Table
        the answers, all their columns, for what else is to be looked at

    Raises
    ------
    AssertionError
        rows are missing, there are too many, or some differ: all of it in its message
    JobError
        the job is wrong, or does not fit these rows: all problems at once
    ConfigError
        `expect` cannot be read, or has a column that the answers lack
    InputError
        a row cannot be taken
    """
    __tracebackhide__ = True
    paths = [input] if isinstance(input, str | PathLike) else list(input)
    answers = run(read_job_on(Path(job), [Path(path) for path in paths], sets, after_select), Progress(io.StringIO()))
    wrong = compared(answers, read_expected(Path(expect), answers.table.schema))
    if wrong:
        raise AssertionError(report.message(wrong, str(expect)))
    return answers.table


def compared(answers: Answers, expected: pa.Table) -> Difference:
    """How answers differ from those expected."""
    query, names = answers.job.query, answers.table.column_names
    by = len(query.by)
    return difference(answers.table, expected, (names[by], *names[:by]), query.compared_columns)
