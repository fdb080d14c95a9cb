"""Bad rows of two streams over one source are compared where both have come to the same place, and nowhere else."""

import json
from types import SimpleNamespace

import pytest
from skyband.errors import EngineError
from skyband_jobs.job.model import Source
from skyband_spark.bad_row_sums import BadRowSums
from skyband_spark.rows_aside import Beside

KAFKA = Source(format="kafka")


def progress(number, begin, end, about="KafkaV2[Subscribe[visits]]"):
    """Of a micro-batch, as Spark tells it; offsets of Kafka unless `about` says otherwise."""
    offsets = [None if one is None else json.dumps(one) for one in (begin, end)]
    return SimpleNamespace(
        batchId=number,
        sources=[SimpleNamespace(description=about, startOffset=offsets[0], endOffset=offsets[1])],
    )


def at(offset):
    return None if offset is None else {"visits": {"0": offset}}


def run(sums, counted, aside, number=(0, 0)):
    """Micro-batches of either stream as (begin, end, rows); the first numbers."""
    for take, batches, first in ((sums.count, counted, number[0]), (sums.put_aside, aside, number[1])):
        for place, (begin, end, rows) in enumerate(batches):
            take(progress(first + place, at(begin), at(end)), rows)
            sums.check()


def test_streams_that_cut_the_source_otherwise_are_compared_where_they_meet():
    run(BadRowSums(KAFKA, None, None), [(0, 3, 1), (3, 6, 0), (6, 6, 0), (6, 9, 2)], [(0, 4, 1), (4, 9, 2)])
    for aside in ([(0, 4, 1), (4, 9, 1)], [(0, 4, 2), (4, 9, 2)]):
        with pytest.raises(EngineError, match=r"of 3 rows that came in, 1 are (lost|counted twice): the stream"):
            run(BadRowSums(KAFKA, None, None), [(0, 3, 1), (3, 6, 0), (6, 9, 2)], aside)


def test_what_was_before_the_first_place_of_both_is_not_compared():
    run(BadRowSums(KAFKA, None, None), [(5, 6, 1), (6, 9, 2)], [(0, 6, 77), (6, 9, 2)])
    run(BadRowSums(KAFKA, None, None), [(None, 6, 1), (6, 9, 2)], [(None, 6, 77), (6, 9, 2)])
    with pytest.raises(EngineError, match="2 are lost"):
        run(BadRowSums(KAFKA, None, None), [(5, 6, 1), (6, 9, 2)], [(0, 6, 77), (6, 9, 0)])


def test_those_found_equal_are_not_compared_again_and_the_next_are():
    sums = BadRowSums(KAFKA, None, None)
    run(sums, [(0, 3, 1)], [(0, 3, 1)])
    run(sums, [(3, 6, 2)], [(3, 6, 2)], number=(1, 1))
    with pytest.raises(EngineError, match="of 5 rows that came in, 5 are lost"):
        run(sums, [(6, 9, 5)], [(6, 9, 0)], number=(2, 2))


def test_one_that_was_not_heard_of_begins_the_comparison_anew():
    sums = BadRowSums(KAFKA, None, None)
    run(sums, [(0, 3, 1)], [(0, 3, 1)])
    run(sums, [(6, 9, 2), (9, 12, 1)], [(3, 9, 50), (9, 12, 1)], number=(2, 1))
    with pytest.raises(EngineError, match="1 are counted twice"):
        run(sums, [(12, 15, 1)], [(12, 15, 2)], number=(4, 3))


@pytest.mark.parametrize("number", [0, 1, 2, 4, 9])
def test_a_number_that_does_not_follow_begins_the_comparison_anew(number):
    """One that comes again was counted already; of one that was not heard of, nobody knows."""
    sums = BadRowSums(KAFKA, None, None)
    run(sums, [(0, 3, 1), (3, 6, 5), (6, 9, 2)], [])
    begin = 3 * number
    again = [(begin, begin + 3, 2), (begin + 3, begin + 6, 4)]
    run(sums, again, [(0, begin, 99), *again], number=(number, 0))
    with pytest.raises(EngineError, match="of 2 rows that came in, 1 are lost"):
        run(sums, [(begin + 6, begin + 9, 2)], [(begin + 6, begin + 9, 1)], number=(number + 2, 3))


def test_a_stream_that_runs_for_long_remembers_of_its_bad_rows_those_of_the_micro_batch_that_has_not_ended():
    sums = BadRowSums(KAFKA, None, None)
    started = SimpleNamespace(exception=lambda: None, recentProgress=[])
    saved = SimpleNamespace(rows={})
    beside = Beside(started, saved, sums)
    for number in range(50):
        told = progress(number, at(3 * number), at(3 * number + 3))
        told.durationMs = {"addBatch": 1}
        saved.rows |= {number: number % 3, number + 1: 0}
        started.recentProgress = [*started.recentProgress, told][-3:]
        beside.count(told, number % 3)
        beside.check()
        assert [*saved.rows] == [number + 1]
        assert sum(len(side.rows_at) for side in (sums._counted, sums._aside)) <= 4


def test_sources_whose_offsets_are_of_one_stream_alone_are_not_compared():
    run(BadRowSums(Source(format="rate"), None, None), [(0, 3, 1), (3, 6, 1)], [(0, 3, 7), (3, 6, 9)])


def test_offsets_are_compared_however_a_connector_writes_them():
    sums = BadRowSums(Source(format="of others"), None, None)
    for number, (written, otherwise) in enumerate([('{"a": 1, "b": 2}', '{"b":2,"a":1}'), ("at 7", "at 7")]):
        for take, offset in ((sums.count, written), (sums.put_aside, otherwise)):
            told = progress(number, None, None)
            told.sources[0].endOffset = offset
            take(told, number if take == sums.count else 0)
    with pytest.raises(EngineError, match="of 1 rows that came in, 1 are lost"):
        sums.check()


class Log:
    """Spark's log of the files of a stream, in its checkpoint."""

    def __init__(self, checkpoint):
        self.checkpoint, self.folder = checkpoint, checkpoint / "sources" / "0"
        self.folder.mkdir(parents=True)
        self.entries = []

    def add(self, *names):
        """One more entry; each third holds all before it as well, and these go."""
        number = len(self.entries)
        self.entries.append([json.dumps({"path": f"file:///{name}", "batchId": number}) for name in names])
        whole = number % 3 == 2
        lines = [line for entry in self.entries for line in entry] if whole else self.entries[-1]
        (self.folder / (f"{number}.compact" if whole else str(number))).write_text("\n".join(["v1", *lines]))
        for path in self.folder.glob("*") if whole else ():
            if path.name != f"{number}.compact":
                path.unlink()
        begin = None if number == 0 else {"logOffset": number - 1}
        return progress(number, begin, {"logOffset": number}, "FileStreamSource[file:/visits]")


@pytest.fixture
def logs(tmp_path):
    return Log(tmp_path / "answers"), Log(tmp_path / "bad")


def of_files(logs):
    return BadRowSums(Source(format="json", path="visits"), *(str(log.checkpoint) for log in logs))


def test_files_are_a_place_whatever_their_entries_and_order(logs):
    sums, (answers, bad) = of_files(logs), logs
    for names, rows in (("ab", 2), ("c", 0), ("de", 1), ("f", 3), ("g", 1)):
        sums.count(answers.add(*names), rows)
    for names, rows in (("c", 0), ("abd", 2), ("ef", 4)):
        sums.put_aside(bad.add(*names), rows)
        sums.check()
    with pytest.raises(EngineError, match="of 1 rows that came in, 1 are lost"):
        sums.put_aside(bad.add("g"), 0)
        sums.check()


def test_a_run_goes_on_from_the_files_that_were_read_before(logs):
    for names in ("a", "b", "c", "d"):
        logs[0].add(names)
    for names in ("ab", "cd"):
        logs[1].add(*names)
    sums = of_files(logs)
    sums.count(logs[0].add("e"), 2)
    with pytest.raises(EngineError, match="of 2 rows that came in, 1 are lost"):
        sums.put_aside(logs[1].add("e"), 1)
        sums.check()


def test_a_log_with_an_entry_that_has_gone_says_no_place(logs):
    sums = of_files(logs)
    for log, take, rows in zip(logs, (sums.count, sums.put_aside), (3, 9), strict=True):
        log.add("a")
        log.add("b")
        (log.folder / "0").unlink()
        take(log.add("c"), 0)  # holds all
        told = log.add("d")
        (log.folder / "3").unlink()
        take(told, rows)
    sums.check()
