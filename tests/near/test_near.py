"""The tests near a change: those that import what changed, by as few imports as possible."""

from collections import defaultdict

import pytest

from .run_near import MOST_FILES, ROOT, changed_files, import_graph, module_of, nearest

GRAPH = import_graph(ROOT)


def near(*changed):
    return nearest(changed, GRAPH, ROOT)


def test_modules_are_named_as_they_are_imported():
    assert module_of("core/src/skyband/errors.py") == "skyband.errors"
    assert module_of("core/src/skyband/queries/__init__.py") == "skyband.queries"
    assert module_of("tests/board.py") == "board"


def test_a_changed_test_runs_itself_alone():
    assert near("plugins/jobs/tests/test_job.py") == ["plugins/jobs/tests/test_job.py"]


def test_a_module_brings_the_tests_that_import_it():
    tests = near("plugins/jobs/src/skyband_jobs/running/backend_choice.py")
    assert "plugins/jobs/tests/test_backend_choice.py" in tests
    assert "plugins/quantiles/tests/test_readme.py" not in tests


def test_a_module_that_no_test_imports_brings_those_of_its_importers():
    importers = defaultdict(set)
    importers["skyband.deep"] = {"core/src/skyband/middle.py"}
    importers["skyband.middle"] = {"core/src/skyband/top.py", "core/tests/test_middle.py"}
    importers["skyband.top"] = {"core/tests/test_top.py"}
    assert nearest(["core/src/skyband/deep.py"], importers, ROOT) == ["core/tests/test_middle.py"]
    assert nearest(["plugins/new/src/skyband_new/alone.py"], importers, ROOT) == []


def test_modules_that_import_each_other_end():
    importers = {"skyband.a": {"core/src/skyband/b.py"}, "skyband.b": {"core/src/skyband/a.py"}}
    importers["skyband.c"] = {"core/tests/test_c.py"}
    assert nearest(["core/src/skyband/a.py"], importers, ROOT) == ["core/tests/test_c.py"]


def test_a_module_that_all_import_brings_those_nearest_by_name():
    tests = near("core/src/skyband/errors.py")
    assert len(tests) == MOST_FILES
    assert sum(test.startswith("core/tests/") for test in tests) > MOST_FILES / 2


@pytest.mark.parametrize("name", ["README.md", "core/docs/index.md"])
def test_a_page_brings_the_tests_of_documentation(name):
    assert near(name) == ["tests/docs/test_pages.py", "tests/docs/test_words.py"]


def test_every_module_has_a_test_near_it():
    sources = [path.relative_to(ROOT).as_posix() for path in ROOT.glob("*/*/src/**/*.py")]
    assert {name for name in sources if not near(name)} == set()


def test_what_changed_includes_files_that_are_not_committed(tmp_path):
    new = ROOT / "tests" / "near" / "uncommitted.txt"
    new.write_text("")
    try:
        assert "tests/near/uncommitted.txt" in changed_files("HEAD")
    finally:
        new.unlink()
