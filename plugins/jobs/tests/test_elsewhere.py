"""In a process of another zone, with an old locale, everything is as here: naive times are UTC, files UTF-8."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import datetime, sys
import numpy as np
import pyarrow as pa
from skyband import states
from skyband.states import since_or_last
from skyband.engines import local
from skyband.instants import instant
from skyband_jobs.files.text_values import instants
from skyband.text_tables import moment

naive = datetime.datetime(2026, 3, 29, 1, 30)
print([since_or_last.moment_of(one) for one in (naive, "2026-03-29 01:30", np.datetime64(naive))])
print(instants(pa.array(["2026-03-29 01:30", "2026-03-29"])).cast(pa.int64()).to_pylist())
print(instant(1774747800000000).isoformat(), moment(1774747800000000))
query = {"kind": "distinct-count", "time": "ts", "item": "who", "by": ["who"]}
rows = pa.table({"ts": [naive, naive + datetime.timedelta(days=1)], "who": ["a", "b"]})
for every, window in (("1 day", "1 day"), ("1 hour", "today"), ("1 day in UTC", "this month in UTC")):
    found = local.apply(rows, {**query, "every": every, "windows": [window]})
    print(found["at"].cast(pa.int64()).to_pylist(), found["who"].to_pylist())
print(local.apply(rows, {**query, "every": "1 day", "windows": ["1 day"], "emit": "state"})["state"].to_pylist())
"""


@pytest.fixture(scope="module")
def here():
    return run(TZ="UTC", LC_ALL="C.UTF-8", PYTHONHASHSEED="1")


def run(**environment):
    asked = {**os.environ, "PYTHONIOENCODING": "utf-8", **environment}
    ran = subprocess.run([sys.executable, "-c", PROGRAM], env=asked, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_nothing_depends_on_the_zone_locale_or_hash_seed_of_a_process(here):
    assert "1774747800000000" in here
    assert here.splitlines()[1] == "[1774747800000000, 1774742400000000]"
    elsewhere = run(TZ="Pacific/Chatham", LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0", PYTHONHASHSEED="7")
    assert elsewhere == here
