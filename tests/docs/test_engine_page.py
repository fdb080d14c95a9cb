"""The page of engines shows the files of an engine that the tests install and try."""

from .conftest import ROOT, Document

THREADS = ROOT / "tests" / "third_party" / "threads" / "src"


def test_the_page_shows_the_engine_that_is_tried():
    blocks = [
        block.body
        for block in Document(ROOT / "core" / "docs" / "extend" / "writing-engines.md", False).blocks("python")
    ]
    files = [body.partition("\n") for body in blocks]
    assert [name for name, _, _ in files] == ["# skyband_threads/hooks.py", "# skyband_threads/engine.py"]
    for name, _, text in files:
        assert text == (THREADS / name.removeprefix("# ")).read_text(), f"copy {name} into the page"


def test_the_rule_is_first():
    page = (ROOT / "core" / "docs" / "extend" / "how-it-works.md").read_text("utf-8")
    assert page.splitlines()[2].startswith("*A query is rows in canonical order, a group at a time.*")
    assert "core/docs/extend/how-it-works.md" in (ROOT / "CONTRIBUTING.md").read_text("utf-8").partition("## ")[0]
