"""A stranger's format passes the checks, each of which tells a wrong one; jobs read and write it; faults name it."""

import sys
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from skyband import FormatInfo
from skyband.cli.commands import group
from skyband.errors import EngineError
from skyband.registry import Registry
from skyband.registry.discovery import Plugin
from skyband.registry.name_claims import Listed
from skyband_jobs.formats import formats, installed_format, open_sink, open_table
from skyband_specs.formats import CHECKS, FormatSubject, kills, verify_format_subject
from skyband_specs.report import FAILED
from third_party import tiny_format, wrong_formats

CAN = ("reads", "writes", "streams")
JOB = """
[source]
format = "parquet"
path = "visits.parquet"

[query]
kind = "distinct-count"
time = "ts"
item = "who"
windows = ["1 minute"]
every = "1 minute"

[sink]
format = "acme-log"
path = "answers.log"
"""


def subject(name="LogFormat"):
    module = (tiny_format if hasattr(tiny_format, name) else wrong_formats).__name__
    return FormatSubject(f"format/{name}", f"{module}:{name}", "third_party.tiny_format:LogTrial")


def test_a_strangers_format_passes_every_check():
    report = verify_format_subject(subject())
    assert report.ok and report.counts()["passed"] == len(CHECKS), report.text()


MUTANTS = {
    "good_keys_have_no_problems": ["TakesNothing"],
    "a_job_without_keys_is_told_what_it_needs": ["TakesAnything"],
    "answers_come_back_as_they_were": ["Rounding", "SinglePrecision", "IsReadOnce"],
    "many_rows_come_back_each_as_often_as_it_was_written": ["AThousandRows", "ASetOfRows"],
    "a_batch_is_added_or_takes_the_place": ["OnlyAdds"],
    "nothing_is_there_before_the_first_answers": ["Eager"],
    "other_columns_are_refused_before_anything_is_written": ["AnyColumns"],
    "a_micro_batch_of_other_columns_is_refused": ["AnyColumns"],
    "a_micro_batch_that_is_given_again_is_there_once": ["Forgetful"],
    "another_stream_with_the_same_numbers_is_written": ["OneStream", "CutsIds"],
    "each_value_comes_back_or_is_refused": [
        "NullForNaN",
        "SinglePrecision",
        "OneZero",
        "NoInfinity",
        "NullTextsAreEmpty",
    ],
    "each_value_of_the_newest_comes_back_or_is_refused": ["NullForNaN", "SinglePrecision", "OneZero", "NoInfinity"],
    "columns_of_other_types_are_refused": ["NamesOnly"],
    "a_writer_killed_while_it_makes_the_table": ["NumberFirst", "TwoCommits", "SlowlyTwoCommits"],
    "a_writer_killed_while_it_adds_to_the_table": ["RowsFirst", "TwoCommits", "SlowlyTwoCommits"],
    "a_batch_whose_writer_is_killed_is_there_or_not": ["RemovesThenWrites", "AddsOneByOne"],
    "a_table_of_the_newest_whose_writer_is_killed_is_as_before_or_after": ["RemovesThenWrites"],
    "the_newest_answers_are_what_the_table_holds": ["RemovesNone"],
    "each_key_of_the_newest_is_of_one_row": ["NullIsEmpty", "AThousandRows"],
    "rows_of_others_stay_in_a_table_of_the_newest": ["Tidy"],
    "a_table_of_the_newest_refuses_other_columns": ["AnyColumns"],
    "changes_that_are_given_again_change_nothing": ["Forgetful", "ForgetsOthers"],
    "a_writer_killed_while_it_changes_a_table_of_the_newest": ["NumberBeforeChanges"],
}
BY_NAME = {check.name: check for check in CHECKS}


def test_every_check_tells_a_format_that_is_wrong():
    assert MUTANTS.keys() == BY_NAME.keys()


@pytest.mark.parametrize(("name", "mutant"), [(name, mutant) for name, some in MUTANTS.items() for mutant in some])
def test_a_check_tells_a_format_that_is_wrong(name, mutant):
    (result,) = verify_format_subject(subject(mutant), checks=[BY_NAME[name]]).results
    assert result.outcome == FAILED, result


def test_a_writer_is_killed_between_two_files_though_no_line_of_its_own_lies_there(tmp_path):
    """Each file that a library puts in its place is a step: before it the rows stand without their number."""
    whole, between = kills.Moment(subject("TwoFiles"), str(tmp_path / "whole"), 0), 0
    for number, place in enumerate(kills.places(whole)[-5:-1]):
        folder = tmp_path / str(number)
        folder.mkdir()
        assert kills.kill(whole.killed_at(place, folder, 0))
        between += (folder / "answers.log").exists() and not (folder / "answers.said").exists()
    assert between == 1


def test_a_long_writer_is_killed_after_each_change_to_its_files_and_at_some_of_its_steps(tmp_path):
    whole = kills.Moment(subject("SlowlyTwoCommits"), str(tmp_path / "whole"), 0)
    places = kills.places(whole)
    assert {"change 1", "change 2", "change 3", "step 1"} < set(places) and len(places) < kills.MOST


def without_numbers(name):
    return FormatSubject(
        "format/x",
        f"third_party.tiny_format:{name}",
        "third_party.tiny_format:LogTrial",
        ("reads", "writes", "current"),
    )


CURRENT = [one for one in CHECKS if one.group == "current"]


def test_a_format_of_the_newest_answers_need_not_say_the_number_of_a_micro_batch():
    report = verify_format_subject(without_numbers("Forgetful"), checks=CURRENT)
    assert report.ok and report.counts()["passed"] == len(CURRENT) == 6, report.text()


def test_then_rows_that_are_given_again_are_known_by_their_keys():
    results = verify_format_subject(without_numbers("AddsAgain"), checks=CURRENT).results
    assert [one.check for one in results if one.outcome == FAILED] == [
        "each_value_of_the_newest_comes_back_or_is_refused",
        "the_newest_answers_are_what_the_table_holds",
        "rows_of_others_stay_in_a_table_of_the_newest",
        "changes_that_are_given_again_change_nothing",
    ]


@pytest.fixture
def registered(monkeypatch):
    """Puts plugins with formats in the place of those installed."""

    def put(*plugins, api=1):
        made = [
            Plugin(name, "1.0", "hooks", "hooks", formats=(FormatInfo("acme-log", factory, "a log", CAN, api=api),))
            for name, factory in plugins
        ]
        from skyband.registry import installed

        registry = Registry([*installed().plugins, *made])
        monkeypatch.setattr(formats, "installed", lambda: registry)

    formats._loaded.cache_clear()
    yield put
    formats._loaded.cache_clear()


@pytest.fixture
def call(tmp_path):
    seconds = pa.array([5, 20, 65, 130], pa.timestamp("s", "UTC"))
    pq.write_table(pa.table({"ts": seconds, "who": ["ann", "bob", "ann", "cho"]}), tmp_path / "visits.parquet")
    (tmp_path / "job.toml").write_text(JOB)

    def run(command, *sets, engine="local"):
        changes = [part for change in sets for part in ("--set", change)]
        return CliRunner().invoke(group, [command, str(tmp_path / "job.toml"), "--engine", engine, *changes])

    return run


def test_a_job_writes_a_strangers_format_and_another_reads_it(registered, call, tmp_path):
    registered(("acme", "third_party.tiny_format:LogFormat"))
    ran = call("run")
    assert ran.exit_code == 0, ran.stderr
    log = str(tmp_path / "answers.log")
    table = open_table("acme-log", log)
    assert pa.Table.from_batches(table.batches(["count"])).to_pydict() == {"count": [2.0, 1.0, 1.0]}
    assert 'set sink.mode to "overwrite" or "append"' in call("run").stderr
    reading = ["source.format=acme-log", "source.path=answers.log", "query.time=at", "query.item=count"]
    shown = call("run", *reading, "sink.format=console", "sink.path=x")
    assert shown.exit_code == 0, shown.stderr
    assert "'answers.log' is the source" in call("check", *reading).stdout.replace(f"{tmp_path}/", "")


def test_a_format_claimed_twice_says_both_and_the_job_chooses(registered, call):
    registered(("acme", "third_party.tiny_format:LogFormat"), ("other", "nowhere:Nothing"))
    checked = call("check")
    said = "sink.format: format/acme-log: claimed by acme and other: choose one with distribution = "
    assert checked.exit_code == 1 and said in checked.stdout, checked.stdout
    assert call("check", "sink.distribution=acme").exit_code == 0
    assert "nowhere:Nothing could not be imported" in call("check", "sink.distribution=other").stdout
    assert "acme-log is not in nobody; it is in acme, other" in call("check", "sink.distribution=nobody").stdout
    assert call("check", "sink.format=parquet").exit_code == 0, "harms that name alone"


def test_a_format_of_a_later_api_says_what_to_upgrade(registered, call):
    registered(("acme", "third_party.tiny_format:LogFormat"), api=99)
    checked = call("check")
    assert checked.exit_code == 1 and "sink.format: format/acme-log: written for API 99" in checked.stdout
    assert "upgrade skyband" in checked.stdout


class FailsSink(tiny_format.LogSink):
    """Raises when half of the answers are written to its new file."""

    def put(self, answers, numbers, replace=False):
        if len(answers) and not replace:
            self.path.with_name("half").write_bytes(b"half")
            raise KeyError("shard 7")
        super().put(answers, numbers, replace)


class Fails(tiny_format.LogFormat):
    sink = FailsSink


def test_a_format_that_raises_in_a_micro_batch_is_told_with_its_distribution(registered, call, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "acme_fails", sys.modules[__name__])
    registered(("acme", "acme_fails:Fails"))
    ran = call("run")
    assert ran.exit_code == 1 and "error: format acme-log of acme failed: KeyError: 'shard 7'" in ran.stderr, ran.stderr
    assert not (tmp_path / "answers.log").exists(), "nothing half-written"
    sink = open_sink("acme-log", str(tmp_path / "answers.log"))
    session = SimpleNamespace(sparkContext=SimpleNamespace(getLocalProperty=lambda _: "mine"))
    rows = SimpleNamespace(sparkSession=session, toArrow=lambda: pa.table({"a": [1]}))
    with pytest.raises(EngineError, match="micro-batch 3: format acme-log of acme failed: KeyError: 'shard 7'"):
        sink(rows, 3)
    assert sink.latest("mine") is None and not sink.exists()


def test_a_format_whose_rows_raise_leaves_the_sink_as_it_was(registered, call, tmp_path, monkeypatch):
    class Rows(tiny_format.LogRows):
        def batches(self, columns):
            yield from super().batches(columns)
            raise KeyError("block 9")

    class Format(tiny_format.LogFormat):
        def read(self, keys):
            return Rows(tmp_path / "answers.log")

    monkeypatch.setitem(sys.modules, "acme_fails", SimpleNamespace(Format=Format))
    registered(("acme", "acme_fails:Format"))
    assert call("run").exit_code == 0
    reading = ["source.format=acme-log", "source.path=answers.log", "query.time=at", "query.item=count"]
    ran = call("run", *reading, "sink.format=parquet", "sink.path=counts/")
    assert ran.exit_code == 1 and "format acme-log of acme failed: KeyError: 'block 9'" in ran.stderr, ran.stderr
    assert not list((tmp_path / "counts").glob("*.parquet"))


def test_what_is_no_format_is_told():
    for place, said in (
        ("pathlib:Path", "is not a subclass of Format"),
        ("no:One", "could not be imp"),
    ):
        entry = Listed(FormatInfo("acme-log", place, "a log", CAN), "acme", "1.0")
        with pytest.raises(Exception, match=f"format acme-log of acme: {place} {said}"):
            installed_format.load(entry)


def test_a_batch_format_is_refused_for_a_stream_on_spark(registered, call, monkeypatch):
    registered(("acme", "third_party.tiny_format:LogFormat"))
    stream = ["source.stream=true", "sink.checkpoint=checkpoint/"]
    checked = call("check", *stream, engine="spark")
    assert checked.exit_code == 0, checked.stdout
    monkeypatch.setitem(globals(), "CAN", ("reads", "writes"))
    registered(("acme", "third_party.tiny_format:LogFormat"))
    formats._loaded.cache_clear()
    checked = call("check", *stream, engine="spark")
    assert "sink.format: format acme-log of acme can only write a batch's answers" in checked.stdout
