"""Where a row is told to be that cannot be read, fails in `select` or is refused by the query, beside dropped ones."""

import json
import random
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from skyband.errors import InputError
from skyband_jobs.files import text_blocks
from skyband_jobs.files.file_parts import FilePart
from skyband_jobs.files.source_files import open_files
from skyband_jobs.files.text_blocks import ByteRange
from skyband_jobs.files.text_files import ranges
from skyband_jobs.tables.model import Source

KEYS = {
    "schema": "n STRING, one BIGINT, other BIGINT, t TIMESTAMP",
    "where": "n <> 'dropped'",
    "select": ("CAST(n AS BIGINT) AS n", "one", "other", "t"),
}
DAY = "2026-01-01"
KINDS = {
    "good": lambda n: (str(n), n, n, DAY),
    "dropped": lambda n: ("dropped", n, n, DAY),
    "failing": lambda n: ("y", n, n, DAY),
    "one": lambda n: (str(n), "x", n, DAY),
    "other": lambda n: (str(n), n, "x", "yesterday"),
    "both": lambda n: (str(n), "x", "z", DAY),
    "t": lambda n: (str(n), n, n, "yesterday"),
}
"""The values of a row of each kind; those after `failing` cannot be read."""
NO_ROW = {"csv": "7", "json": "[1, 2]"}
"""A line that has no values for the columns."""
BLANK = {"csv": [""], "json": ["", " ", "\t", " \t \r"]}


def of_csv(values):
    return ",".join(map(str, values))


def of_json(values):
    return json.dumps(dict(zip(("n", "one", "other", "t"), values, strict=True)))


def text_of(format, kinds, chance):
    """The text of a file with rows of these kinds, and the line of each."""
    written, places = ([] if format == "json" else ["n,one,other,t"]), []
    for number, kind in enumerate(kinds):
        written += [chance.choice(BLANK[format])] * (chance.random() < 0.2)
        places.append(len(written) + 1)
        of_format = of_csv if format == "csv" else of_json
        written.append(NO_ROW[format] if kind == "none" else of_format(KINDS[kind](number)))
    return "\n".join(written) + "\n", places


def drawn(chance, format, path):
    kinds = chance.choices([*KINDS, "none"], [9, 3, 2, 2, 2, 1, 1, 1], k=60)
    text, places = text_of(format, kinds, chance)
    mark = chance.choice(["", "\ufeff"])  # as some programs write before UTF-8
    path.write_text(mark + text, "utf-8", newline="")
    return kinds, places


def compare(batches, refused, path, kinds, places):
    """Reads all; each row is where it was written, whoever refuses it."""
    read = []
    for batch in batches:
        read += batch["n"].to_pylist()
        for row, number in enumerate(batch["n"].to_pylist()):
            error = batches.placed(InputError("n", "is odd", row))
            assert (error.argument, error.row) == (f"{path}: n", number)
    assert read == [number for number, kind in enumerate(kinds) if kind == "good"]
    for (error, _), (number, kind) in zip(
        refused, [(number, kind) for number, kind in enumerate(kinds) if kind not in ("good", "dropped")], strict=True
    ):
        place = f"row {number}" if kind == "failing" else f"line {places[number]}"
        assert error.argument == f"{path}, {place}", (number, kind)
        name = {"both": "one"}.get(kind, kind)
        assert kind in ("failing", "none") or error.reason.startswith((f"{name}: ", f"Column(/{name})")), error.reason


@pytest.mark.parametrize("format", BLANK)
@pytest.mark.parametrize("seed", range(4))
def test_a_row_is_told_where_it_was_written_whoever_refuses_it(seed, format, monkeypatch):
    """In one file, cut into blocks of some rows, and in ranges as tasks read them."""
    chance = random.Random(seed)
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"a.{format}"
        kinds, places = drawn(chance, format, path)
        source = Source(format=format, path=str(path), options={"header": True} if format == "csv" else {}, **KEYS)
        files, cuts = open_files(source), [ByteRange(path, *pair) for pair in ranges(path, source, 100)]
        assert len(cuts) > 2
        for parts in (None, [FilePart(path, within=cut) for cut in cuts]):
            monkeypatch.setattr(text_blocks, "SIZE", chance.randint(60, 900))
            refused = []
            batches = files.batches(["n", "one", "other", "t"], parts, refuse=refused.extend)
            compare(batches, refused, path, kinds, places)
