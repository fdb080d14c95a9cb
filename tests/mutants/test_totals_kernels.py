"""Tests see a wrong turn in kernels of totals and of fading values: a copy of the plugin with it fails those named."""

from pathlib import Path

import pytest
from mutants.plugin_copies import TESTS, copy_plugin, take_wrong_turn, tried

pytestmark = pytest.mark.slow
PLUGINS = Path(__file__).parents[2] / "plugins"
PLACES, SUMS = (f"skyband_totals/row_aggregates/{name}_kernels.py" for name in ("places", "exact_sums"))
PANES = "skyband_totals/heavy_hitters/small_group_panes_kernels.py"
PART = "skyband_totals/heavy_hitters/part_processor.py"
DECAYED = "skyband_totals/heavy_hitters/decayed_totals.py"
SMALL_REPORTS, SMALL_RANKING = (f"skyband_incomplete/top_k/small_group_{name}.py" for name in ("reports", "ranking"))
TOPS = "skyband_incomplete/top_k/decayed_ranker.py"
OF_FEATURES, OF_PARTS, OF_MOVERS, OF_DECAY = (
    str(PLUGINS / "totals" / "tests" / f"{name}.py")
    for name in ("row_features/test_row_features", "test_part", "test_movers", "test_half_life")
)
OF_TOPS = str(PLUGINS / "incomplete" / "tests" / "test_half_life.py")
MUTANTS = {
    "a row just as old as the window is in it": (
        PLACES, "windows[window] + (0 if before else 1)", "windows[window]", OF_FEATURES,
    ),
    "what cannot be added stays when it has left": (
        "skyband_totals/row_features/window_values.py", "values.wrong[stop] > values.wrong[first[windows]]",
        "values.wrong[stop] > 0 * first[windows]", OF_FEATURES,
    ),
    "a sum keeps 64 bits": (SUMS, "+ (lower >> 32)", "+ 0", OF_FEATURES),
    "a sum beyond 64 bits is taken as one within": (SUMS, "if -(2**31) <= high < 2**31:", "if True:", OF_FEATURES),
    "a value is new whenever it comes": (
        PLACES, "distinct += inside[codes[end]] == 0", "distinct += 1", OF_FEATURES,
    ),
    "the next window begins with values of the one before": (
        PLACES, "        inside[:] = 0\n", "", OF_FEATURES,
    ),
    "rows of another pane add to the entry": (
        PANES, "(times[last] - phase) // pane == (time - phase) // pane", "True", OF_MOVERS,
    ),
    "the last entry of an object is another's": (PANES, "objects[last] == object_:", "True:", OF_PARTS),
    "of a pair the second thing is lost": (PANES, "max(others[last], other)", "others[last]", OF_PARTS),
    "rows that do not meet it count": (PART, "np.where(meets, weights, 0.0)", "weights", OF_PARTS),
    "rows fade to the begin of their pane": (
        DECAYED, "left_after(ends - times, self._half_life)", "left_after(ends - times - self._pane, self._half_life)",
        OF_DECAY,
    ),
    "panes of one answer fade alike": (DECAYED, "np.maximum(at - ends, 0)", "np.maximum(at - ends[-1:], 0)", OF_DECAY),
    "small groups forget what may yet be the largest": (SMALL_REPORTS, "if stays or not", "if not", OF_TOPS),
    "small groups' values fade from the next row on": (
        SMALL_RANKING, "at - time[entry], half_life", "at - time[entry] + 1, half_life", OF_TOPS,
    ),
    "the first report of an object is its latest": (
        TOPS, "order[_begins(reports.pick(order[::-1]))[::-1]]", "order[_begins(reports.pick(order))]", OF_TOPS,
    ),
    "a stream without a value is not 0": (TOPS, "sizes < self._streams", "sizes < 0", OF_TOPS),
    "reports leave a step early": (
        TOPS, "moment + self._every - self._window", "moment + 2 * self._every - self._window", OF_TOPS,
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", MUTANTS)
def test_a_test_sees_it(kind, tmp_path):
    file, turn, wrong, tests = MUTANTS[kind]
    package = file.partition("/")[0]
    copy_plugin(package, tmp_path)
    take_wrong_turn(tmp_path / file, turn, wrong)
    ran = tried(tmp_path, TESTS, package, tests)
    assert ran.stdout.startswith("begun"), f"{kind}: was not tried: {ran.stderr}"
    assert ran.returncode == pytest.ExitCode.TESTS_FAILED, f"{kind}: came through {ran.stdout}"


@pytest.mark.parametrize("tests", [OF_FEATURES, OF_PARTS, OF_MOVERS, OF_DECAY, OF_TOPS])
def test_a_copy_without_a_wrong_turn_comes_through(tests, tmp_path):
    """What fails above fails for its turn: not for the copy, the environment or the test."""
    package = "skyband_incomplete" if tests == OF_TOPS else "skyband_totals"
    copy_plugin(package, tmp_path)
    ran = tried(tmp_path, TESTS, package, tests)
    assert ran.returncode == pytest.ExitCode.OK, ran.stdout + ran.stderr
