"""The entries sent to a Redis server: no two groups or rows share a name, and a score is a number."""

import json
import math
import random

import pyarrow as pa
import pytest
from skyband_jobs.formats import NetChanges
from skyband_lakes.redis import groups
from skyband_lakes.redis.groups import entries_of

TEXTS = [None, "", "a", "a:b", "a%3Ab", "%null", "%", ":", "b", "%25", "%%null", "%%", "null"]


def told(changes, score, tables, scores):
    """Applies entries like the script."""
    for text in entries_of(changes, "board", score):
        name, gone, rows, unscored, scored = json.loads(text)
        for member in gone:
            tables.get(name, {}).pop(member, None)
        for member in unscored:
            scores.get(name, {}).pop(member, None)
        tables.setdefault(name, {}).update(zip(rows[::2], rows[1::2], strict=True))
        scores.setdefault(name, {}).update(zip(scored[1::2], map(float, scored[::2]), strict=True))


@pytest.mark.parametrize("at_once", [1, 2, 1000])
@pytest.mark.parametrize("score", ["total", None])
def test_a_row_has_its_own_name_with_its_newest_score_or_none(score, at_once, monkeypatch):
    """Compared with a dictionary: names of any text, and scores that are null, NaN or a number, over any old ones."""
    monkeypatch.setattr(groups, "_AT_ONCE", at_once)
    chance, expected, tables, scores = random.Random(at_once), {}, {}, {}
    for number in range(40):
        keys = list({(chance.choice(TEXTS), chance.choice(TEXTS)) for _ in range(8)})
        gone, stand = keys[: len(keys) // 3], keys[len(keys) // 3 :]
        totals = [chance.choice([None, math.nan, -0.0, number + 0.5, math.inf]) for _ in stand]
        expected |= dict(zip(stand, totals, strict=True))
        for key in gone:
            expected.pop(key, None)
        columns = [pa.array([key[side] for key in keys], pa.string()) for side in (0, 1)]
        names = pa.table(dict(zip(("place", "page"), columns, strict=True)))
        rows = names.slice(len(gone)).append_column("total", pa.array(totals, pa.float64()))
        told(NetChanges(("place", "page"), names.slice(0, len(gone)), rows), score, tables, scores)
    members = [(json.loads(row)["place"], json.loads(row)["page"]) for rows in tables.values() for row in rows.values()]
    assert sorted(members, key=repr) == sorted(expected, key=repr), "each row once, under its own name"
    assert len({frozenset(place for place, _ in map(_key, rows.values())) for rows in tables.values() if rows}) == len(
        {place for place, _ in expected}
    )
    for name, rows in tables.items():
        for member, row in rows.items():
            total = expected[_key(row)]
            number = total is not None and not math.isnan(total) and score is not None
            assert scores[name].get(member) == (total if number else None), (name, member)


def _key(row):
    values = json.loads(row)
    return values["place"], values["page"]
