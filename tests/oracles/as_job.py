"""Plays a random stream as a job over Parquet files with a `where`, on the local engine."""

import io
import math
from contextlib import redirect_stderr
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from skyband_jobs.programs.run import run_job

from .playing import Arrivals, Table, batch_of, compare
from .streams import Oracle, Row


def above(value: float | None, limit: float) -> bool | None:
    """SQL's value > limit: null is neither, NaN is above all numbers."""
    return None if value is None else math.isnan(value) or value > limit


CONDITIONS = {
    "g = 'a'": lambda row: row["g"] == "a",
    "g <> 'a'": lambda row: row["g"] not in ("a", None),
    "g IS NULL OR h > 0": lambda row: row["g"] is None or above(row["h"], 0),
    "NOT h > 1": lambda row: above(row["h"], 1) is False,
    "g IN ('a', '') AND h IS NOT NULL": lambda row: row["g"] in ("a", "") and row["h"] is not None,
    "h BETWEEN 0 AND 3": lambda row: row["h"] is not None and 0 <= row["h"] <= 3,
    "g = 'b' AND NOT h < 2": lambda row: row["g"] == "b" and (row["h"] == 2 or above(row["h"], 2) is True),
}


def play_as_job(make: type[Oracle], seed: int) -> int:
    """Play the stream of a seed as one batch; returns how many steps were compared, one."""
    random = Random(seed)
    oracle = make(random)
    rows, condition = oracle.stream(), random.choice(list(CONDITIONS))
    arrivals = Arrivals(oracle)
    arrivals.take([row for row in rows if CONDITIONS[condition](row)])
    with TemporaryDirectory() as folder:
        write_job(Path(folder), oracle, rows, condition)
        notes = io.StringIO()
        try:
            with redirect_stderr(notes):
                run_job(Path(folder) / "job.toml", engine="local")
            parts = sorted((Path(folder) / "answers").glob("*.parquet"))
            got = [row for part in parts for batch in pq.read_table(part).to_batches() for row in oracle.read(batch)]
            until = -math.inf if arrivals.newest is None else oracle.end(arrivals.newest)
            expected = list(oracle.answers(arrivals.kept, -math.inf, until))
            if oracle.query.get("answers") == "changes":
                Table(oracle).compare(got, expected, -math.inf, until)
            else:
                compare(got, expected)
        except Exception as error:
            error.add_note(f"as a job where {condition}: {oracle.query} {oracle.backends}")
            raise
    return 1


def write_job(folder: Path, oracle: Oracle, rows: list[Row], condition: str) -> None:
    """Write rows into some files, and a job that reads them."""
    schema = pa.schema(oracle.types)
    (folder / "rows").mkdir()
    cuts = sorted({0, oracle.random.randint(0, len(rows)), len(rows)})
    for number, (begin, end) in enumerate(zip(cuts, [*cuts[1:], len(rows)], strict=True)):
        part = pa.Table.from_batches([batch_of(rows[begin:end], schema)])
        pq.write_table(part, folder / "rows" / f"{number}.parquet")
    tables = {
        "source": {"format": "parquet", "path": "rows", "where": condition},
        "query": oracle.query,
        "backends": oracle.backends,
        "sink": {"format": "parquet", "path": "answers"},
    }
    lines = []
    for name, table in tables.items():
        lines += [f"[{name}]", *(f"{key} = {toml(value)}" for key, value in table.items())]
    (folder / "job.toml").write_text("\n".join(lines))


def toml(value: Any) -> str:
    """A value of TOML."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {toml(each)}" for key, each in value.items()) + " }"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else repr(value)
