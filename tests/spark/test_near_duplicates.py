"""The recipe of setjoin's README, from text to pairs, prints what it says."""

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.spark

README = Path(__file__).parents[2] / "plugins" / "setjoin" / "README.md"
RECIPE = re.compile(r"## Near-duplicate titles.*?```python\n(.*?)```\n```\n(.*?)```", re.DOTALL)


def test_recipe_finds_near_duplicate_titles(session, capsys):
    code, output = RECIPE.search(README.read_text("utf-8")).groups()
    exec(compile(code, README.name, "exec"), {})
    assert capsys.readouterr().out.strip() == output.strip()
