"""The sixteen questions as Spark streams over real data, read file by file to their end: the answers of the oracles."""

import pyarrow.parquet as pq
import pytest
from recipes.comparing import check_answers
from recipes.oracles import ORACLES, expected_rows
from recipes.page import recipes
from recipes.streams import write_streams

pytestmark = [pytest.mark.spark, pytest.mark.realdata, pytest.mark.slow]

STREAM = [
    "source.stream=true",
    "source.finish=true",
    "source.options.maxFilesPerTrigger=1",
    "sink.trigger=available-now",
    "shards=1",
]


@pytest.fixture(scope="module")
def streams(tmp_path_factory):
    folder = tmp_path_factory.mktemp("streams")
    return folder, write_streams(folder, "short", parts=3)


@pytest.mark.parametrize("question", ORACLES)
def test_a_stream_has_the_answers_of_the_oracle(question, session, streams, monkeypatch):
    folder, database = streams
    monkeypatch.chdir(folder)
    number = list(ORACLES).index(question)
    sink = folder / f"answer {number}"
    recipes()[question].run_into(sink, *STREAM, f'sink.checkpoint="checkpoint {number}"', engine="spark")
    check_answers(question, pq.read_table(sink), expected_rows(database, question))
