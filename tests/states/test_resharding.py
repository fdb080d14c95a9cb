"""A stream that goes on from the states of another, with other shards: the answers of one left alone."""

import re
from functools import cache

import pyarrow as pa
import pytest
from families import FAMILIES, SECOND, WORKLOAD, events, family
from in_process_shards import ShardedStream
from skyband import snapshot
from skyband.errors import ConfigError, SnapshotError
from skyband.groups.small_groups import limits
from skyband.operator.resharding import take_over
from skyband.operator.static_broadcast_table import WholeTable
from skyband.watermark import EventTimeProgress, Ticking
from skyband_spark.frames.sharded_plan import SHUFFLE_SCHEMA
from skyband_spark.frames.states_from_history import rows_before, state_pieces


@cache
def table():
    return events(5, rows=700, span=260).combine_chunks()


def stream_of(query, shards, backends=None):
    return ShardedStream(query, shards, table().schema, backends)


def pieces(count):
    size = -(-len(table()) // count)
    return [table().slice(start, size) for start in range(0, len(table()), size)]


def plain(*answers):
    return sorted(tuple(map(str, row.values())) for table in answers for row in table.to_pylist())


def undisturbed(query, shards=1, backends=None, parts=4):
    stream = stream_of(query, shards, backends)
    return plain(*(stream.push(piece) for piece in pieces(parts)))


def moved(queries, shards, backends=None):
    stream, answers = None, []
    for query, count, piece in zip(queries, shards, pieces(len(shards)), strict=True):
        following = stream_of(query, count, backends)
        stream = following if stream is None else following.begin_from(stream)
        answers.append(stream.push(piece))
    return plain(*answers)


@pytest.mark.parametrize("kind", FAMILIES)
def test_groups_move_between_any_shards(kind):
    query = family(kind, by=["place"])
    assert moved([query] * 4, [1, 4, 2, 3]) == undisturbed(query)


def test_large_groups_move_too():
    query = family("distinct-count", by=["place"])
    assert moved([query] * 4, [2, 3, 1, 5], {"sketch": "exact"}) == undisturbed(query, backends={"sketch": "exact"})


EXACT = {"distinct-count": {"sketch": "exact"}}
MERGED = ("detections", "distinct-count", "heavy-hitters")
COUNTS = (1, 2, 3, 4, 8)


def goes_on(stream, rows):
    """What a stream answers when: to time alone, which states must have kept, then to rows, then to time."""
    waits = [EventTimeProgress([at], at) for at in (66 * SECOND, 400 * SECOND)]
    return [plain(stream.step(waits[0])), plain(stream.push(rows)), plain(stream.step(waits[1]))]


@pytest.mark.parametrize("by", [[], ["place"]], ids=["alone", "by"])
@pytest.mark.parametrize("kind", FAMILIES)
def test_any_shards_become_any_others_or_are_refused(kind, by):
    """Of each pair of numbers: the answers from then on are those of the stream that was left alone."""
    query, backends = family(kind, by=by), EXACT.get(kind)
    first, second = pieces(5)[:2]
    alone = stream_of(query, 1, backends)
    alone.push(first)
    expected = goes_on(alone, second)
    assert any(expected)
    counts = COUNTS if by or query.one_shard is None else (1,)
    for before in counts:
        stream = stream_of(query, before, backends)
        stream.push(first)
        for after in counts:
            if by or after == before or (kind in MERGED and before % after == 0):
                assert goes_on(stream_of(query, after, backends).begin_from(stream), second) == expected, (
                    before,
                    after,
                )
            else:
                with pytest.raises(ConfigError, match=f"the savepoint has {before} and cannot become {after}"):
                    stream_of(query, after, backends).begin_from(stream)


@pytest.mark.parametrize("kind", FAMILIES)
def test_groups_that_moved_answer_when_that_is_due_though_no_row_comes_or_waits(kind):
    query, answers = family(kind, by=["place"]), []
    for after in (2, 3):
        stream = stream_of(query, 2)
        stream.push(pieces(5)[0])
        times = [query.delay.length + second * SECOND for second in (58, 59, 61, 66, 76, 400)]
        stream.step(EventTimeProgress([times[0]], times[0]))
        assert sum(operator.waiting for operator in stream.operators) == 0
        stream = stream if after == 2 else stream_of(query, after).begin_from(stream)
        answers.append([plain(stream.step(EventTimeProgress([at], at))) for at in times[1:]])
    assert answers[0] == answers[1]


def test_a_state_is_not_taken_for_that_of_another_shard():
    stream = stream_of(family("top-k"), 3)
    stream.push(pieces(5)[0])
    one, two, three = (operator.snapshot() for operator in stream.operators)
    with pytest.raises(SnapshotError, match="of shard 1 of 3, not of shard 2 of 3"):
        stream.plan.operator(2).restore(two)
    with pytest.raises(SnapshotError, match="its 3 states are of shard 0 of 3, shard 1 of 3, shard 1 of 3"):
        take_over([one, two, two], stream.plan.query, stream.make, 3)
    with pytest.raises(SnapshotError, match="its 2 states are of shard 0 of 3, shard 2 of 3"):
        take_over([one, three], stream.plan.query, stream.make, 2)


@pytest.mark.parametrize(
    ("shard", "message"),
    [
        (7, "7 is not a shard"),
        ([1], r"\[1\] is not a shard"),
        (["0", 1], r"\['0', 1\] is not a shard"),
        ([True, 2], r"\[True, 2\] is not a shard"),
        ([3, 3], "there is no shard 3 of 3"),
        ([-1, 2], "there is no shard -1 of 2"),
    ],
)
def test_a_state_of_no_shard_is_refused(shard, message):
    stream = stream_of(family("top-k"), 1)
    held = snapshot.decode(stream.operators[0].snapshot())
    with pytest.raises(SnapshotError, match=message):
        stream.make(False).restore(snapshot.encode({**held.header, "shard": shard}, held.arrays))


def without_number(blob):
    """A state as Skyband wrote it before states said which shard they are of."""
    held = snapshot.decode(blob)
    return snapshot.encode({name: value for name, value in held.header.items() if name != "shard"}, held.arrays)


@pytest.mark.parametrize("after", COUNTS)
def test_groups_of_states_without_a_number_go_where_their_rows_come(after):
    query = family("top-k", by=["place"])
    alone, stream, following = stream_of(query, 1), stream_of(query, 2), stream_of(query, after)
    first, second = pieces(5)[:2]
    alone.push(first), stream.push(first)
    blobs = [without_number(operator.snapshot()) for operator in stream.operators]
    following.operators = take_over(blobs[::-1], query, following.make, after)
    assert goes_on(following, second) == goes_on(alone, second)


def test_groups_that_came_to_another_shard_are_refused():
    """What an older Skyband made of its own savepoint of several shards: groups where their rows do not come."""
    stream = stream_of(family("top-k", by=["place"]), 2)
    stream.push(pieces(5)[0])
    for number, operator in enumerate(stream.operators[::-1]):
        with pytest.raises(SnapshotError, match=f"groups or rows do not belong to shard {number} of 2: an old"):
            stream.plan.operator(number).restore(without_number(operator.snapshot()))
    blob = without_number(stream.operators[1].snapshot())
    with pytest.raises(SnapshotError, match="are in two shards"):
        take_over([blob, blob], stream.plan.query, stream.make, 3)


@pytest.mark.parametrize("kind", FAMILIES)
def test_a_query_without_groups_goes_on_with_its_shards(kind):
    shards = 1 if kind in ("quantiles", "row-features", "uncertain-sum", "uncertain-join") else 2
    query = family(kind)
    assert moved([query] * 4, [shards] * 4) == undisturbed(query, shards)


@pytest.mark.parametrize(
    ("kind", "keys", "backends"),
    [
        ("distinct-count", {}, {"sketch": "exact"}),
        ("distinct-count", {"emit": "state"}, {"sketch": "exact"}),
        ("distinct-count", {"value": "number", "ranges": [[0, 90], [90, 300]]}, {"sketch": "exact"}),
        ("distinct-count", {"value": "number", "emit": "state"}, {"sketch": "k-skb"}),
        ("detections", {}, None),
        ("heavy-hitters", {}, {"total-ranker": "exact"}),
        ("heavy-hitters", {"object": ["name", "origin"], "carry": ["number"]}, {"total-ranker": "exact"}),
    ],
)
def test_shards_without_groups_are_merged(kind, keys, backends):
    query = family(kind, **keys)
    assert moved([query] * 4, [6, 3, 1, 1], backends) == undisturbed(query, backends=backends)


@pytest.mark.parametrize(
    ("kind", "shards", "backend", "said"),
    [
        ("distinct-count", (1, 2), {"sketch": "exact"}, "a state without `by` cannot be split; set"),
        ("distinct-count", (4, 3), {"sketch": "exact"}, "must divide the old one"),
        ("top-k", (4, 2), None, "the savepoint has 4 and cannot become 2: the states of a top-k do not merge"),
        ("top-k-pairs", (4, 2), None, "the states of a top-k-pairs do not merge"),
    ],
)
def test_states_that_cannot_be_cut_or_merged_are_refused(kind, shards, backend, said):
    before = stream_of(family(kind), shards[0], backend)
    before.push(table())
    with pytest.raises(ConfigError, match=re.escape(said)):
        stream_of(family(kind), shards[1], backend).begin_from(before)


def test_windows_come_and_go_up_to_the_longest():
    before, after = (
        family("distinct-count", by=["place"], windows=windows)
        for windows in (["30 seconds", "1 minute"], ["15 seconds", "1 minute"])
    )
    both = family("distinct-count", by=["place"], windows=["15 seconds", "30 seconds", "1 minute"])
    whole, cut = stream_of(both, 1), stream_of(before, 2)
    cut.push(pieces(2)[0]), whole.push(pieces(2)[0])
    found = plain(stream_of(after, 3).begin_from(cut).push(pieces(2)[1]))
    expected = [row for row in plain(whole.push(pieces(2)[1])) if row[2] != "30 seconds"]
    assert found == expected and any(row[2] == "15 seconds" for row in found)


def test_ranges_come_and_go_as_the_values_are_kept():
    before, after, both = (
        family("distinct-count", by=["place"], value="number", ranges=ranges)
        for ranges in ([[0, 90]], [[50, 120], [0, 50]], [[0, 90], [50, 120], [0, 50]])
    )
    backends = {"sketch": "k-skb"}
    whole, cut = stream_of(both, 1, backends), stream_of(before, 2, backends)
    cut.push(pieces(2)[0]), whole.push(pieces(2)[0])
    found = plain(stream_of(after, 3, backends).begin_from(cut).push(pieces(2)[1]))
    expected = [row for row in plain(whole.push(pieces(2)[1])) if "[0, 90)" not in row]
    assert found == expected and any("[50, 120)" in row for row in found)
    without = stream_of(family("distinct-count", by=["place"]), 2, backends)
    with pytest.raises(SnapshotError, match=r"query\.value was number, is None"):
        without.begin_from(cut)


def test_queries_join_a_workload_whatever_the_shards():
    few, more = (family("top-k-workload", by=["place"], queries=queries) for queries in (WORKLOAD[:1], WORKLOAD[::-1]))
    before = stream_of(few, 1)
    before.push(table().slice(0, 150))
    alone, spread = (stream_of(more, shards).begin_from(before).push(table().slice(150)) for shards in (1, 3))
    assert plain(alone) == plain(spread)
    assert {row["query"] for row in spread.to_pylist()} == {"quick", "slow"}


@pytest.mark.parametrize("most", [0, 512])
@pytest.mark.parametrize("after", [1, 3])
def test_groups_that_no_query_looks_at_any_more_are_let_go(after, most, monkeypatch):
    """They had rows in windows of the longest query, which has left: small ones, and those with a processor."""
    monkeypatch.setattr(limits, "MOST_ENTRIES", most)
    both, quick = (family("top-k-workload", by=["name"], queries=queries) for queries in (WORKLOAD[::-1], WORKLOAD[:1]))
    before, alone = stream_of(both, 1), stream_of(quick, 1)
    for each in (before, alone):
        each.push(table().slice(0, 400))
    stream = stream_of(quick, after).begin_from(before)
    assert sum(len(operator.groups) for operator in stream.operators) > len(alone.operators[0].groups)
    end = EventTimeProgress([500 * SECOND], 500 * SECOND)
    assert plain(stream.step(end)) == plain(alone.step(end))
    assert [len(operator.groups) for operator in (*stream.operators, *alone.operators)] == [0] * (after + 1)


@pytest.mark.parametrize(
    ("keys", "backends", "said"),
    [
        ({"by": ["side"]}, None, "query.by was ('place',), is ('side',): a state does not have the rows of its groups"),
        ({"windows": ["2 minutes"]}, None, "rows before the longest window are forgotten"),
        ({"windows": ["2 minutes"]}, None, "query.windows was ('30 seconds', '1 minute'), is ('2 minutes',): rows"),
        ({"windows": ["today"]}, None, "query.windows was ('30 seconds', '1 minute'), is ('today',)"),
        ({"item": "words"}, None, "query.item was name, is words"),
        ({"delay": "1 second"}, None, "query.delay was 20 seconds, is 1 second"),
        ({}, {"sketch": "k-skb"}, "a state is read only by the backend that made it"),
    ],
)
def test_what_another_job_asks_is_refused_with_the_reason(keys, backends, said):
    before = stream_of(family("distinct-count", by=["place"]), 2)
    before.push(pieces(2)[0])
    changed = {"by": ["place"], "item": "name", **keys} | ({"item": "side"} if keys.get("item") else {})
    said = said.replace("words", "side")
    with pytest.raises(SnapshotError, match=re.escape(said)):
        stream_of(family("distinct-count", **changed), 2, backends).begin_from(before)


@pytest.mark.parametrize("after", [{"at": [], "above": [0.4]}, {"at": [0.5], "above": []}])
def test_last_answers_that_are_kept_have_their_columns(after):
    """Whole answers may get others."""
    for answers in ("all", "changes"):
        asked = ({"at": [0.5], "above": [0.4]}, after)
        before, changed = (family("quantiles", by=["place"], answers=answers, **keys) for keys in asked)
        stream = stream_of(before, 2)
        stream.push(pieces(2)[0])
        if answers == "all":
            assert len(stream_of(changed, 3).begin_from(stream).push(pieces(2)[1]))
            continue
        with pytest.raises(SnapshotError, match="it has the last answers, with columns place, at, change, window"):
            stream_of(changed, 3).begin_from(stream)


@pytest.mark.parametrize("after", [1, 2, 3])
def test_rows_of_a_whole_second_table_are_taken_once_whatever_the_shards(after):
    """Every run is given all of it: of what was there before no rule begins anew, and nothing is refused again."""
    query = family("distinct-count", by=["place"], windows=[], longest="1 minute")
    rules = {"name": ["quick", "too long"], "window": ["30 seconds", "61 seconds"]}
    whole, before = WholeTable.of(pa.table(rules)), stream_of(query, 2)
    assert [len(operator.broadcast_whole(whole)) for operator in before.operators] == [1, 1]
    before.push(pieces(5)[0])
    more = WholeTable.of(pa.table({name: [*column, column[1]] for name, column in rules.items()} | {"name": [*"abc"]}))
    for operator in stream_of(query, after).begin_from(before).operators:
        state = operator.snapshot()
        assert operator.has_whole(whole) and operator.broadcast_whole(whole) == [] and operator.snapshot() == state
        assert not operator.has_whole(more) and len(operator.broadcast_whole(more)) == 2


@pytest.mark.parametrize(
    ("before", "after", "by"),
    [(before, after, []) for before in COUNTS for after in COUNTS if not before % after]
    + [(before, after, ["place"]) for before in COUNTS for after in COUNTS],
)
def test_what_a_finished_stream_withholds_is_given_once_whatever_its_shards_become(before, after, by):
    """By rules with slides of their own: each shard withholds a part of an answer, or with `by` those of its groups."""
    query, backends = family("distinct-count", by=by, windows=[], longest="1 minute"), EXACT["distinct-count"]
    lengths = {"window": ["30 seconds", "1 minute"], "slide": ["15 seconds", "50 seconds"]}
    rules = pa.table({"name": ["quick", "slow"], **lengths})
    first, second = pieces(5)[:2]
    given = []
    for shards in (1, before):
        stream = stream_of(query, shards, backends)
        for operator in stream.operators:
            operator.broadcast(rules)
        stream.push(first)
        tick = EventTimeProgress.nowhere(1)
        tick.tick = 1
        stream.step(tick, Ticking(finish=True))
        assert sum(len(operator._state.withheld) for operator in stream.operators)
        stream = stream_of(query, after, backends).begin_from(stream) if given else stream
        given.append(goes_on(stream, second))
    assert given[0] == given[1] and given[0]


UNTIL = 120 * SECOND


def history_of(query, shards):
    """The snapshots that a batch over the rows before a moment gives."""
    plan = stream_of(query, shards).plan
    batches = table().select(query.columns).to_batches()
    packed = list(plan.to_shuffle_rows(rows_before(plan, batch, UNTIL) for batch in batches))
    rows = sorted((row for batch in packed for row in batch.to_pylist()), key=lambda row: row["first"])
    for shard in range(shards):
        own = pa.RecordBatch.from_pylist([row for row in rows if row["shard"] == shard], schema=SHUFFLE_SCHEMA)
        yield b"".join(row["data"] for piece in state_pieces(plan, iter([own]), UNTIL) for row in piece.to_pylist())


@pytest.mark.parametrize("kind", FAMILIES)
def test_a_stream_that_begins_with_history_has_had_it_all(kind):
    query = family(kind, by=["place"])
    stream = stream_of(query, 3)
    stream.operators = take_over(list(history_of(query, 2)), query, stream.make, 3)
    found = plain(stream.push(table()))
    answers = stream_of(query, 1).push(table())
    at = answers.column("at" if "at" in answers.column_names else "time").cast(pa.int64()).to_numpy()
    due = at > UNTIL if "at" in answers.column_names else at >= UNTIL
    assert found == plain(answers.filter(pa.array(due))) and found
    assert sum(operator.take_metrics().rows_late for operator in stream.operators) > 0


@pytest.mark.parametrize(("by", "after"), [(["place"], 3), ([], 1)], ids=["apart", "merged"])
def test_shards_that_stand_elsewhere_are_refused(by, after):
    query, backends = family("distinct-count", by=by), {"sketch": "exact"}
    one, other = stream_of(query, 2, backends), stream_of(query, 2, backends)
    one.push(pieces(2)[0]), other.push(table())
    one.operators[1] = other.operators[1]
    with pytest.raises(SnapshotError, match="contradicts itself: its shards are at"):
        stream_of(query, after, backends).begin_from(one)


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("change", [-1, 1])
def test_shards_whose_small_groups_are_answered_further_are_refused(number, change):
    query = family("distinct-count", by=["place"])
    stream = stream_of(query, 2)
    stream.push(pieces(4)[0])
    blobs = [operator.snapshot() for operator in stream.operators]
    state = snapshot.decode(blobs[number])
    until = state.arrays["groups.small_groups.until"] + change * SECOND
    blobs[number] = snapshot.encode(state.header, {**state.arrays, "groups.small_groups.until": until})
    with pytest.raises(SnapshotError, match="contradicts itself"):
        take_over(blobs, query, stream_of(query, 3).make, 3)


@pytest.mark.parametrize(("by", "after"), [(["place"], 3), ([], 1)], ids=["apart", "merged"])
def test_shards_that_were_given_other_rules_are_refused(by, after):
    query, backends = family("distinct-count", by=by, windows=[], longest="1 minute"), {"sketch": "exact"}
    stream = stream_of(query, 2, backends)
    for operator, window in zip(stream.operators, ("30 seconds", "20 seconds"), strict=True):
        operator.broadcast(pa.table({"name": ["quick"], "window": [window]}))
    stream.push(pieces(5)[0])
    with pytest.raises(SnapshotError, match="have different rows of the second table"):
        stream_of(query, after, backends).begin_from(stream)
