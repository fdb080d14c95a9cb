"""The examples in the README print what it shows."""

import re
from pathlib import Path

import pytest

README = (Path(__file__).parents[1] / "README.md").read_text()


@pytest.mark.parametrize(("code", "printed"), re.findall(r"```python\n(.*?)```\n```text\n(.*?)```", README, re.DOTALL))
def test_example_prints_what_it_shows(code, printed, capsys):
    exec(compile(code, "README.md", "exec"), {})
    assert capsys.readouterr().out == printed
