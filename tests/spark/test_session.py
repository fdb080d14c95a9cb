"""One session serves all: what a recipe or a second call asks for does not undo what the first was given."""

import re
from pathlib import Path

import pytest
from skyband import spark

pytestmark = pytest.mark.spark

README = Path(__file__).parents[2] / "plugins" / "setjoin" / "README.md"
RECIPE = re.compile(r"## Near-duplicate titles.*?```python\n(.*?)```\n```\n(.*?)```", re.DOTALL)


def test_recipe_finds_near_duplicate_titles(session, capsys):
    code, output = RECIPE.search(README.read_text("utf-8")).groups()
    exec(compile(code, README.name, "exec"), {})
    assert capsys.readouterr().out.strip() == output.strip()


def test_a_session_that_is_there_keeps_its_settings(session):
    before = session.conf.get("spark.sql.shuffle.partitions")
    assert spark.session("another").conf.get("spark.sql.shuffle.partitions") == before == "2"
