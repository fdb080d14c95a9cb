"""Groups of near-duplicates processed together have the same turns as each alone."""

import numpy as np
import pyarrow as pa
import pytest
from skyband.columns import row_store_by_position
from skyband.engines import local
from skyband.groups import plain_turns
from skyband.groups.small_groups import limits
from skyband.operator.operator import Operator
from skyband.queries import make_query
from skyband_setjoin.near_duplicates.processor import NearDuplicatesProcessor

SECOND = 1_000_000
COMMON = {"kind": "near-duplicates", "time": "ts", "by": ["group"], "id": "id", "tokens": "words"}
QUERIES = [
    {"threshold": 0.5, "window": "20 seconds"},
    {"threshold": 0.6, "window": "7 seconds", "output": "rows", "carry": ["text"], "carry_match": ["text", "id"]},
    {"threshold": 0.5, "window": "9 seconds", "output": "kept", "keep": "first", "id": "text"},
    {"threshold": 0.4, "window": "12 seconds", "output": "rows", "side": "side", "id": ["id", "text"]},
    {"threshold": 0.4, "window": "30 seconds", "matches": 2, "id": "text", "carry_match": ["words"]},
    {"threshold": 0.5, "window": "15 rows", "output": "rows"},
]
GROUPS = 12


def stream(seed):
    """Many rows of a group at once, silences that empty windows, and times a microsecond from their ends."""
    rng = np.random.default_rng(seed)
    at, parts = SECOND, []
    for step in range(50):
        at = at if not parts else int(parts[-1].column(0).cast(pa.int64()).to_numpy()[-1]) // SECOND * SECOND
        at += int(rng.choice([0, 1, 2, 6, 13, 25], p=[0.1, 0.5, 0.2, 0.1, 0.05, 0.05])) * SECOND
        count = int(rng.choice([3, 12, 30, 150], p=[0.3, 0.4, 0.25, 0.05]))
        groups = np.full(count, step % GROUPS) if count == 150 else rng.integers(0, GROUPS, count)
        lengths = rng.integers(0, 5, count)
        times = np.sort(at + rng.integers(0, rng.choice([3, 25]), count) * SECOND + rng.choice([-1, 0, 0, 0, 1], count))
        parts.append(
            pa.record_batch(
                {
                    "ts": pa.array(times, pa.timestamp("us", "UTC")),
                    "group": groups,
                    "id": rng.integers(0, 1000, count),
                    "text": [f"text {one}" for one in rng.integers(0, 9, count)],
                    "words": [[f"w{word}" for word in rng.integers(0, 6, length)] for length in lengths],
                    "side": [("left", "right")[one] for one in rng.integers(0, 2, count)],
                }
            )
        )
    return parts


def run(asked, parts, restored_at, shard=None):
    """The answers, sorted, and the state, after each part."""
    host, steps = local.LocalRun.start(asked, parts[0].schema), []
    for number, part in enumerate(parts):
        answers = host.push(part)
        blob = host.operator.snapshot()
        steps.append((sorted(map(str, answers.to_pylist())), blob))
        host.operator.groups._check()
        if number in restored_at:
            host.operator = Operator(asked, host.operator.bindings, parts[0].schema)
            host.operator.restore(blob)
    steps.append(sorted(map(str, host.finish().to_pylist())))
    return steps


@pytest.fixture
def together(monkeypatch):
    """Counts the groups whose turns were processed together."""
    monkeypatch.setattr(limits, "MOST_ENTRIES", 0)
    groups, turns = [], NearDuplicatesProcessor.turns.__func__

    def counted(cls, processors, rows, spans, turns_of):
        groups.append(len(processors))
        return turns(cls, processors, rows, spans, turns_of)

    monkeypatch.setattr(NearDuplicatesProcessor, "turns", classmethod(counted))
    return groups


@pytest.mark.parametrize("number", range(len(QUERIES)))
def test_groups_answer_and_are_kept_as_with_separate_turns(number, together, monkeypatch):
    monkeypatch.setattr(row_store_by_position, "_SHORT", 5)
    asked = make_query(COMMON | QUERIES[number])
    for seed in range(2):
        parts = stream([number, seed])
        restored_at = set(np.random.default_rng(seed).integers(0, len(parts), 4).tolist())
        monkeypatch.setattr(plain_turns, "_FEW", 10**6)
        alone = run(asked, parts, restored_at)
        assert not together
        monkeypatch.setattr(plain_turns, "_FEW", 1)
        for few_rows in (0, 4):
            monkeypatch.setattr("skyband_setjoin.row_matches.processor._FEW_ROWS", few_rows)
            assert run(asked, parts, set()) == alone
        assert sum(map(len, (step[0] for step in alone[:-1]))) > 50
        assert bool(together) != asked.rows
        together.clear()
