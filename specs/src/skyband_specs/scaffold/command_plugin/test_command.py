"""The command counts answers, and names what it cannot read."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from click import Group
from click.testing import CliRunner, Result

from skyband_specs.scaffold.command_plugin.hooks import skyband_commands


def run(*arguments: str | Path) -> Result:
    """Call `skyband mine` in this process."""
    group = Group()
    skyband_commands(group)
    return CliRunner().invoke(group, ["mine", *map(str, arguments)])


def test_it_counts_answers_and_moments(tmp_path: Path) -> None:
    """Three answers, two of which share a moment."""
    pq.write_table(pa.table({"at": [1, 1, 2], "sum": [3, 4, 5]}), tmp_path / "answers.parquet")
    assert run(tmp_path / "answers.parquet").output == "3 answers at 2 moments\n"


def test_it_names_a_column_that_is_missing(tmp_path: Path) -> None:
    """A wrong call ends with code 2 and the columns of the file."""
    pq.write_table(pa.table({"time": [1]}), tmp_path / "answers.parquet")
    called = run(tmp_path / "answers.parquet")
    assert called.exit_code == 2
    assert "there is no column 'at'; the file has time" in called.stderr


def test_it_refuses_a_file_of_another_kind(tmp_path: Path) -> None:
    """The message names the file."""
    (tmp_path / "answers.csv").write_text("at,sum\n1,2\n")
    called = run(tmp_path / "answers.csv")
    assert called.exit_code == 2
    assert "answers.csv is not a Parquet file" in " ".join(called.stderr.split())
