"""Time: kinds of column, order within the delay, late rows, clocks that jump, sources with watermarks of their own."""

import datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from families import DELAY, FAMILIES, LONGEST, SECOND, events, family
from skyband.engines import local
from skyband.engines.local import LocalRun
from skyband.errors import ConfigError, InputError
from skyband.queries.time_columns import microseconds
from skyband.watermark import EventTimeProgress, Ticking

YEAR = 366 * 86_400 * SECOND
KINDS = {
    "s": pa.timestamp("s"),
    "ms in New York": pa.timestamp("ms", "America/New_York"),
    "us": pa.timestamp("us"),
    "ns in UTC": pa.timestamp("ns", "UTC"),
}


def counts(**changes):
    keys = {"windows": ["2 hours"], "every": "1 hour", "delay": "0 seconds", **changes}
    return family("distinct-count", **keys)


def visits(times, kind=None) -> pa.Table:
    """A visitor for each time in microseconds (or None)."""
    column = pa.array(times, pa.int64()).cast(pa.timestamp("us")) if kind is None else pa.array(times, kind)
    return pa.table({"ts": column, "name": [f"v{number}" for number in range(len(times))]})


def rows(table: pa.Table) -> list[tuple]:
    """Rows to compare; moments as integers, whatever their zone."""
    at = table.column_names.index("at" if "at" in table.column_names else "time")
    whole = table.set_column(at, table.column_names[at], table.column(at).cast(pa.int64()))
    return sorted(map(str, (tuple(row.values()) for row in whole.to_pylist())))


def shifted(table: pa.Table, by: int) -> pa.Table:
    """The table, so many microseconds later."""
    times = pc.add(table["ts"].cast(pa.int64()), by).cast(table.schema.field("ts").type)
    return table.set_column(table.column_names.index("ts"), "ts", times)


def usable(kind: str, table: pa.Table) -> int:
    """The rows that the query does not leave out for what they hold."""
    lengths = pc.list_value_length(table["words"])
    return pc.sum(pc.greater(lengths, 0)).as_py() if kind == "top-k-pairs" else len(table)


def pushed(run: LocalRun, table: pa.Table, pieces: int) -> pa.Table:
    """What a stream of the table in so many micro-batches answers."""
    size = -(-len(table) // pieces)
    batches = [table.slice(start, size).combine_chunks().to_batches()[0] for start in range(0, len(table), size)]
    return pa.Table.from_batches([run.push(batch) for batch in batches])


def reached(whole: pa.Table, watermark: int) -> pa.Table:
    """Of a bounded input's answers, those that a stream up to this watermark gives."""
    if "at" in whole.column_names:
        return whole.filter(pc.less_equal(whole["at"].cast(pa.int64()), watermark))
    return whole.filter(pc.less(whole["time"].cast(pa.int64()), watermark))


@pytest.mark.parametrize("kind", KINDS)
def test_an_instant_is_the_same_in_every_kind_of_timestamp_before_1970_too(kind):
    hours = [-30, -29.75, -2, -0.5, 0, 0.25, 1, 26.5]
    table = visits([round(hour * 3600) * SECOND for hour in hours])
    as_kind = table.set_column(0, "ts", table["ts"].cast(KINDS[kind]))
    answers = local.apply(as_kind, counts(), {"sketch": "exact"})
    assert rows(answers) == rows(local.apply(table, counts(), {"sketch": "exact"}))
    assert answers.schema.field("at").type == pa.timestamp("us", KINDS[kind].tz)


@pytest.mark.parametrize("kind", [pa.date32(), pa.date64()])
def test_days_are_their_midnight(kind):
    days = [datetime.date(1969, 12, 30), datetime.date(1969, 12, 31), datetime.date(2025, 11, 2)]
    answers = local.apply(visits(days, kind), counts(every="1 day", windows=["2 days"]), {"sketch": "exact"})
    found = {str(row["at"].date()): row["count"] for row in answers.to_pylist()}
    assert found == {"1969-12-31": 1, "1970-01-01": 2, "1970-01-02": 1, "2025-11-03": 1}


def test_nanoseconds_are_cut_to_the_microsecond_they_are_in_before_1970_too():
    column = pa.array([-1, 0, 999, 1000, -1000, -1001], pa.timestamp("ns"))
    assert microseconds("ts", column).tolist() == [-1, 0, 0, 1, -1, -2]


def test_rows_without_a_time_or_source_are_counted_once_and_by_the_first_reason():
    table = visits([0, None, 10, None, 20]).append_column("feed", pa.array(["a", None, "b", "a", None]))
    table = table.set_column(1, "name", pa.array(["x", None, None, "y", "z"]))
    run = LocalRun.start(counts(source="feed", sources=["a", "b"]), table.schema)
    run.push(table.to_batches()[0])
    metrics = run.operator.take_metrics()
    assert metrics.dropped == {"null time": 2, "null source": 1, "null item": 1}
    assert metrics.rows_in == 5


LIMIT = 2**61


@pytest.mark.parametrize(
    ("column", "row", "fits"),
    [
        (pa.array([0, LIMIT + 1], pa.timestamp("us")), 1, pa.array([-LIMIT, LIMIT], pa.timestamp("us"))),
        (pa.array([-LIMIT - 1, 0], pa.timestamp("us")), 0, pa.array([-LIMIT], pa.timestamp("us"))),
        (pa.array([2**62], pa.timestamp("s", "UTC")), 0, pa.array([LIMIT // SECOND], pa.timestamp("s"))),
        (pa.array([-(2**63)], pa.timestamp("ms")), 0, pa.array([-(2**63)], pa.timestamp("ns"))),
        (pa.array([0, 2**31 - 1], pa.int32()).cast(pa.date32()), 1, pa.array([10**7], pa.int32()).cast(pa.date32())),
    ],
)
def test_times_that_windows_would_carry_out_of_64_bits_are_named(column, row, fits):
    table = pa.table({"ts": column, "name": ["v"] * len(column)})
    with pytest.raises(InputError, match=rf"ts, row {row}: -?\d+ is out of range \(-\d+ to \d+ of .*correct such rows"):
        local.apply(table, counts())
    table = pa.table({"ts": fits, "name": ["v"] * len(fits)})
    longest = counts(windows=[f"{LIMIT} microseconds"], every=f"{LIMIT} microseconds")
    for asked in (counts(), longest):
        assert len(local.apply(table, asked))


@pytest.mark.parametrize("kind", ["uncertain-sum", "uncertain-join"])
def test_whole_numbers_as_times_may_be_as_large_as_64_bits_allow(kind):
    table = events(1, rows=40)
    large = [2**63 - 2 - number for number in range(20)] + [-(2**63) + 2 + number for number in range(20)]
    run = LocalRun.start(family(kind), (numbered := table.set_column(0, "ts", pa.array(large))).schema)
    answers = [run.push(numbered.combine_chunks().to_batches()[0]), run.finish()]
    small = local.apply(table.set_column(0, "ts", pa.array([*range(39, 19, -1), *range(20)])), family(kind))
    assert sum(map(len, answers)) == len(small)
    too_large = table.set_column(0, "ts", pa.array([2**64 - 1] * 40, pa.uint64()))
    with pytest.raises(InputError, match="ts, row 0: must fit a signed 64-bit integer"):
        local.apply(too_large, family(kind))
    with pytest.raises(InputError, match="ts, row 0: 9223372036854775807 is out of range"):
        local.apply(table.set_column(0, "ts", pa.array([2**63 - 1] * 40)), family(kind))


def test_lengths_that_leave_64_bits_and_delays_of_another_unit_are_refused():
    with pytest.raises(ConfigError, match=r"windows\[1\]: must be at most 2305843009213693952 microseconds"):
        counts(windows=["200000 weeks", "9999999 weeks"])
    assert counts(windows=["20000 weeks", "100000 days"], every="20000 days").every.length == 20_000 * 86_400 * 10**6
    with pytest.raises(ConfigError, match="every: must be at most 2305843009213693952 microseconds"):
        counts(every="9999999 weeks")
    with pytest.raises(ConfigError, match=r"query.delay: must be in time, as column 'ts' is \(got 5 rows\)"):
        local.apply(visits([0]), counts(delay="5 rows"))


@pytest.mark.parametrize("kind", FAMILIES)
def test_a_clock_that_jumps_ahead_by_years_skips_the_moments_of_no_row_and_one_that_jumps_back_is_late(kind):
    """50 years hold 10^8 moments; only those whose windows hold a row are answered."""
    first, ahead = events(1, rows=300), shifted(events(2, rows=300), 50 * YEAR)
    run = LocalRun.start(family(kind), first.schema)
    answers = [pushed(run, first, 3), pushed(run, ahead, 3)]
    if kind.startswith("uncertain"):  # windows of rows go on over the gap
        alone = local.apply(pa.concat_tables([first, ahead]), family(kind))
        expected = rows(reached(alone, run.operator.watermark))
    else:
        pieces = [LocalRun.start(family(kind), first.schema) for _ in range(2)]
        before = [pushed(pieces[0], first, 3), pa.Table.from_batches([pieces[0].operator.advance(25 * YEAR)])]
        expected = rows(pa.concat_tables([*before, pushed(pieces[1], ahead, 3)]))
    assert rows(pa.concat_tables(answers)) == expected
    run.operator.take_metrics()
    assert len(pushed(run, first, 2)) == 0
    assert run.operator.take_metrics().rows_late == usable(kind, first)


@pytest.mark.parametrize("kind", FAMILIES)
def test_rows_within_the_delay_may_come_in_any_order_and_later_ones_leave_no_trace(kind):
    table = events(3)
    asked = family(kind, by=["place"])
    run = LocalRun.start(asked, table.schema)
    half = len(table) // 2
    late = shifted(table.slice(0, 50), -(LONGEST.get(kind, 60) + DELAY) * SECOND)
    answers = [pushed(run, table.slice(0, half), 5), pushed(run, late, 2), pushed(run, table.slice(half), 4)]
    assert run.operator.take_metrics().rows_late == usable(kind, late)
    whole = local.apply(table, asked)
    assert rows(pa.concat_tables(answers)) == rows(reached(whole, run.operator.watermark))
    answers.append(pa.Table.from_batches([run.finish()]))
    assert rows(pa.concat_tables(answers)) == rows(whole)


IN_ANY_ORDER = [*((kind, {}) for kind in FAMILIES)]
IN_ANY_ORDER += [("heavy-hitters", {"total-ranker": name}) for name in ("misra-gries", "frequent-items-panes")]


@pytest.mark.parametrize("number", range(len(IN_ANY_ORDER)))
def test_rows_of_one_time_leave_the_same_answers_and_bytes_in_whatever_order_they_came(number):
    """A workload numbers its rows as they came, which its bytes tell and no answer does."""
    kind, backends = IN_ANY_ORDER[number]
    table = events(number, rows=300, span=30)
    shuffled = table.take(pa.array(np.random.default_rng(number).permutation(len(table))))
    found = []
    for each in (table, shuffled):
        run = LocalRun.start(family(kind, delay="1 minute"), table.schema, backends)
        answers = [pushed(run, each, 1), pa.Table.from_batches([run.operator.advance(25 * SECOND)])]
        found.append((list(map(rows, answers)), run.operator.groups.dump_state() if kind != "top-k-workload" else {}))
    assert found[0][0] == found[1][0]
    np.testing.assert_equal(found[0][1], found[1][1])


def two_feeds(table: pa.Table, behind: int) -> pa.Table:
    """The table and the same again under another name, whose rows come so many rows later."""
    feeds = [table.append_column("feed", pa.array([name] * len(table))) for name in ("swift", "slow")]
    arrival = np.argsort(np.concatenate([np.arange(len(table)), np.arange(len(table)) + behind]), kind="stable")
    return pa.concat_tables(feeds).take(pa.array(arrival))


SOURCES = {"source": "feed", "sources": ["swift", "slow"]}


@pytest.mark.parametrize("kind", FAMILIES)
def test_the_watermark_is_that_of_the_source_furthest_behind(kind):
    table = two_feeds(events(4, rows=600), behind=400)
    whole = local.apply(table, family(kind))
    deaf = LocalRun.start(family(kind), table.schema)
    pushed(deaf, table, 12)
    assert deaf.operator.take_metrics().rows_late > 300
    run = LocalRun.start(family(kind, **SOURCES), table.schema)
    early = [pushed(run, table.slice(0, 300), 3)]
    assert run.operator.watermark is None, "one source has not had a row yet"
    restored = LocalRun.start(run.operator.query, table.schema)
    restored.operator.restore(run.operator.snapshot())
    assert restored.operator.snapshot() == run.operator.snapshot()
    early.append(pushed(restored, table.slice(300), 9))
    assert restored.operator.take_metrics().rows_late == 0
    assert rows(pa.concat_tables(early)) == rows(reached(whole, restored.operator.watermark))


def test_a_source_that_is_idle_holds_the_others_back_no_longer():
    feeds = ["slow", "swift", "swift", "swift", "slow", "slow"]
    minutes = [0, 1, 10, 11, 5, 12]
    table = visits([minute * 60 * SECOND for minute in minutes]).append_column("feed", pa.array(feeds))
    run = LocalRun.start(counts(**SOURCES, idle="10 minutes", delay="1 minute"), table.schema)
    marks = []
    for batch in table.to_batches(max_chunksize=1):
        run.push(batch)
        marks.append(run.operator.watermark)
    assert [None if mark is None else mark // (60 * SECOND) for mark in marks] == [-1, -1, -1, 10, 10, 10]
    metrics = run.operator.take_metrics()
    assert (metrics.rows_in, metrics.rows_late) == (6, 1), "what the idle one sends of before is late"


def test_a_source_that_never_had_a_row_is_waited_for_unless_it_is_idle():
    table = visits([minute * 60 * SECOND for minute in (5, 0, 20)]).append_column("feed", pa.array(["swift"] * 3))
    for idle, mark in ((None, None), ("20 minutes", 0), ("19 minutes", 20 * 60 * SECOND)):
        run = LocalRun.start(counts(**SOURCES, idle=idle), table.schema)
        pushed(run, table, 1)
        assert run.operator.watermark == mark


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"source": "feed"}, r"query.sources: is required with source = 'feed'"),
        ({"sources": ["a"]}, r"query.sources: needs `source`"),
        ({"idle": "1 minute"}, r"query.idle: needs `source`"),
        ({"source": "fed", "sources": ["a"]}, r"query.source: the source has no column 'fed'; did you mean 'feed'\?"),
        ({"source": "ts", "sources": ["a"]}, r"query.sources: must be values of the column 'ts'"),
    ],
)
def test_sources_that_do_not_fit_are_refused(keys, message):
    table = visits([0]).append_column("feed", pa.array(["a"]))
    with pytest.raises(ConfigError, match=message):
        local.apply(table, counts(**keys))


@pytest.mark.parametrize("names", [[], "a", ["a", "a"], ["a", 1], [True, 1]])
def test_lists_of_sources_that_make_no_sense_are_refused(names):
    with pytest.raises(ConfigError, match="sources: "):
        counts(source="feed", sources=names)


@pytest.mark.parametrize(
    ("column", "names"),
    [(["a", "b"], ["a", "c"]), (pa.array(["a", "b"]).dictionary_encode(), ["a", "c"]), ([7, 8], [7, 9]), ([1, 0], [1])],
)
def test_a_source_that_is_not_listed_is_named(column, names):
    table = visits([0, 1]).append_column("feed", pa.array(column))
    with pytest.raises(InputError, match=r"feed, row 1: .* is not in sources; "):
        local.apply(table, counts(source="feed", sources=names))


@pytest.mark.parametrize("kind", FAMILIES)
def test_a_stream_that_is_finished_gives_what_a_batch_gives_and_can_go_on(kind):
    table = events(5, rows=600).sort_by("ts")
    whole = local.apply(table, family(kind))
    run = LocalRun.start(family(kind), table.schema)
    answers = pa.concat_tables([pushed(run, table, 4), pa.Table.from_batches([run.flush()])])
    assert rows(answers) == rows(whole)
    assert len(run.flush()) == 0, "nothing is answered twice"
    after = run.operator.watermark
    missed, next_day = table.slice(0, 7), shifted(table, 86_400 * SECOND)
    went_on = pa.concat_tables([pushed(run, missed, 1), pushed(run, next_day, 4)])
    assert run.operator.take_metrics().rows_late == usable(kind, missed)
    assert run.operator.watermark > after
    both = local.apply(pa.concat_tables([table, next_day]), family(kind))
    assert rows(pa.concat_tables([answers, went_on])) == rows(reached(both, run.operator.watermark))


@pytest.mark.parametrize("begun", [False, True])
def test_a_tick_that_comes_with_rows_does_not_take_the_input_as_complete(begun):
    table = events(5, rows=600).sort_by("ts")
    whole = local.apply(table, family("distinct-count"))
    run = LocalRun.start(family("distinct-count"), table.schema)
    parts = [table.slice(start, 200).combine_chunks().to_batches()[0] for start in (0, 200, 400)]
    answers = [run.push(parts.pop(0))] if begun else []
    for part in parts:
        progress = run.add(part)
        progress.tick = 7
        answers.append(run.operator.step(progress, Ticking(finish=True)))
    answers.append(run.flush())
    assert rows(pa.Table.from_batches(answers)) == rows(whole)
    assert run.operator.take_metrics().rows_late == 0


def test_while_rows_stay_away_time_goes_on_with_the_clock():
    run = LocalRun.start(counts(delay="10 minutes"), visits([0]).schema, {"sketch": "exact"})
    ticking, minute = Ticking(idle_after=15 * 60 * SECOND, started=1_000 * YEAR), 60 * SECOND
    start = 1_000 * YEAR

    def tick(at: int, *times: int) -> list[dict]:
        progress = (
            run.add(visits([time * minute for time in times]).to_batches()[0])
            if times
            else EventTimeProgress.nowhere(1)
        )
        progress.tick = start + at * minute
        return run.operator.step(progress, ticking).to_pylist()

    assert tick(0, 5, 50) == []
    assert tick(14) == [], "not idle yet"
    assert run.operator.watermark == 40 * minute
    assert tick(15) == []
    assert run.operator.watermark == 55 * minute, "idle for just so long"
    (answer,) = tick(20)
    assert (answer["at"].hour, answer["count"]) == (1, 2)
    assert run.operator.watermark == 60 * minute, "the newest row, less the delay, and as long as no row came"
    assert tick(21, 59, 61) == [], "rows are back; one of before what was answered is late"
    assert run.operator.take_metrics().rows_late == 1
    assert tick(35) == []
    assert run.operator.watermark == 60 * minute, "silence counts from the last row"
    assert [answer["count"] for answer in tick(21 + 60 * 5)] == [2, 1]
    assert run.operator.take_metrics().groups == 0, "the windows have run empty"


def test_silence_does_not_count_before_the_run_began_nor_without_a_tick():
    started = 10 * YEAR
    run = LocalRun.start(counts(), visits([0]).schema)
    ticking = Ticking(idle_after=1, started=started)
    progress = run.add(visits([5]).to_batches()[0])
    run.operator.step(progress, ticking)
    assert run.operator.watermark == 5, "no tick came yet"
    for at in (started - YEAR, started):
        run.operator.step(EventTimeProgress([-(2**63)], tick=at), ticking)
        assert run.operator.watermark == 5
    run.operator.step(EventTimeProgress([-(2**63)], tick=started + 3), ticking)
    assert run.operator.watermark == 8


def test_whole_numbers_do_not_go_on_with_the_clock_but_wait_no_longer():
    table = events(6, rows=50)
    table = table.set_column(0, "ts", pa.array(range(50)))
    run = LocalRun.start(family("uncertain-sum", delay="20 rows"), table.schema)
    assert len(pushed(run, table, 1)) == 29
    ticking = Ticking(idle_after=1)
    for tick in (1, 10**12):
        run.operator.step(EventTimeProgress([-(2**63)], tick=tick), ticking)
    assert run.operator.watermark == 50


@pytest.mark.parametrize(
    ("kind", "lengths"),
    [("top-k", ("window", "every")), ("top-k-pairs", ("window", "every")), ("near-duplicates", ("window",))],
)
def test_the_shortest_window_there_is_is_taken(kind, lengths):
    """Windows are half open, and rankers' closed: one of a microsecond would be none."""
    for shortest in ("2 microseconds", "1 row"):
        keys = dict.fromkeys(lengths, shortest)
        assert str(family(kind, **keys).window) == shortest
    with pytest.raises(ConfigError, match="window: must be at least 2 microseconds"):
        family(kind, **dict.fromkeys(lengths, "1 microsecond"))
