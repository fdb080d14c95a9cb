"""A job of detections that is killed at random moments, with rules on their way, writes each alert once."""

import json
import os
import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from skyband.cli.commands import group
from skyband.engines.local import LocalRun
from skyband.queries import make_query

from .. import faults

pytestmark = pytest.mark.spark

DETECTIONS = """
kind = "detections"
time = "ts"
delay = "5 seconds"
keys = [["who"], ["place", "who"], []]
keep = [{ key = ["who"], most = 8, longest = "1 minute" }]
carry = ["place"]
rules = { path = "rules/", format = "json", stream = true, options = { maxFilesPerTrigger = 1 } }
"""
QUERY = {
    "kind": "detections", "time": "ts", "delay": "5 seconds", "keys": [["who"], ["place", "who"], []],
    "keep": [{"key": ["who"], "most": 8, "longest": "1 minute"}], "carry": ["place"],
}  # fmt: skip


def rules_of(number: int) -> list[dict]:
    """The rules that come with the file of this number: new ones, changed ones, and the end of one."""
    chance = random.Random(number)
    rule = {"measure": "rows", "key": ["who"], "window": "30 seconds", "at_least": chance.choice((4, 5, 8))}
    pairs = rule | {"key": ["place", "who"], "at_least": 2, "window": "20 seconds", "where": "place <> 'place 3'"}
    rules = [
        rule | {"name": f"rule {number % 5}", "silence": "40 seconds"},
        pairs | {"name": f"pair {number % 3}"},
        rule | {"name": f"all {number % 2}", "key": [], "measure": "distinct who", "at_least": 60, "tell": "each"},
    ]
    return [*rules, *([{"name": f"rule {(number - 2) % 5}"}] if number > 3 else [])]


def lines(rules: list[dict]) -> str:
    return "".join(json.dumps(rule) + "\n" for rule in rules)


@pytest.mark.parametrize("kills", [1, pytest.param(20, marks=pytest.mark.slow)])
def test_alerts_of_a_killed_job_are_those_of_a_calm_one(session, tmp_path, kills):
    """Each batch has a file of rows and one of rules, so that it is known which rows a rule comes before.

    A job that is killed when Spark has listed the next file, but not yet logged the batch, reads two of them at once.
    """
    files = kills + 4
    faults.write_source(tmp_path / "source", files=files)
    (tmp_path / "rules").mkdir()
    for number in range(files):
        path = tmp_path / "rules" / f"{number:02}.json"
        path.write_text(lines(rules_of(number)))
        os.utime(path, (1_000_000_000 + number,) * 2)
    job = faults.write_job(tmp_path, "killed")
    text = job.read_text()
    start, end = text.index("[query]\n") + len("[query]\n"), text.index("[sink]")
    job.write_text(text[:start] + DETECTIONS + "\n" + text[end:])
    chance, done, ends = random.Random(kills), 0, {}
    for _ in range(kills):
        process = faults.start(job)
        try:
            done += faults.after_next_commit(process, tmp_path / "checkpoint of killed", chance.uniform(0, 1.0))
        finally:
            if process.poll() is None:
                faults.kill_group(process)
        ends |= ends_of(tmp_path / "checkpoint of killed")
    ran = CliRunner().invoke(group, ["run", str(job)])
    assert ran.exit_code == 0, ran.stderr
    assert 2 * done >= kills, "most kills hit a job that runs"
    written = [row.asDict() for row in session.read.parquet(str(tmp_path / "killed")).collect()]
    assert plain(written) == plain(calm(tmp_path / "source", batches_of(ends, files)))
    assert {row["rule"].split()[0] for row in written} == {"rule", "pair", "all"}


def ends_of(checkpoint: Path) -> dict[int, tuple[int, int]]:
    """The last file of rows, and of rules, of each batch that the checkpoint still has in its log."""
    ends = {}
    for path in (checkpoint / "offsets").glob("[0-9]*"):
        rows, rules = (json.loads(line)["logOffset"] for line in path.read_text().splitlines()[-2:])
        ends[int(path.name)] = rows, rules
    return ends


def batches_of(ends: dict[int, tuple[int, int]], files: int) -> list[tuple[range, range]]:
    """The files of rows, and of rules, of each batch; after the last that is known they come one at a time."""
    batches, before = [], (-1, -1)
    while before[0] < files - 1:
        last = ends.get(len(batches)) or tuple(min(end + 1, files - 1) for end in before)
        batches.append(tuple(range(start + 1, end + 1) for start, end in zip(before, last, strict=True)))
        before = last
    return batches


def calm(folder: Path, batches: list[tuple[range, range]]) -> list[dict]:
    """The answers of a stream in this process that gets the same files, nobody disturbing it."""
    answers, run = [], None
    for places, changes in batches:
        table = pa.concat_tables(pq.read_table(folder / f"{place:02}.parquet") for place in places)
        (rows,) = table.combine_chunks().to_batches()
        run = run or LocalRun.start(make_query(QUERY), rows.schema)
        run.broadcast(pa.table({"value": [json.dumps(rule) for number in changes for rule in rules_of(number)]}))
        answers.append(run.push(rows))
    return pa.Table.from_batches(answers).to_pylist()


def plain(rows: list[dict]) -> list[tuple]:
    others = ("rule", "key", "value", "place")
    return sorted((round(row["time"].timestamp() * 1e6), *map(row.get, others)) for row in rows)
