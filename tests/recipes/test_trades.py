"""The recipes by trade on thousands of rows: all answers are those of DuckDB or plain Python."""

import pyarrow.parquet as pq
import pytest
from recipes.comparing import check_close
from recipes.page import TRADES, recipes
from recipes.trade_oracles import ORACLES, burn_rates, expected_rows
from recipes.trade_rows import BURN, REACH, write_rows

EXACT = {REACH: ["backends.sketch=exact"]}
"""What makes the answers of a recipe exact, where they are not."""


@pytest.mark.parametrize("question", ORACLES)
@pytest.mark.parametrize("real", [False, pytest.param(True, marks=pytest.mark.realdata)], ids=["made", "real"])
def test_answers_are_those_of_the_oracle(question, real, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    database = write_rows(tmp_path, question, real)
    recipes(TRADES)[question].run_into(tmp_path / "answers", *EXACT.get(question, []))
    expected = expected_rows(database, question)
    assert real or len(expected) > 20
    check_close(pq.read_table(tmp_path / "answers"), expected)
    if question == BURN:
        check_close(pq.read_table(tmp_path / "burn"), burn_rates(database))
