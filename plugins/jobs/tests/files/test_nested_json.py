"""Random structs and lists of JSON, null or left out at each level, read as json.loads reads them."""

import json
import random
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from skyband_jobs.files import text_blocks
from skyband_jobs.files.source_files import open_files
from skyband_jobs.tables.model import Source

LEAVES = {
    "BIGINT": lambda chance: chance.choice((0, -7, 2**53 + 1)),
    "DOUBLE": lambda chance: chance.choice((0.0, -1.5, 1e300)),
    "STRING": lambda chance: chance.choice(("", "null", "é\n", '"', "{}")),
    "BOOLEAN": lambda chance: chance.random() < 0.5,
    "TIMESTAMP": lambda chance: f"2026-01-31T09:30:{chance.randint(10, 59)}Z",
    "DECIMAL(6, 2)": lambda chance: chance.randint(-9, 9) / 4,
}
READ = {"TIMESTAMP": datetime.fromisoformat, "DECIMAL(6, 2)": Decimal}


def drawn_type(chance, depth):
    """A type: a leaf's name, a list of one type, or a dictionary of some."""
    form = chance.choice(("leaf", "list", "struct")) if depth else "leaf"
    if form == "list":
        return [drawn_type(chance, depth - 1)]
    if form == "struct":
        return {name: drawn_type(chance, depth - 1) for name in ("a", "b", "c")[: chance.randint(1, 3)]}
    return chance.choice(list(LEAVES))


def ddl(kind):
    if isinstance(kind, list):
        return f"ARRAY<{ddl(kind[0])}>"
    if isinstance(kind, dict):
        return f"STRUCT<{', '.join(f'{name}: {ddl(inner)}' for name, inner in kind.items())}>"
    return kind


def drawn_value(chance, kind):
    """A value to write; a field of a struct may be missing, be null, or be one that the type does not name."""
    if chance.random() < 0.2:
        return None
    if isinstance(kind, list):
        return [drawn_value(chance, kind[0]) for _ in range(chance.randint(0, 3))]
    if isinstance(kind, dict):
        names = [name for name in kind if chance.random() < 0.8]
        chance.shuffle(names)
        others = {"z": chance.choice((None, 1, {"a": [None]}))} if chance.random() < 0.2 else {}
        return others | {name: drawn_value(chance, kind[name]) for name in names}
    return LEAVES[kind](chance)


def known(value, kind):
    """What is read of a value: each field that the type names, null where it is missing."""
    if value is None:
        return None
    if isinstance(kind, list):
        return [known(each, kind[0]) for each in value]
    if isinstance(kind, dict):
        return {name: known(value.get(name), inner) for name, inner in kind.items()}
    return READ.get(kind, lambda same: same)(value)


@pytest.mark.parametrize("seed", range(3))
def test_nested_values_are_read_as_written_with_null_at_each_level(seed, monkeypatch):
    chance = random.Random(seed)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "a.json"
        for _ in range(60):
            kind = {name: drawn_type(chance, 3) for name in ("p", "q")}
            objects = [drawn_value(chance, kind) or {} for _ in range(chance.randint(1, 6))]
            lines = [json.dumps(each, ensure_ascii=chance.random() < 0.5) for each in objects]
            many = chance.random() < 0.3
            path.write_text(f"[{', '.join(lines)}]" if many else "\n".join(lines), "utf-8")
            monkeypatch.setattr(text_blocks, "SIZE", chance.choice((40, 1 << 20)))
            schema = ", ".join(f"{name} {ddl(inner)}" for name, inner in kind.items())
            source = Source(format="json", path=str(path), schema=schema, options={"multiLine": many})
            batches = open_files(source).batches(["p", "q"])
            assert [row for batch in batches for row in batch.to_pylist()] == [known(each, kind) for each in objects]
