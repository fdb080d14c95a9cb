"""The sixteen questions on real streams: every row of every answer is that of an oracle in DuckDB or plain Python."""

import pyarrow.parquet as pq
import pytest
from recipes.comparing import check_answers
from recipes.oracles import ORACLES, expected_rows
from recipes.page import ROWS, recipes
from recipes.streams import write_streams

pytestmark = pytest.mark.realdata

PAGE = recipes()


@pytest.fixture(scope="module", params=["short", pytest.param("long", marks=pytest.mark.slow)])
def streams(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    return folder, write_streams(folder, request.param)


def test_every_question_has_an_oracle():
    assert [question for question in PAGE if question != ROWS] == list(ORACLES)


@pytest.mark.parametrize("question", ORACLES)
def test_answers_are_those_of_the_oracle(question, streams, monkeypatch):
    folder, database = streams
    monkeypatch.chdir(folder)
    sink = folder / f"answer {list(ORACLES).index(question)}"
    PAGE[question].run_into(sink)
    expected = expected_rows(database, question)
    assert len(expected) > 50
    check_answers(question, pq.read_table(sink), expected)
