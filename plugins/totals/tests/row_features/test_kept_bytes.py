"""`skyband check` says what row-features keeps of a key, compared with the sizes of states."""

import re

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from skyband.engines import local
from skyband.queries import make_query
from skyband.queries.presentation import presentation_of

DAY = 86_400_000_000
QUERY = {"kind": "row-features", "time": "t", "by": "card", "windows": ["1 day", "2 days"], "delay": "0 seconds"}
FEATURES = {
    "plain": {"sums": "paid", "unit": 0.01},
    "fractions": {"features": [{"of": "max", "column": "paid"}, {"of": "share", "where": "paid > 30"}]},
    "text": {"features": [{"of": "last", "column": "shop"}], "distinct": "shop"},
}


def payments(cards, each):
    rng = np.random.default_rng(7)
    size = cards * each
    times = np.sort(rng.integers(0, 2 * DAY, size))
    times[[0, -1]] = 0, 2 * DAY - 1
    shops = [f"shop {number}" for number in rng.integers(0, 200, size)]
    paid, named = np.round(rng.gamma(2, 30, size), 2), [f"card {number:04}" for number in np.arange(size) % cards]
    return pa.table({"t": pa.array(times, pa.timestamp("us")), "card": named, "paid": paid, "shop": shops})


def number(pattern, text):
    found = re.search(pattern, text)
    assert found, text
    return float(found[1].replace(",", ""))


@pytest.mark.parametrize("emit", [{}, {"emit": "state", "every": "2 days"}])
@pytest.mark.parametrize("features", FEATURES)
def test_as_many_bytes_are_kept_as_are_said(features, emit):
    """400 keys, and all the rows of two days: within 3 % of the state, which has some KB besides."""
    rows, query = payments(400, 6), make_query(QUERY | FEATURES[features] | emit)
    sentence, *of_states = presentation_of(query).state_of_parts(lambda: rows)
    assert "with 6 rows" in sentence, sentence
    assert sentence.endswith("for 400 keys, judging by its first 2,400 rows")
    run = local.LocalRun.start(query, rows.schema)
    for batch in rows.to_batches():
        run.push(batch)
    run.operator.advance(2 * DAY - 1 + (1 if not emit else 0))
    size = len(run.operator.snapshot())
    said = number(r"rows?, ([\d,]+) for 400 keys", sentence)
    assert said * 0.97 <= size <= said * 1.03 + 4000, (said, size)
    assert said / 400 == pytest.approx(number(r"days: ([\d,]+) with", sentence), abs=1)
    if emit:
        sizes = np.array([len(state.as_py()) for state in local.apply(rows, query)["state"]])
        (sentence,) = of_states
        assert number(r"takes about ([\d,]+) bytes with 6 rows", sentence) == pytest.approx(np.median(sizes), abs=24)


def test_questions_rows_without_time_and_nothing_are_not_kept():
    rows = payments(4, 6)
    asked = rows.append_column("asked", pa.array([True, None, False] * 8))
    query = make_query(QUERY | {"by": [], "asks": "asked"})
    assert presentation_of(query).state_of_parts(lambda: None) == []
    assert presentation_of(query).state_of_parts(lambda: asked.slice(0, 1)) == []
    (sentence,) = presentation_of(query).state_of_parts(lambda: asked)
    assert "its state takes 8 bytes for each row of 2 days: 134 with 16.7 rows" in sentence
    (one,) = presentation_of(query).state_of_parts(lambda: asked.slice(1, 1))
    assert one == "its state takes 8 bytes for each row of 2 days, judging by its first 1 rows"


def test_check_says_it(tmp_path):
    from click.testing import CliRunner
    from skyband.cli.commands import group

    parquet.write_table(payments(400, 6), tmp_path / "payments.parquet")
    (tmp_path / "job.toml").write_text("""
[source]
format = "parquet"
path = "payments.parquet"

[query]
kind = "row-features"
time = "t"
by = ["card"]
windows = ["2 days"]
sums = ["paid"]
unit = 0.01

[sink]
format = "parquet"
path = "features"
""")
    ended = CliRunner().invoke(group, ["check", str(tmp_path / "job.toml")])
    assert ended.exit_code == 0, ended.output
    text = "a key takes 37 bytes in its state, and 16 for each of its rows of 2 days: 133 with 6 rows"
    assert f"{text}, 53,204 for 400 keys, judging by its first 2,400 rows" in ended.output
