"""A local job needs neither pandas, which Arrow uses once something else imports it, nor readers of other formats."""

import subprocess
import sys
import textwrap

import pytest

ROWS = "ts,page,bytes\n2026-01-01 00:00:00,a,1\n2026-01-01 00:00:01,b,2\n"
JOB = """
[source]
format = "csv"
path = "rows.csv"
schema = "ts TIMESTAMP, page STRING, bytes BIGINT"
where = "bytes > 0"
options = { header = true }

[query]
kind = "distinct-count"
item = "page"
time = "ts"
windows = ["10 seconds"]
every = "1 second"

[sink]
format = "FORMAT"
path = "answers"
"""


def python(tmp_path, code, *arguments):
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *arguments], capture_output=True, text=True, cwd=tmp_path
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.splitlines()[-1]


@pytest.mark.parametrize("form", ["parquet", "csv", "json"])
@pytest.mark.parametrize("command", ["run", "check"])
def test_a_local_job_loads_no_pandas(tmp_path, command, form):
    pytest.importorskip("skyband_distinct")
    (tmp_path / "rows.csv").write_text(ROWS)
    (tmp_path / "job.toml").write_text(JOB.replace("FORMAT", form))
    code = """
        import sys
        from skyband.cli import main
        sys.argv[0] = "skyband"
        try:
            main()
        except SystemExit as end:
            assert not end.code, end.code
        print("pandas" in sys.modules, "pyarrow" in sys.modules)
    """
    assert python(tmp_path, code, command, "job.toml", "--engine", "local") == "False True"


def test_a_job_on_parquet_loads_no_readers_of_text(tmp_path):
    pytest.importorskip("skyband_distinct")
    code = """
        import sys, pyarrow as pa, pyarrow.parquet as pq
        from skyband.cli import main
        times = pa.array([0, 10**6], pa.timestamp("us", "UTC"))
        pq.write_table(pa.table({"ts": times, "page": ["a", "b"]}), "rows.parquet")
        sys.argv[0] = "skyband"
        try:
            main()
        except SystemExit as end:
            assert not end.code, end.code
        print([name for name in sys.modules if name.startswith(("skyband_jobs.files.csv_r", "skyband_jobs.kernels."))])
    """
    own = (
        'format = "csv"\npath = "rows.csv"',
        'schema = "ts TIMESTAMP, page STRING, bytes BIGINT"\nwhere = "bytes > 0"',
    )
    job = JOB.replace(own[0], 'format = "parquet"\npath = "rows.parquet"').replace(own[1], "").replace("FORMAT", "csv")
    (tmp_path / "job.toml").write_text(job.replace("options = { header = true }\n", ""))
    assert python(tmp_path, code, "run", "job.toml", "--engine", "local") == "[]"


def test_arrow_knows_pandas_once_it_is_imported(tmp_path):
    pytest.importorskip("pandas")
    code = """
        import sys
        from skyband_jobs.commands.deferred_pandas import defer_pandas
        import numpy as np, pyarrow as pa
        defer_pandas()
        pa.array(np.arange(3)), pa.array([1])
        assert "pandas" not in sys.modules
        import pandas as pd
        table = pa.table(pd.DataFrame({"a": [1.0, np.nan]}))
        print(table["a"].null_count, pa.array(pd.Categorical(["x"])).type, len(table.to_pandas()))
    """
    assert python(tmp_path, code) == "1 dictionary<values=string, indices=int8, ordered=0> 2"


def test_arrow_itself_may_be_the_one_to_import_it(tmp_path):
    pytest.importorskip("pandas")
    code = """
        from skyband_jobs.commands.deferred_pandas import defer_pandas
        import pyarrow as pa
        defer_pandas()
        print(pa.table({"a": [1, None]}).to_pandas()["a"].isna().sum())
    """
    assert python(tmp_path, code) == "1"
