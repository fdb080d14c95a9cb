"""The properties of core see: each fails where one turn of what it is about is wrong, a mutant of each kind."""

import json
import os
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from rules_frames import WorkloadFrame
from skyband.arrays import TIME_MAX, TIME_MIN
from skyband.columns import compact_frames, hashing, numbers
from skyband.config.time_zone_conversion import TimeZone
from skyband.errors import SkybandError
from skyband.operator import bad_rows, waiting_rows
from skyband.operator.answer_changes import AnswerChanges
from skyband.operator.operator import Operator
from skyband.roles import object_ranker
from skyband.rules import rule_rows
from skyband.states.coverage import Coverage
from skyband.watermark import EventTimeProgress
from skyband.windows.calendar_schedule import CalendarSchedule
from skyband.windows.schedule import Schedule
from skyband_distinct.questions import item_overlap
from skyband_expressions import arithmetic, text_casts
from skyband_jobs.files import text_values
from skyband_jobs.files.csv_files import CsvFile
from skyband_jobs.files.row_location import PlacedBatches
from skyband_jobs.running import savepoint
from skyband_lakes.redis import groups
from skyband_quantiles import distances, sample_bounds
from skyband_serve import checkpoint, turns
from skyband_serve.files_followed import FollowedFiles
from skyband_serve.sinks import TableSink
from skyband_serve.web import query_string
from skyband_spark.frames.state_store import StateStore
from skyband_totals.row_features.features_table import FeaturesTable

ROOT = Path(__file__).parents[2]


def properties(name):
    """The module of a test, wherever it is."""
    (path,) = [path for folder in ("core/tests", "plugins", "tests") for path in (ROOT / folder).rglob(f"{name}.py")]
    spec = spec_from_file_location(f"mutants_of_{name}", path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _no_chunk_goes(self, head, snapshot, whole=StateStore._write_whole):
    removed, self._chunks.removeKey = self._chunks.removeKey, lambda _: None
    try:
        return whole(self, head, snapshot)
    finally:
        self._chunks.removeKey = removed


def _to_whole_hours(self, times, clock=TimeZone.clock):
    return times + (clock(self, times) - times) // 3_600_000_000 * 3_600_000_000


def _a_microsecond_early(self, last, empty=CalendarSchedule.empty_at):
    return empty(self, np.asarray(last) - 1)


def _the_moment_is_refused(self, name, since, check=Coverage.check):
    return check(self, name, since if since != self.at else since + 1)


def _as_it_was_before_a_change(self, plan, number, load=StateStore.load):
    operator = load(self, plan, number)
    self._anew = self._head.step == 0
    return operator


def _with_what_came_before(self, take=Operator.take_metrics):
    late_by, metrics = self._counters.late_by, take(self)
    self._counters.late_by = late_by
    return metrics


def _one_later(self, last, watermark, ended=Schedule.has_ended):
    return ended(self, last, np.asarray(watermark) - 1)


def _a_quarter_at_least(self, length, whole=TimeZone.whole_since):
    return whole(self, min(length, 900_000_000))


def _as_early_as_all(self, newest, ahead, cut=EventTimeProgress.cut_ahead):
    earliest, limit = self.earliest, cut(self, newest, ahead)
    self.earliest = earliest
    return limit


def _nothing_is_null(column, kind, formats, convert=text_values._parts_converted):
    converted = convert(column, kind, formats)
    if pa.types.is_struct(kind):
        return pa.StructArray.from_arrays([converted.field(place) for place in range(len(kind))], fields=[*kind])
    return converted


def _whatever_the_seed(dictionary, seed, hash_words=hashing._hash_words):
    return hash_words(dictionary, 0)


def _as_late_as_its_last_row(self, answers, answered, latest=None, take=AnswerChanges.take):
    return take(self, answers, answered)


def _as_long_as_it_was(self, path, modified, size, check=FollowedFiles._check_unchanged):
    check(self, path, path.stat().st_mtime_ns // 1_000_000, size)


def _restored_at_no_time(self, other, select, absorb=AnswerChanges.absorb):
    absorb(self, other, select)
    self._restored_at = TIME_MIN


def _from_a_savepoint_if_it_came_from_none(self, started_from=None, begin=checkpoint.Checkpoint.begin):
    begin(self, None if self.stream is not None and self._from is None else started_from)


def _of_digits(texts, formats, plain=text_values._plain_numbers):
    return pc.if_else(pc.match_substring_regex(texts, "[eE]"), texts, plain(texts, formats))


SLOW = {"name": "slow", "window": "30 seconds", "slide": "20 seconds", "k": 3, "phase": "7 seconds"}
SEEDS = range(12)
MUTANTS = {
    "a foreign token is the state's own": (
        (StateStore, "_follows", lambda self, held: held.step <= self._head.step),
        ("test_store_sequences", "test_whatever_happens_a_task_starts_from_what_was_committed", SEEDS),
    ),
    "chunks of a longer state are left": (
        (StateStore, "_write_whole", _no_chunk_goes),
        ("test_store_sequences", "test_whatever_happens_a_task_starts_from_what_was_committed", SEEDS),
    ),
    "a token follows from its step": (
        (os, "urandom", bytes),
        ("test_store_sequences", "test_streams_are_distinguished_by_more_than_their_steps", None),
    ),
    "a changed query goes on in the log of the one before": (
        (StateStore, "load", _as_it_was_before_a_change),
        ("test_store_sequences", "test_whatever_happens_a_task_starts_from_what_was_committed", SEEDS),
    ),
    "a turn counts what those before it did": (
        (Operator, "take_metrics", _with_what_came_before),
        ("test_micro_batch", "test_metrics_are_those_of_a_turn_whatever_happens_to_its_rows", [1]),
    ),
    "a row that is cut is the earliest there was": (
        (EventTimeProgress, "cut_ahead", _as_early_as_all),
        ("test_ahead", "test_rows_that_are_cut_leave_no_trace_in_how_far_time_has_come", None),
    ),
    "a silence that is just long enough ends no stretch": (
        (Schedule, "has_ended", _one_later),
        ("test_schedule", "test_a_stretch_of_one_query_ends_at_the_first_moment_that_finds_its_window_empty", SEEDS),
    ),
    "half hours are whole ones": (
        (TimeZone, "whole_since", _a_quarter_at_least),
        (
            "test_zones",
            "test_after_the_last_odd_moment_a_clock_is_whole_lengths_from_greenwich",
            [("Asia/Kolkata", 2010, 2012, 60)],
        ),
    ),
    "zones are of whole hours": (
        (TimeZone, "clock", _to_whole_hours),
        ("test_zones", "test_the_microsecond_at_which_a_clock_changes_and_those_about_it", ["Asia/Kathmandu"]),
    ),
    "a stretch ends a microsecond early": (
        (CalendarSchedule, "empty_at", _a_microsecond_early),
        ("test_calendar_edges", "test_a_stretch_ends_at_the_first_moment_that_finds_every_window_empty", SEEDS),
    ),
    "the moment of a state is refused": (
        (Coverage, "check", _the_moment_is_refused),
        ("test_state_windows", "test_one_state_and_several_from_every_moment_that_they_cover", [("exact", 0)]),
    ),
    "a byte holds one number more than it does": (
        (compact_frames, "_size", lambda most, size=compact_frames._size: size(most - 1)),
        (
            "test_compact_frames",
            "test_distances_and_steps_are_restored_up_to_the_limits_of_their_bytes",
            [(2**bits, least) for bits in (8, 16, 32) for least in (0, -7)],
        ),
    ),
    "a dictionary has the hashes of another seed": (
        (hashing, "_hash_words", _whatever_the_seed),
        ("test_hashing", "test_a_dictionary_hashes_as_its_words_do_under_each_seed", [64]),
    ),
    "whole numbers that no float has are rounded": (
        (numbers, "_plain", lambda column: np.zeros(len(column))),
        ("test_column_types", "test_a_whole_number_that_is_no_float_is_named", [2**53 + 1, 2**64 - 1]),
    ),
    "an escape at the end of a file precedes a line break that is not there": (
        (CsvFile, "_ended", lambda self, text: text if text.endswith(b"\n") else text + b"\n"),
        ("test_csv_marks", "test_marks_in_any_order_are_read_as_rfc_4180_with_escapes_and_comments_says", [0]),
    ),
    "a struct without a value is one of nulls": (
        (text_values, "_parts_converted", _nothing_is_null),
        ("test_nested_json", "test_nested_values_are_read_as_written_with_null_at_each_level", [0]),
    ),
    "a bound of a share is a tenth too near": (
        (sample_bounds, "_edge", lambda share, goal, *ends, edge=sample_bounds._edge: edge(share, 0.9 * goal, *ends)),
        # Bounds are cached: with a delta of its own.
        (
            "test_sample_bounds",
            "test_a_share_beyond_its_bounds_is_as_rare_as_promised_on_each_side",
            [(13, 0.0321)],
        ),
    ),
    "a sample has a smaller part of the rows than it has": (
        (sample_bounds, "_part_below", lambda limit, part=sample_bounds._part_below: 1.2 * part(limit)),
        (
            "test_sample_bounds",
            "test_a_number_of_rows_beyond_its_bounds_is_as_rare_as_promised_on_each_side",
            [(500, 0.01)],
        ),
    ),
    "a distance leaves out the rows that may be in a window": (
        (distances, "below", lambda steps, at, below=distances.below: below(steps._replace(maybe=0 * steps.maybe), at)),
        ("test_distances", "test_bounds_hold_for_whatever_rows_a_state_may_stand_for", None),
    ),
    "a group of features never ends": (
        (FeaturesTable, "_ends", lambda self: np.full(len(self._entries.key), TIME_MAX)),
        ("test_forgetting", "test_memory_follows_the_window_and_not_the_stream", [("features", ["place"])]),
    ),
    "a group of features ends a microsecond early": (
        (FeaturesTable, "_ends", lambda self, ends=FeaturesTable._ends: ends(self) - 1),
        ("test_rows_of_features", "test_a_group_is_held_while_a_later_row_may_look_back_to_it", SEEDS),
    ),
    "rows that are not read have no place": (
        (PlacedBatches, "_rows_before", lambda self, part: 0),
        (
            "test_places_of_rows",
            "test_a_row_is_told_where_it_was_written_whoever_refuses_it",
            [(seed, "csv") for seed in range(4)],
        ),
    ),
    "two rows of a table in Redis have one name": (
        (groups, "_member", lambda text: "%null" if text is None else text),
        (
            "test_redis_entries",
            "test_a_row_has_its_own_name_with_its_newest_score_or_none",
            [("total", at_once) for at_once in (1, 1000)],
        ),
    ),
    "moments of several are not looked at": (
        (object_ranker, "check_moments_together", lambda *_: None),
        ("test_turns_of_several", "test_of_several_each_is_refused_what_it_is_refused_alone", None),
    ),
    "an end of the input is no later than its last row": (
        (AnswerChanges, "take", _as_late_as_its_last_row),
        (
            "test_finished_rules",
            "test_at_the_end_what_a_last_moment_does_not_answer_is_emptied",
            [(WorkloadFrame, seed) for seed in range(3)],
        ),
    ),
    "faults of later rows are told last": (
        (bad_rows.np, "argsort", lambda values, **_: np.arange(len(values))),
        ("test_mixed_faults", "test_however_faults_are_mixed_rows_are_reported_in_order_of_arrival", None),
    ),
    "rows of other shards are counted, too": (
        (waiting_rows.keyed_frames, "own", lambda frame: np.ones(len(frame), bool)),
        (
            "test_far_rows",
            "test_a_row_that_is_far_ahead_is_counted_once_whatever_shards_it_goes_to",
            [("near-duplicates", 3)],
        ),
    ),
    "groups that moved were restored at no time": (
        (AnswerChanges, "absorb", _restored_at_no_time),
        (
            "test_answer_changes",
            "test_they_leave_just_after_the_savepoint_whatever_shards_take_their_groups_over",
            [([{**SLOW, "name": "late"}], 2)],
        ),
    ),
    "a decimal has no exponent where its point is a comma": (
        (text_values, "_plain_numbers", _of_digits),
        ("test_formats_of_values", "test_a_number_is_read_as_its_locale_writes_it", ["de-DE"]),
    ),
    "the last turn is written again": (
        (TableSink, "write", lambda self, rows, number: self.table.write(rows, self.stream, number)),
        (
            "test_turns_done_again",
            "test_each_turn_is_there_once_from_whatever_savepoint_it_is_done_again",
            [("table", 2)],
        ),
    ),
    "a turn without its line end was written down": (
        (turns, "_parsed", lambda line, parsed=turns._parsed: parsed(line.rstrip(b"\n") + b"\n")),
        ("test_turns_written_down", "test_a_turn_that_was_not_written_down_whole_was_never_begun", None),
    ),
    "a stream that started from nothing goes on from a savepoint": (
        (checkpoint.Checkpoint, "begin", _from_a_savepoint_if_it_came_from_none),
        (
            "test_turns_written_down",
            "test_a_checkpoint_goes_on_from_where_its_stream_started_and_from_nowhere_else",
            [(None, "a")],
        ),
    ),
    "what has ended is ended again": (
        (rule_rows, "_ends_of_nothing", lambda versions, ends: []),
        ("test_ends_of_rules", "test_an_end_is_refused_where_no_rule_of_its_name_is_in_force", None),
    ),
    "the first of several values counts": (
        (query_string, "_value", lambda option, texts: query_string._one(option, texts[0])),
        (
            "test_query_string",
            "test_what_may_be_given_once_is_refused_twice_and_what_may_be_given_often_keeps_its_order",
            [3],
        ),
    ),
    "a null is divided by zero": (
        (arithmetic, "_nulls", lambda column: np.zeros(len(column), bool)),
        (
            "test_expression_values",
            "test_only_a_division_of_a_number_by_zero_is_an_error",
            [("%", pa.int64())],
        ),
    ),
    "only spaces are around a value": (
        (text_casts, "_AROUND", " "),
        (
            "test_text_casts",
            "test_control_characters_and_spaces_around_a_value_are_no_part_of_it_and_others_are",
            [("5", "INT")],
        ),
    ),
    "parts of an overlap are of its low counts": (
        (item_overlap, "_between", lambda count, low, high, most, highest: item_overlap.Estimate(count, low, most)),
        ("test_state_overlaps", "test_an_overlap_of_counts_is_between_all_that_they_allow", None),
    ),
}


@pytest.mark.parametrize("kind", MUTANTS)
def test_mutant_is_caught(kind, monkeypatch, tmp_path):
    (owner, name, mutant), (module, test, cases) = MUTANTS[kind]
    there = properties(module)
    for constant in ("CHUNK", "LOGGED", "CACHED"):
        if hasattr(there, constant):
            place = {"CHUNK": "CHUNK", "LOGGED": "MOST_LOGGED", "CACHED": "MOST_CACHED"}[constant]
            monkeypatch.setattr(there.state_store, place, getattr(there, constant))
    check = getattr(there, test)
    names = check.__code__.co_varnames[: check.__code__.co_argcount]
    given = {name: value for name, value in (("monkeypatch", monkeypatch), ("tmp_path", tmp_path)) if name in names}
    free = [name for name in names if name not in given]
    calls = [()] if cases is None else [case if isinstance(case, tuple) else (case,) for case in cases]
    monkeypatch.setattr(owner, name, mutant)
    with pytest.raises((AssertionError, SkybandError, json.JSONDecodeError, KeyError, pytest.fail.Exception)):
        for call in calls:
            check(**dict(zip(free, call, strict=True)), **given)


def test_a_savepoint_named_before_its_bytes_are_on_the_disk_is_caught(tmp_path, monkeypatch):
    there = properties("test_power_loss")
    monkeypatch.setattr(savepoint, "to_disk", lambda _: None)
    log = tmp_path / "log"
    log.mkdir()
    (log / "0").write_text("v1" * 100)
    with pytest.raises(SkybandError, match="damaged"):
        there.test_a_savepoint_after_any_step(tmp_path, log, monkeypatch)


def test_that_a_file_is_as_it_was_if_it_is_as_long_is_caught(tmp_path, monkeypatch):
    there = properties("test_files_followed")
    monkeypatch.setattr(FollowedFiles, "_check_unchanged", _as_long_as_it_was)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "3.json").write_text("{}")
    with pytest.raises(pytest.fail.Exception):
        there.test_a_file_that_is_not_as_it_was_listed_is_an_error(tmp_path, "written again")
