"""States against counting by hand on small streams whose rows, moments and windows touch: at, before and after each."""

import datetime
import struct
from functools import cache
from itertools import combinations
from statistics import NormalDist
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from skyband import create, snapshot, states
from skyband.engines import local
from skyband.errors import ConfigError, InputError, SnapshotError
from skyband.states import asking_a_table, object_names
from skyband.states.coverage import Coverage
from skyband.states.state import encode_state, read_state
from skyband.states.table import ROWS_AT_ONCE, StatesTable
from skyband_distinct.questions import item_overlap
from skyband_distinct.questions.theta_sketches import image_of
from skyband_distinct.sketch_reader import Sample

SECOND = 1_000_000
EVERY, WINDOW = 20 * SECOND, 60 * SECOND
START = 1_760_000_400_000_000
GROUPS = ("a", "b", "c")


@cache
def stream(seed):
    """(time, group, item) by time: many at multiples of `every`, or a microsecond off; group c falls silent."""
    rng = np.random.default_rng(seed)
    marks = START + rng.integers(0, 18, 60) * EVERY + rng.choice([-1, 0, 0, 1, 7 * SECOND], 60)
    rows = [(int(time), str(rng.choice(GROUPS)), int(rng.integers(8))) for time in np.sort(marks)]
    silent = START + 4 * EVERY, START + 11 * EVERY
    return tuple(row for row in rows if not (row[1] == "c" and silent[0] < row[0] < silent[1]))


def table(rows):
    times, groups, items = zip(*rows, strict=True)
    return pa.table({"ts": pa.array(times, pa.timestamp("us", "UTC")), "g": groups, "item": pa.array(items)})


def counting(**changes):
    keys = {"time": "ts", "item": "item", "windows": ["1 minute"], "every": "20 seconds", "by": ["g"], "emit": "state"}
    return {"kind": "distinct-count", **keys, **changes}


def by_moment(answers):
    """By moment, each group's state."""
    found = {}
    for at, group, state in zip(answers["at"].cast(pa.int64()).to_pylist(), answers["g"].to_pylist(),
                                answers["state"].to_pylist(), strict=True):  # fmt: skip
        found.setdefault(at, {})[group] = state
    return found


def items(rows, groups, since, at):
    return {item for time, group, item in rows if since <= time < at and group in groups}


def edges(rows, first, last):
    """Moments from first to last at, before and after each row, and the two ends."""
    near = {time + step for time, _, _ in rows for step in (-1, 0, 1)} | {first, first + 1, last - 1, last}
    return sorted(moment for moment in near if first <= moment <= last)


@pytest.mark.parametrize("backend", ["exact", "k-skb", "pcsa-ml", "se-pcsa"])
@pytest.mark.parametrize("seed", range(1))
def test_one_state_and_several_from_every_moment_that_they_cover(backend, seed):
    rows = stream(seed)
    moments = by_moment(local.apply(table(rows), counting(), {"sketch": backend}))
    for at, held in list(moments.items())[::3]:
        there = {group for time, group, _ in rows if at - WINDOW <= time < at}
        assert set(held) == there, "a row at the moment is after it, one at the window's begin is in it"
        for group, state in held.items():
            told = states.describe(state)
            latest = max(time for time, of, _ in rows if of == group and time < at)
            assert (told.at, told.since, told.latest, told.nbytes) == (at, at - WINDOW, latest, len(state))
            for since in edges(rows, at - WINDOW, at):
                expected = (float(len(items(rows, [group], since, at))),) * 3
                assert states.estimate(state, since=since) == expected
                if since < at:
                    assert states.estimate(state, last=f"{at - since} microseconds") == expected
            assert states.estimate(state) == states.estimate(state, since=at - WINDOW)
            for asked, said in (({"since": at - WINDOW - 1}, "is before"), ({"since": at + 1}, "is after"),
                                ({"last": f"{WINDOW + 1} microseconds"}, "at most the last 1 minute")):  # fmt: skip
                with pytest.raises(InputError, match=said):
                    states.estimate(state, **asked)
        blobs = list(held.values())
        united = states.union(blobs)
        assert states.describe(united).since == at - WINDOW
        for since in edges(rows, at - WINDOW, at)[::2]:
            expected = (float(len(items(rows, held, since, at))),) * 3
            assert states.estimate(blobs, since=since) == states.estimate(united, since=since) == expected
        assert states.estimate(blobs).count == len(items(rows, held, at - WINDOW, at))


@pytest.mark.parametrize("backend", ["exact", "k-skb"])
def test_what_windows_of_one_moment_or_of_two_have_in_common(backend):
    rows = stream(1)
    moments = by_moment(local.apply(table(rows), counting(), {"sketch": backend}))
    pairs = [((at, one), (at, other)) for at in list(moments)[::4] for one, other in combinations(moments[at], 2)]
    pairs += [((at, "a"), (later, "a")) for at, later in zip(list(moments), list(moments)[2:], strict=False)
              if "a" in moments[at] and "a" in moments[later]]  # fmt: skip
    assert len(pairs) > 10
    for (at, one), (later, other) in pairs:
        for length in (1, EVERY, EVERY + 1, WINDOW):
            found = states.overlap(moments[at][one], moments[later][other], last=f"{length} microseconds")
            left, right = items(rows, [one], at - length, at), items(rows, [other], later - length, later)
            expected = [left, right, left | right, left & right, left - right, right - left]
            assert [part.count for part in found[:6]] == [len(part) for part in expected]
            assert all(part.low <= part.count <= part.high for part in found[:7])
            assert found.method == "exact" and found.intersection.low == found.intersection.high


def test_states_of_other_lengths_answer_together_from_when_both_do():
    rows = stream(2)
    short, long = (by_moment(local.apply(table(rows), counting(windows=[length]), {"sketch": "exact"}))
                   for length in ("1 minute", "100 seconds"))  # fmt: skip
    at = next(at for at in list(short)[5:] if {"a", "b"} <= short[at].keys())
    for pair in ([short[at]["a"], long[at]["b"]], [long[at]["a"], short[at]["b"]]):
        united = states.union(pair)
        assert (states.describe(united).since, states.describe(united).at) == (at - WINDOW, at)
        expected = len(items(rows, "ab", at - WINDOW, at))
        assert states.estimate(pair).count == states.estimate(united).count == expected
        for both in (pair, united):
            with pytest.raises(InputError, match="is before"):
                states.estimate(both, since=at - WINDOW - 1)


@pytest.fixture
def written(tmp_path):
    def write(answers, name="states"):
        (tmp_path / name).mkdir()
        for part, start in enumerate(range(0, len(answers), 17)):
            pq.write_table(answers.slice(start, 17), tmp_path / name / f"{part:03}.parquet", row_group_size=6)
        return str(tmp_path / name)

    return write


@pytest.mark.parametrize("seed", range(3))
def test_a_table_of_what_changed_is_as_good_as_one_of_all_states(seed, written):
    """At each of its moments, and at those of `every` between them; rows are at moments, before and after them."""
    rows = stream(seed)
    changed = local.apply(table(rows), counting(emit="changed-state"), {"sketch": "exact"})
    every = by_moment(local.apply(table(rows), counting(), {"sketch": "exact"}))
    newest = by_moment(changed)
    for at in every:
        came = {group for time, group, _ in rows if at - EVERY <= time < at}
        assert set(newest.get(at, {})) == came, "a group has a state where it had a row since the moment before"
    path = written(changed)
    first, last = min(newest), max(newest)
    assert StatesTable(path).as_of(None)[0] == last
    lengths = ("1 microsecond", "20 seconds", "20000001 microseconds", "1 minute")
    for at in range(first, last + 1, EVERY):
        there = sorted({group for time, group, _ in rows if at - WINDOW <= time < at})
        moment, held = StatesTable(path).as_of(at)
        assert (moment, sorted(state.group["g"] for state in held)) == (at, there)
        answers = asking_a_table.ask(path, lengths, str(at), by=["g"], united=True)
        found = {(row.group.get("g"), row.window): row.numbers["count"] for row in answers.rows}
        for text in lengths:
            since = at - int(states.since_or_last.parse(text).length)
            for group in there:
                assert found[group, text] == len(items(rows, [group], since, at))
            assert found[None, text] == len(items(rows, GROUPS, since, at))
    for at in (first - 1, last + 1):
        with pytest.raises(InputError, match="there is no state of"):
            StatesTable(path).as_of(at)


def test_a_table_of_all_states_has_its_moments_only(written):
    rows = stream(1)
    path = written(local.apply(table(rows), counting(), {"sketch": "exact"}))
    moments = sorted(by_moment(local.apply(table(rows), counting(), {"sketch": "exact"})))
    for at in moments:
        assert len(StatesTable(path).as_of(at)[1]) == len({g for time, g, _ in rows if at - WINDOW <= time < at})
        with pytest.raises(InputError, match="the nearest are of"):
            StatesTable(path).as_of(at + 1)


def test_groups_may_stand_in_folders_as_spark_writes_them(tmp_path):
    """One with a blank in it, one without a value; what stands above the table is no group of it."""
    names = {"a": "a%20b", "b": "__HIVE_DEFAULT_PARTITION__", "c": "c"}
    rows = stream(2)
    answers = local.apply(table(rows), counting(), {"sketch": "exact"})
    folder = tmp_path / "run=5" / "states"
    for group, name in names.items():
        own = answers.filter(pa.array([value == group for value in answers["g"].to_pylist()]))
        (folder / f"g={name}").mkdir(parents=True)
        pq.write_table(own.drop_columns(["g"]), folder / f"g={name}" / "part.parquet")
    (at,) = answers["at"][-1:].cast(pa.int64()).to_pylist()
    asked = asking_a_table.ask(str(folder), ["20 seconds"], str(at))
    counts = {row.group["g"]: row.numbers["count"] for row in asked.rows}
    assert asked.by == ("g",)
    there = {group: len(items(rows, [group], at - EVERY, at)) for group in by_moment(answers)[at]}
    assert counts == {{"a": "a b", "b": None, "c": "c"}[group]: count for group, count in there.items()}


def test_files_of_a_table_that_are_not_alike_are_named(written):
    path = written(local.apply(table(stream(1)), counting(), {"sketch": "exact"}))
    pq.write_table(pa.table({"at": [1], "h": ["a"]}), f"{path}/other.parquet")
    with pytest.raises(
        InputError, match=r"other.parquet' has the columns at, h, and .*000.parquet' .*name files that are"
    ):
        StatesTable(path)


@pytest.mark.parametrize("size", [1, ROWS_AT_ONCE - 1, ROWS_AT_ONCE, ROWS_AT_ONCE + 1, 3 * ROWS_AT_ONCE])
def test_a_state_is_found_wherever_it_stands_in_a_row_group(size, tmp_path):
    """Each by itself, in row groups of so many: the first, the last, those at the borders of what is read at once."""
    moments = [START + place * EVERY for place in range(2 * ROWS_AT_ONCE + 3)]
    blobs = {}
    for at in moments:
        sketch = create("sketch", "exact")
        sketch.update(np.array([at - 1]), np.array([at], np.uint64))
        blobs[at] = encode_state("sketch", "exact", {}, sketch.dump_state(), Coverage(at, at - EVERY))
    columns = {"at": pa.array(moments, pa.timestamp("us", "UTC")), "state": list(blobs.values())}
    pq.write_table(pa.table(columns), tmp_path / "states.parquet", row_group_size=size)
    held = StatesTable(str(tmp_path))
    for at, blob in blobs.items():
        moment, (state,) = held.as_of(at)
        assert (moment, state.blob) == (at, blob)


def test_where_groups_have_states_of_other_lengths_a_table_answers_over_what_all_cover(written):
    rows = stream(2)
    short, long = (by_moment(local.apply(table(rows), counting(windows=[length]), {"sketch": "exact"}))
                   for length in ("1 minute", "100 seconds"))  # fmt: skip
    at = next(at for at in list(short)[5:] if {"a", "b"} <= short[at].keys())
    for number, pair in enumerate(([short[at]["a"], long[at]["b"]], [long[at]["a"], short[at]["b"]])):
        columns = {"at": pa.array([at] * 2, pa.timestamp("us", "UTC")), "g": ["a", "b"], "state": pair}
        answers = asking_a_table.ask(written(pa.table(columns), f"states {number}"), by=["g"], united=True)
        assert {(row.group.get("g"), row.window, row.numbers["count"]) for row in answers.rows} == {
            (group, "1 minute", len(items(rows, group or "ab", at - WINDOW, at))) for group in ("a", "b", None)
        }


def totals(**changes):
    keys = {"time": "ts", "object": "item", "windows": ["20 seconds", "1 minute"], "every": "20 seconds", "k": 3}
    return {"kind": "heavy-hitters", **keys, "by": ["g"], "emit": "state", **changes}


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("offset", [0, 5 * SECOND])
@pytest.mark.parametrize("backend", ["exact", "k-skb"])
def test_totals_of_states_alone_and_together(backend, offset, named):
    """Objects are integers or have names; moments are at multiples of `every`, or later by an offset."""
    rows = stream(3)
    name = (lambda item: f"item {item}") if named else (lambda item: item)
    source = table(rows).set_column(2, "item", pa.array([name(item) for _, _, item in rows]))
    query = totals(offset=f"{offset} microseconds")
    moments = by_moment(local.apply(source, query, {"total-ranker": backend}))
    assert all((at - START - offset) % EVERY == 0 for at in moments)
    for at, held in list(moments.items())[2::4]:
        for group, state in held.items():
            told = states.describe(state)
            assert (told.at, told.since) == (at, at - WINDOW)
            assert told.latest == max(time for time, of, _ in rows if of == group and time < at)
        parts = [([group], [state]) for group, state in held.items()]
        parts += [(list(held), list(held.values())), (list(held), [states.union(held.values())])]
        for groups, blobs in parts:
            for since in (at - WINDOW, at - EVERY):
                came = [item for time, group, item in rows if since <= time < at and group in groups]
                counts = {name(item): came.count(item) for item in came}
                found = states.heavy_hitters(blobs, since=since, k=100)
                assert dict(zip(*(found[one].to_pylist() for one in ("object", "total")), strict=True)) == counts
                assert found["rank"].to_pylist() == list(range(1, len(counts) + 1))
                ranked = found["total"].to_pylist()
                assert ranked == sorted(ranked, reverse=True)
                assert len(states.heavy_hitters(blobs, since=since, k=1)) == min(1, len(counts))
            whole = states.heavy_hitters(blobs, k=100)
            assert whole.equals(states.heavy_hitters(blobs, since=at - WINDOW, k=100))
            assert whole.equals(states.heavy_hitters(blobs, last="1 minute", k=100))
            for since, said in ((at - WINDOW - 1, "is before"), (at + 1, "is after")):
                with pytest.raises(InputError, match=said):
                    states.heavy_hitters(blobs, since=since)
            if backend == "exact":
                with pytest.raises(InputError, match="begin at multiples of 20 seconds"):
                    states.heavy_hitters(blobs, since=at - EVERY + 1)
        if len(held) > 1:
            known = [set(read_state(blob).names.column("name").to_pylist()) for blob in held.values()]
            united = read_state(states.union(held.values())).names.column("name").to_pylist()
            assert set(united) == set().union(*known) and len(united) == len(set(united))
    others = by_moment(local.apply(source, totals(offset=f"{offset + SECOND} microseconds"), {"total-ranker": backend}))
    with pytest.raises(InputError, match=r"unite states of one moment|another `offset`"):
        states.heavy_hitters([next(iter(moments.values()))["a"], next(iter(others.values()))["a"]])


@pytest.mark.parametrize(
    ("asked", "right"),
    [({"k": 0}, False), ({"k": 1}, True), ({"k": True}, False), ({"k": 1.0}, False), ({"share": 0}, False),
     ({"share": 1e-300}, True), ({"share": 1}, True), ({"share": 1.0000001}, False), ({"share": True}, False)],
)  # fmt: skip
def test_the_limits_of_how_many_objects_are_asked_for(asked, right):
    rows = [(START + second, "a", 1) for second in range(5)]
    state = local.apply(table(rows), totals(), {"total-ranker": "exact"})["state"][0].as_py()
    if right:
        assert states.heavy_hitters(state, **asked)["object"].to_pylist() == [1]
        return
    with pytest.raises(
        InputError, match=r"must be a whole number \(|must be at least 1|must be a number|must be above 0 and at most 1"
    ):
        states.heavy_hitters(state, **asked)


def test_names_of_objects_that_have_left_the_window_are_in_no_united_state():
    rows = [(START, "a", 1), (START + 30 * SECOND, "a", 2), (START + 30 * SECOND, "b", 3)]
    source = table(rows).set_column(2, "item", pa.array(["gone", "here", "there"]))
    moments = by_moment(local.apply(source, totals(windows=["20 seconds"]), {"total-ranker": "exact"}))
    held = moments[START + 40 * SECOND]
    united = states.union(held.values())
    assert read_state(united).names.column("name").to_pylist() in (["here", "there"], ["there", "here"])


def test_states_of_one_backend_that_know_objects_or_times_otherwise_do_not_go_together():
    """Objects of another type; moments that another `offset` moves, also where tables hold what changed."""
    rows = [(START, "a", 1), (START + SECOND, "a", 2)]
    numbers = table(rows)
    texts = numbers.set_column(2, "item", pa.array(["x", "y"]))

    def state(source=numbers, **changes):
        answers = local.apply(source, totals(emit="changed-state", **changes), {"total-ranker": "exact"})
        return answers["state"][0].as_py()

    assert states.heavy_hitters([state(), state()])["total"].to_pylist() == [2.0, 2.0]
    for pair in ([state(), state(texts)], [state(texts), state()]):
        with pytest.raises(InputError, match=r"row 1: has objects of .*: they must be of one type"):
            states.heavy_hitters(pair)
    for pair in ([state(), state(offset="5 seconds")], [state(offset="5 seconds"), state()]):
        with pytest.raises(InputError, match="row 1: has moments with another `offset` than the first"):
            states.heavy_hitters(pair)
    moved = read_state(state(offset="5 seconds"))
    assert moved.covers.since - EVERY < moved.earliest <= moved.covers.since and moved.latest == rows[-1][0]


def test_names_are_found_wherever_a_batch_begins_and_each_id_has_one():
    frame = pa.record_batch({"id": pa.array([1, 5, 7, 9]), "name": ["a", "b", "c", "d"]})
    assert object_names.values_of([frame.slice(1, 2)], np.array([7, 5])).to_pylist() == ["c", "b"]
    with pytest.raises(SnapshotError, match="no name for an object"):
        object_names.values_of([frame.slice(1, 2)], np.array([1]))
    for ids in ([1, 1], [2, 1]):
        held = object_names.extra_arrays(pa.record_batch({"id": pa.array(ids), "name": ["a", "b"]}), 0)
        with pytest.raises(SnapshotError, match="in the order of their ids, each once"):
            object_names.names_in(held)
    for phase in (-1, 2**61 + 1):
        with pytest.raises(SnapshotError, match="phase"):
            object_names.phase_in(object_names.extra_arrays(frame, phase))
    assert object_names.phase_in(object_names.extra_arrays(frame, 2**61)) == 2**61


@pytest.mark.parametrize("start", [START, -EVERY])
@pytest.mark.parametrize("latest", [0, -1])
@pytest.mark.parametrize("role", ["sketch", "total-ranker"])
def test_a_state_holds_just_what_it_covers(role, latest, start):
    """Rows up to a microsecond before its moment, and none that was forgotten since it begins to cover."""
    state = local.apply(table([(start + EVERY + latest, "a", 1), (start + 5 * EVERY, "a", 1)]),
                        counting() if role == "sketch" else totals(), {role: "exact"})["state"][0].as_py()  # fmt: skip
    held = read_state(state)
    decoded = snapshot.decode(state)
    begin = held.earliest
    for at, since, right in ((held.latest, begin, False), (held.latest + 1, begin, True),
                             (held.latest + 1, begin - 1, False), (held.latest + 1, begin + 1, True)):  # fmt: skip
        blob = encode_state(role, "exact", held.parameters, decoded.arrays, Coverage(at, since))
        if right:
            assert (states.describe(blob).at, states.describe(blob).since) == (at, since)
        else:
            with pytest.raises(SnapshotError, match="does not hold just what it covers"):
                states.describe(blob)


def test_a_state_whose_last_row_is_of_the_moment_0_covers_that_row():
    sketch = create("sketch", "exact")
    sketch.update(np.array([0]), np.array([1], np.uint64))
    for at in (1, 0, -1):
        blob = encode_state("sketch", "exact", {}, sketch.dump_state(), Coverage(at, at - 5))
        if at == 1:
            assert states.describe(blob).at == 1
        else:
            with pytest.raises(SnapshotError, match="does not hold just what it covers"):
                states.describe(blob)


@pytest.mark.parametrize(
    "header",
    [{"at": 1, "since": 2}, {"at": 2.0, "since": 1}, {"at": True, "since": 0}, {"at": 2**63, "since": 0},
     {"at": 0, "since": -(2**63) - 1}, {"rows": 1}, {"changed": None}],
)  # fmt: skip
def test_what_can_be_no_coverage_is_refused(header):
    good = {"at": 2, "since": 2, "rows": False, "changed": True}
    assert Coverage.from_header({"covers": good}) == Coverage(2, 2, False, True)
    with pytest.raises(SnapshotError, match="it cannot cover"):
        Coverage.from_header({"covers": {**good, **header}})


def test_only_states_with_all_parameters_equal_go_together():
    """Also where one has a parameter that the other lacks, or one of another type."""
    rows = [(START, "a", 1)]
    held = snapshot.decode(local.apply(table(rows), counting(), {"sketch": "exact"})["state"][0].as_py())
    covers = Coverage.from_header(held.header)
    plain, hashed = (encode_state("sketch", "exact", {**held.header["parameters"], **more}, held.arrays, covers)
                     for more in ({}, {"hash": "theta"}))  # fmt: skip
    for pair in ([plain, hashed], [hashed, plain]):
        with pytest.raises(InputError, match=r"row 1: has hash = .*: they must be equal"):
            states.estimate(pair)
    assert states.estimate([plain, plain]).count == 1


def test_states_of_two_moments_go_together_only_where_both_tables_hold_what_changed():
    rows = stream(1)
    held = {kind: by_moment(local.apply(table(rows), counting(emit=kind), {"sketch": "exact"}))
            for kind in ("state", "changed-state")}  # fmt: skip
    first, second = sorted(at for at, groups in held["changed-state"].items() if "a" in groups)[2:4]
    for one, other in (("state", "state"), ("state", "changed-state"), ("changed-state", "state")):
        with pytest.raises(InputError, match="unite states of one moment"):
            states.estimate([held[one][first]["a"], held[other][second]["a"]])
    mixed = [held["changed-state"][first]["a"], held["state"][first]["a"], held["changed-state"][second]["a"]]
    for three in (mixed, [mixed[1], mixed[0], mixed[2]]):
        with pytest.raises(InputError, match=r"row 2: .* unite states of one moment"):
            states.estimate(three)
    both = [held["changed-state"][first]["a"], held["changed-state"][second]["a"]]
    for pair in (both, both[::-1]):
        told = states.describe(states.union(pair))
        assert (told.at, told.since) == (second, second - WINDOW)
        assert states.estimate(pair).count == len(items(rows, "a", second - WINDOW, second))


def read_image(image):
    """A compact theta sketch: its hashes, theta, and whether it says that it is empty."""
    longs, version, family, _, _, flags, seed = struct.unpack_from("<BBBBBBH", image)
    assert (version, family, seed, flags & ~4) == (3, 3, 0x93CC, 2 | 8 | 16) and len(image) % 8 == 0
    hashes = np.frombuffer(image, "<u8", offset=8 * longs)
    if longs > 1:
        assert struct.unpack_from("<II", image, 8) == (len(hashes), 0)
    theta = struct.unpack_from("<Q", image, 16)[0] if longs > 2 else 2**63 - 1
    assert longs > 1 or len(hashes) == (0 if flags & 4 else 1), "one hash has a header of 8 bytes, and no count"
    return hashes.tolist(), theta, bool(flags & 4)


def test_a_theta_sketch_says_what_it_holds():
    """None, one, more; all keys or those below a limit, which is not among them."""
    for count in range(4):
        hashes = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(1000)
        assert read_image(image_of(hashes, None)) == ([500 * n for n in range(1, count + 1)], 2**63 - 1, count == 0)
        assert read_image(image_of(hashes, 9000)) == ([500 * n for n in range(1, count + 1)], 4500, False)
    for limit, kept in ((2000, [500]), (2001, [500]), (2002, [500, 1000])):
        assert read_image(image_of(np.array([1000, 2000], np.uint64), limit))[:2] == (kept, limit >> 1)
    assert read_image(image_of(np.array([0, 1, 7, 6, 1000], np.uint64), None))[0] == [3, 500], "0 is no hash; each once"


@pytest.mark.parametrize("backend", ["exact", "k-skb"])
def test_a_theta_sketch_holds_the_items_of_the_window(backend):
    rows = [(time, group, item) for time, group, item in stream(2)]
    source = table(rows).set_column(2, "item", pa.array(["" if item == 0 else f"item {item}" for _, _, item in rows]))
    held = by_moment(local.apply(source, counting(hash="theta"), {"sketch": backend}))
    of = {}
    for item in range(8):  # one at a time
        alone = source.filter(pa.array([one == item for _, _, one in rows])).slice(0, 1)
        state = local.apply(alone, counting(hash="theta"), {"sketch": backend})["state"][0].as_py()
        of[item] = set(read_image(states.theta(state))[0])
    assert not of.pop(0), "DataSketches counts no empty text"
    for at, groups in list(held.items())[::3]:
        for since in edges(rows, at - WINDOW, at)[::3]:
            for chosen in ([*groups], [*groups][:1]):
                image = states.theta([groups[group] for group in chosen], since=since)
                expected = set().union(*(of.get(item, set()) for item in items(rows, chosen, since, at)))
                hashes, theta, _ = read_image(image)
                assert (set(hashes), hashes, theta) == (expected, sorted(expected), 2**63 - 1)
        assert states.theta([*groups.values()]) == states.theta([*groups.values()], since=at - WINDOW)
    short = by_moment(local.apply(source, counting(hash="theta", windows=["20 seconds"]), {"sketch": backend}))
    at = next(at for at in list(held)[3:] if short.get(at, {}).get("a") and held[at].get("b"))
    pair = [short[at]["a"], held[at]["b"]]
    assert states.theta(pair) == states.theta(pair, since=at - EVERY)


def counted(estimate, sample=None, parameters=None):
    """A state as `overlap_of` sees it, of a sketch that says this."""

    class Reader:
        def estimate(self, since):
            return estimate

        def samples(self, since):
            return [] if sample is None else [sample]

        @classmethod
        def union(cls, readers, since):
            return cls.united

    return SimpleNamespace(reader=Reader(), parameters=parameters or {})


def test_an_overlap_of_counts_is_between_all_that_they_allow():
    """Each part's interval is the narrowest that holds what any true counts within the three intervals give."""
    rng = np.random.default_rng(5)
    for _ in range(300):
        shape = rng.integers(0, 40, 3)  # left alone, both, right alone
        truths = np.array([shape[0] + shape[1], shape[1] + shape[2], shape.sum()])
        low, high = truths - rng.integers(0, 6, 3), truths + rng.integers(0, 6, 3)
        low = np.maximum(low, 0)
        counts = np.clip(truths + rng.integers(-6, 7, 3), low, high)
        told = [tuple(map(float, three)) for three in zip(counts, low, high, strict=True)]
        left, right = counted(told[0]), counted(told[1])
        type(left.reader).united = told[2]
        found = item_overlap.overlap_of([left, right], [0, 0])
        (ll, lh), (rl, rh), (ul, uh) = ((one[1], one[2]) for one in told)
        assert (found.intersection.low, found.left_only.low, found.right_only.low) == (
            max(ll + rl - uh, 0), max(ul - rh, 0), max(ul - lh, 0)
        )  # fmt: skip
        for part, most in ((found.intersection, min(lh + rh - ul, lh, rh)), (found.left_only, min(uh - rl, lh)),
                           (found.right_only, min(uh - ll, rh))):  # fmt: skip
            assert part.low <= part.count <= part.high
            assert part.high == max(most, part.count, 0)
        parts = {"intersection": shape[1], "left_only": shape[0], "right_only": shape[2]}
        for name, truth in parts.items():
            assert getattr(found, name).low <= truth <= getattr(found, name).high, name


@pytest.mark.parametrize("delta", [0.01, 0.2])
@pytest.mark.parametrize("shares", [(0.5, 0.25), (0.25, 0.5), (0.5, 1.0), (0.25, 0.25)])
def test_an_overlap_of_samples_is_of_what_both_hold(shares, delta):
    """The hashes below the smaller share, and around each proportion the interval that Wilson's equation gives."""
    rng = np.random.default_rng(6)
    keys = np.unique(rng.integers(0, 2**63, 400, dtype=np.uint64) * np.uint64(2))
    rng.shuffle(keys)
    sets = [np.sort(keys[:250]), np.sort(keys[150:])]
    least = min(shares)
    below = [set(one[one < least * 2.0**64].tolist()) for one in sets]
    samples = [Sample(one[one < share * 2.0**64], share) for one, share in zip(sets, shares, strict=True)]
    wide = (250.0, 0.0, 1e9)  # so that samples are the better way
    pair = [counted(wide, sample, {"delta": delta}) for sample in samples]
    type(pair[0].reader).united = (float(len(keys)), 0.0, 1000.0)
    found = item_overlap.overlap_of(pair, [0, 0])
    total, square = len(below[0] | below[1]), NormalDist().inv_cdf(1 - delta / 2) ** 2
    assert found.method == "sample"
    numbers = {"jaccard": below[0] & below[1], "left_only": below[0] - below[1], "right_only": below[1] - below[0]}
    for name, common in numbers.items():
        part, whole = getattr(found, name), 1.0 if name == "jaccard" else float(len(keys))
        share = len(common) / total
        assert part.count == pytest.approx(share * whole)
        if name == "jaccard":
            for end in (part.low, part.high):
                assert (share - end) ** 2 == pytest.approx(square * end * (1 - end) / total)
            assert part.low < share < part.high
    assert found.intersection.count == pytest.approx(found.jaccard.count * len(keys))


@pytest.mark.parametrize(
    "moment",
    ["2026-03-29 01:30", datetime.datetime(2026, 3, 29, 1, 30), np.datetime64("2026-03-29T01:30"),
     datetime.datetime(2026, 3, 29, 7, tzinfo=datetime.timezone(datetime.timedelta(hours=5, minutes=30))),
     "2026-03-29T07:00:00+05:30", 1774747800000000,
     pa.scalar(datetime.datetime(2026, 3, 29, 1, 30), pa.timestamp("us"))],
)  # fmt: skip
def test_every_way_to_write_a_moment_is_that_moment(moment):
    """Without a zone it is of UTC, wherever the process runs."""
    assert states.since_or_last.moment_of(moment) == 1774747800000000


def test_a_snapshot_without_a_moment_answers_from_what_it_has_not_forgotten():
    sketch = create("sketch", "exact")
    sketch.update(np.array([5, 9]), np.array([1, 2], np.uint64))
    sketch.forget(5)
    floor = states.describe(sketch.snapshot()).since
    assert states.describe(create("sketch", "exact").snapshot()).since is None
    for since, right in ((4, floor is None), (5, True), (9, True), (10, True)):
        if right:
            assert states.estimate(sketch.snapshot(), since=since).count == sum(time >= since for time in (5, 9))
        else:
            with pytest.raises(InputError, match="what is older was forgotten"):
                states.estimate(sketch.snapshot(), since=since)


def test_a_state_that_just_reaches_is_enough_to_begin_with(tmp_path):
    """The next answers need rows from a window before them: a state that covers them, and not a microsecond less."""
    from skyband.operator.bind_backends import bind
    from skyband.operator.first_states import begin_with_states
    from skyband.operator.operator import Operator
    from skyband.queries import make_query

    rows = [(START + second * SECOND, "a", 1) for second in range(50)]
    pq.write_table(local.apply(table(rows), counting(), {"sketch": "exact"}), tmp_path / "states.parquet")
    cut = START + 2 * EVERY
    for window, right in (("80 seconds", True), ("80000001 microseconds", False), ("1 minute", True)):
        query = make_query(counting(windows=[window], emit=None))
        operator = Operator(query, bind(query, table(rows).schema, {"sketch": "exact"}), table(rows).schema)
        if right:  # the next moment is 20 seconds later, and a state covers 60 seconds
            assert begin_with_states(operator, StatesTable(str(tmp_path)), cut) == cut
            assert operator.watermark == cut and operator.progress.newest == cut - SECOND
        else:
            with pytest.raises(ConfigError, match=r"query.windows: the states cover 1 minute, .* forgotten"):
                begin_with_states(operator, StatesTable(str(tmp_path)), cut)
