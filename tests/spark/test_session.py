"""One session serves all: a recipe or a second call does not undo the settings of the first."""

import os
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyspark
import pytest
from skyband import spark
from skyband_spark.spark_session.pyspark_import_path import _home
from skyband_spark.spark_session.session import FEWER_FORKS

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


def test_small_files_are_renamed_without_processes_where_paths_are_of_this_machine(session):
    (manager,) = FEWER_FORKS
    ours, hadoop = FEWER_FORKS[manager], session.sparkContext._jsc.hadoopConfiguration()
    here = hadoop.get("fs.defaultFS")
    assert session.conf.get(manager) == ours, "the session of all tests does not ask for it"
    session.conf.unset(manager)
    try:
        assert spark.session("another", **{manager: None}).conf.get(manager, None) is None
        hadoop.set("fs.defaultFS", "hdfs://host:9000")
        assert spark.session("another").conf.get(manager, None) is None
        hadoop.set("fs.defaultFS", here)
        assert spark.session("another").conf.get(manager) == ours
        session.conf.set(manager, "mine")
        assert spark.session("another").conf.get(manager) == "mine"
    finally:
        hadoop.set("fs.defaultFS", here)
        session.conf.set(manager, ours)


def test_workers_import_pyspark_from_compiled_files_not_from_the_zip(session):
    def place(batches):
        import pyarrow as pa
        import pyspark

        for _ in batches:
            yield pa.RecordBatch.from_pydict({"place": [pyspark.__file__]})

    places = {row.place for row in session.range(1).mapInArrow(place, "place string").collect()}
    assert places == {pyspark.__file__}
    assert "SPARK_HOME" not in os.environ, "only Java sees it"


def test_many_processes_may_make_the_folder_at_once_and_others_are_left_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    with ThreadPoolExecutor(8) as pool:
        (home,) = set(pool.map(lambda _: _home(), range(16)))
    assert home.parent == tmp_path / "skyband" and not (home / "python").exists()
    (home / "jars").unlink()
    (home / "jars").mkdir()
    assert _home() is None, "what is there is not what came with PySpark"
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/none")
    assert _home() is None, "nothing can be written"
    monkeypatch.setenv("PYSPARK_PYTHON", "/usr/bin/another")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "new"))
    assert _home() is None, "that Python may have no PySpark of its own"
