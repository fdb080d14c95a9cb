"""What holds of small groups, over windows of either kind."""

import numpy as np
from skyband.engines import local
from skyband.groups.small_groups import limits
from skyband.operator.operator import Operator
from small_group_queries import (
    BOUNDED,
    MANY,
    NAMED,
    PROMISED,
    SPECS,
    at_most,
    over_days,
    query,
    run,
    stream,
    stream_of_many,
)


def check_answers(number, most, monkeypatch):
    """Row for row as by a processor each, however the input is cut; bytes of state too."""
    at_most(most, monkeypatch)
    table = stream(number, list(NAMED)[number % 3])
    calendar = "Paris" in str(SPECS[number])
    table = over_days(table) if calendar else table
    asked = query(SPECS[number], by=["group"], delay="3 hours" if calendar else "2 seconds")
    rng = np.random.default_rng(number)
    few, many = (np.sort(rng.integers(0, len(table), pieces)).tolist() for pieces in (3, 15))
    data = not any(callable(SPECS[number].get(name)) for name in ("aggregate", "similarity"))  # snapshots hold no code
    whole, some, stopped = run(asked, table, []), run(asked, table, few), run(asked, table, many, snapshots=data)
    at_most(0, monkeypatch)
    rows, processors, dropped = run(asked, table, few)
    assert whole[0] == some[0] == stopped[0] == rows
    assert whole[2] == some[2] == stopped[2] == dropped
    np.testing.assert_equal(whole[1], some[1])
    np.testing.assert_equal(whole[1], stopped[1])
    assert not any(name.startswith("small_groups") for name in processors)
    if most == 512:
        assert len(whole[1]["processors.key"]) == 0


def look_at(groups):
    """Write the state of groups down and throw it away: they stay as they are, and so do their names."""
    before = groups.keys.tolist(), groups.values.to_pylist(), len(groups), groups.retained
    state = groups.dump_state()
    np.testing.assert_equal(groups.dump_state(), state)
    groups._check()
    assert before == (groups.keys.tolist(), groups.values.to_pylist(), len(groups), groups.retained)


def check_looks(spec, number, most, monkeypatch):
    """A look at a state leaves no trace: of groups, names, rows left out, answers or bytes."""
    at_most(most, monkeypatch)
    table = stream(number + 60, list(NAMED)[number % 3])
    calendar = "Paris" in str(spec)
    table = over_days(table) if calendar else table
    asked = query(spec, by=["group"], delay="3 hours" if calendar else "2 seconds")
    cuts = np.sort(np.random.default_rng(number).integers(0, len(table), 12)).tolist()
    alone, seen = (local.LocalRun.start(asked, table.schema) for _ in range(2))
    for start, stop in zip([0, *cuts], [*cuts, len(table)], strict=True):
        for batch in table.slice(start, stop - start).combine_chunks().to_batches():
            expected, answers = alone.push(batch), seen.push(batch)
            assert answers.equals(expected)
            look_at(seen.operator.groups)
            assert seen.operator.take_metrics().dropped == alone.operator.take_metrics().dropped
    assert seen.finish().equals(alone.finish())


def check_bounded(number, monkeypatch):
    """Small and large groups answer alike, as the ranker is exact for either."""
    spec, name = BOUNDED[number]
    table, backends = stream(number + 40), {"total-ranker": {"name": name, "epsilon": 0.1}}
    asked = query(spec, by=["group"], delay="2 seconds")
    cuts = np.sort(np.random.default_rng(number).integers(0, len(table), 9)).tolist()
    found, grown = [], []
    for most in (0, 4, 512):
        monkeypatch.setattr(limits, "MOST_ENTRIES", most)
        whole = run(asked, table, [], backends=backends)
        in_parts = run(asked, table, cuts, snapshots=True, backends=backends)
        assert (whole[0], whole[2]) == (in_parts[0], in_parts[2])
        np.testing.assert_equal(whole[1], in_parts[1])
        found.append((whole[0], whole[2]))
        grown.append(len(whole[1]["processors.key"]))
    assert found[0] == found[1] == found[2] == run(asked, table, [])[::2]
    assert grown[0] > 0 == grown[2]


def check_promised(number, chance, monkeypatch):
    """What it goes on with does not tell when it grew: here groups of more than three, and seven, reports do."""
    ranker = {"name": "approx", "exact_reports": 7, "sketch": "exact", "refresh": 2, "chance": chance}
    table, backends = stream(number + 20, rows=400), {"object-ranker": ranker}
    asked = query(PROMISED[number], by=["group"], delay="2 seconds")
    cuts = np.sort(np.random.default_rng(number).integers(0, len(table), 9)).tolist()
    data = not callable(PROMISED[number]["aggregate"])
    found, grown = [], []
    for most in (0, 3, 512):
        monkeypatch.setattr(limits, "MOST_ENTRIES", most)
        whole = run(asked, table, [], backends=backends)
        in_parts = run(asked, table, cuts, snapshots=data, backends=backends)
        assert (whole[0], whole[2]) == (in_parts[0], in_parts[2])
        np.testing.assert_equal(whole[1], in_parts[1])
        found.append((whole[0], whole[2]))
        grown.append(len(whole[1]["processors.key"]))
    assert found[0] == found[1] == found[2]
    exact = run(asked, table, [])[0]
    if number < len(PROMISED) - 1:
        assert exact != found[0][0] or chance is None, "chances count"
        assert grown[0] >= grown[1] >= grown[2] > 0
    else:
        assert exact == found[0][0], "there is nothing to expect where a later report counts"


def check_moves(spec):
    """Two shards take over a half of the groups each, and one takes over both."""
    table, asked = stream(4, "text"), query(spec, by=["group"])
    host = local.LocalRun.start(asked, table.schema)
    host.push(table.slice(0, 100).combine_chunks().to_batches()[0])
    state, parts = host.operator.groups.dump_state(), []
    for odd in (0, 1):
        part = Operator(asked, host.operator.bindings, table.schema)
        part.align_with(host.operator)
        part.absorb(host.operator, lambda keys, odd=odd: keys % np.uint64(2) == odd)
        part.groups._check()
        part.groups.dump_state()
        parts.append(part)
    assert all(len(part.groups) for part in parts)
    again = Operator(asked, host.operator.bindings, table.schema)
    again.align_with(host.operator)
    for part in reversed(parts):
        again.absorb(part, lambda keys: np.ones(len(keys), bool))
        again.groups._check()
    np.testing.assert_equal(again.groups.dump_state(), state)


def check_many_entries(number, most, monkeypatch):
    """Groups of hundreds of entries and more, with many rows a pass, answer as processors; bytes tell no cuts."""
    table, asked = stream_of_many(number, list(NAMED)[number % 3]), query(MANY[number], by=["group"])
    rng = np.random.default_rng(number)
    few, many = (np.sort(rng.integers(0, len(table), pieces)).tolist() for pieces in (2, 25))
    at_most(most, monkeypatch)
    exact = {"backends": {next(iter(asked.roles)): "exact"}}
    whole, some = run(asked, table, [], **exact), run(asked, table, few, **exact)
    stopped = run(asked, table, many, snapshots=True, **exact)
    at_most(0, monkeypatch)
    rows, _, _ = run(asked, table, few, **exact)
    assert whole[0] == some[0] == stopped[0] == rows != []
    np.testing.assert_equal(whole[1], some[1])
    np.testing.assert_equal(whole[1], stopped[1])
    counts, times = whole[1]["small_groups.count"], whole[1]["small_groups.entries.time"]
    until = whole[1].get("small_groups.until", whole[1].get("small_groups.seen"))
    until = np.repeat(np.broadcast_to(until, len(counts)), counts)
    assert (times >= asked.schedule.oldest(until)).all(), "what no moment needs any more is forgotten"
    if most == 4096:
        assert len(whole[1]["processors.key"]) == 0
        assert counts.max() > 512
    else:
        assert len(whole[1]["processors.key"]) > 0
