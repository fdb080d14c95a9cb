"""One row of a far time among others: what it asks for is refused in words, and takes no memory."""

import datetime as dt
import resource

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from families import SECOND, events, family
from in_process_shards import on_shards
from skyband import EngineError
from skyband.cli.commands import group
from skyband.engines import local
from skyband.engines.local import LocalRun
from small_group_queries import at_most

FAR = dt.datetime(9999, 1, 1, tzinfo=dt.UTC)
ROWS = pa.table(
    {
        "ts": pa.array([dt.datetime(2026, 1, 1, tzinfo=dt.UTC), FAR], pa.timestamp("us", "UTC")),
        "who": ["a", "b"],
        "amount": [1.0, 2.0],
        "place": ["x", "x"],
    }
)
KINDS = {
    "distinct-count": {"item": "who"},
    "heavy-hitters": {"object": "who", "k": 2, "rest": True},
    "quantiles": {"value": "amount", "at": [0.5]},
}
ZERO = {"windows": ["1 hour"], "every": "1 minute", "empty": "zero"}
EVER = {"windows": ["ever"], "every": "1 minute"}
FINE = {"windows": ["1 hour"], "every": "1 microsecond"}
CASES = [
    (kind, by, keys)
    for kind in KINDS
    for by in ([], ["place"])
    for keys in (ZERO, EVER, FINE)
    if kind != "quantiles" or keys is not ZERO
]


@pytest.mark.parametrize(("kind", "by", "keys"), CASES)
def test_a_row_of_the_year_9999_is_named_with_the_remedy_and_takes_no_memory(kind, by, keys):
    query = {"kind": kind, "time": "ts", "by": by, **KINDS[kind], **keys}
    local.apply(ROWS.slice(0, 1), query | {"every": "1 minute"})  # compiled, and so in memory
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    remedy = "moments are due from .*: set query.ahead" if keys is FINE else "moments are due .* to 9999-01-01.*ahead"
    with pytest.raises(EngineError, match=f"{remedy}.*the latest row is at 9999-01-01 00:00:00"):
        local.apply(ROWS, query)
    run = LocalRun.start(query, ROWS.schema)
    with pytest.raises(EngineError, match="the latest row is at 9999"):
        run.push(ROWS.to_batches()[0])
        run.flush()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000, "kilobytes"
    if keys is not FINE:
        run = LocalRun.start(query | {"ahead": "1 day"}, ROWS.schema)
        run.push(ROWS.to_batches()[0])
        run.flush()
        assert run.operator.take_metrics().dropped == {"ahead": 1}


RULED = {
    "distinct-count": {"item": "who", "windows": [], "every": "1 minute"},
    "heavy-hitters": {"object": "who", "k": 2, "windows": [], "every": "1 microsecond"},
    "quantiles": {"value": "amount", "at": [0.5], "windows": [], "every": "1 minute"},
}


@pytest.mark.parametrize("most", [0, 512], ids=["processors", "small groups"])
@pytest.mark.parametrize("by", [[], ["place"]], ids=["all", "by"])
@pytest.mark.parametrize("kind", RULED)
def test_a_rule_that_answers_each_microsecond_is_refused_and_takes_no_memory(kind, by, most, monkeypatch):
    at_most(most, monkeypatch)
    query = {"kind": kind, "time": "ts", "by": by, "longest": "1 hour", **RULED[kind]}
    rules = {slide: pa.table({"name": ["r"], "window": ["1 hour"], "slide": [slide]}) for slide in SLIDES}
    near = ROWS.slice(0, 1)
    assert len(local.apply(near, query, rules=rules["1 minute"]))  # compiled, and so in memory
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(EngineError, match=r"moments are due from 2026-01-01 00:00:00 .*slide of a rule; the latest"):
        local.apply(ROWS, query, rules=rules["1 microsecond"])
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000, "kilobytes"


SLIDES = ("1 minute", "1 microsecond")
JOB = """
[source]
format = "csv"
path = "rows"
schema = "ts TIMESTAMP, who STRING"
stream = {stream}

[query]
kind = "distinct-count"
time = "ts"
item = "who"
every = "1 minute"
windows = ["1 hour"]
{keys}

[sink]
format = "csv"
path = "answers"
"""
STREAM = 'checkpoint = "c"\ntrigger = "available-now"\n'


@pytest.mark.parametrize(
    ("stream", "keys", "warns"),
    [
        (True, 'empty = "zero"', True),
        (True, 'empty = "zero"\nahead = "1 day"', False),
        (True, "", False),
        (False, 'empty = "zero"', False),
    ],
)
def test_check_warns_of_a_stream_that_answers_for_ever_without_ahead(stream, keys, warns, tmp_path):
    (tmp_path / "rows").mkdir()
    (tmp_path / "rows" / "a.csv").write_text("2026-01-01 00:00:00,a\n")
    text = JOB.format(stream=str(stream).lower(), keys=keys) + (STREAM if stream else "")
    (tmp_path / "job.toml").write_text(text)
    result = CliRunner().invoke(group, ["check", str(tmp_path / "job.toml")])
    assert result.exit_code == 0, result.output
    assert ("warning: groups answer at every moment for ever" in result.output) == warns


@pytest.mark.parametrize("kind", ["near-duplicates", "top-k-pairs", "uncertain-join", "distinct-count"])
@pytest.mark.parametrize("shards", [2, 3, 4])
def test_a_row_that_is_far_ahead_is_counted_once_whatever_shards_it_goes_to(kind, shards):
    table = events(7, 300)
    times = table.column("ts").cast(pa.int64()).to_numpy().copy()
    far = np.arange(len(times)) % 29 == 3
    times[far] += 10_000 * SECOND * (1 + np.arange(far.sum()))
    rows = table.set_column(0, "ts", pa.array(times).cast(table.schema.field("ts").type))
    query = family(kind, ahead="1 hour")
    run = LocalRun.start(query, rows.schema)
    run.push(rows.combine_chunks().to_batches()[0])
    expected = run.operator.take_metrics().dropped["ahead"]
    _, metrics = on_shards(rows, query, shards, batches=4)
    assert sum(one.dropped.get("ahead", 0) for of_shard in metrics for one in of_shard) == expected > 5
