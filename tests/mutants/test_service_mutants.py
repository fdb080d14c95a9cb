"""Properties of services, detections, distances, sightings and features see: each fails where a turn is wrong."""

import inspect
import textwrap
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
from skyband.errors import SkybandError
from skyband_detect.detections import rule, texts
from skyband_detect.newest.last_times import LastTimes
from skyband_distinct.k_skb import frequency_bounds
from skyband_distinct.questions.set_expressions import CountExpression
from skyband_expressions import spine
from skyband_jobs.local.run import _FileOrder
from skyband_quantiles import distances, steps_in_bytes
from skyband_quantiles.quantiles.earlier_windows import EarlierWindows
from skyband_serve.checkpoint import Checkpoint
from skyband_serve.files_followed import FollowedFiles
from skyband_serve.published_states import PublishedStates
from skyband_serve.table_followed import FollowedTable
from skyband_spark.side_outputs import RowsForTable
from skyband_totals.questions.features_now import FeaturesNow
from skyband_totals.row_features import layout, rows_in_states, state_parameters, state_reader
from skyband_totals.row_features.features_table import FeaturesTable
from skyband_totals.row_features.query import RowFeatures
from skyband_totals.row_features.small_states import SmallStates
from skyband_totals.row_features.window_values import WindowValues

ROOT = Path(__file__).parents[2]
FULL = "test_a_full_table_keeps_the_keys_that_still_matter"
BOUNDS = "test_bounds_hold_for_whatever_rows_a_state_may_stand_for"
OF_UNION = "test_numbers_and_bounds_are_those_of_the_sample_of_the_union"
ROUND_TRIP = "test_more_is_possible_after_a_round_trip_and_nothing_less"
STARTS = "test_a_start_has_all_turns_since_each_savepoint"
SEEDS = [(seed,) for seed in range(8)]
MUTANTS = {
    "a stream from a savepoint may start from the beginning": (
        (Checkpoint, "starts", "if self._from is None and is_first:", "if is_first:"),
        ("serve/tests/test_checkpoint_sequences", STARTS, [()]),
    ),
    "only the newest savepoint has its turns": (
        (Checkpoint, "saved", "savepoints[_MOST - 1]", "savepoints[0]"),
        ("serve/tests/test_checkpoint_sequences", STARTS, [()]),
    ),
    "a file larger than a turn is in none": (
        (FollowedFiles, "next_part", "if part and total", "if total"),
        (
            "serve/tests/test_files_followed",
            "test_parts_have_all_files_in_order_and_are_as_large_as_they_may_be",
            SEEDS,
        ),
    ),
    "a file of the future makes all others old": (
        (FollowedFiles, "_forget", "min(max(self._times.values(), default=0), time.time_ns() // 1_000_000)",
         "max(self._times.values(), default=0)"),
        (
            "serve/tests/test_files_followed",
            "test_a_file_that_returns_within_a_week_is_known_whatever_the_newest_one_says",
            [(6, 20_000)],
        ),
    ),
    "a log that does not know its lag is never behind": (
        (FollowedTable, "is_behind", "else not self.caught_up", "else False"),
        ("serve/tests/test_table_followed", "test_a_backlog_of_more_than_a_turn_does_not_wait", [({}, False, {})]),
    ),
    "a state stays for a microsecond more than its window": (
        (PublishedStates, "after", "(covers.at - covers.since) if", "(covers.at - covers.since) - 1 if"),
        (
            "serve/tests/test_published",
            "test_the_newest_states_are_those_of_the_definition_after_each_turn",
            [({"emit": "changed-state"}, seed) for seed in range(6)],
        ),
    ),
    "the newest moment goes back": (
        (PublishedStates, "after", "max(times[newest], before.at)", "times[newest]"),
        (
            "serve/tests/test_published",
            "test_the_newest_states_are_those_of_the_definition_after_each_turn",
            [({}, seed) for seed in range(6)],
        ),
    ),
    "the last committed micro-batch waits": (
        (RowsForTable, "write", "number <= committed", "number < committed"),
        ("spark/tests/test_side_outputs", "test_a_table_has_the_rows_of_all_committed_micro_batches_once", SEEDS),
    ),
    "a file as new as the one before goes back": (
        (_FileOrder, "goes_back", "TIME_MIN < newest < self._newest", "TIME_MIN < newest <= self._newest"),
        (
            "jobs/tests/test_local_writers",
            "test_a_file_goes_back_if_all_its_first_rows_are_older_than_the_newest_before_it",
            [()],
        ),
    ),
    "a silence is forgotten a moment early": (
        (LastTimes, "spaced", "- apart + 1)", "- apart + 2)"),
        ("detect/tests/test_last_times", FULL, [(keys, -1) for keys in range(3, 24)]),
    ),
    "a key is unseen a moment early": (
        (LastTimes, "unseen", "- longest)", "- longest + 1)"),
        ("detect/tests/test_last_times", FULL, [(keys, 0) for keys in range(3, 24)]),
    ),
    "nulls are among the rows of the first of many words": (
        (texts, "_by_code", "<= _WORDS_OF_16_BITS", "<= _WORDS_OF_16_BITS + 1"),
        (
            "detect/tests/test_conditions",
            "test_words_have_their_rows_and_nulls_none_however_many_words_there_are",
            [(1 << 16,)],
        ),
    ),
    "a rule begins at a whole second": (
        (rule, "microseconds", " + since.microseconds", ""),
        ("detect/tests/test_rules", "test_times_of_rules_are_to_the_microsecond_in_any_year_and_zone", [()]),
    ),
    "rows above a cut are likely twice": (
        (distances, "below", "likely[-1] - above - perhaps", "likely[-1] - above"),
        ("quantiles/tests/test_distances", "test_rows_at_or_below_a_number_are_those_that_were_counted", [()]),
    ),
    "no distance is looked for where an interval begins": (
        (distances, "kolmogorov_smirnov", "other.largest, own.least,",
         "other.largest, own.largest,"),
        ("quantiles/tests/test_distances", BOUNDS, [()]),
    ),
    "rows counted above a number bound the shares beside it": (
        (distances, "wasserstein", "most.append(shares.most_at(begun))",
         "most.append(below(side, begins).sure_at_most / max(int(side.sure.sum()), 1))"),
        ("quantiles/tests/test_distances", "test_rows_counted_above_a_number_bound_only_the_shares_there", [()]),
    ),
    "rows above a number are known if the sure ones are": (
        (steps_in_bytes, "_rows_above", " or rows.maybe[0] < rows.maybe_at_most[0]", ""),
        ("quantiles/tests/test_steps_in_bytes", ROUND_TRIP, [()]),
    ),
    "all rows that may be above a number are likely": (
        (steps_in_bytes, "from_bytes", "perhaps * share / _PARTS", "float(perhaps)"),
        ("quantiles/tests/test_steps_in_bytes", ROUND_TRIP, [()]),
    ),
    "a later window stands for one without rows": (
        (EarlierWindows, "find", "entries[0].at == at", "entries[0].at >= at"),
        ("quantiles/tests/test_against", "test_remembered_windows_are_those_of_a_dictionary", [()]),
    ),
    "the bytes of a forgotten window are still counted": (
        (EarlierWindows, "find", "self._bytes -= old.numbers.nbytes + old.encoded.nbytes", "pass"),
        ("quantiles/tests/test_against", "test_remembered_windows_are_those_of_a_dictionary", [()]),
    ),
    "a state with all its items cuts the samples of others": (
        (CountExpression, "answer", " if part.share < 1), default=len(hashes)", "), default=len(hashes)"),
        ("distinct/tests/test_set_expressions", OF_UNION, [(2_500,), (6_000,)]),
    ),
    "the number of the union is certain": (
        (CountExpression, "answer", "max(high * union.high, count)", "max(high * union.count, count)"),
        ("distinct/tests/test_set_expressions", OF_UNION, [(2_500,)]),
    ),
    "a share may be missed as often as all of an answer": (
        (frequency_bounds, "frequency_estimate", "share_bounds(part, total, delta / 4, least)",
         "share_bounds(part, total, delta / 2, least)"),
        ("distinct/tests/test_frequencies", "test_bounds_are_products_of_those_of_the_share_and_of_all_keys", [()]),
    ),
}  # fmt: skip

MOMENTS, NOW, ROWS = (
    f"totals/tests/row_features/test_{name}" for name in ("spine", "features_now", "rows_of_features")
)
EACH_MOMENT = (MOMENTS, "test_each_moment_has_the_features_just_before_it", [(seed,) for seed in (0, 2)])
LATER = (NOW, "test_a_state_has_the_features_of_each_later_moment", [(seed,) for seed in (0, 3)])
OF_FEATURES = {
    "a column that a moment carries is in no feature": (
        (spine, "split_columns", "(name not in carried or name in inputs)", "name not in carried"),
        EACH_MOMENT,
    ),
    "a column that a moment carries must be alike in the rows": (
        (spine, "split_columns", "(name not in carried or name in inputs)", "True"),
        (MOMENTS, "test_units_zones_and_widths_may_differ", [()]),
    ),
    "a moment is reported for what it carries": (
        (FeaturesTable, "take", "rows_by_reason(added)", "rows_by_reason(rows)"),
        (MOMENTS, "test_a_moment_is_not_reported_for_the_values_that_it_carries", [()]),
    ),
    "a row without an answer to whether it asks, asks": (
        (RowFeatures, "encode_columns", "fill_null(False)", "fill_null(True)"),
        (MOMENTS, "test_rows_with_null_in_the_column_of_questions_are_rows", [()]),
    ),
    "a group is gone when its last row is just as old as the window": (
        (RowFeatures, "span", "self.longest + self.looks_before", "self.longest"),
        (ROWS, "test_a_group_is_held_while_a_later_row_may_look_back_to_it", SEEDS),
    ),
    "a state lacks the row that is just as old as the window": (
        (SmallStates, "_windows", "[self._longest]), True)", "[self._longest - 1]), True)"),
        LATER,
    ),
    "a group forgets the row that is just as old as the window": (
        (SmallStates, "run_pass", "times >= step.oldest[owners]", "times > step.oldest[owners]"),
        (NOW, "test_the_states_of_a_stream_in_small_pieces_are_those_of_the_whole", [(["group"], "state")]),
    ),
    "a row at the moment before is no news": (
        (SmallStates, "_windows", "times[stop - 1] >= since[place]", "times[stop - 1] > since[place]"),
        LATER,
    ),
    "a row leaves at the moment at which it is just as old as the window": (
        (WindowValues, "just_before", "now - self._lengths)", 'now - self._lengths, "right")'),
        LATER,
    ),
    "features are asked as of the last row": (
        (WindowValues, "just_before", "np.array([now])", "times[-1:] if len(times) else np.array([now])"),
        LATER,
    ),
    "rows of several states are one after the other": (
        (state_reader.FeaturesReader, "features", "np.argsort(np.concatenate([piece[\"time\"] for piece in pieces]), "
         "kind=\"stable\")", "np.arange(sum(len(piece[\"time\"]) for piece in pieces))"),
        (NOW, "test_states_of_several_groups_answer_as_one_group_with_all_rows", [()]),
    ),
    "the moment of a state is too early to ask": (
        (FeaturesNow, "answer", "if now < at:", "if now <= at:"),
        LATER,
    ),
    "a null is the last word": (
        (rows_in_states, "_column", "mask=places == size", "mask=places > size"),
        LATER,
    ),
    "a column that is only counted needs no value": (
        (layout.Layout, "encode", "if present is not None:", "if present is not None and where is not None:"),
        LATER,
    ),
}  # fmt: skip
MUTANTS |= OF_FEATURES


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=pytest.mark.slow) if kind in OF_FEATURES else kind for kind in MUTANTS]
)
@pytest.mark.filterwarnings("ignore:.* rows have a value")
def test_mutant_is_caught(kind, monkeypatch, tmp_path):
    (owner, name, before, after), (module, test, cases) = MUTANTS[kind]
    state_reader._values.cache_clear()
    state_parameters._query_and_layout.cache_clear()
    monkeypatch.setattr(owner, name, _changed(owner, name, before, after))
    check = getattr(_module(module), test)
    names = inspect.signature(check).parameters
    with pytest.raises((AssertionError, SkybandError, LookupError)):
        for number, case in enumerate(cases):
            folder = tmp_path / str(number)
            folder.mkdir()
            fixtures = {"tmp_path": folder, "monkeypatch": monkeypatch, "folder": folder}
            given = {one: fixtures[one] for one in names if one in fixtures}
            if "folder" in given:
                (folder / "in").mkdir()
            check(**dict(zip((one for one in names if one not in given), case, strict=False)), **given)


def _changed(owner, name, before, after):
    """A function with one turn of its text another."""
    there = inspect.getattr_static(owner, name)
    function = getattr(there, "fget", getattr(there, "__func__", there))
    text = textwrap.dedent(inspect.getsource(function))
    assert text.count(before) == 1, text
    changed = {}
    exec(text.replace(before, after), function.__globals__, changed)
    return changed[name]  # of a property decorated as there


def _module(name):
    path = ROOT / "plugins" / f"{name}.py"
    spec = spec_from_file_location(f"mutants_of_{path.stem}", path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
