"""The page of sixteen questions: its jobs print what it shows, and a reader finds each within two clicks."""

import re

import pytest
from recipes.page import PAGE, ROWS, recipes

from .conftest import ROOT, Document

ALL = recipes()
QUESTIONS = [name for name in ALL if name != ROWS]


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_job_prints_what_the_page_shows(question, tmp_path, monkeypatch, request):
    monkeypatch.chdir(tmp_path)
    ALL[ROWS].run(tmp_path)
    page = Document(PAGE, request.config.getoption("--write"))
    start = f"{ALL[question].steps[-1][1]}```\n"
    shown = ALL[question].run(tmp_path)
    assert len(shown.splitlines()) > 2
    page.holds(f"{start}```text\n{ALL[question].shown}```", f"{start}```text\n{shown}```")


def test_the_table_names_sixteen_questions_each_with_its_queries():
    rows = re.findall(r"^\| (\d+) \| \[(.*)\]\(#(.*)\) \| (.*) \|$", PAGE.read_text("utf-8"), re.MULTILINE)
    assert [int(number) for number, *_ in rows] == list(range(1, 17))
    assert [title for _, title, *_ in rows] == QUESTIONS
    for _, title, anchor, asks in rows:
        assert anchor == re.sub(r"[^\w -]", "", title).lower().replace(" ", "-")
        steps = "".join(body for _, body in ALL[title].steps)
        assert re.findall(r"\[`([\w-]+)`\]", asks) == re.findall(r'^kind = "(.*)"', steps, re.MULTILINE)


@pytest.mark.parametrize(
    ("page", "to"), [("core/docs/index.md", "ask/recipes.md"), ("README.md", "core/docs/ask/recipes.md")]
)
def test_the_first_page_leads_to_the_table(page, to):
    """And from there, with a second click, to each: `test_links_lead_to_pages_and_headings`."""
    assert f"]({to})" in (ROOT / page).read_text("utf-8")
