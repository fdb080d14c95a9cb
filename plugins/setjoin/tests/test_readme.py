"""The examples in the README print what it shows, and its function is a valid similarity."""

import re
from pathlib import Path

import pytest
from skyband.roles.similarity import misbehaviour

TEXT = (Path(__file__).parents[1] / "README.md").read_text()
EXAMPLES = re.findall(r"```python\n(import skyband\n.*?)```\n```\n(.*?)```", TEXT, re.DOTALL)


def test_both_roles_have_an_example():
    assert [re.search(r'create\("([\w-]+)"', code)[1] for code, _ in EXAMPLES] == ["pair-ranker", "set-matcher"]


@pytest.mark.parametrize(("code", "output"), EXAMPLES)
def test_example(capsys, code, output):
    exec(compile(code, "README.md", "exec"), {})
    assert capsys.readouterr().out == output


def test_the_function_is_well_behaved():
    names = {}
    exec(re.search(r"```python\n(def kulczynski.*?)```", TEXT, re.DOTALL)[1], names)
    assert misbehaviour(names["kulczynski"]) is None
