"""near-duplicates on the local engine, compared with brute force over all rows."""

import math

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from in_process_shards import on_shards
from skyband.columns.ids import to_ids
from skyband.engines import local
from skyband.errors import ConfigError
from skyband.queries import make_query
from skyband_setjoin import small_groups_of_sets

SECOND = 1_000_000
ALIKE = {
    "jaccard": lambda a, b: len(a & b) / len(a | b),
    "cosine": lambda a, b: len(a & b) / math.sqrt(len(a) * len(b)),
    "containment": lambda a, b: len(a & b) / min(len(a), len(b)),
    "overlap": lambda a, b: float(len(a & b)),
    "hamming": lambda a, b: -float(len(a ^ b)),
}


def stream(seed, rows=250, text=True):
    """Short sets of few tokens, some empty or null, many at one time, with a long silence."""
    rng = np.random.default_rng(seed)
    seconds = np.sort(rng.integers(0, rows // 3, rows))
    seconds = np.where(seconds > rows // 6, seconds + 500, seconds) - 20
    drawn = [rng.integers(0, 9, size).tolist() for size in rng.integers(0, 5, rows)]
    tokens = [[f"word {token}" for token in row] + [None] for row in drawn] if text else drawn
    tokens = [None if place % 40 == 7 else row for place, row in enumerate(tokens)]
    numbers = rng.permutation(rows)
    return pa.table(
        {
            "ts": pa.array(seconds * SECOND, pa.timestamp("us", "UTC")),
            "who": pa.array([f"set {i}" for i in numbers] if text else numbers.astype(np.int32)),
            "words": pa.array(tokens, pa.list_(pa.string() if text else pa.int32())),
            "origin": pa.array([["left", "right"][i] for i in rng.integers(0, 2, rows)]),
            "place": pa.array([f"group {i}" for i in rng.integers(0, 2, rows)]),
            "note": pa.array([None if i % 5 == 0 else i / 2 for i in range(rows)]),
            "count": pa.array(np.arange(rows)),
        }
    )


def query(**changes):
    keys = {"time": "ts", "id": "who", "tokens": "words", "threshold": 0.6, "window": "10 seconds"}
    return make_query({"kind": "near-duplicates", **keys, **changes})


def by_hand(table, by=(), side=None, similarity="jaccard", threshold=0.6, window=10 * SECOND, rows=False, **keys):
    """(row, [(earlier row, similarity)]) of each row, in order of arrival."""
    matches, keep = keys.get("matches", "all"), keys.get("keep", "all")
    times = np.asarray(table["ts"].cast(pa.int64())).tolist()
    codes = to_ids(table["who"].combine_chunks())[0].tolist()
    sides = table[side].to_pylist() if side else None
    groups = list(zip(*(table[name].to_pylist() for name in by), strict=True)) if by else [()] * len(table)
    sets = [{word for word in words or () if word is not None} for words in table["words"].to_pylist()]
    kept, place, answers = {}, {}, []
    for _, _, row in sorted(zip(times, codes, range(len(table)), strict=True)):
        group = groups[row]
        place[row] = sum(groups[other] == group for other in place)
        apart = [place[row] - place[old] if rows else times[row] - times[old] for old in kept.setdefault(group, [])]
        near = [old for old, gap in zip(kept[group], apart, strict=True) if gap < window]
        near = [old for old in near if sets[old] & sets[row] and (sides is None or sides[old] != sides[row])]
        found = [(old, ALIKE[similarity](sets[old], sets[row])) for old in near]
        found = [match for match in found if match[1] >= threshold]
        if not (keep == "first" and found):
            kept[group].append(row)
        if matches != "all":
            found = sorted(found, key=lambda match: -match[1])[:matches]
        answers.append((row, found))
    return answers


def as_output(answers, output):
    """The (row, match, similarity) of each answer of a query."""
    if output == "kept":
        return [(row, None, None) for row, found in answers if not found]
    told = [(row, [*found, *([(None, None)] if output == "rows" and not found else [])]) for row, found in answers]
    return [(row, *match) for row, found in told for match in found]


def rows_of(result, table):
    number = {name: row for row, name in enumerate(table["who"].to_pylist())} | {None: None}
    ids = [number[name] for name in result["id"].to_pylist()]
    if "match" not in result.column_names:
        return [(row, None, None) for row in ids]
    matches = [number[name] for name in result["match"].to_pylist()]
    return list(zip(ids, matches, result["similarity"].to_pylist(), strict=True))


def ranked(answers):
    return sorted(answers, key=lambda answer: (answer[0], -1 if answer[1] is None else answer[1]))


@pytest.mark.parametrize("by", [[], ["place"]])
@pytest.mark.parametrize("text", [True, False])
@pytest.mark.parametrize(("side", "keep"), [(None, "all"), (None, "first"), ("origin", "all")])
@pytest.mark.parametrize("output", ["pairs", "rows", "kept"])
def test_every_row_has_the_matches_found_by_hand(output, side, keep, text, by):
    table = stream(1, text=text)
    result = local.apply(table, query(by=by, side=side, keep=keep, output=output))
    told = [*by, "time", "id", *(["match", "match_time", "similarity"] if output != "kept" else [])]
    assert result.column_names == told
    assert ranked(rows_of(result, table)) == ranked(as_output(by_hand(table, by, side, keep=keep), output))
    assert {result.schema.field(name).type for name in told if name in ("id", "match")} == {table["who"].type}


@pytest.mark.parametrize("similarity", ALIKE)
@pytest.mark.parametrize("matches", [1, 3])
@pytest.mark.parametrize("by", [[], ["place"]])
def test_matches_are_ordered_by_similarity_then_arrival(similarity, matches, by):
    table = stream(2)
    keys = {"similarity": similarity, "threshold": {"overlap": 2, "hamming": -2}.get(similarity, 0.5)}
    result = local.apply(table, query(by=by, matches=matches, **keys))
    found, wanted = rows_of(result, table), as_output(by_hand(table, by, matches=matches, **keys), "pairs")
    if by:  # the groups one after the other, within each in order of arrival
        found, wanted = (sorted(matched, key=lambda match: match[0]) for matched in (found, wanted))
    assert found == wanted


@pytest.mark.parametrize("keep", ["all", "first"])
def test_windows_of_rows(keep):
    table = stream(3)
    result = local.apply(table, query(window="20 rows", keep=keep, by="place"))
    wanted = by_hand(table, ["place"], window=20, rows=True, keep=keep)
    assert ranked(rows_of(result, table)) == ranked(as_output(wanted, "pairs"))


def test_no_row_is_lost_and_carried_columns_are_kept():
    table = stream(4)
    carried = ["note", "words", "count", "place"]
    result = local.apply(table, query(output="rows", matches=1, keep="first", carry=carried)).sort_by("count")
    assert result["count"].to_pylist() == list(range(len(table)))
    for name in ("note", "words", "place"):
        assert result[name].combine_chunks().equals(table[name].combine_chunks())
    kept = local.apply(table, query(output="kept", keep="first", carry="count"))
    unmatched = result.filter(result["match"].is_null())
    assert sorted(kept["count"].to_pylist()) == unmatched["count"].to_pylist()


def test_match_time_is_the_time_of_the_match():
    table = stream(5)
    times = dict(zip(table["who"].to_pylist(), table["ts"].to_pylist(), strict=True))
    for row in local.apply(table, query(window="20 rows")).to_pylist():
        assert (row["time"], row["match_time"]) == (times[row["id"]], times[row["match"]])


@pytest.mark.parametrize("output", ["pairs", "rows", "kept"])
@pytest.mark.parametrize("keep", ["all", "first"])
def test_an_id_of_several_columns_is_the_same_as_one_id(output, keep):
    """Rows have distinct times, and another query uses their numbers as ids; on shards too."""
    table = stream(8)
    times = np.asarray(table["ts"].cast(pa.int64())) + np.arange(len(table))
    table = table.set_column(0, "ts", pa.array(times, table.schema.field("ts").type))
    known = {row["count"]: row for row in table.to_pylist()}
    asked = query(id=["who", "place", "note"], output=output, keep=keep, carry="count")
    whole = table.filter(table["note"].is_valid())  # a null cannot be part of an id
    assert local.apply(table, asked).equals(local.apply(whole, asked))
    plain = local.apply(whole, query(id="count", output=output, keep=keep)).to_pylist()
    expected = []
    for row in plain:
        one = {"time": row["time"], **{name: known[row["id"]][name] for name in asked.id}}
        if output != "kept":
            match = known.get(row["match"], dict.fromkeys(asked.id))
            one |= {f"match_{name}": match[name] for name in asked.id}
            one |= {name: row[name] for name in ("match_time", "similarity")}
        expected.append(one | {"count": row["id"]})
    assert local.apply(table, asked).to_pylist() == expected
    if keep == "all":
        assert rows_as_text(on_shards(table, asked, 4, 3)[0].to_pylist()) == rows_as_text(expected)
    assert len(expected) > 50


@pytest.mark.parametrize(
    ("output", "keys"),
    [
        ("pairs", {}),
        ("rows", {"window": "20 rows"}),
        ("rows", {"keep": "first", "matches": 1, "id": ["who", "place"]}),
        ("pairs", {"side": "origin", "matches": 2, "by": "place"}),
    ],
)
def test_columns_of_a_match_are_those_of_its_row(output, keys):
    """Another query uses row numbers as ids; each side carries a different column."""
    table = stream(9)
    ordered = np.asarray(table["ts"].cast(pa.int64())) + np.arange(len(table))
    table = table.set_column(0, "ts", pa.array(ordered, table.schema.field("ts").type))
    known = {row["count"]: row for row in table.to_pylist()}
    carried = ["note", "words", "count"]
    asked = query(output=output, carry=["origin", "note"], carry_match=carried, **keys)
    answers = local.apply(table, asked)
    assert answers.column_names[-len(carried) - 2 :] == ["origin", "note", *(f"match_{name}" for name in carried)]
    assert answers.schema.field("match_words").type == table.schema.field("words").type
    plain = local.apply(table, query(output=output, **{**keys, "id": "count"})).to_pylist()
    found = answers.to_pylist()
    assert [row["match_count"] for row in found] == [row["match"] for row in plain]
    nothing = dict.fromkeys(carried)
    for row, one in zip(found, plain, strict=True):
        matched = nothing if one["match"] is None else known[one["match"]]
        assert {name: row[f"match_{name}"] for name in carried} == {name: matched[name] for name in carried}
        assert (row["origin"], row["note"]) == (known[one["id"]]["origin"], known[one["id"]]["note"])
    assert len({row["match_count"] for row in found}) > 20
    if asked.one_shard is None and not asked.by:
        assert rows_as_text(on_shards(table, asked, 4, 3)[0].to_pylist()) == rows_as_text(found)


def test_columns_of_matches_on_shards():
    table = stream(10)
    asked = query(output="rows", matches=2, carry_match=["words", "count"])
    whole = local.apply(table, asked)
    assert rows_as_text(on_shards(table, asked, 9, 4)[0].to_pylist()) == rows_as_text(whole.to_pylist())
    assert whole["match_words"].null_count > 10
    assert len(whole) - whole["match_words"].null_count > 50


@pytest.mark.parametrize("window", ["2 seconds", "8 rows"])
def test_columns_of_expired_rows_are_released(window):
    """A state, with the texts in it, is as large after 40 windows as after 4."""
    text = "a text of some length, of which a hundred would be seen in the state"
    at = np.arange(2000) * SECOND // 4
    words = [[f"word {i % 50}", f"word {i % 7}"] for i in range(len(at))]
    table = pa.table(
        {
            "ts": pa.array(at, pa.timestamp("us")),
            "who": np.arange(len(at)),
            "words": words,
            "text": [f"{text} {i:05}" for i in range(len(at))],
        }
    )
    run = local.LocalRun.start(query(window=window, carry_match="text"), table.schema)
    sizes = []
    for batch in table.combine_chunks().to_batches(max_chunksize=50):
        run.push(batch)
        sizes.append(run.operator.snapshot().count(text.encode()))
    assert max(sizes) <= 9
    assert min(sizes[1:]) >= 7


def rows_as_text(rows):
    return sorted(map(str, rows))


def test_rows_that_differ_only_in_carried_columns_have_one_order():
    table = pa.table(
        {
            "ts": pa.array([1] * 6, pa.timestamp("s")),
            "who": ["a"] * 6,
            "words": [["x"]] * 6,
            "count": [4, 1, 3, 0, 5, 2],
        }
    )
    for asked in (
        query(carry="count"),
        query(carry_match="count"),
        query(carry="count", keep="first", output="rows"),
    ):
        assert local.apply(table.take(pa.array([5, 4, 3, 2, 1, 0])), asked).equals(local.apply(table, asked))


@pytest.mark.parametrize("window", ["10 seconds", "12 rows"])
@pytest.mark.parametrize("limits", [(5, 4096), (64, 16), (64, 24)])
def test_groups_outgrow_by_the_contents_of_their_windows_for_any_batches(limits, window, monkeypatch):
    """Sets, or their tokens, that leave the window in the middle of a batch no longer count."""
    monkeypatch.setattr(small_groups_of_sets, "MOST_SETS", limits[0])
    monkeypatch.setattr(small_groups_of_sets, "MOST_TOKENS", limits[1])
    grown = set()
    for seed in range(3):
        table, rng, states = stream(seed, 150), np.random.default_rng(seed), set()
        places = pa.array([f"group {i}" for i in np.sqrt(rng.integers(0, 49, 150)).astype(int)])
        table = table.set_column(4, "place", places)
        asked = query(by="place", window=window)
        wanted = as_output(
            by_hand(table, ["place"], window=12 if "rows" in window else 10 * SECOND, rows="rows" in window), "pairs"
        )
        for cuts in ([], [40, 90], range(0, 150, 9)):
            run = local.LocalRun.start(asked, table.schema)
            parts = [table.slice(start, stop - start) for start, stop in zip([0, *cuts], [*cuts, 150], strict=True)]
            found = [run.push(part.combine_chunks().to_batches()[0]) for part in parts if len(part)]
            states.add(run.operator.snapshot())
            told = rows_of(pa.Table.from_batches([*found, run.finish()]), table)
            assert ranked(told) == ranked(wanted), (seed, cuts)
        assert len(states) == 1, seed
        grown.add(len(run.operator.groups.dump_state()["processors.key"]) > 0)
    assert True in grown


@pytest.mark.parametrize("window", ["10 seconds", "30 rows"])
@pytest.mark.parametrize("keep", ["all", "first"])
def test_batches_and_restarts_make_no_difference(keep, window):
    """Small batches, out of order within the delay, with the state saved and restored between them."""
    table = stream(6)
    asked = query(
        delay="4 seconds",
        keep=keep,
        window=window,
        output="rows",
        carry=["note"],
        by=["place"],
        carry_match=["words", "note"],
    )
    arrival = np.argsort(
        np.asarray(table["ts"].cast(pa.int64())) + np.random.default_rng(1).uniform(0, 3e6, len(table))
    )
    late_first = table.take(pa.array(arrival))
    whole, states = local.apply(table, asked), set()
    for size in (7, 40):
        run, answers = local.LocalRun.start(asked, table.schema), []
        for batch in late_first.combine_chunks().to_batches(max_chunksize=size):
            answers.append(run.push(batch))
            blob = run.operator.snapshot()
            run = local.LocalRun.start(asked, table.schema)
            run.operator.restore(blob)
        states.add(blob)
        answers.append(run.operator.finish(int(table["ts"].cast(pa.int64()).to_numpy().max())))
        together = pa.Table.from_batches(answers)
        order = [("time", "ascending"), ("id", "ascending"), ("match", "ascending")]
        assert together.sort_by(order).equals(whole.sort_by(order))
    assert len(states) == 1


def test_a_group_is_dropped_when_its_window_is_empty():
    table = stream(7)
    asked = query(by=["place"])
    run = local.LocalRun.start(asked, table.schema)
    for batch in table.to_batches():
        run.push(batch)
    run.operator.advance(int(table["ts"].cast(pa.int64()).to_numpy().max()) + 10 * SECOND - 1)
    assert run.operator.take_metrics().groups == 2
    run.operator.advance(int(table["ts"].cast(pa.int64()).to_numpy().max()) + 10 * SECOND)
    metrics = run.operator.take_metrics()
    assert (metrics.groups, metrics.retained) == (0, 0)


@pytest.mark.parametrize(
    ("keys", "field", "said"),
    [
        ({"threshold": 0}, "threshold", "above 0 and at most 1"),
        ({"threshold": 1.5, "similarity": "overlap"}, "threshold", "a whole number of at least 1"),
        ({"threshold": 1, "similarity": "hamming"}, "threshold", "at most 0"),
        ({"matches": 0}, "matches", 'must be "all" or a whole number of at least 1 (got 0)'),
        ({"keep": "first", "side": "origin"}, "keep", "is for one stream"),
        ({"carry": ["who", "who"]}, "carry", "names a column twice"),
        ({"carry": "match"}, "carry", "'match' is also the name of another column of the answers"),
        ({"carry": "place", "by": "place"}, "carry", "'place' is also the name of another column"),
        ({"carry_match": ["who", "who"]}, "carry_match", "names a column twice"),
        ({"carry_match": "time"}, "carry_match", "'time' would be called 'match_time' in answers, like another column"),
        ({"carry_match": "a", "carry": "match_a"}, "carry_match", "'a' would be called 'match_a' in answers"),
        ({"carry_match": "who", "id": ["who", "place"]}, "carry_match", "'who' would be called 'match_who' in answers"),
        ({"carry_match": "a", "output": "kept"}, "carry_match", 'output = "kept" has none: remove it, or choose'),
        ({"window": "1 microsecond"}, "window", "at least 2 microseconds"),
        ({"output": "best"}, "output", "must be one of pairs, rows, kept"),
    ],
)
def test_invalid_keys_are_named(keys, field, said):
    with pytest.raises(ConfigError) as caught:
        query(**keys)
    assert [problem.field for problem in caught.value.problems] == [field]
    assert said in str(caught.value)


def test_a_missing_column_to_carry_is_named_with_the_closest():
    for key in ("carry", "carry_match"):
        said = rf"^query.{key}: the source has no column 'nota'; did you mean 'note'\?"
        with pytest.raises(ConfigError, match=said):
            local.apply(stream(1), query(**{key: ["nota"]}))


def test_an_unsuitable_backend_is_named():
    with pytest.raises(ConfigError, match="must be 'jaccard'"):
        local.apply(stream(1), query(similarity="cosine"), {"set-matcher": "minhash-lsh"})


@pytest.mark.parametrize("name", ["inverted", "scan-count", "minhash-lsh"])
def test_every_backend_answers(name):
    table = stream(8)
    found = local.apply(table, query(threshold=1.0), {"set-matcher": name})
    assert found.equals(local.apply(table, query(threshold=1.0)))
    assert len(found) > 20


def test_rows_of_more_tokens_than_16_bits_count():
    words = [list(range(70_000)), list(range(10, 70_000)), list(range(66_000, 70_000))]
    table = pa.table({"ts": pa.array([0, 1, 2], pa.timestamp("s")), "who": [1, 2, 3], "words": words})
    assert rows_of(local.apply(table, query(threshold=0.9)), table) == [(1, 0, 69_990 / 70_000)]


@pytest.mark.parametrize("by", [[], ["place"]])
def test_states_of_rows_a_window_apart_are_equal_to_the_byte_for_any_batches(by, monkeypatch):
    """Another group's rows may end a window before the next row arrives, or in the same batch."""
    monkeypatch.setattr(small_groups_of_sets, "MOST_SETS", 2)
    for seed in range(12):
        rng = np.random.default_rng(seed)
        apart = [10 * SECOND, 10 * SECOND - 1, 10 * SECOND + 1]
        gaps = rng.choice([0, 1, *apart], 14, p=[0.35, 0.3, 0.25, 0.05, 0.05])
        gaps[rng.integers(10, 13)], gaps[13] = apart[seed % 3], SECOND  # rows of the last time wait
        table = stream(seed, 14).set_column(0, "ts", pa.array(np.cumsum(gaps), pa.timestamp("us", "UTC")))
        table = table.set_column(4, "place", pa.array([f"group {i}" for i in rng.integers(0, 5, 14) // 4]))
        states, told = set(), set()
        for cut in range(15):
            run = local.LocalRun.start(query(by=by), table.schema)
            parts = [part for part in (table.slice(0, cut), table.slice(cut)) if len(part)]
            found = [run.push(part.combine_chunks().to_batches()[0]) for part in parts]
            states.add(run.operator.snapshot())
            told.add(str(sorted(map(str, pa.Table.from_batches([*found, run.finish()]).to_pylist()))))
        assert len(states) == len(told) == 1, (seed, gaps)


@pytest.mark.parametrize("size", [40, 250])
@pytest.mark.parametrize("output", ["pairs", "rows", "kept"])
def test_large_groups_answered_in_one_turn_each_get_their_own_answers(output, size, monkeypatch):
    """Answers are built together: also for rows and groups without matches, and for the last group."""
    monkeypatch.setattr(small_groups_of_sets, "MOST_SETS", 0)
    table = stream(3, rows=250).slice(0, size)
    table = table.set_column(4, "place", pa.array([f"group {i % 7}" for i in range(len(table))]))
    carried = {"carry": ["note"], "carry_match": ["count", "note"]} if output != "kept" else {"carry": ["note"]}
    together = local.apply(table, query(by="place", output=output, **carried))
    assert len(together) > 0
    for place in range(7):
        own = table.filter(pc.equal(table["place"], f"group {place}"))
        mine = together.filter(pc.equal(together["place"], f"group {place}")).drop_columns("place")
        alone = local.apply(own, query(output=output, **carried))
        assert sorted(map(str, mine.to_pylist())) == sorted(map(str, alone.to_pylist()))


@pytest.mark.parametrize("by", [[], ["place"]])
@pytest.mark.parametrize("between", ["nothing", "a row", "the clock"])
@pytest.mark.parametrize("beside", [-1, 0, 1])
def test_a_large_group_whose_next_row_is_exactly_a_window_later_starts_over(beside, between, by, monkeypatch):
    """It is then small: also if that row and the one before it arrived together.

    between: rows, of another group if there are groups, that advance time between the two.
    """
    monkeypatch.setattr(small_groups_of_sets, "MOST_SETS", 2)
    seconds = np.array([0, 1, 2, 3, 5 if by else 3, 13, 14]) * SECOND
    seconds[5] += beside
    columns = {
        "ts": pa.array(seconds, pa.timestamp("us", "UTC")),
        "who": range(7),
        "words": [[row] for row in range(7)],
    }
    table, states = pa.table({**columns, "place": list("aaaabab")}), set()
    table = table if between == "a row" else table.filter(pc.not_equal(table["who"], 4))
    for cut in range(len(table)):
        run = local.LocalRun.start(query(by=by), table.schema)
        for part in (table.slice(0, cut), table.slice(cut)):
            run.push(pa.RecordBatch.from_pylist(part.to_pylist(), table.schema))
            if between == "the clock" and run.operator.progress.newest == 3 * SECOND:
                run.operator.advance(5 * SECOND)
        states.add(run.operator.snapshot())
    assert len(states) == 1
