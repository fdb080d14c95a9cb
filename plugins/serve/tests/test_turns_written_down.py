"""What a kill leaves of the last turn, and from which savepoint a checkpoint goes on."""

import pytest
from skyband.errors import EngineError
from skyband.queries import make_query
from skyband_jobs.running import savepoint
from skyband_serve.checkpoint import Checkpoint
from skyband_serve.turns import Turn, TurnLog, turns_in


def test_a_turn_that_was_not_written_down_whole_was_never_begun(tmp_path):
    """Cut anywhere, its line end alone too."""
    log = TurnLog(tmp_path / "turns" / "000000.log")
    for number in (1, 2):
        log.append(Turn(number, rows=[["a file", number, 7]], tick=5, started=3))
    log.close()
    lines = log.path.read_bytes().splitlines(keepends=True)
    for end in range(len(lines[1])):
        log.path.write_bytes(lines[0] + lines[1][:end])
        assert turns_in(log.path) == [Turn(1, rows=[["a file", 1, 7]], tick=5, started=3)], end
        again = TurnLog(log.path, durable=False)
        again.append(Turn(2, finish=True))
        again.close()
        assert turns_in(log.path)[1:] == [Turn(2, finish=True)], end


@pytest.mark.parametrize("first", [None, "a", "b"])
@pytest.mark.parametrize("then", [None, "a", "b"])
def test_a_checkpoint_goes_on_from_where_its_stream_started_and_from_nowhere_else(tmp_path, first, then):
    query = make_query({"kind": "distinct-count", "time": "t", "item": "i", "windows": ["1 hour"], "every": "1 hour"})
    for name in "ab":
        savepoint.write(tmp_path / name, query, [b"state"], None, {}, None)
    (tmp_path / "checkpoint").mkdir()
    Checkpoint(tmp_path / "checkpoint").begin(first and tmp_path / first)
    again = Checkpoint(tmp_path / "checkpoint")
    if then in (None, first):
        again.begin(then and tmp_path / then)
        return
    with pytest.raises(EngineError, match="is from a stream that started otherwise"):
        again.begin(tmp_path / then)
