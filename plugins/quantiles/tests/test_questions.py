"""States of quantiles answer any quantile, share and window later, alone and united: as counted by hand."""

import json
from datetime import timedelta
from decimal import Decimal
from importlib.util import find_spec

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from skyband import states
from skyband.cli.commands import group
from skyband.engines import local
from skyband.errors import InputError
from skyband_quantiles.conformance.oracle import QuantileOracle

START, MINUTE = 1_760_000_400_000_000, 60_000_000
QUERY = {"kind": "quantiles", "time": "ts", "value": "millis", "every": "15 minutes", "by": "place", "emit": "state"}
QUERY |= {"windows": ["1 hour"], "above": [400]}
AT = (0.5, 0.07, 0.99, 0.999)
ABOVE = (400.0, 12.5)


@pytest.fixture(scope="module")
def log():
    rng = np.random.default_rng(5)
    rows = 24_000
    return pa.table(
        {
            "ts": pa.array(np.sort(rng.integers(0, 120 * MINUTE, rows)) + START, pa.timestamp("us", "UTC")),
            "millis": np.exp(rng.normal(3.6, 1.2, rows)).round(1),
            "place": rng.choice(["search", "cart", "home"], rows, p=[0.79, 0.2, 0.01]),
        }
    )


@pytest.fixture(scope="module", params=["buckets", "exact", "k-skb"])
def table(request, log):
    return local.apply(log, QUERY, {"quantile-sketch": request.param}), request.param


def newest(table):
    last = max(table["at"].to_pylist())
    rows = [row for row in table.to_pylist() if row["at"] == last]
    return last, {row["place"]: row["state"] for row in rows}


def truth(log, places, end, minutes):
    times = log["ts"].cast(pa.int64()).to_numpy()
    end = int(end.timestamp() * 1_000_000)
    inside = np.isin(log["place"].to_pylist(), places) & (times >= end - minutes * MINUTE) & (times < end)
    return QuantileOracle(times[inside], log["millis"].to_numpy()[inside]).answer(0, 2**62, AT, ABOVE)


@pytest.mark.parametrize("minutes", [5, 37, 60])
@pytest.mark.parametrize("places", [["search"], ["home"], ["search", "cart", "home"]])
def test_bounds_contain_the_truth(table, log, places, minutes):
    held, backend = table
    at, blobs = newest(held)
    found = states.quantiles([blobs[place] for place in places], last=f"{minutes} minutes", q=AT, above=ABOVE)
    rows, quantiles, shares = truth(log, places, at, minutes)
    assert found["quantile"].to_pylist() == [*AT, None, None]
    assert found["above"].to_pylist() == [None] * 4 + list(ABOVE)
    for row, (true, *_) in zip(found.to_pylist(), quantiles + shares, strict=True):
        assert row["low"] <= row["value"] <= row["high"]
        assert backend == "k-skb" or row["low"] <= true <= row["high"]
        assert backend == "k-skb" or row["rows"] == rows or minutes != 60
        if backend == "exact":
            assert (row["value"], row["rows"]) == (true, rows)
    united = states.union([blobs[place] for place in places])
    again = states.quantiles(united, last=f"{minutes} minutes", q=AT, above=ABOVE)
    for row, (true, *_) in zip(again.to_pylist(), quantiles + shares, strict=True):
        assert backend == "k-skb" or row["low"] <= true <= row["high"]


def test_a_single_quantile_and_share(table, log):
    at, blobs = newest(table[0])
    rows, (_, (true, *_), *_), _ = truth(log, ["home"], at, 60)
    assert states.quantile(blobs["home"], q=0.07) == (true, true, true, rows)
    assert states.quantile(blobs["home"], q=Decimal("0.07")) == (true, true, true, rows)
    share = states.share_above(blobs["home"], above=400)
    assert share.value == share.low == share.high
    assert states.quantile(blobs["home"], since=at) == (None, None, None, 0)
    assert states.quantiles(blobs["home"], since=at).num_rows == 0
    assert states.quantiles(blobs["home"]).column_names == ["quantile", "value", "low", "high", "rows"]
    assert states.quantiles(blobs["home"], above=[1]).column_names[0] == "above"


def test_impossible_questions_are_refused_with_the_remedy(table):
    _, blobs = newest(table[0])
    state = blobs["cart"]
    for ask, said in (
        (lambda: states.quantiles(state, q=[95]), r"q\[0\]: must be from 0 to 1: 0.95 for the 95th percentile"),
        (lambda: states.quantiles(state, q=[0.5, 0.5]), r"q\[1\]: is listed twice"),
        (lambda: states.quantile(state, q=0.9999999999), "q: must have at most nine decimals"),
        (lambda: states.quantiles(state, above=[float("nan")]), r"above\[0\]: must be a finite number"),
        (lambda: states.share_above(state), "above: is required: a number above which rows are counted, such as 400"),
        (lambda: states.quantile(state, last="2 hours"), "last"),
    ):
        with pytest.raises(InputError, match=said):
            ask()


def test_states_with_other_limits_are_not_united(log):
    other = local.apply(log, QUERY | {"above": [300]})
    with pytest.raises(InputError, match="has cuts = "):
        states.quantiles([newest(local.apply(log, QUERY))[1]["cart"], newest(other)[1]["cart"]])


def test_on_the_command_line(table, log, tmp_path):
    held, backend = table
    pq.write_table(held, tmp_path / "states.parquet")
    asked = ["ask", str(tmp_path / "states.parquet"), "--union", "--by", "place", "--last", "1 hour"]
    asked += ["-q", "0.07", "-q", "0.999", "--above", "400"]
    ran = CliRunner().invoke(group, [*asked, "--json"])
    assert ran.exit_code == 0, ran.stderr
    rows = [row for row in json.loads(ran.stdout)["answers"] if "place" not in row]
    assert [(row["quantile"], row["above"]) for row in rows] == [(0.07, None), (0.999, None), (None, 400)]
    count, quantiles, _ = truth(log, ["search", "cart", "home"], newest(held)[0], 60)
    if backend == "exact":
        assert [row["value"] for row in rows[:2]] == [quantiles[1][0], quantiles[3][0]]
        assert rows[0]["rows"] == count
    shown = CliRunner().invoke(group, asked).stdout
    assert "0.999" in shown and "above" in shown.splitlines()[0]
    wrong = CliRunner().invoke(group, ["ask", str(tmp_path / "states.parquet"), "-k", "3"])
    others = "k: belongs to the question heavy_hitters, but these are states of quantile-sketch/"
    alone = "No such option '-k'; it comes with skyband-totals"
    assert (others if find_spec("skyband_totals") else alone) in wrong.stderr
    infinite = CliRunner().invoke(group, [*asked, "-q", "1"])
    assert infinite.exit_code == 0 and ("inf" in infinite.stdout) == (backend == "k-skb")


def test_the_command_line_compares_each_group_with_its_state_before(table, tmp_path):
    held, backend = table
    pq.write_table(held, tmp_path / "states.parquet")
    moments = sorted(set(held["at"].to_pylist()))
    lag = (moments[-1] - moments[-3]) // timedelta(seconds=1)
    asked = ["ask", str(tmp_path / "states.parquet"), "--last", "30 minutes", "--against", f"{lag} seconds", "--json"]
    if backend == "k-skb":
        refused = CliRunner().invoke(group, asked)
        assert "of quantile-sketch/k-skb answer no question that gives columns" in refused.stderr
        return
    for more, keys in ((["--distance", "wasserstein"], {"of": "wasserstein"}), (["--bins", "200"], {"bins": [200.0]})):
        ran = CliRunner().invoke(group, [*asked, *more, *(["--distance", "psi"] if "bins" in keys else [])])
        assert ran.exit_code == 0, ran.stderr
        of = {"of": "psi", **keys}
        rows = {row.pop("place"): row for row in json.loads(ran.stdout)["answers"]}
        now, then = (
            {row["place"]: row["state"] for row in held.to_pylist() if row["at"] == at}
            for at in (moments[-1], moments[-3])
        )
        assert rows.keys() == now.keys() & then.keys()
        for place, row in rows.items():
            del row["last"]
            assert row == states.distance(now[place], then[place], last="30 minutes", **of)._asdict()
    wrong = CliRunner().invoke(group, [*asked, "--distance", "kl"])
    assert "must be one of ks, wasserstein, psi (got 'kl')" in wrong.stderr
