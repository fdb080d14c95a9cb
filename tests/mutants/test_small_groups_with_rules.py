"""Tests see a wrong turn in the tables of small groups that rules ask: a copy of the package with it fails them."""

from pathlib import Path

import pytest
from mutants.plugin_copies import TESTS, copy_plugin, take_wrong_turn, tried

pytestmark = pytest.mark.slow
OF_TABLES = str(Path(__file__).parents[1] / "queries" / "small_groups" / "test_small_groups_with_rules.py")
WORKLOADS, TOTALS, COUNTS, NUMBERS = (
    "skyband_workload/top_k_workload/small_groups",
    "skyband_totals/heavy_hitters/small_groups",
    "skyband_distinct/distinct_count/small_groups",
    "skyband_quantiles/quantiles/small_groups",
)
TABLE, RULES, PROCESSOR = (
    f"skyband/rules/{name}.py" for name in ("small_groups_with_rules", "rules_in_force", "rules_processor")
)
MUTANTS = {
    "a window that holds the last row only is empty": (
        f"{WORKLOADS}_kernels.py",
        "if latest < since[moment]:",
        "if latest <= since[moment]:",
    ),
    "rows of the pass before make no window": (
        f"{COUNTS}_kernels.py",
        "latest = max(latest, entry_times[entry])",
        "pass",
    ),
    "rows of this pass make no window": (f"{NUMBERS}_kernels.py", "                latest = times[row]\n", ""),
    "of windows without a row one has an answer": (f"{COUNTS}.py", "gives_zeros = False", "gives_zeros = True"),
    "a rule has the k of the largest": (f"{TOTALS}.py", "np.minimum(step.k, self._k)", "self._k"),
    "rows go that a larger k would have": (f"{WORKLOADS}.py", "most_k or int(self._k.max())", "2"),
    "a group's rules stand before those for all": (TABLE, "np.lexsort((every.rule, every.at, of))", "np.argsort(of)"),
    "of many spans the first pieces only": (
        TABLE,
        "piece + 1 < pieces[number], begin + step",
        "pieces[number] > 1, begins[number] + step",
    ),
    "silences are no shorter for rows held": (
        TABLE,
        "np.sort(np.concatenate([lasts, times]))",
        "np.sort(np.append(times, times[:1] - 1))",
    ),
    "a rule for one group is another's": (
        RULES,
        'for side in ("left", "right"))\n        counts',
        'for side in ("right", "right"))\n        counts',
    ),
    "a group that grew answers again": (PROCESSOR, "self._passed = self._last", "pass"),
}


@pytest.mark.parametrize("kind", MUTANTS)
def test_a_test_sees_it(kind, tmp_path):
    file, turn, wrong = MUTANTS[kind]
    package = file.partition("/")[0]
    copy_plugin(package, tmp_path)
    take_wrong_turn(tmp_path / file, turn, wrong)
    ran = tried(tmp_path, TESTS, package, OF_TABLES)
    assert ran.stdout.startswith("begun"), f"{kind}: was not tried: {ran.stderr}"
    assert ran.returncode == pytest.ExitCode.TESTS_FAILED, f"{kind}: came through {ran.stdout}"


@pytest.mark.parametrize("package", ["skyband", "skyband_totals"])
def test_a_copy_without_a_wrong_turn_comes_through(package, tmp_path):
    """What fails above fails for its turn: not for the copy, the environment or the test."""
    copy_plugin(package, tmp_path)
    ran = tried(tmp_path, TESTS, package, OF_TABLES)
    assert ran.returncode == pytest.ExitCode.OK, ran.stdout + ran.stderr
