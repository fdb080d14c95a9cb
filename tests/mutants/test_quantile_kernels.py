"""The checks see a wrong turn in quantile sketches' kernels: a copy of the plugin with it fails those it names."""

from pathlib import Path

import pytest
from mutants.plugin_copies import copy_plugin, take_wrong_turn, tried

pytestmark = pytest.mark.slow
PLUGIN = "skyband_quantiles"
TRIAL = """
import sys, warnings
import numpy as np
import pytest
from skyband.registry import installed, load_class
from skyband_specs.checks import checks_for
from skyband_specs.runner import subject
import skyband_quantiles

assert skyband_quantiles.__file__.startswith(sys.argv[1]), "the copy is not what is tried"
if sys.argv[2] == "tests":
    print("begun", flush=True)
    sys.exit(pytest.main(["-qx", "-p", "no:cacheprovider", "-p", "no:xdist", "-Wignore", *sys.argv[3:]]))
warnings.simplefilter("ignore")
np.seterr(all="ignore")
info = installed().bind("quantile-sketch", sys.argv[2], None).info
tried = subject(info, load_class(info))
print("begun", flush=True)
for check in checks_for("quantile-sketch"):
    if check.name in sys.argv[3:]:
        print(check.name, tried.run(check).outcome)
"""
BOUNDS, BORDERS, UNKNOWN = "bounds_hold_the_truth", "counts_are_exact_at_borders", "rows_of_unknown_side_are_few"
ERRORS, CUTS, FEW = "errors_are_as_declared", "shares_above_known_limits_are_exact_at_borders", "few_rows_are_exact"
RANKS, SEEDED, ODD = (
    "shares_are_the_decimals_they_are_written_as",
    "seeded_streams_equal_the_oracle",
    "odd_streams_equal_the_oracle",
)
UNITED = "united_counts_stay_near"
ANSWERING, PLACES, STEPS = "buckets/answering.py", "buckets/places.py", "buckets/compaction.py"
UNITING = "buckets/uniting.py"
TESTS = Path(__file__).parents[2] / "plugins" / "quantiles" / "tests"
UNIONS = str(TESTS / "test_unions.py")
SMALL, SAMPLES = str(TESTS / "test_small_groups.py"), str(TESTS / "test_sample_bounds.py")
CAPPED = f"{TESTS / 'test_unkind_streams.py'}::test_a_queue_with_most_rows_of_its_largest_value_is_split_below_it"
MUTANTS = {
    "the node across counts whole": (
        "buckets",
        ANSWERING,
        "if history.first[node] < since:\n"
        "            span = float(history.last[node]) - float(history.first[node]) + 1.0\n"
        "            part",
        "if False:\n            span = float(history.last[node]) - float(history.first[node]) + 1.0\n            part",
        BOUNDS,
    ),
    "the node across is left out": (
        "buckets",
        ANSWERING,
        "while stop < end and history.last[stop] < since",
        "while stop < end and history.first[stop] < since",
        BOUNDS,
    ),
    "last > since for >=": (
        "buckets",
        ANSWERING,
        "while stop < end and history.last[stop] < since",
        "while stop < end and history.last[stop] <= since",
        BOUNDS,
    ),
    "high without what may be above": (
        "buckets",
        ANSWERING,
        "rank_of(part, sure + maybe - history.maybe_below[half + 1])",
        "rank_of(part, sure)",
        BOUNDS,
    ),
    "low by sure rows alone": (
        "buckets",
        ANSWERING,
        "history.sure_below[half] + maybe < rank_of(part, sure + maybe)",
        "history.sure_below[half] < rank_of(part, sure)",
        BOUNDS,
    ),
    "a new least is not kept": (
        "buckets",
        "buckets/kernels.py",
        "if value < history.least[place]",
        "if False",
        BOUNDS,
    ),
    "coarsening forgets the raw rows' places": (
        "buckets",
        PLACES,
        "history.places[row] = became[history.places[row]]",
        "pass",
        BOUNDS,
    ),
    "buckets are coarser than alpha": (
        "buckets",
        "buckets/contents.py",
        "return 52 - kept",
        "return 54 - kept",
        ERRORS,
    ),
    "negatives stand by their bits": (
        "buckets",
        "buckets/contents.py",
        "return bits ^ ((bits >> 63) & _SIGN)",
        "return bits",
        BOUNDS,
    ),
    "nodes that expired stay in the totals": (
        "buckets",
        STEPS,
        "history.total[place] -= count\n",
        "pass\n",
        BOUNDS,
    ),
    "twice as much unites": (
        "buckets",
        STEPS,
        "<= epsilon * younger",
        "<= 2 * epsilon * younger",
        UNKNOWN,
    ),
    "the rank is rounded down": (
        "buckets",
        "ranks.py",
        "+ (BILLION - 1)) // BILLION",
        ") // BILLION",
        RANKS,
    ),
    "the rank is a product of floats": (
        "buckets",
        "ranks.py",
        "rank = part * (rows // BILLION) + (part * (rows % BILLION) + (BILLION - 1)) // BILLION",
        "rank = -int(-(part / BILLION * rows) // 1)",
        RANKS,
    ),
    "nodes cross borders": (
        "buckets",
        STEPS,
        "if not panes[2]:",
        "if True:",
        BORDERS,
    ),
    "places are never dropped": (
        "buckets",
        STEPS,
        "if emptied:\n        drop_unused(history)",
        "if False:\n        drop_unused(history)",
        "steady_stream_holds_steady_memory",
    ),
    "a union is at the finer buckets": (
        "buckets",
        "buckets/uniting.py",
        "shift = max(part.shift for part in parts)",
        "shift = min(part.shift for part in parts)",
        "united_counts_stay_near",
    ),
    "NaN is let in": (
        "buckets",
        "role.py",
        "if missing.any():",
        "if False:",
        "bad_input_leaves_no_trace",
    ),
    "-0.0 is not 0.0": (
        "exact",
        "role.py",
        "return moments, numbers + 0.0",
        "return moments, numbers",
        FEW,
        ODD,
        SEEDED,
        "restored_is_the_same",
    ),
    "of the limit's bucket the half counts as above": (
        "buckets",
        ANSWERING,
        "above, may = sure - history.sure_below[whole], maybe - history.maybe_below[whole]",
        "above, may = sure - (history.sure_below[whole] + history.sure_below[begin]) // 2, maybe - "
        "history.maybe_below[whole]",
        BOUNDS,
    ),
    "what is above a cut is lost where nodes unite": (
        "buckets",
        STEPS,
        "-1 if unknown else history.above[into, cut] + history.above[node, cut]",
        "-1 if unknown else history.above[into, cut]",
        CUTS,
    ),
    "what is above a cut stays behind where nodes move over those that expired": (
        "buckets",
        STEPS,
        "history.above[to, cut] = history.above[node, cut]",
        "pass",
        CUTS,
    ),
    "pointers stay where rows before them are gone": (
        "exact",
        "exact/queues.py",
        "max(queues.passed[window, queue] - gone, 0)",
        "queues.passed[window, queue]",
        SEEDED,
    ),
    "one value is believed of a queue of several": (
        "exact",
        "exact/queues.py",
        "if value != queues.only[queue]:",
        "if False:",
        SEEDED,
        FEW,
    ),
    "rows at the moment itself expire": (
        "exact",
        "exact/queues.py",
        "if times[here] >= since:",
        "if times[here] > since:",
        SEEDED,
        FEW,
    ),
    "raw rows that expired stay in the totals": (
        "buckets",
        STEPS,
        "history.total[place] -= 1\n",
        "pass\n",
        BOUNDS,
    ),
    "coarsening keeps the largest value of the lower half": (
        "buckets",
        PLACES,
        "history.largest[into] = max(history.largest[into], history.largest[place])",
        "pass",
        BOUNDS,
    ),
    "a bucket's middle is halfway between its ends": (
        "buckets",
        ANSWERING,
        "least * (2 / (1 + least / largest))",
        "(least / 2 + largest / 2)",
        ERRORS,
    ),
    "what is above a cut counts in nodes before the window": (
        "buckets",
        ANSWERING,
        "for node in range(numbers[NODE_START] + history.passed[window], end):",
        "for node in range(numbers[NODE_START], end):",
        CUTS,
    ),
    "nodes of a union are one whatever they begin before": (
        "buckets",
        UNITING,
        "np.where(united, cells, np.where(across, count + cells, alone))",
        "cells",
        UNITED,
    ),
    "what reaches back farthest is united as well": (
        "tests",
        UNITING,
        "np.where(united, cells, np.where(across, count + cells, alone))",
        "np.where(united, cells, count + cells)",
        UNIONS,
    ),
    "a union has places that have no rows any more": (
        "tests",
        UNITING,
        "np.flatnonzero(np.bincount(place, minlength=len(part.ids))) for place, part in",
        "np.arange(len(part.ids)) for place, part in",
        UNIONS,
    ),
    "cells of a union are four times as large": (
        "buckets",
        UNITING,
        "rules.epsilon * younger",
        "4 * rules.epsilon * younger",
        UNITED,
    ),
    "the k-th smallest number is of the sample": (
        "tests",
        "sample_answers.py",
        "return limit, values[scores < np.uint64(limit)]",
        "return limit, values[scores <= np.uint64(limit)]",
        SAMPLES,
    ),
    "fewer than the k smallest numbers are looked at": (
        "tests",
        "sample_answers.py",
        "if len(few) >= size else",
        "if len(few) else",
        SAMPLES,
    ),
    "the sample ends at the number after the k-th": (
        "tests",
        "sample_answers.py",
        "np.partition(scores, size - 1)[size - 1])",
        "np.partition(scores, min(size, len(scores) - 1))[min(size, len(scores) - 1)])",
        SAMPLES,
    ),
    "rows that expire stay counted as passed": (
        "exact",
        "exact/queues.py",
        "queues.passed[window, queue] = max(queues.passed[window, queue] - gone, 0)",
        "pass",
        SEEDED,
        "answers_are_update_and_quantiles",
    ),
    "a value is looked for in the bin before its own": (
        "exact",
        "exact/selection.py",
        "while below + counts[bin_] <= k:",
        "while below + counts[bin_] < k:",
        SEEDED,
        FEW,
    ),
    "the upper rank is half as far": (
        "k-skb",
        "sample_bounds.py",
        "return low, int(reached[0]) if len(reached) else rows + 1",
        "return low, (low + int(reached[0])) // 2 if len(reached) else rows + 1",
        BOUNDS,
    ),
    "the lower rank is one too high": (
        "tests",
        "sample_bounds.py",
        "return low, int(reached[0])",
        "return low + 1, int(reached[0])",
        SAMPLES,
    ),
    "the upper rank is one too low": (
        "tests",
        "sample_bounds.py",
        "int(reached[0]) if",
        "int(reached[0]) - 1 if",
        SAMPLES,
    ),
    "a queue is split at its largest value": (
        "tests",
        "exact/balance.py",
        "if cut < largest:",
        "if True:",
        CAPPED,
    ),
    "a small group's quantiles are walked as they were given": (
        "tests",
        "quantiles/small_groups.py",
        'np.argsort(self._parts, kind="stable")',
        "np.arange(len(self._parts))",
        SMALL,
    ),
    "a small group's walk counts rows of before the window": (
        "tests",
        "quantiles/small_groups_kernels.py",
        "            before += time[entry] >= since",
        "            before += 1",
        SMALL,
    ),
    "a small group's share is of all its rows": (
        "tests",
        "quantiles/small_groups_kernels.py",
        "count_since(time, _end_of(value, size, limits[place]), size, since) / rows",
        "(size - _end_of(value, size, limits[place])) / rows",
        SMALL,
    ),
    "a grown group's values go apart from their times": (
        "tests",
        "quantiles/small_groups.py",
        'Rows(entries["time"], {"value": entries["value"]})',
        'Rows(entries["time"], {"value": np.sort(entries["value"])})',
        SMALL,
    ),
    "entries of one value stand by falling times": (
        "tests",
        "quantiles/small_groups_kernels.py",
        "if value[middle] <= limit:",
        "if value[middle] < limit:",
        SMALL,
    ),
}
CONTROLS = {
    backend: sorted({check for mutant in MUTANTS.values() if mutant[0] == backend for check in mutant[4:]})
    for backend in ("buckets", "exact", "k-skb", "tests")
}


@pytest.mark.parametrize("kind", MUTANTS)
def test_a_check_sees_it(kind, tmp_path):
    backend, file, turn, wrong, *checks = MUTANTS[kind]
    copy_plugin(PLUGIN, tmp_path)
    take_wrong_turn(tmp_path / PLUGIN / file, turn, wrong)
    ran = tried(tmp_path, TRIAL, backend, *checks)
    assert ran.stdout.startswith("begun"), f"{kind}: was not tried: {ran.stderr}"
    assert ran.returncode != 0 or "failed" in ran.stdout, f"{kind}: came through {ran.stdout}"


@pytest.mark.parametrize("backend", CONTROLS)
def test_a_copy_without_a_wrong_turn_comes_through(backend, tmp_path):
    """What fails above fails for its turn: not for the copy, the environment or the check."""
    copy_plugin(PLUGIN, tmp_path)
    ran = tried(tmp_path, TRIAL, backend, *CONTROLS[backend])
    assert ran.returncode == 0, ran.stdout + ran.stderr
    begun, *outcomes = ran.stdout.splitlines()
    assert begun == "begun"
    if backend != "tests":
        assert sorted(outcomes) == [f"{check} passed" for check in CONTROLS[backend]]
