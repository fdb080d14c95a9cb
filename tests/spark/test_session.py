"""One session serves all: what a recipe or a second call asks for does not undo what the first was given."""

import os
import re
from pathlib import Path

import pyspark
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


def test_workers_import_pyspark_from_compiled_files_not_from_the_zip(session):
    def place(batches):
        import pyarrow as pa
        import pyspark

        for _ in batches:
            yield pa.RecordBatch.from_pydict({"place": [pyspark.__file__]})

    places = {row.place for row in session.range(1).mapInArrow(place, "place string").collect()}
    assert places == {pyspark.__file__}
    assert "SPARK_HOME" not in os.environ, "only Java sees it"
