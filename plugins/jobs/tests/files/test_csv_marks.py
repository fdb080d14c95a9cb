"""Texts of CSV of few marks, whatever their order, read as a parser of some lines reads them."""

import random
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from skyband_jobs.files import text_blocks
from skyband_jobs.files.source_files import open_files
from skyband_jobs.tables.model import Source

MARKS = ';"#\\\n\rx'
OPTIONS = {"sep": ";", "comment": "#", "escape": "\\"}


class Unclosed(ValueError):
    """A quote that the text does not close."""


def parsed(text):
    """The records of a text, an unquoted nothing as None; and whether its last quote is closed."""
    place, records = 0, []

    def value():
        nonlocal place
        said, quoted = "", text[place : place + 1] == '"'
        inside = quoted
        place += quoted
        while place < len(text) and (inside or text[place] not in ";\n\r"):
            mark, place = text[place], place + 1
            if mark == "\\" and place < len(text):
                said, place = said + text[place], place + 1
            elif mark == '"' and inside:
                inside = text[place : place + 1] == '"'
                said, place = said + '"' * inside, place + inside
            else:
                said += mark
        if inside:
            raise Unclosed
        return said if said or quoted else None

    while place < len(text):
        if text[place] == "#":
            while place < len(text) and text[place] not in "\n\r":
                place += 1
        if text[place : place + 1] not in ("\n", "\r", ""):
            try:
                record = [value()]
                while text[place : place + 1] == ";":
                    place += 1
                    record.append(value())
            except Unclosed:
                return records, False
            records.append(record)
        place += 1
    return records, True


def read(path):
    """The rows of two values, and how many were refused."""
    refused = []
    source = Source(format="csv", path=str(path), schema="a STRING, b STRING", options=OPTIONS)
    batches = open_files(source).batches(["a", "b"], refuse=refused.extend)
    return [[*row.values()] for batch in batches for row in batch.to_pylist()], len(refused)


def compare(texts, monkeypatch, seed):
    chance = random.Random(seed)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "a.csv"
        for text in texts:
            path.write_bytes(b"x;x\n" + text.encode())
            records, closed = parsed("x;x\n" + text)
            good = [record for record in records if len(record) == 2]
            monkeypatch.setattr(text_blocks, "SIZE", chance.choice((4, 6, 1 << 20)))
            assert read(path) == (good, len(records) - len(good) + (not closed)), repr(text)


@pytest.mark.parametrize("seed", [0])
def test_marks_in_any_order_are_read_as_rfc_4180_with_escapes_and_comments_says(seed, monkeypatch):
    chance = random.Random(seed)
    short = ["".join(marks) for count in (1, 2) for marks in product(MARKS, repeat=count)]
    ends = [f"x;x{marks}" for marks in short]
    compare(
        short + ends + ["".join(chance.choices(MARKS, k=chance.randint(3, 6))) for _ in range(250)], monkeypatch, seed
    )


@pytest.mark.slow
def test_all_texts_of_four_marks_and_many_of_six(monkeypatch):
    chance = random.Random(7)
    texts = ["".join(marks) for count in (3, 4) for marks in product(MARKS, repeat=count)]
    compare(texts + ["".join(chance.choices(MARKS, k=6)) for _ in range(6000)], monkeypatch, 7)
