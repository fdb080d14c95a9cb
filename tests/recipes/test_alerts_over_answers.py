"""Rules of detections over the answers of other queries: distances with certain bounds, and numbers of sightings."""

import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from skyband.cli.commands import group
from skyband.engines import local

HOUR = 3_600_000_000
LIMIT = 0.1
HOURS = 60
PAGE = Path(__file__).parents[2] / "core" / "docs" / "ask" / "changed.md"


@pytest.fixture(scope="module")
def scores():
    """Hours of scores of two models, each of which moves a few times, some hours without rows, few rows in others."""
    rng, columns = np.random.default_rng(3), []
    for model, moves in (("a", [7, 8, 30]), ("b", [20, 45, 46, 47])):
        shift = 0.0
        for hour in range(HOURS):
            shift += (hour in moves) * rng.choice([-0.6, 0.6])
            rows = int(rng.choice([0, 3, 900], p=[0.05, 0.1, 0.85]))
            times = np.sort(rng.integers(0, HOUR, rows)) + hour * HOUR
            columns.append((times, np.full(rows, model), rng.lognormal(shift, 1, rows)))
    times, models, values = (np.concatenate(column) for column in zip(*columns, strict=True))
    order = np.argsort(times, kind="stable")
    table = pa.table({"ts": pa.array(times, pa.timestamp("us", "UTC")), "model": models, "score": values})
    return table.take(order)


def distances(scores, backend):
    query = {"kind": "quantiles", "time": "ts", "value": "score", "by": ["model"], "distance": ["ks"]}
    query |= {"windows": ["1 hour"], "every": "1 hour", "against": "previous"}
    return local.apply(scores, query, {"quantile-sketch": backend})


def hour_of(moment):
    return round(moment.timestamp() * 1e6) // HOUR


def alerts(answers, column, **rule):
    rows = local.apply(answers, {"kind": "detections", "time": "at", "detections": [{"name": "it", **rule}]})
    return [(hour_of(row["time"]), row["key"]) for row in rows.sort_by([(column, "ascending")]).to_pylist()]


def crossings(hours, last, at_least):
    """The hours at which `at_least` of the last hours are in `hours`, and were not without this one."""
    return [
        hour
        for hour in sorted(hours)
        if sum(hour - last < other <= hour for other in hours) >= at_least
        and sum(hour - last < other < hour for other in hours) < at_least
    ]


@pytest.mark.parametrize("sketch", ["exact", {"name": "buckets", "alpha": 0.05, "epsilon": 0.5}])
def test_an_alert_on_low_is_never_false_and_one_on_high_misses_nothing(scores, sketch):
    truth = {
        (row["model"], hour_of(row["at"])): row["value"]
        for row in distances(scores, "exact").to_pylist()
        if row["value"] is not None
    }
    answers = distances(scores, sketch)
    far = {key for key, value in truth.items() if value > LIMIT}
    for bound, certain in (("low", True), ("high", False)):
        rule = {"where": f"{bound} > {LIMIT}", "key": ["model"], "window": "1 hour", "at_least": 1}
        found = {(key[11], hour) for hour, key in alerts(answers, "time", **rule)}
        assert found <= far if certain else far <= found
        assert len(found & far) > 5, "there is something to see"


@pytest.mark.parametrize("at_least", [1, 2, 3])
def test_a_rule_counts_hours_of_a_distance(scores, at_least):
    answers = distances(scores, "exact")
    rule = {"where": f"low > {LIMIT}", "key": ["model"], "window": "3 hours", "at_least": at_least}
    found = alerts(answers, "time", **rule)
    for model in "ab":
        over = {
            hour_of(row["at"])
            for row in answers.to_pylist()
            if row["model"] == model and row["low"] is not None and row["low"] > LIMIT
        }
        assert [hour for hour, key in found if key == f'{{"model": "{model}"}}'] == crossings(over, 3, at_least)


def test_the_jobs_of_the_page_give_the_alerts_of_its_rules(scores, tmp_path):
    """The first over a file of scores, the second over what that writes."""
    pq.write_table(scores, tmp_path / "rows.parquet")
    jobs = re.findall(r"^```toml\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    changes = [['source.path="rows.parquet"', 'query.against="previous"'], ["-source.idle_after"]]
    for number, (text, own) in enumerate(zip(jobs, changes, strict=True)):
        job = tmp_path / f"{number}.toml"
        job.write_text(text, "utf-8")
        sets = [f"--set={change}" for change in (*own, "source.stream=false", "-sink.checkpoint")]
        ran = CliRunner().invoke(group, ["run", str(job), "--engine", "local", *sets])
        assert ran.exit_code == 0, ran.output
    answers = pq.read_table(tmp_path / "drift").to_pylist()
    found = pq.read_table(tmp_path / "alerts").to_pylist()
    for model in "ab":
        own = [row for row in answers if row["model"] == model and row["distance"] == "ks"]
        far = {hour_of(row["at"]) for row in own if row["low"] is not None and row["low"] > 0.15}
        empty = [hour_of(row["at"]) for row in own if row["rows"] == 0]
        for rule, hours in (("scores moved", crossings(far, 3, 2)), ("no scores", empty)):
            alerts_of = [row for row in found if row["rule"] == rule and row["key"] == f'{{"model": "{model}"}}']
            assert sorted(hour_of(row["time"]) for row in alerts_of) == hours
    assert {row["rule"] for row in found} == {"scores moved", "no scores"}


@pytest.mark.parametrize("sketch", ["exact", "k-skb"])
def test_a_rule_takes_one_number_of_sightings(scores, sketch):
    """Alone by its text: rows of other numbers never count."""
    rng = np.random.default_rng(5)
    log = scores.append_column("who", pa.array(rng.integers(0, 400, len(scores)) // rng.integers(1, 40, len(scores))))
    query = {"kind": "distinct-count", "time": "ts", "item": "who", "by": ["model"], "seen": [1, 2, 10]}
    answers = local.apply(log, {**query, "windows": ["1 hour"], "every": "1 hour"}, {"sketch": sketch})
    often = [row for row in answers.to_pylist() if row["seen"] == "10+" and row["low"] >= 12]
    rule = {"where": "seen = '10+' AND low >= 12", "key": ["model"], "window": "1 hour", "at_least": 1}
    found = alerts(answers, "time", **rule)
    assert sorted(found) == sorted((hour_of(row["at"]), f'{{"model": "{row["model"]}"}}') for row in often)
    assert 10 < len(found) < len(answers) / 3
