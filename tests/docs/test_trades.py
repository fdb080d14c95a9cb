"""The page of recipes by trade: its jobs and models print what it shows, and its table leads to each."""

import re

import duckdb
import pytest
from recipes.dbt_models import DBT, IMPRESSIONS, Dbt, models, printed
from recipes.page import TRADES, recipes

from .conftest import ROOT, Document

ALL = recipes(TRADES)


@pytest.fixture
def page(request):
    return Document(TRADES, request.config.getoption("--write"))


@pytest.mark.parametrize("question", [question for question in ALL if question != DBT])
def test_a_job_prints_what_the_page_shows(question, page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for job, answers in ALL[question].outputs(tmp_path):
        assert ('format = "console"' in job) == (len(answers.splitlines()) > 2) == bool(answers)
        if answers:
            start = f"{job}```\n```text\n"
            shown = page.text.partition(start)[2].partition("```")[0]
            page.holds(f"{start}{shown}```", f"{start}{answers}```")


def test_a_dbt_model_makes_the_table_that_the_page_shows(page, tmp_path):
    path = tmp_path / "impressions.csv"
    path.write_text(IMPRESSIONS, "utf-8")
    with duckdb.connect() as session:
        dbt = Dbt(session.read_csv(str(path)))
        answers = models()[-1](dbt, session)
    assert dbt.settings == {"materialized": "table"}
    start = (
        "The table `reach` for the impressions of [the campaign above](#how-many-people-has-a-campaign-reached):\n\n"
    )
    shown = page.text.partition(f"{start}```text\n")[2].partition("```")[0]
    page.holds(f"{start}```text\n{shown}```", f"{start}```text\n{printed(answers)}```")


def test_the_table_names_all_questions_each_with_its_query():
    rows = re.findall(
        r"^\| [\w ]+ \| \[(.*)\]\(#.*\) \| .*\[`(.*)`\]\(.*\) \|$", TRADES.read_text("utf-8"), re.MULTILINE
    )
    assert [question for question, _ in rows] == list(ALL)
    for question, kind in rows:
        bodies = "".join(body for _, body in ALL[question].steps)
        assert set(re.findall(r'^ *"?kind"?(?: = |: )"(.*)"', bodies, re.MULTILINE)) == {kind}


def test_the_index_and_the_other_recipes_lead_to_the_page():
    for page, to in (("index.md", "ask/trades.md"), ("ask/recipes.md", "trades.md"), ("ask/questions.md", "trades.md")):
        assert f"]({to})" in (ROOT / "core/docs" / page).read_text("utf-8"), page
