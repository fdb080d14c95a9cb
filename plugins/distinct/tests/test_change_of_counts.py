"""How counts have changed between two states, and `skyband ask --against`: compared with sets of items."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from skyband import states
from skyband.cli.commands import group
from skyband.engines import local
from skyband.errors import InputError

HOUR = 3_600_000_000
QUERY = {"kind": "distinct-count", "time": "ts", "item": "who", "windows": ["1 hour"], "every": "1 hour"}


def visits(rows=3_000, hours=6):
    rng = np.random.default_rng(1)
    times = np.sort(rng.integers(0, hours * HOUR, rows))
    who = rng.integers(0, 200, rows) + 60 * (times // HOUR)
    shop = np.where(times < HOUR, 0, rng.integers(0, 3, rows))
    return pa.table({"ts": pa.array(times, pa.timestamp("us", "UTC")), "who": who, "shop": shop})


def items(table, hour, shops=(0, 1, 2)):
    """The distinct items of the hour that ends at this one, in these shops."""
    times, who, shop = (table[name].to_numpy() for name in ("ts", "who", "shop"))
    inside = (times.astype("datetime64[h]").astype(int) == hour - 1) & np.isin(shop, shops)
    return float(len(set(who[inside].tolist())))


@pytest.fixture(scope="module")
def table():
    return visits()


@pytest.fixture(scope="module")
def path(table, tmp_path_factory):
    emitted = local.apply(table, QUERY | {"by": ["shop"], "emit": "state"}, {"sketch": "exact"})
    file = tmp_path_factory.mktemp("states") / "states.parquet"
    pq.write_table(emitted, file)
    return file


def asked(path, *options):
    return CliRunner().invoke(group, ["ask", str(path), *map(str, options)])


def test_a_change_has_the_columns_of_a_query_with_against(table):
    emitted = local.apply(table, QUERY | {"emit": "state"})["state"].to_pylist()
    told = local.apply(table, QUERY | {"against": "2 hours"}).to_pylist()
    found = states.change(emitted[5], emitted[3], last="1 hour")
    assert found._asdict() == {name: told[5][name] for name in found._fields}
    assert found == states.change(emitted[5], emitted[3])
    assert states.change(emitted[5], emitted[3], last="10 minutes").difference != found.difference


def test_nothing_before_has_no_ratio(table):
    later = table.filter(pa.compute.greater_equal(table["who"], 300))
    emitted = local.apply(later, QUERY | {"emit": "state", "windows": ["3 hours"]})["state"].to_pylist()
    found = states.change(emitted[-1], emitted[0], last="1 microsecond")
    assert found.previous == 0 and found.ratio is None


@pytest.mark.parametrize(
    ("backend", "message"),
    [
        ("exact", "is of sketch/exact, the first of sketch/k-skb"),
        ({"name": "k-skb", "epsilon": 0.2}, "has epsilon = 0.2"),
    ],
)
def test_states_of_other_parameters_are_refused_by_name(table, backend, message):
    first, other = (
        local.apply(table, QUERY | {"emit": "state"}, {"sketch": own})["state"][0].as_py() for own in ("k-skb", backend)
    )
    with pytest.raises(InputError, match=f"right.*{message}"):
        states.change(first, other, last="1 hour")


def test_the_command_compares_each_group_with_its_state_before(table, path):
    ran = asked(path, "--against", "3 hours", "--json")
    answers = json.loads(ran.stdout)
    assert ran.exit_code == 0 and (answers["at"], answers["against"]) == ("1970-01-01 06:00:00", "1970-01-01 03:00:00")
    found = {row["shop"]: (row["count"], row["previous"], row["difference"]) for row in answers["answers"]}
    truth = {shop: (items(table, 6, [shop]), items(table, 3, [shop])) for shop in range(3)}
    assert found == {shop: (now, before, now - before) for shop, (now, before) in truth.items()}


def test_the_command_unites_both_sides(table, path):
    ran = asked(path, "--against", "3 hours", "--union", "--last", "1 hour", "--question", "change", "--json")
    (row,) = json.loads(ran.stdout)["answers"]
    assert (row["count"], row["previous"]) == (items(table, 6), items(table, 3))


def test_the_command_takes_another_table(table, path, tmp_path):
    newest = pq.read_table(path)
    pq.write_table(newest.filter(pa.compute.equal(newest["at"], newest["at"][0])), tmp_path / "old.parquet")
    ran = asked(path, "--against", tmp_path / "old.parquet")
    lines = ran.stdout.splitlines()
    assert lines[0].split() == ["shop", "last", *states.Change._fields]
    assert [line.split()[0] for line in lines[1:]] == ["0"]
    assert "left out: groups with a state at one of the two moments only, 2" in ran.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--against", "week"], "against: must be a length such as \"7 days\", or files of states (got 'week')"),
        (["--against", "9 hours"], "against: there is no state at 1969-12-31 21:00:00; the nearest are at"),
        (["--against", "9 rows"], "against: must be in time, as the windows of these states are (got 9 rows)"),
        (["--question", "change"], 'question: compares two states: add --against "7 days"'),
        (["--against", "1 hour", "--question", "estimate"], "do not answer 'estimate'"),
        (["--against", "1 hour", "--distance", "ks"], "belongs to the question distance, but these are states of"),
        (["--distance", "ks"], "belongs to the question distance, but these are states of"),
    ],
)
def test_impossible_comparisons_are_refused_with_the_remedy(path, options, message):
    ran = asked(path, *options)
    assert ran.exit_code != 0
    assert message in ran.stderr
