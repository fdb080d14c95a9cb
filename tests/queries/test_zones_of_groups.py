"""Windows of the calendar with a zone for each group: as queries of one zone each would answer their groups."""

import datetime as dt
import random

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from in_process_shards import ShardedStream, on_shards
from skyband import ConfigError, InputError, snapshot
from skyband.engines import local
from skyband.engines.local import LocalRun
from skyband.errors import SnapshotError
from skyband.groups import state_arrays
from skyband.queries import make_query
from skyband.queries.zones_of_groups import in_zone
from skyband.watermark import EventTimeProgress

ZONES = ("America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "Pacific/Kiritimati", "Africa/Casablanca", "UTC")
HOUR = 3_600_000_000
KINDS = {
    "distinct-count": {"item": "name", "windows": ["today in {zone}", "1 day in {zone}", "5 hours"]},
    "heavy-hitters": {"object": "name", "k": 2, "windows": ["2 days in {zone}", "since 09:30 in {zone}"]},
    "quantiles": {"value": "value", "at": [0.5], "windows": ["today in {zone}"]},
    "top-k": {"object": "name", "stream": "origin", "streams": ["a", "b"], "value": "value", "k": 2}
    | {"window": "1 day in {zone}", "repeats": "latest"},
}
START = int(dt.datetime(2026, 10, 23, tzinfo=dt.UTC).timestamp()) * 1_000_000
"""Clocks go back in the days that follow, not on the same day everywhere."""


def rows(chance, count=120, days=9):
    """Rows in the order they come, none late."""
    times = sorted(
        START + int(chance.random() * days * 24) * HOUR + chance.choice([0, 0, 1, 12_345]) for _ in range(count)
    )
    shops = [chance.choice("abcd") for _ in times]
    return pa.table(
        {
            "ts": pa.array(times, pa.timestamp("us", "UTC")),
            "shop": shops,
            "zone": [chance.choice(ZONES[:3] if shop < "c" else ZONES) for shop in shops],
            "name": [chance.choice("xyz") for _ in times],
            "origin": [chance.choice("ab") for _ in times],
            "value": [chance.randrange(9) for _ in times],
        }
    )


def query(kind, zone=None, **keys):
    every = keys.pop("every", "1 day in {zone}" if kind in ("heavy-hitters", "top-k") else "12 hours")
    table = {"kind": kind, "time": "ts", "by": ["shop", "zone"], **KINDS[kind], **keys, "every": every}
    if kind == "distinct-count" and "every" not in keys:
        table["every"] = "1 day in {zone}"
    return table if zone is None else _in(table, zone)


def _in(value, zone):
    if isinstance(value, dict):
        return {key: _in(entry, zone) for key, entry in value.items()}
    if isinstance(value, list):
        return [_in(entry, zone) for entry in value]
    return value.replace("{zone}", zone) if isinstance(value, str) else value


def answers_of(table):
    """What is answered, as sortable rows without the names of windows, which the two ways give differently."""
    texts = ["window"] if "window" in table.column_names else []
    labels = {"window": [text.split(" in ")[0] for text in table["window"].to_pylist()]} if texts else {}
    columns = {name: labels.get(name, table[name].to_pylist()) for name in table.column_names}
    return sorted(zip(*columns.values(), strict=True), key=repr)


def fed(chance, kind, table):
    """The answers of a run that is cut, finished for a while, and restored from snapshots; and its turns."""
    run, parts, turns, place = LocalRun.start(make_query(query(kind)), table.schema), [], [], 0
    while place < len(table):
        batch = table.slice(place, count := chance.randrange(1, 30))
        if run.operator.watermark is not None:  # it was finished, and what is before its end would be late
            batch = batch.filter(pc.greater_equal(batch["ts"].cast(pa.int64()), run.operator.watermark))
        place += count
        turns.append(batch if len(batch) else None)
        parts.append(turn(run, turns[-1]))
        if chance.random() < 0.1:
            turns.append(None)
            parts.append(turn(run, None))
        if chance.random() < 0.3:
            blob = run.operator.snapshot()
            run = LocalRun.start(make_query(query(kind)), table.schema)
            run.operator.restore(blob)
            assert run.operator.snapshot() == blob
    turns.append(None)
    parts.append(turn(run, None))
    return answers_of(pa.Table.from_batches(parts)), turns


def turn(run, batch):
    """What a run answers to rows, or where there are none when it is finished for now."""
    return run.flush() if batch is None else run.push(batch.combine_chunks().to_batches()[0])


def of_each_zone(kind, schema, turns):
    """The answers of a query of each zone to the same turns, as far as they are of its own groups."""
    whole = []
    for zone in ZONES:
        run = LocalRun.start(make_query(query(kind, zone)), schema)
        whole += of_zone(pa.Table.from_batches([turn(run, batch) for batch in turns]), zone)
    return sorted(whole, key=repr)


def of_zone(answers, zone):
    return answers_of(answers.filter(pc.equal(answers["zone"].cast(pa.string()), zone)))


def compare(seed, kind):
    chance = random.Random(seed)
    table = rows(chance, chance.randrange(1, 120), chance.choice([2, 9, 40]))
    whole = [row for zone in ZONES for row in of_zone(local.apply(table, query(kind, zone)), zone)]
    assert answers_of(local.apply(table, query(kind))) == sorted(whole, key=repr)
    on_two, _ = on_shards(table, make_query(query(kind)), 2, batches=3)
    assert answers_of(on_two) == sorted(whole, key=repr)
    answers, turns = fed(chance, kind, table)
    assert answers == of_each_zone(kind, table.schema, turns)
    return len(whole)


@pytest.mark.parametrize("kind", KINDS)
def test_each_group_has_the_days_of_its_own_zone(kind):
    assert sum(compare(seed, kind) for seed in range(2)) > 30


@pytest.mark.parametrize("kind", KINDS)
def test_groups_keep_their_zones_as_they_move_between_shards(kind):
    """Other shards take the states over; what they then answer to time alone, the states must have kept."""
    for seed in range(3):
        chance = random.Random(seed)
        table, shards = rows(chance), [*[1, 3, 2, 4][seed:], 2]
        asked, parts, stream = make_query({**query(kind), "delay": "0 seconds"}), [], None
        size = -(-len(table) // len(shards))
        for number, count in enumerate(shards):
            following = ShardedStream(asked, count, table.schema)
            stream = following if stream is None else following.begin_from(stream)
            parts.append(stream.push(table.slice(number * size, size).combine_chunks()))
        last = table["ts"].cast(pa.int64())[-1].as_py()
        parts += [stream.step(EventTimeProgress([at], at)) for at in (last + 7 * HOUR, last + 300 * HOUR)]
        moved = answers_of(pa.concat_tables(parts))
        alone = ShardedStream(asked, 1, table.schema)
        whole = [alone.push(table), alone.step(EventTimeProgress([last + 300 * HOUR], last + 300 * HOUR))]
        assert moved == answers_of(pa.concat_tables(whole)), seed
        assert len(moved) > 20


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_thousands_of_streams(kind):
    assert sum(compare(seed, kind) for seed in range(10, 510)) > 20_000


def test_a_zone_is_let_go_with_its_last_group():
    """A turn costs a little for each zone, and zones come in a source's column."""
    asked = query("heavy-hitters", windows=["1 day in {zone}"])
    table = rows(random.Random(3), count=60, days=2)
    later = pc.add(table["ts"], pa.scalar(dt.timedelta(days=30)))
    last = table.set_column(0, "ts", later).set_column(2, "zone", pa.repeat("UTC", len(table)))
    run = LocalRun.start(asked, table.schema)
    held = []
    for some in (table, last):
        for batch in some.combine_chunks().to_batches():
            run.push(batch)
        held.append(sorted(run.operator.groups._of))
    assert held == [sorted({*table["zone"].to_pylist()}), ["UTC"]]


@pytest.mark.parametrize("kind", KINDS)
def test_answers_come_in_one_order_whichever_zone_came_first_or_was_restored(kind):
    first, later = rows(random.Random(4), count=6, days=1), rows(random.Random(5), count=40, days=1)
    later = later.set_column(0, "ts", pc.add(later["ts"], pa.scalar(dt.timedelta(days=5))))
    given = []
    for zones in (sorted(ZONES), sorted(ZONES)[::-1]):
        for restores in (False, True):
            at_once = first.slice(0, 1).set_column(1, "shop", pa.array(["a"]))
            run = LocalRun.start(make_query(query(kind)), first.schema)
            parts = []
            for second, zone in enumerate(zones):  # each in a turn of its own
                times = pc.add(at_once["ts"], pa.scalar(dt.timedelta(seconds=second)))
                parts += [turn(run, at_once.set_column(0, "ts", times).set_column(2, "zone", pa.array([zone])))]
            if restores:
                blob, run = run.operator.snapshot(), LocalRun.start(make_query(query(kind)), first.schema)
                run.operator.restore(blob)
            parts += [turn(run, later), turn(run, None)]
            given.append(pa.Table.from_batches(parts).to_pylist())
    assert given[0] and all(one == given[0] for one in given)


FARTHEST = ("Pacific/Kiritimati", "Etc/GMT+12", "Pacific/Chatham", "Asia/Kathmandu", *ZONES)


@pytest.mark.parametrize("unit", ["day", "week", "month", "year"])
def test_the_end_in_any_zone_is_that_of_each_or_later(unit):
    """Where a unit has just begun in a zone its next one is farthest."""
    asked = make_query(query("heavy-hitters", every=f"1 {unit} in {{zone}}", windows=[f"1 {unit} in {{zone}}"]))
    for zone in FARTHEST:
        begins = in_zone(asked, zone).schedule.between(START, START + 800 * 24 * HOUR)[:3].tolist()
        for latest in (begin + after for begin in begins for after in (-1, 0, 1, HOUR)):
            ends = [int(in_zone(asked, other).schedule.each_after(latest).max()) for other in FARTHEST]
            assert max(ends) <= asked.schedule.end_in_any_zone(np.array([latest]))[0], (zone, latest)


BACK = (("Antarctica/Casey", 1_267_714_800), ("Kwajalein", -7_988_400), ("Antarctica/Vostok", 760_035_600))
"""Clocks that were put back by 3, 23 and 7 hours, and when."""


@pytest.mark.parametrize(("zone", "jump"), BACK)
@pytest.mark.parametrize("every", ["1 day in {zone}", "5 hours", "1 week in {zone}"])
def test_a_finished_stream_has_the_answers_of_a_batch_where_a_clock_is_put_back_far(zone, jump, every):
    windows = ["today in {zone}", *(["1 day in {zone}"] if "in" in every else ["9 hours"])]
    keys = query("distinct-count", every=every, windows=windows)
    for hours in (-30, -25, -12, -4, -1, 0, 1, 4, 12):
        last = (jump * 1_000_000) + hours * HOUR
        table = pa.table(
            {
                "ts": pa.array([last - 3 * HOUR, last - 2 * HOUR, last], pa.timestamp("us", "UTC")),
                "shop": ["a"] * 3,
                "zone": [zone, "UTC", zone],
                "name": ["x", "y", "z"],
            }
        )
        run = LocalRun.start(make_query(keys), table.schema)
        parts = [run.push(table.to_batches()[0]), run.flush()]
        finished = pa.Table.from_batches([part for part in parts if len(part)]).to_pylist()
        whole = local.apply(table, keys).to_pylist()
        key = lambda row: (row["at"], row["zone"], row["window"])  # noqa: E731
        assert sorted(finished, key=key) == sorted(whole, key=key), hours


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"by": ["shop"]}, "query.by: must name 'zone', the column with the zone of each group, in every set"),
        ({"by": [["shop", "zone"], []]}, "query.by: must name 'zone'"),
        ({"by": ["zone", "shop"], "windows": ["today in {shop}"]}, r"windows\[0\]: takes zones from the column 'shop'"),
        ({"windows": ["1 day in UTC"]}, r"windows\[0\]: must be in the zone of `every`, \{zone\}"),
        ({"answers": "changes"}, "query.answers: must be 'all' when each group has its own time zone, from 'zone'"),
        ({"by": ["value"], "windows": ["today in {value}"], "every": "1 hour"}, "must be text"),
    ],
)
def test_what_does_not_fit_is_told(keys, message):
    with pytest.raises(ConfigError, match=message):
        local.apply(rows(random.Random(1), 9), {**query("distinct-count"), **keys})


@pytest.mark.parametrize("zone", [None, "Mars/Phobos"])
def test_a_row_without_a_zone_is_a_bad_row(zone):
    table = rows(random.Random(1), 9)
    table = table.set_column(2, "zone", pa.array([zone, *table["zone"].to_pylist()[1:]]))
    with pytest.raises(InputError, match="zone, row 0: it must name a zone"):
        local.apply(table, query("distinct-count"))
    run = LocalRun.start(make_query({**query("distinct-count"), "bad_rows": "count"}), table.schema)
    run.push(table.to_batches()[0])
    assert run.operator.take_metrics().dropped == {"bad": 1}


@pytest.mark.parametrize(
    "zones", [["Asia/Kolkata"], ["Mars/Phobos", "UTC"], ["UTC", "UTC"], ["UTC", "Asia/Kolkata"], ["Asia/Tokyo", "UTC"]]
)
def test_a_state_with_other_zones_is_refused(zones):
    """Not known, twice, in another order, or those of other groups."""
    table = rows(random.Random(2), 90, days=1)
    table = table.filter(pc.is_in(table["zone"], pa.array(["Asia/Kolkata", "UTC"])))
    run = LocalRun.start(make_query(query("distinct-count")), table.schema)
    run.push(table.combine_chunks().to_batches()[0])
    state = snapshot.decode(run.operator.snapshot())
    there = {name.split(".")[1] for name in state.arrays if name.startswith("groups.zone ")}
    assert there == {"zone 0", "zone 1"}
    names = pa.RecordBatch.from_pydict({"zone": zones})
    arrays = {name: values for name, values in state.arrays.items() if not name.startswith("groups.zones")}
    arrays |= {f"groups.{name}": values for name, values in state_arrays.frame_to_array("zones", names).items()}
    with pytest.raises(SnapshotError, match=r"zones|groups"):
        run.operator.restore(snapshot.encode(state.header, arrays))
