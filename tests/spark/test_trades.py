"""The recipes by trade on Spark: as streams, one of them over the answers of a batch, and as a dbt model."""

import pyarrow.parquet as pq
import pytest
from recipes.comparing import check_close
from recipes.dbt_models import IMPRESSIONS, Dbt, models
from recipes.page import TRADES, recipes
from recipes.trade_oracles import expected_rows
from recipes.trade_rows import ACCOUNTS, BURN, STORIES, write_rows
from skyband.engines import local

pytestmark = pytest.mark.spark

STREAM = [
    "source.stream=true",
    "source.finish=true",
    "source.options.maxFilesPerTrigger=1",
    "sink.trigger=available-now",
    'sink.checkpoint="checkpoint"',
]


@pytest.mark.parametrize(
    ("question", "parts", "settings"),
    [
        (ACCOUNTS, 3, STREAM),
        pytest.param(STORIES, 3, STREAM, marks=pytest.mark.slow),
        pytest.param(BURN, 1, STREAM, marks=pytest.mark.slow),
    ],
)
def test_answers_are_those_of_the_oracle(question, parts, settings, session, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    database = write_rows(tmp_path, question, parts=parts)
    recipes(TRADES)[question].run_into(tmp_path / "answers", *settings, engine="spark")
    check_close(pq.read_table(tmp_path / "answers"), expected_rows(database, question))


def test_the_dbt_model_makes_the_table_that_the_local_engine_makes(session, tmp_path):
    path = tmp_path / "impressions.csv"
    path.write_text(IMPRESSIONS, "utf-8")
    columns = "ts TIMESTAMP, campaign STRING, channel STRING, person STRING"
    dbt = Dbt(session.read.csv(str(path), header=True, schema=columns))
    model = models()[0]
    answers = model(dbt, session).toArrow()
    assert dbt.settings == {"materialized": "table"}
    query = model.__globals__["REACH"]
    assert answers.to_pylist() == local.apply(dbt.impressions.toArrow(), query).to_pylist()
