"""Where a checkpoint may start after any sequence of turns, savepoints, kills and losses of savepoints."""

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import example, given
from hypothesis import strategies as some
from skyband.queries import make_query
from skyband_jobs.running import savepoint
from skyband_serve.checkpoint import Checkpoint
from skyband_serve.turns import Turn

QUERY = {"kind": "distinct-count", "time": "ts", "item": "a", "windows": ["1 minute"], "every": "1 minute"}


def savepoint_in(folder):
    """A savepoint to start from."""
    savepoint.write(folder, make_query(QUERY), [b"state"], None, {}, None)
    return folder


@example(False, ["turn", "save", "turn", "save", "turn", "kill"])
@example(False, ["turn", "save", "turn", "kill", "turn", "kill", "turn"])
@example(True, ["turn", "lose the newest"])
@example(True, ["turn", "save", "turn", "lose the newest", "lose the newest"])
@given(
    some.booleans(),
    some.lists(
        some.sampled_from([*["turn"] * 4, *["save"] * 3, "kill", "kill", "lose the newest", "lose the oldest"]),
        max_size=25,
    ),
)
def test_a_start_has_all_turns_since_each_savepoint(is_from_savepoint, steps):
    """Newest first, each with exactly the turns since; from the beginning only where the stream began there."""
    with TemporaryDirectory() as elsewhere, TemporaryDirectory() as folder:
        checkpoint, last, had_two = Checkpoint(Path(folder)), 0, False
        checkpoint.begin(savepoint_in(Path(elsewhere) / "first") if is_from_savepoint else None)
        there = [0] if is_from_savepoint else []
        for step in steps:
            if step == "turn":
                last += 1
                checkpoint.intend(Turn(last, rows=[last]))
            elif step == "save" and last not in there and checkpoint.has_turns:
                checkpoint.place_of(last).mkdir()
                checkpoint.saved(last)
                there = sorted([*there, last])[-2:]
                had_two |= len(there) == 2
            elif step == "kill":
                checkpoint.close()
                checkpoint = Checkpoint(Path(folder))
            elif step.startswith("lose") and there:
                shutil.rmtree(checkpoint.place_of(there.pop(-1 if step == "lose the newest" else 0)))
        checkpoint.close()
        again = Checkpoint(Path(folder))
        starts = [(path and int(path.name), [turn.number for turn in turns]) for path, turns in again.starts()]
        first_log = min((int(path.stem) for path in (Path(folder) / "turns").glob("*.log")), default=0)
        assert first_log == 0 or had_two, "turns go once two savepoints have them"
        begins = not is_from_savepoint and first_log == 0
        numbers = [*reversed(there), *([None] if begins else [])]
        assert starts == [(number, [*range((number or 0) + 1, last + 1)]) for number in numbers]
