"""What a Spark worker does around the operator, without Spark: garbage collection, and the rows it returns."""

import base64
import datetime as dt
import os
import subprocess
import sys
import warnings
from decimal import Decimal
from types import SimpleNamespace

import pyarrow as pa
import pytest
from pyspark import cloudpickle
from pyspark.sql import conversion
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructField, StructType
from skyband.operator.bind_backends import bind
from skyband.queries import make_query
from skyband_spark.frames.micro_batch import in_pandas
from skyband_spark.frames.sharded_plan import ShardedPlan
from skyband_spark.frames.worker import warn_of_broken_promises

FIRST_TASK = """
import gc, sys, pyarrow as pa
from skyband_spark.frames.sharded_plan import ShardedPlan
from skyband_spark.frames.worker import load_and_freeze
from skyband.operator.operator import Operator
from skyband.queries import make_query
from skyband.operator.bind_backends import bind

schema = pa.schema([("ts", pa.timestamp("us", "UTC")), ("name", pa.string())])
minute = {"windows": ["1 minute"], "every": "1 minute"}
query = make_query({"kind": "distinct-count", "time": "ts", "item": "name", **minute})
plan = ShardedPlan(query, bind(query, schema), schema, 1)
load_and_freeze(plan)
print(gc.get_freeze_count() > 10_000, len(gc.get_objects()) < 1_000)
operator = plan.operator()
load_and_freeze(plan)
print(any(isinstance(held, Operator) for held in gc.get_objects()))
print({name for name in sys.modules if name.startswith("skyband_totals.")} <= {"skyband_totals.hooks"})
"""


def test_what_a_worker_has_loaded_is_frozen_once_and_no_operator_with_it():
    ran = subprocess.run([sys.executable, "-c", FIRST_TASK], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["True", "True", "True", "True"], "the last: of other families hooks alone are loaded"


MOST_IMPORTED, MOST_MODULES = 84, 128
"""What a worker imports to begin with, and what it has loaded after its first micro-batch of a distinct count.

When Spark was part of core these were 118 and 174."""
FIRST_MICRO_BATCH = """
import base64, sys
from pyspark import cloudpickle
import pandas as pd, pyarrow as pa
from skyband_spark.frames.micro_batch import process_micro_batch

def ours():
    return [name for name in sys.modules if name.partition(".")[0].startswith("skyband")]

print(len(ours()))
plan = cloudpickle.loads(base64.b64decode(sys.stdin.read()))
from skyband_spark.frames.shard_keys import keys_of
from skyband_spark.frames.state_store import StateStore
from task_stores import Store

rows = pa.record_batch({"ts": pa.array([1, 2, 300_000_000], plan.schema.field(0).type), "name": ["a", "b", "c"]})
packed = [row for batch in plan.to_shuffle_rows(iter([rows])) for row in batch.to_pylist()]
process_micro_batch(plan, StateStore(Store({})), keys_of(1)[0], [pd.DataFrame(packed)])
print(*ours())
"""


def test_a_worker_loads_few_modules_of_ours_and_none_of_jobs():
    """Each is read when a worker starts: a process packs rows and answers a micro-batch of a plan it was sent."""
    schema = pa.schema([("ts", pa.timestamp("us", "UTC")), ("name", pa.string())])
    keys = {"time": "ts", "item": "name", "windows": ["1 minute"], "every": "1 minute"}
    query = make_query({"kind": "distinct-count", **keys})
    plan = cloudpickle.dumps(ShardedPlan(query, bind(query, schema), schema, 1))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ran = subprocess.run(
        [sys.executable, "-c", FIRST_MICRO_BATCH],
        input=base64.b64encode(plan).decode(),
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    imported, *loaded = ran.stdout.split()
    assert int(imported) <= MOST_IMPORTED
    assert len(loaded) <= MOST_MODULES
    assert {name.partition(".")[0] for name in loaded} == {
        "skyband",
        "skyband_distinct",
        "skyband_jit",
        "skyband_spark",
    }


@pytest.mark.skipif(not hasattr(conversion, "PandasToArrowConversion"), reason="PySpark before 4.2 converts elsewhere")
@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_spark_accepts_the_rows_of_a_turn_as_they_are(zone):
    instant = dt.datetime(1969, 5, 1, tzinfo=dt.UTC)
    values = {
        "flag": (pa.bool_(), True),
        "day": (pa.date32(), dt.date(1969, 1, 1)),
        "price": (pa.decimal128(10, 2), Decimal("1.25")),
        "raw": (pa.binary(), b"x"),
        "small": (pa.int8(), 3),
        "at": (pa.timestamp("us", zone), instant),
        "far": (pa.timestamp("us"), dt.datetime(9999, 1, 1)),
        "name": (pa.string(), "é"),
        "large": (pa.int64(), 2**60 + 1),
        "score": (pa.float64(), float("nan")),
        "words": (pa.list_(pa.int64()), [1, 2**60 + 1]),
        "metrics": (
            pa.struct([("rows_in", pa.int64()), ("seconds", pa.float64())]),
            {"rows_in": 2**60, "seconds": 0.5},
        ),
    }
    schema = pa.schema([pa.field(name, kind) for name, (kind, _) in values.items()])
    rows = pa.RecordBatch.from_pylist([{name: value for name, (_, value) in values.items()}, {}], schema=schema)
    asked = StructType([StructField("rows", from_arrow_schema(schema))])
    given = conversion.PandasToArrowConversion.convert(
        [in_pandas(rows)], asked, timezone=zone, arrow_cast=True, assign_cols_by_name=True
    )
    back = pa.RecordBatch.from_struct_array(given.column(0))
    assert str(back.to_pylist()) == str(rows.to_pylist())


def test_a_worker_warns_once_and_without_a_line_of_source(capsys):
    plan = SimpleNamespace(query=SimpleNamespace(promises={"left": "rows were left out"}))
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.showwarning = lambda *args, **_: sys.stderr.write(warnings.formatwarning(*args[:4]))
        for _ in range(2):
            warn_of_broken_promises(plan, {"left": 3})
    assert capsys.readouterr().err == "skyband:0: UserWarning: rows were left out; the metric rows_left counts them\n"
