"""The page on tests of a job: its commands say what it shows, and its test passes."""

import re
import shlex

import pytest
from click.testing import CliRunner
from skyband.cli.commands import group

from .conftest import ROOT, Document


@pytest.fixture
def page(request):
    return Document(ROOT / "core" / "docs" / "begin" / "testing.md", request.config.getoption("--write"))


def test_the_commands_and_the_test_of_the_page_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = page.blocks("csv")[0].body
    (tmp_path / "job.toml").write_text(page.blocks("toml")[0].body)
    (tmp_path / "rows.csv").write_text(rows)
    head, *lines = rows.splitlines(keepends=True)
    (tmp_path / "first.csv").write_text(head + "".join(lines[:-2] + lines[-1:]))
    (tmp_path / "late.csv").write_text(head + lines[-2])
    calls = page.blocks("sh")
    assert len(calls) == 4
    for number, call in enumerate(calls):
        made = CliRunner().invoke(group, shlex.split(call.body)[1:])
        assert made.exit_code == (number >= 2), made.output
        shown = re.search(re.escape(f"```sh\n{call.body}```\n\n") + r"(```text\n.*?```)", page.text, re.DOTALL)[1]
        before = f"```sh\n{call.body}```\n\n"
        page.holds(f"{before}{shown}", f"{before}```text\n{made.output}```")
    (program,), names = page.blocks("python"), {}
    exec(compile(program.body, "testing.md", "exec"), names)
    names["test_clients_are_counted_once_a_site"]()
