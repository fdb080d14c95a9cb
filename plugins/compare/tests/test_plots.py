"""Charts of answers show what the answers contain, and their notes say what is not drawn."""

import datetime
import importlib
import json
import subprocess
import sys
from itertools import groupby
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import skyband
import skyband_compare
from skyband.engines import local
from skyband.errors import ConfigError, EngineError, InputError, PluginError
from skyband.queries import kinds, load_query, make_query
from skyband.queries.presentation import load_presentation
from skyband_compare.plots.downsampling import Series, shortened
from skyband_compare.plots.panels import natural, unlike
from skyband_compare.plots.saving import save, specification, svg

pytest.importorskip("vl_convert")

START = datetime.datetime(2026, 6, 20, 9, tzinfo=datetime.UTC)
NAMES = ["<b>bold</b>", "</script><script>alert(1)</script>", "\x1b[31mred\x1b[0m", "‮turned", "", None, "a" * 300]


def moments(count, start=START, step=datetime.timedelta(minutes=10)):
    return pa.array([start + step * number for number in range(count)], pa.timestamp("us", "UTC"))


def counts(at, *, window="1 hour", seed=0, **columns):
    values = np.random.default_rng(seed).uniform(10, 100, len(at))
    return pa.table(
        {**columns, "at": at, "window": [window] * len(at), "count": values, "low": values * 0.9, "high": values * 1.1}
    )


def ranked(order_by_moment, at=None, **columns):
    """top-k answers: the objects of each moment, the best first."""
    at = moments(len(order_by_moment)) if at is None else at
    rows = [
        (moment, rank + 1, thing, 1 / (rank + 1))
        for moment, things in zip(at, order_by_moment, strict=True)
        for rank, thing in enumerate(things)
    ]
    when, ranks, things, scores = zip(*rows, strict=True)
    made = {"at": pa.array(when, at.type), "rank": ranks, "object": things, "score": scores}
    return pa.table({**{name: [value] * len(rows) for name, value in columns.items()}, **made})


def drawn(chart):
    """The specification of a chart, and all its data rows."""
    spec = specification(chart)
    return spec, [row for rows in spec["datasets"].values() for row in rows]


def points(chart):
    """The data rows of a rank chart, without the scores below."""
    return [row for row in drawn(chart)[1] if "rank" in row]


def said(chart):
    return " ".join(specification(chart)["title"]["subtitle"])


def milliseconds(moment):
    return (moment - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)) / datetime.timedelta(milliseconds=1)


def test_importing_skyband_loads_no_chart_library():
    names = "print([name for name in ('altair', 'vl_convert') if name in sys.modules])"
    code = f"import sys, skyband, skyband_compare.plots; {names}"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"


def test_counts_are_points_between_their_bounds():
    answers = pa.concat_tables(
        [counts(moments(48), window=name, seed=seed) for seed, name in enumerate(("1 hour", "5 h"))]
    )
    chart = skyband.plot(answers, title="visits")
    spec, rows = drawn(chart)
    assert spec["title"]["text"] == "visits"
    found = {(row["at"], row["line"]): (row["value"], row["low"], row["high"]) for row in rows}
    wanted = {
        (milliseconds(row["at"]), row["window"]): (row["count"], row["low"], row["high"]) for row in answers.to_pylist()
    }
    assert found.keys() == wanted.keys()
    for key, values in wanted.items():
        assert found[key] == pytest.approx(values, rel=1e-8)
    assert "2026-06-20 09:00:00 UTC to 2026-06-20 16:50:00 UTC" in said(chart)
    assert "the band is from low to high" in said(chart)


def test_ranges_of_values_are_separate_lines():
    answers = pa.concat_tables(
        [
            counts(moments(5), seed=seed).add_column(2, "range", pa.array([name] * 5))
            for seed, name in enumerate(("[0, 10)", "[10, inf)"))
        ]
    )
    _, rows = drawn(skyband.plot(answers))
    assert {row["line"] for row in rows} == {"[0, 10)", "[10, inf)"} and len(rows) == 10


def test_an_exact_count_has_no_band_to_tell_of_and_lines_that_hide_each_other_are_named():
    one, other = (counts(moments(5), window=name).set_column(3, "low", pa.array([1.0] * 5)) for name in ("1 h", "2 h"))
    exact = pa.concat_tables([one, other]).drop(["low", "high"])
    assert "band" not in said(skyband.plot(exact))
    assert "2 h equals 1 h throughout" in said(skyband.plot(exact))


def test_few_groups_are_colours_and_many_are_panels_of_which_the_largest_are_drawn():
    few = pa.concat_tables(
        [counts(moments(4), site=pa.array([name] * 4), seed=place) for place, name in enumerate("abc")]
    )
    spec, rows = drawn(skyband.plot(few))
    assert "facet" not in spec and {row["line"] for row in rows} == {"a", "b", "c"}
    many = pa.concat_tables(
        [counts(moments(4), site=pa.array([place] * 4, pa.int64()), seed=place) for place in range(1000)]
    )
    largest = sorted(range(1000), key=lambda place: -max(counts(moments(4), seed=place)["count"].to_pylist()))[:12]
    spec, rows = drawn(skyband.plot(many))
    assert {row["panel"] for row in rows} == {str(place) for place in largest}
    assert spec["facet"]["sort"] == [str(place) for place in largest]
    chart = skyband.plot(many, only={"site": 7})
    assert "only site = 7" in said(chart) and len(drawn(chart)[1]) == 4
    assert "1,000 values of site: the 12 with the largest count are drawn, 988 are left out" in said(skyband.plot(many))


def test_a_long_series_is_merged_and_the_chart_says_so():
    count = 20_011
    answers = counts(moments(count))
    chart = skyband.plot(answers)
    _, rows = drawn(chart)
    assert len(rows) == 400
    assert "a point represents up to 51 answers" in said(chart)
    low, high = answers["low"].to_numpy(), answers["high"].to_numpy()
    assert min(row["low"] for row in rows) == pytest.approx(low.min())
    assert max(row["high"] for row in rows) == pytest.approx(high.max())
    within = skyband.plot(answers, last="10 hours")
    assert len(drawn(within)[1]) == 60 and "the last 10 hours" in said(within)


@pytest.mark.parametrize(("count", "most"), [(1, 20), (20, 20), (21, 20), (1000, 7), (999, 400)])
def test_a_shortened_series_has_means_and_extremes_of_neighbours(count, most):
    rng = np.random.default_rng(count)
    value = np.where(rng.random(count) < 0.2, np.nan, rng.normal(0, 1, count))
    at = np.cumsum(rng.integers(1, 9, count))
    short, each = shortened(Series(at, value, value - 1, value + 1), most)
    assert len(short.at) == min(count, most) and each == pytest.approx(max(count / most, 1))
    start = 0
    for number, end in enumerate(short.at.tolist()):
        stop = at.tolist().index(end) + 1
        part = [entry for entry in value[start:stop].tolist() if entry == entry]
        assert short.value[number] == pytest.approx(np.mean(part) if part else np.nan, nan_ok=True)
        if part:
            assert (short.low[number], short.high[number]) == pytest.approx((min(part) - 1, max(part) + 1))
        start = stop
    assert start == count


def test_ranks_are_lines_that_break_where_an_object_is_missing():
    order = ["abc", "bac", "bda", "bca", "cab", "cba"]
    chart = skyband.plot(ranked(order))
    rows = points(chart)
    at = [milliseconds(moment.as_py()) for moment in moments(len(order))]
    places = {(row["at"], row["rank"]): row["name"] for row in rows}
    assert places == {
        (at[turn], rank + 1): thing for turn, things in enumerate(order) for rank, thing in enumerate(things)
    }
    runs = {}
    for row in rows:
        runs.setdefault(row["run"], set()).add((row["name"], at.index(row["at"])))
    wanted = [
        {(thing, turn) for turn, _ in part}
        for thing in "abcd"
        for there, part in groupby(enumerate(order), key=lambda turn, thing=thing: thing in turn[1])
        if there
    ]
    assert sorted(map(sorted, runs.values())) == sorted(map(sorted, wanted))
    assert [row["label"] for row in rows if row["end"]] == ["c", "b", "a"]


def test_ranks_of_many_moments_and_objects():
    rng = np.random.default_rng(3)
    order = [[f"client {place}" for place in rng.permutation(40)[:25]] for _ in range(500)]
    chart = skyband.plot(ranked(order))
    rows = points(chart)
    assert {row["rank"] for row in rows} == set(range(1, 21)) and "ranks 1 to 20 of 25" in said(chart)
    at = sorted({row["at"] for row in rows})
    assert len(at) == 100 and at[-1] == milliseconds(moments(500)[-1].as_py())
    assert "one of 5 moments is drawn, including the newest" in said(chart)
    assert "the 8 objects ranked most often have colours, 32 are grey" in said(chart)
    assert len({row["name"] for row in rows if row["top"]}) == 8


def test_several_queries_or_windows_or_groups_of_ranks_are_panels():
    parts = [ranked(["ab", "ba"], query=name, site=site) for name in ("now", "lately") for site in "xy"]
    answers = pa.concat_tables(parts).select(["site", "at", "query", "rank", "object", "score"])
    _, rows = drawn(skyband.plot(answers))
    assert {row["panel"] for row in rows} == {"x · now", "x · lately", "y · now", "y · lately"}


def test_an_object_of_several_columns_and_carried_ones():
    answers = ranked(["ab"]).rename_columns(["at", "rank", "host", "score"])
    answers = answers.add_column(3, "page", pa.array(["/x", "/y"])).append_column("colour", pa.array(["red", "blue"]))
    _, rows = drawn(skyband.plot(answers))
    assert [row["name"] for row in rows] == ["a · /x", "b · /y"]


@pytest.mark.parametrize("as_text", [False, True])
@pytest.mark.parametrize("values", [("mean", "deviation", "weight"), ("share", "score", "mean"), ("weight", "total")])
def test_a_column_of_fractions_is_never_in_the_name_of_an_object(values, as_text):
    """Answers of third-party queries may have any columns, and those of CSV are text."""
    answers = ranked(["ab", "ba", "ab"]).drop_columns(["score"])
    for name in values:
        column = pa.array(np.random.default_rng(3).uniform(1, 2, len(answers)))
        answers = answers.append_column(name, column.cast(pa.string()) if as_text else column)
    drawn_points = points(skyband.plot(answers))
    assert {row["name"] for row in drawn_points} == {"a", "b"}
    assert len({row["run"] for row in drawn_points}) == 2, "each object has one line"
    assert all(row["value"] for row in drawn_points)


def test_objects_that_differ_only_in_a_fraction_are_named_by_it():
    answers = ranked(["aa", "aa"]).add_column(3, "price", pa.array([0.5, 1.5, 0.5, 1.5]))
    assert {row["name"] for row in points(skyband.plot(answers))} == {"a · 0.5", "a · 1.5"}


def test_pairs_are_a_table_of_the_newest_moment_and_a_band_over_time():
    at = moments(3)
    rows = [
        (moment, rank, f"l{rank}", f"r{turn}", 1 - 0.1 * rank - 0.01 * turn)
        for turn, moment in enumerate(at)
        for rank in range(1, 5)
    ]
    when, rank, left, right, alike = zip(*rows, strict=True)
    answers = pa.table({"at": pa.array(when, at.type), "rank": rank, "left": left, "right": right, "similarity": alike})
    chart = skyband.plot(answers)
    _, made = drawn(chart)
    texts = [row["text"] for row in made if "text" in row]
    assert texts.count("r2") == 4 and "r0" not in texts and "l4" in texts
    band = [(row["most"], row["least"]) for row in made if "most" in row]
    assert band == [pytest.approx((0.9 - 0.01 * turn, 0.6 - 0.01 * turn)) for turn in range(3)]
    assert "the 4 pairs of the newest moment, 2026-06-20 09:20:00 UTC" in said(chart)


def test_matches_are_counted_over_time_and_the_newest_listed():
    rng = np.random.default_rng(5)
    seconds = np.sort(rng.uniform(0, 86_400, 300))
    at = pa.array([START + datetime.timedelta(seconds=second) for second in seconds], pa.timestamp("us", "UTC"))
    chart = skyband.plot(
        pa.table({"time": at, "left": range(300), "right": range(300), "probability": rng.random(300)})
    )
    _, rows = drawn(chart)
    assert sum(row["count"] for row in rows if "count" in row) == 300
    assert "the newest 25 of 300" in said(chart)
    assert [row["text"] for row in rows if row.get("y") == 40.0][:2] == [
        at[-1].as_py().isoformat(" ").replace("+00:00", " UTC"),
        "299",
    ]


SITES = ["a.example", "b.example", "a-site-with-a-very-long-name.example", None]


def visits(rows=60):
    rng = np.random.default_rng(3)
    return pa.table(
        {
            "ts": moments(rows),
            "host": [SITES[number] for number in rng.integers(0, 3, rows)],
            "page": [f"/a/rather/long/path/to/page/{number % 15}" for number in range(rows)],
            "words": [[f"w{word}" for word in rng.integers(0, 4, 3)] for _ in range(rows)],
            "count": range(rows),
            "value": rng.integers(0, 3, rows).astype(float),
            "chance": [1.0] * rows,
        }
    )


COMPOSITE = {"time": "ts", "id": ["host", "page"]}
PAIRED = {
    "top-k-pairs": {"tokens": "words", "similarity": "jaccard", "k": 4, "window": "3 hours", "every": "1 hour"},
    "uncertain-join": {"values": "value", "probabilities": "chance", "size": 3, "epsilon": 1},
    "near-duplicates": {"tokens": "words", "threshold": 0.6, "window": "3 hours", "output": "rows"},
}


@pytest.mark.parametrize("kind", PAIRED)
def test_ids_of_several_columns_are_one_column_of_the_table(kind):
    """Like ids of one column, with carried columns separate; long ids are cut in the middle."""
    asked = {"kind": kind, **COMPOSITE, **PAIRED[kind], "carry": "count"}
    answers = local.apply(visits(), asked)
    _, made = drawn(skyband.plot(answers, asked))
    heads = [row["text"] for row in made if row.get("head")]
    sides = ("row", "match") if kind == "near-duplicates" else ("left", "right")
    assert {f"{side}: host · page" for side in sides} <= set(heads)
    carried = {"count"} if kind == "near-duplicates" else {"left_count", "right_count"}
    assert carried <= set(heads)
    assert not {name for name in heads if name.endswith(("_host", "_page"))}
    texts = {row["text"] for row in made if row.get("head") is False}
    ids = {text for text in texts if "/a/rather" in text or "…" in text or "page/" in text}
    assert len(ids) > 4 and max(map(len, texts)) <= 48
    assert all(text.endswith(tuple(f"/{page}" for page in range(15))) for text in ids)
    plain = {**asked, "id": "count", "carry": ()}
    _, alone = drawn(skyband.plot(local.apply(visits(), plain), plain))
    charted = [name for name in ("most", "least", "count") if any(name in row for row in alone)]
    assert charted
    for name in charted:
        assert [row[name] for row in made if name in row] == [row[name] for row in alone if name in row]


def test_a_row_without_a_match_has_an_empty_cell():
    answers = pa.table(
        {
            "time": [1, 2],
            "host": ["a", None],
            "page": ["/x", "/y"],
            "match_host": [None, "a"],
            "match_page": [None, "/x"],
            "match_time": [None, 1],
            "similarity": [None, 0.5],
        }
    )
    _, made = drawn(skyband.plot(answers))
    cells = [(row["y"], row["text"]) for row in made if row.get("head") is False]
    assert ("a · /x" in [text for y, text in cells if y == 40.0]) and ("null · /y" in [text for _, text in cells])
    assert {text for y, text in cells if y == 60.0} == {"1", "a · /x", ""}


def test_of_rows_with_and_without_a_match_the_share_is_drawn_and_matches_come_first():
    """Three rows, one with two matches: two of three have a match."""
    answers = pa.table(
        {
            "time": moments(3).take([0, 1, 1, 2]),
            "id": [1, 2, 2, 3],
            "match": [None, 1, 0, None],
            "match_time": moments(3).take([None, 0, 0, None]),
            "similarity": [None, 0.5, 0.7, None],
        }
    )
    chart = skyband.plot(answers)
    _, made = drawn(chart)
    assert [(row["count"], row["share"]) for row in made if "share" in row] == [(1, 0), (1, 1), (1, 0)]
    assert "the share of rows with a match, 1 of 3 in total" in said(chart)
    cells = [(row["y"], row["text"]) for row in made if row.get("head") is False]
    assert ["0.7" in [text for y, text in cells if y == 40.0], "0.5" in [text for y, text in cells if y == 60.0]] == [
        True
    ] * 2


def test_scores_are_drawn_below_ranks_with_that_of_the_last_rank():
    chart = skyband.plot(ranked(["abc", "bac"]))
    ends = {row["told"] for row in points(chart) if row["end"]}
    made = [row for row in drawn(chart)[1] if "number" in row]
    assert "below: the score of the coloured objects, and in grey that of the last rank" in said(chart)
    assert ends == {"b · 1", "a · 0.5", "c · 0.3333"}
    scores = [(row["label"], row["number"]) for row in made]
    assert scores[:2] == [("c", 1 / 3)] * 2, "the last rank"
    assert sorted(scores[2:]) == [("a", 0.5), ("a", 1), ("b", 0.5), ("b", 1), ("c", 1 / 3), ("c", 1 / 3)]


@pytest.mark.parametrize(
    ("columns", "measure"),
    [
        ({"part": [0.25, 0.125], "low": [0.2, 0.1], "high": [0.3, 0.2], "matching": [1, 1], "total": [4, 8]}, "part"),
        ({"total": [4, 8], "previous": [90, 2], "difference": [-86, 6], "ratio": [0.1, 4.0]}, "difference"),
        ({"total": [4, 8], "share": [0.5, 1.0], "low": [4, 8], "high": [4, 8]}, "total"),
    ],
)
def test_objects_are_drawn_with_the_number_that_they_rank_by(columns, measure):
    one = pa.table({"rank": [1, 2], "object": ["a", "b"], **columns})
    when = pa.array(pa.concat_arrays([moments(2).slice(0, 1)] * 2 + [moments(2).slice(1)] * 2))
    chart = skyband.plot(pa.concat_tables([one, one]).add_column(0, "at", when))
    assert {row["name"] for row in points(chart)} == {"a", "b"}
    assert f"below: the {measure} of the coloured objects" in said(chart)
    assert {row["number"] for row in drawn(chart)[1] if "number" in row} == {*columns[measure]}


def test_an_axis_of_ranks_fits_the_k_of_its_own_panel():
    parts = [ranked(["ab", "ba"], query="few"), ranked(["abcdef"] * 2, query="many")]
    columns = ["at", "query", "rank", "object", "score"]
    columns = ["at", "query", "rank", "object", "score"]
    drawing = specification(skyband.plot(pa.concat_tables(parts).select(columns)))
    ends = [panel["layer"][0]["encoding"]["y"]["scale"]["domain"] for panel in drawing["concat"]]
    assert ends == [[0.5, 2.5], [0.5, 6.5]]
    assert [panel["title"]["text"] for panel in drawing["concat"]] == ["few", "many"]
    alike = [parts[0], ranked(["ab", "ba"], query="other")]
    assert "facet" in specification(skyband.plot(pa.concat_tables(alike).select(columns)))


def test_columns_that_only_look_like_pairs_are_lines():
    answers = pa.table({"at": [1, 2], "left_x": [1.0, 2.0], "right_x": [2.0, 3.0]})
    _, made = drawn(skyband.plot(answers))
    assert {row["line"] for row in made} == {"left_x"}


def test_sums_are_two_lines_with_the_range_between():
    answers = pa.table({"time": [3, 1, 2], "sum": [9.0, 2.0, 6.5], "expected": [6.0, 2.0, 4.5], "kept": [3, 1, 2]})
    chart = skyband.plot(
        answers, {"kind": "uncertain-sum", "time": "t", "values": "v", "probabilities": "p", "size": 2}
    )
    spec, rows = drawn(chart)
    assert [(row["at"], row["value"], row["low"], row["high"]) for row in rows if row["line"] == "expected"] == [
        (1, 2, 2, 2),
        (2, 4.5, 4.5, 6.5),
        (3, 6, 6, 9),
    ]
    assert spec["title"]["text"] == "uncertain-sum" and "1 to 3" in said(chart)


def test_answers_that_cannot_be_drawn_are_counted():
    answers = counts(moments(10)).to_pydict()
    answers["count"][3], answers["high"][5], answers["low"][6] = None, float("inf"), float("nan")
    answers["at"][0] = None
    chart = skyband.plot(pa.table({**answers, "at": pa.array(answers["at"], pa.timestamp("us", "UTC"))}))
    _, rows = drawn(chart)
    assert "3 answers are not drawn: their value or a bound is null or infinite" in said(chart)
    assert "with no moment or one beyond the years that charts support: 1" in said(chart)
    json.dumps(rows, allow_nan=False)
    assert sum(row["value"] is None for row in rows) == 1 and sum(row["low"] is None for row in rows) == 2


@pytest.mark.parametrize(
    "start",
    [datetime.datetime(1, 1, 1, tzinfo=datetime.UTC), START, datetime.datetime(9999, 12, 31, 20, tzinfo=datetime.UTC)],
)
def test_any_year_is_drawn_and_so_is_a_single_moment(start):
    for count in (1, 5):
        chart = skyband.plot(counts(moments(count, start)))
        assert f"{start.year:04}-" in said(chart)
        assert "NaN" not in svg(specification(chart))


def test_no_answers_yet():
    for table in (counts(moments(0)), ranked(["ab"]).slice(0, 0)):
        assert "no answers yet" in svg(specification(skyband.plot(table)))


def test_names_cannot_leave_the_page_they_are_in(tmp_path):
    page, picture = tmp_path / "x.html", tmp_path / "x.svg"
    chart = skyband.plot(ranked([NAMES]), title=NAMES[1])
    save(chart, page)
    save(chart, picture)
    text = page.read_text()
    assert text.count("<script") == text.count("</script>") == 3 and "<b>" not in text and "\x1b" not in text
    _, _, held = text.partition('id="spec">')
    spec = json.loads(held.partition("</script>")[0])["chart"]
    assert {row["name"] for row in drawn(chart)[1]} >= {
        "<b>bold</b>",
        "\\x1b[31mred\\x1b[0m",
        "\\u202eturned",
        "''",
        "null",
    }
    assert spec["title"]["text"] == NAMES[1]
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data: blob:; script-src 'sha256-"
    assert policy in text
    assert "&lt;b&gt;bold" in picture.read_text() and "<script" not in picture.read_text()
    assert _saved(chart, tmp_path / "x.png")[:4] == b"\x89PNG"


def _saved(chart, path):
    save(chart, path)
    return path.read_bytes()


def test_panels_with_long_names_are_distinguishable():
    assert unlike(["a" * 100, "a" * 99 + "b", "c"]) == ["a" * 29 + "…" + "a" * 30, "a" * 29 + "…" + "a" * 29 + "b", "c"]
    many = unlike([f"{'x' * 80}{number}" for number in range(20_000)])
    assert len(set(many)) == 20_000 and max(map(len, many)) <= 60
    assert sorted(["10 minutes", "1 hour", "5 minutes"], key=natural) == ["1 hour", "5 minutes", "10 minutes"]


@pytest.mark.parametrize(
    ("table", "options", "told"),
    [
        (pa.table({"ts": [1], "count": [2]}), {}, "has no column 'at' or 'time' like answers"),
        (pa.table({"at": [1], "change": ["left"], "rank": [1]}), {}, "holds changes, not answers: draw"),
        (pa.table({"at": [1], "state": [b"x"]}), {}, "holds states, not answers: draw"),
        (pa.table({"at": ["soon"], "count": [2]}), {}, "must be moments, timestamps or whole numbers"),
        (counts(moments(3)), {"last": "ten"}, "must be a duration"),
        (counts(moments(3)), {"last": "10 rows"}, "must be in a length of time above 0"),
        (counts(moments(3)), {"only": {"site": "a"}}, "there is no column 'site'; known: at, count"),
        (
            counts(moments(3)),
            {"only": {"window": "1 hours"}},
            "no answer has window = '1 hours'; did you mean '1 hour'?",
        ),
        (counts(moments(3)), {"by": ("windw",)}, "there is no column 'windw'; did you mean 'window'?"),
        ("counts", {}, "must be an Arrow table, or a DataFrame"),
    ],
)
def test_the_error_of_undrawable_answers_has_the_reason(table, options, told):
    with pytest.raises(InputError) as error:
        skyband.plot(table, **options)
    assert told in str(error.value)


def test_a_file_that_cannot_be_written(tmp_path):
    with pytest.raises(ConfigError, match="cannot be written"):
        save(skyband.plot(counts(moments(1))), tmp_path / "none" / "x.svg")
    assert list(tmp_path.iterdir()) == []


def test_without_the_extra_the_remedy_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(EngineError, match=r"plot needs vl_convert: pip install 'skyband\[plot\]'"):
        skyband.plot(counts(moments(1)))


def test_the_page_is_in_the_package():
    assert (Path(skyband_compare.__file__).parent / "plots" / "page.html").is_file()


OWN = """
import pyarrow.compute as pc

def draw(alt, answers):
    assert answers.after == ["window", "count", "low", "high"] and answers.moment == "at"
    largest = pc.max(answers.table["count"]).as_py()
    return alt.Chart(alt.Data(values=[{"largest": largest}])).mark_text().encode(text="largest:Q"), ["the largest"]
"""
COUNTS = {"kind": "distinct-count", "time": "ts", "item": "who", "windows": ["1 hour"], "every": "1 hour"}


def test_a_query_says_how_its_answers_are_drawn(tmp_path, monkeypatch):
    (tmp_path / "acme_chart.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    asked, answers = make_query(COUNTS), counts(moments(5))
    plain, _ = drawn(skyband.plot(answers, asked))
    monkeypatch.setattr(load_presentation(type(asked)), "chart", "acme_chart:draw")
    spec = specification(skyband.plot(answers, asked))
    assert f'{{"largest": {max(answers["count"].to_pylist())}}}' in json.dumps(spec)
    assert "the largest" in said(skyband.plot(answers, asked))
    monkeypatch.setattr(load_presentation(type(asked)), "chart", "pairs")
    assert drawn(skyband.plot(answers, asked))[0] != plain
    assert drawn(skyband.plot(answers, asked, chart="bands"))[0]["title"]["text"] == plain["title"]["text"]
    assert drawn(skyband.plot(answers, asked, chart="ranks"))[0].keys() == plain.keys(), "no ranks: by the columns"
    for chart, wrong in (
        ("bnads", "chart 'bnads': did you mean 'bands'"),
        ("no_such:draw", "No module named 'no_such'"),
    ):
        with pytest.raises(PluginError, match=wrong):
            skyband.plot(answers, asked, chart=chart)


@pytest.mark.parametrize("kind", sorted(kinds()))
def test_every_query_says_how_it_is_drawn(kind):
    own = load_presentation(load_query(kind)).chart.partition(":")
    assert own[0] in ("bands", "ranks", "pairs") or callable(getattr(importlib.import_module(own[0]), own[2]))


def test_each_quantile_has_a_band_and_limits_are_lines():
    rng = np.random.default_rng(2)
    log = pa.table({"ts": moments(4000, step=datetime.timedelta(seconds=2)), "millis": np.exp(rng.normal(3, 1, 4000))})
    query = {
        "kind": "quantiles",
        "time": "ts",
        "value": "millis",
        "at": [0.5, 0.9],
        "above": [80],
        "windows": ["1 hour"],
        "every": "10 minutes",
    }
    sampled = {"quantile-sketch": {"name": "k-skb", "epsilon": 0.1}}
    answers = local.apply(log, query, sampled)
    chart = skyband.plot(answers, query)
    _, rows = drawn(chart)
    lines = {(row["line"], row["at"]): row for row in rows if "line" in row}
    for row in answers.to_pylist():
        if row["above"] is None:
            line = lines.pop((str(row["quantile"]), milliseconds(row["at"])))
            assert [line[name] for name in ("value", "low", "high")] == pytest.approx(
                [row["value"], row["low"], row["high"]]
            )
    assert not lines, "shares are on another scale"
    assert {"limit": 80.0} in rows
    assert "dashed: 80; the shares above are on another scale" in said(chart)
    only = skyband.plot(answers, query, only={"above": 80})
    shares = [row["value"] for row in answers.to_pylist() if row["above"] is not None]
    assert [row["value"] for row in drawn(only)[1]] == pytest.approx(shares)
    assert "share above" in json.dumps(specification(only))


def test_distances_have_bands_alone_and_are_named_beside_quantiles():
    rng = np.random.default_rng(3)
    log = pa.table({"ts": moments(4000, step=datetime.timedelta(seconds=2)), "score": rng.normal(0, 1, 4000)})
    query = {"kind": "quantiles", "time": "ts", "value": "score", "windows": ["10 minutes"], "every": "10 minutes"}
    query |= {"against": "20 minutes", "distance": ["ks", "wasserstein"]}
    answers = local.apply(log, query)
    chart = skyband.plot(answers, query, only={"distance": "ks"})
    ks = [row for row in answers.to_pylist() if row["distance"] == "ks" and row["value"] is not None]
    assert 5 < len(ks) < len(answers) // 2, "the first windows have no distance"
    assert [row["value"] for row in drawn(chart)[1]] == pytest.approx([row["value"] for row in ks])
    assert "distance" in json.dumps(specification(chart))
    both = skyband.plot(answers, query)
    assert {row["line"] for row in drawn(both)[1]} == {"ks", "wasserstein"}
    mixture = query | {"at": [0.5]}
    chart = skyband.plot(local.apply(log, mixture), mixture)
    assert {row["line"] for row in drawn(chart)[1]} == {"value"}
    assert "the distances are on another scale, `only` draws them: distance = ks" in said(chart)


def test_a_file_of_answers_draws_the_number_that_the_bounds_belong_to():
    quantiles = {"quantile": [0.5, 0.99] * 3, "value": [40.0, 410, 42, 380, 41, 395]}
    answers = pa.table({"at": np.repeat(moments(3).to_numpy(), 2), "window": ["1 hour"] * 6, **quantiles})
    for name, factor in (("low", 0.99), ("high", 1.01)):
        answers = answers.append_column(name, pa.array(np.array(quantiles["value"]) * factor))
    answers = answers.append_column("rows", pa.array([7] * 6))
    chart = skyband.plot(answers)
    found = [(row["line"], row["value"]) for row in drawn(chart)[1]]
    assert sorted(found) == sorted(zip(map(str, quantiles["quantile"]), quantiles["value"], strict=True))
    alone = skyband.plot(answers, only={"quantile": 0.99})
    assert [row["value"] for row in drawn(alone)[1]] == [410, 380, 395]


@pytest.mark.parametrize("output", ["rows", "pairs"])
@pytest.mark.parametrize("names", [["id"], ["desk", "number"]])
def test_stories_are_dots_over_time_beside_the_similarities_of_best_matches(output, names):
    rng = np.random.default_rng(5)
    told = rng.integers(0, 15, 200)
    vectors = np.eye(16)[told] + rng.normal(0, 0.05, (200, 16))
    columns = {"id": np.arange(200)} if names == ["id"] else {"desk": ["a"] * 200, "number": np.arange(200)}
    table = pa.table({"ts": moments(200), **columns, "vector": list(vectors)})
    query = {"kind": "near-vectors", "time": "ts", "id": names, "vector": "vector", "dimensions": 16}
    query |= {"threshold": 0.6, "window": "7 days", "matches": 1, "keep": "first", "output": output}
    answers = local.apply(table, {**query, "id": "id"} if names == ["id"] else query)
    chart = skyband.plot(answers, query)
    _, rows = drawn(chart)
    sizes = np.sort(np.bincount(told))[::-1] - 1
    stories = {row["story"] for row in rows if "story" in row}
    assert len(stories) == 12 and sum(row["rows"] for row in rows if "story" in row) == sizes[:12].sum()
    bars = [row for row in rows if "from" in row]
    assert sum(row["count"] for row in bars) == 185 and min(row["from"] for row in bars) >= 0.6
    assert "the 12 of 15 with most" in said(chart) and "a threshold belongs where there are few rows" in said(chart)
    kept = skyband.plot(local.apply(table, {**query, "id": names[-1], "by": names[:-1], "output": "kept"}), query)
    assert "all 15, the newest first" in said(kept)
