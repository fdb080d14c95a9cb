"""A third party's own question to the states of its backend, in SQL and on columns."""

import numpy as np
import pytest
from pyspark.sql import functions as sql
from skyband.errors import InputError
from skyband.registry import installed
from skyband.states.state import encode_state
from skyband_spark import states as spark_states

pytestmark = pytest.mark.spark
FILES = {
    "acme_columns-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: acme-columns\nVersion: 1.0\n",
    "acme_columns-1.0.dist-info/entry_points.txt": "[skyband]\nacme_columns_hooks = acme_columns_hooks\n",
    "acme_columns_hooks.py": """
from skyband import BackendInfo, hookimpl

@hookimpl
def skyband_backends():
    reader = "acme_columns:Reader"
    return [BackendInfo("sketch", "acme", "nowhere:Acme", "times", "exact", "by definition", reader=reader)]
""",
    "acme_columns.py": """
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import define
from skyband.config.parameters import number
from skyband.config.half_open_ranges import range_parameter
from skyband.roles.answering_reader import AnsweringReader
from skyband.states.question import Question

class Reader(AnsweringReader):
    questions = ("acme_columns:Span", "acme_columns:Times", "acme_columns:Gap")
    latest, floor, retained = None, -(2**63), 0

    def __init__(self, parameters, state):
        self.times = state["times"]

@define
class Span(Question):
    name = "acme_span"
    result = pa.struct([("rows", pa.int64()), ("span", pa.float64())])
    within: Any = range_parameter(help="only times in this range")
    unit: float = number(1.0, above=0, help="microseconds of one")

    def answer(self, states, since):
        times = states[0].reader.times
        times = times[times >= since[0]]
        times = times if self.within is None else times[self.within.holds(times)]
        return len(times), float(times.max() - times.min()) / self.unit if len(times) else 0.0

@define
class Times(Question):
    name = "acme_times"
    result = pa.list_(pa.struct([("time", pa.int64())]))

    def answer(self, states, since):
        return {"time": states[0].reader.times}

@define
class Gap(Question):
    name = "acme_gap"
    result = pa.float64()
    of_pairs = True

    def answer(self, states, since):
        return float(states[0].reader.times.max() - states[1].reader.times.max())
""",
}


def state(*times):
    return encode_state("sketch", "acme", {}, {"times": np.array(times)}, None)


@pytest.fixture
def acme(tmp_path, monkeypatch, session):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    session.sparkContext.addPyFile(str(tmp_path / "acme_columns.py"))
    installed.cache_clear()
    yield
    installed.cache_clear()


def test_it_is_known_to_sql_and_to_columns(acme, session):
    spark_states.register(session)
    rows = [(state(10, 50, 90), 20, 10.0), (state(20, 70), 60, 1.0), (None, 0, 1.0)]
    frame = session.createDataFrame(rows, "state binary, since bigint, unit double")
    frame.createOrReplaceTempView("acme_states")
    found = session.sql(
        "SELECT skyband_acme_span(state, null).span AS whole, skyband_acme_span(state, since).rows AS recent, "
        "skyband_acme_span(state, null, 0, 60, unit).span AS parts, skyband_acme_times(state, null)[1].time AS second, "
        "skyband_acme_gap(state, state, null) AS gap FROM acme_states"
    ).collect()
    assert [tuple(row) for row in found] == [(80.0, 2, 4.0, 50, 0.0), (50.0, 1, 0.0, 70, 0.0), (None,) * 5]
    asked = frame.select(
        spark_states.acme_span("state", unit=10)["span"],
        spark_states.acme_span("state", within=(20, None), unit=sql.col("unit"))["span"],
    ).collect()
    assert [tuple(row) for row in asked] == [(8.0, 4.0), (5.0, 50.0), (None, None)]
    with pytest.raises(InputError, match="unit: must be above 0"):
        spark_states.acme_span("state", unit=-1)
    with pytest.raises(InputError, match="within: must have its first end below its second"):
        spark_states.acme_span("state", within=(3, 3))
