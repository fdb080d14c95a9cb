"""States of row-features, asked for the features of any later moment, compared with the definition of each."""

from datetime import timedelta

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from cut_run import cut_run
from features_by_hand import EPOCH, FEATURES, QUERY, answered, stream, value_of
from skyband import states
from skyband.engines import local
from skyband.errors import ConfigError, InputError, SnapshotError
from skyband.queries import make_query
from skyband.snapshot import decode, encode

STATES = {key: value for key, value in QUERY.items() if key != "carry"} | {
    "by": ["group"],
    "windows": ["4 seconds", "20 seconds"],
    "features": FEATURES,
    "emit": "state",
    "every": "5 seconds",
}
MICROSECOND = timedelta(microseconds=1)


def by_hand(rows, now):
    """The features of rows of one group at a moment, over what was before it."""
    values = {}
    for feature in [{"of": "count"}, *FEATURES]:
        name = feature.get("name") or "_".join(filter(None, [feature.get("column"), feature["of"].replace("-", "_")]))
        for window in feature.get("windows", STATES["windows"]):
            length = timedelta(seconds=int(window.split()[0]))
            inside = [row for row in rows if now - length <= row["t"] < now]
            values[f"{name}_{window.replace(' ', '_')}"] = value_of(feature, inside, now)
    return values


@pytest.mark.filterwarnings("ignore:.* rows have a value")
@pytest.mark.parametrize("seed", range(8))
def test_a_state_has_the_features_of_each_later_moment(seed):
    """Also of a moment at which a row just leaves a window, and long after all have left."""
    rng = np.random.default_rng([71, seed])
    rows = stream(rng).drop_columns(["number"])
    query = STATES | {"before": bool(seed % 2), "emit": ["state", "changed-state"][seed // 2 % 2]}
    emitted = local.apply(rows, query)
    entries = rows.to_pylist()
    span = timedelta(seconds=20 if query["emit"] == "state" else 5)  # news is what came since the moment before
    steps = range(1, (pc.max(emitted["at"]).as_py() - EPOCH) // timedelta(seconds=5) + 1)
    due = {
        (row["group"], at)
        for row in entries
        for at in (EPOCH + step * timedelta(seconds=5) for step in steps)
        if at - span <= row["t"] < at
    }
    assert {(answer["group"], answer["at"]) for answer in emitted.to_pylist()} == due
    for answer in emitted.to_pylist():
        before = [row for row in entries if row["group"] == answer["group"] and row["t"] < answer["at"]]
        last = max(row["t"] for row in before)
        nows = [answer["at"], last + timedelta(seconds=20), last + timedelta(seconds=20) + MICROSECOND]
        nows.append(answer["at"] + timedelta(seconds=float(rng.integers(0, 30))) + int(rng.integers(2)) * MICROSECOND)
        for now in nows:
            if now >= answer["at"]:
                assert states.features(answer["state"], now=now) == by_hand(before, now)
    shuffled, _ = cut_run(rows, query, rng)
    in_order = [("at", "ascending"), ("group", "ascending")]
    assert shuffled.sort_by(in_order).equals(emitted.sort_by(in_order))


@pytest.mark.filterwarnings("ignore:.* rows have a value")
def test_a_state_answers_what_a_row_then_would_get():
    rows = stream(np.random.default_rng(5), 40)
    (now,) = [EPOCH + timedelta(seconds=93)]
    query = QUERY | {key: STATES[key] for key in ("windows", "features", "by")} | {"before": True}
    asked = pa.Table.from_pylist([{"t": now, "number": 100 + group, "group": group} for group in range(3)], rows.schema)
    wanted = answered(local.apply(pa.concat_tables([rows, asked]), query))
    emitted = local.apply(rows, STATES).to_pylist()
    assert {answer["group"] for answer in emitted if answer["at"] >= EPOCH + timedelta(seconds=90)} == {0, 1, 2}
    for answer in emitted:
        if answer["at"] >= EPOCH + timedelta(seconds=90) and answer["at"] <= now:
            got = states.features(answer["state"], now=now)
            row = wanted[100 + answer["group"]]
            assert {name: got[name] for name in got if name in row} == {name: row[name] for name in row if name in got}


@pytest.mark.filterwarnings("ignore:.* rows have a value")
@pytest.mark.parametrize("emit", ["state", "changed-state"])
def test_states_of_groups_are_those_of_each_alone(emit):
    """Byte for byte: those of many groups are made together, by their rows and the widths of their numbers."""
    rows = stream(np.random.default_rng(12), 150).drop_columns(["number", "group"])
    rows = rows.append_column("group", pa.array(np.minimum(np.arange(150) % 64, 40)))
    query = STATES | {"emit": emit, "windows": ["9 seconds"]}
    if emit == "state":
        query["features"] = [one for one in FEATURES if one["of"] not in ("min", "last", "first")]
    together = local.apply(rows, query)
    sizes = {len(state.as_py()) for state in together["state"]}
    assert len(sizes) > 4 and len(together) > 2 * len(sizes) > 8, "states of one shape, and of several"
    for group in pc.unique(rows["group"]):
        own = together.filter(pc.equal(together["group"], group)).select(["at", "state"])
        alone = local.apply(rows.filter(pc.equal(rows["group"], group)), query | {"by": []})
        assert own.slice(0, len(alone)).equals(alone)
        assert all(at > alone["at"][-1].as_py() for at in own["at"].to_pylist()[len(alone) :]), "to the end of all"


@pytest.mark.filterwarnings("ignore:.* rows have a value")
def test_states_of_several_groups_answer_as_one_group_with_all_rows():
    rows = stream(np.random.default_rng(8), 60)
    emitted = local.apply(rows, STATES)
    at = pc.max(emitted["at"]).as_py()
    together = emitted.filter(pc.equal(emitted["at"], at))["state"]
    assert len(together) > 1
    entries = [row for row in rows.to_pylist() if row["t"] < at]
    now = at + timedelta(seconds=3)
    assert states.features(together, now=now) == by_hand(entries, now)
    with pytest.raises(InputError, match=r"states: of query/row-features cannot be united: .* asked together"):
        states.union(together)


@pytest.mark.parametrize("emit", ["state", "changed-state"])
@pytest.mark.parametrize("by", [["group"], []])
def test_the_states_of_a_stream_in_small_pieces_are_those_of_the_whole(by, emit):
    """A row each second, so that at each moment a row is just as old as the window."""
    seconds = np.arange(60)
    rows = pa.table({"t": pa.array(seconds, pa.timestamp("s")), "group": seconds % 7 // 6, "paid": seconds / 100})
    query = {"kind": "row-features", "time": "t", "by": by, "windows": ["20 seconds"], "sums": "paid"}
    query |= {"emit": emit, "every": "5 seconds"}
    run = local.LocalRun.start(query, rows.schema)
    pieces = [*(run.push(batch) for batch in rows.to_batches(max_chunksize=3)), run.finish()]
    order = [("at", "ascending"), *((name, "ascending") for name in by)]
    assert pa.Table.from_batches(pieces).sort_by(order).equals(local.apply(rows, query).sort_by(order))


def test_a_state_gives_back_each_bit_of_a_float():
    """Floats of few decimals are kept as whole numbers: their neighbours, and those beyond 2^53 of these, are not."""
    decimals = np.array([0.1, 0.3, 1.15, 900.01, 2.0**53, 2.0**53 / 100, 12.3456, 5e-324, 0.0])
    values = np.concatenate([decimals, np.nextafter(decimals, 1e9), -np.nextafter(decimals, -1e9), -decimals])
    rows = pa.table({"t": pa.array(np.arange(len(values)), pa.timestamp("s")), "v": values, "key": values})
    query = {"kind": "row-features", "time": "t", "windows": ["1 hour"], "emit": "state", "every": "1 hour"}
    query |= {"features": [{"of": "last", "column": "v", "k": len(values)}]}
    (whole,) = local.apply(rows, query)["state"].to_pylist()
    kept = states.features(whole)["v_last_1_hour"][::-1]
    wanted = (values + 0.0).tolist()  # one zero
    assert np.array(kept).tobytes() == np.array(wanted).tobytes()
    alone = local.apply(rows, query | {"by": ["key"]})
    assert {states.features(row["state"])["v_last_1_hour"][0] for row in alone.to_pylist()} == set(wanted)


def test_a_state_says_what_it_is_and_takes_few_bytes():
    size = 3000
    rng = np.random.default_rng(9)
    table = pa.table(
        {
            "t": pa.array(np.sort(rng.integers(0, 29 * 86_400, size)), pa.timestamp("s")),
            "cents": np.round(rng.gamma(2, 30, size), 2),
            "shop": pa.array([f"shop {number}" for number in rng.integers(0, 200, size)]),
        }
    )
    features = [{"of": "max", "column": "cents"}, {"of": "last", "column": "shop"}]
    query = {"kind": "row-features", "time": "t", "windows": ["1 day", "30 days"], "every": "30 days"}
    emitted = local.apply(table, query | {"features": features, "emit": "state"})
    blob = emitted["state"][0].as_py()
    said = states.describe(blob)
    assert (said.backend, said.retained, said.since) == ("query/row-features", size, 0)
    assert said.nbytes / size < 8
    assert states.features(blob, feature="shop_last_30_days") == {"shop_last_30_days": table["shop"][-1].as_py()}


def _state():
    rows = pa.table({"t": pa.array([0, 20], pa.timestamp("s")), "paid": [5.5, 7], "shop": ["a", None], "n": [1, None]})
    query = {"kind": "row-features", "time": "t", "windows": ["1 minute"], "distinct": "shop", "unit": 0.5}
    features = [{"of": of, "column": "n"} for of in ("max", "sum")] + [{"of": "last", "column": "shop"}]
    query |= {"features": features, "sums": "paid", "emit": "state", "every": "1 minute"}
    return local.apply(rows, query)["state"][0].as_py()


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"now": "1970-01-01 00:00:59.999999"}, "now: .* is before 1970-01-01 00:01:00, the moment of this state"),
        ({"now": "tomorrow"}, 'now: must be a moment: text|now: must be a moment such as "2026-11-22'),
        (
            {"feature": ["paid_min_1_minute"]},
            "feature: the state does not keep 'paid_min_1_minute': add it.*; did you mean 'paid",
        ),
        ({"feature": 3}, r"feature: must be a list of columns, such as \[\"count_1_hour\"\] \(got 3\)"),
        ({"last": "1 minute"}, "last: features has the windows of the query that made the state: leave it out"),
        ({"since": 0}, "since: features has the windows of the query"),
    ],
)
def test_wrong_questions_are_refused(asked, message):
    with pytest.raises(InputError, match=message):
        states.features(_state(), **asked)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"every": None}, "every: is required with `emit`"),
        ({"emit": None}, "every: row-features answers each row when it arrives: drop this, or set emit"),
        ({"every": "5 rows"}, "every: must be a length of time"),
        ({"carry": ["number"]}, r"carry: has no row to return columns of with `emit`.*\(got \['number'\]\)"),
        ({"answers": "changes"}, "answers: cannot be combined with `emit`"),
    ],
)
def test_wrong_keys_are_refused(keys, message):
    with pytest.raises(ConfigError, match=message):
        local.LocalRun.start(STATES | keys, stream(np.random.default_rng(0), 3).schema)


def test_a_stream_does_not_start_from_such_states():
    query = make_query(STATES)
    assert query.named_backends
    from skyband.groups.execution import execution_of
    from skyband.states.state import read_state

    (problem,) = execution_of(query).state_problems(read_state(_state()), stream(np.random.default_rng(0), 3).schema)
    assert "cannot start from a table of states" in problem.message


def test_a_state_that_contradicts_itself_is_refused():
    """Each array, replaced by others of its type, gives SnapshotError or a state that answers."""
    good = decode(_state())
    rng = np.random.default_rng(4)
    refused = 0
    for name, array in good.arrays.items():
        highest = np.full(len(array), 255) if array.dtype == np.uint8 else np.full(len(array), 2**62)
        for other in (array[:-1], np.append(array, array), highest, rng.integers(-5, 9, len(array))):
            changed = dict(good.arrays) | {name: np.asarray(other).astype(array.dtype)}
            try:
                states.features(encode(good.header, changed))
            except SnapshotError:
                refused += 1
        del name
    assert refused > 25
