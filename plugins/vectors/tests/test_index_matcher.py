"""An index of somebody else is a vector matcher with four short methods: a tiny one, and that of the page, by faiss."""

import re
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from attrs import define
from skyband import BackendInfo
from skyband.errors import ConfigError
from skyband_specs.checks import checks_for
from skyband_specs.runner import subject, verify_subject
from skyband_vectors.matching.index_matcher import IndexMatcher

PAGE = Path(__file__).parents[3] / "core/docs/ask/stories.md"
LACKS = {"merge": "for the tests", "out-of-order": "for the tests"}
CHECKS = {
    "every_reported_match_is_true", "the_most_similar_of_those_found_are_reported", "several_together_answer_as_each",
    "ends_of_time", "vectors_a_window_apart_match_and_older_do_not", "entries_of_other_types_are_rounded",
    "wrong_parameters_are_named",
}  # fmt: skip
GROUPS = {"snapshot"}


@define(eq=False, slots=False)
class Rounded(IndexMatcher):
    """Buckets of the signs of the first entries: it misses much, and tells too much."""

    name = "rounded"

    def _make_index(self):
        self._buckets = {}

    def _add(self, numbers, directions):
        for number, direction in zip(numbers.tolist(), directions, strict=True):
            self._buckets[number] = self._bucket(direction)

    def _remove(self, numbers):
        for number in numbers.tolist():
            del self._buckets[number]

    def _candidates(self, direction):
        found = [number for number, bucket in self._buckets.items() if bucket == self._bucket(direction)]
        return np.array([*found, *found, 2**40], np.int64)

    @staticmethod
    def _bucket(direction):
        return tuple((direction[:3] >= 0).tolist())


def info(name):
    return BackendInfo(
        role="vector-matcher", name=name, factory=f"tests:{name}", summary="an index", guarantee="heuristic",
        reference="for the tests", lacks=LACKS,
    )  # fmt: skip


@pytest.fixture
def by_faiss(tmp_path, monkeypatch):
    pytest.importorskip("faiss").omp_set_num_threads(1)
    program = re.search(r"```py\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)[1]
    (tmp_path / "index_of_the_page.py").write_text(program, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    return import_module("index_of_the_page").ByFaiss


@pytest.mark.parametrize("name", ["tiny", "faiss"])
def test_an_index_with_four_methods_meets_the_contract_of_the_role(name, request):
    cls = Rounded if name == "tiny" else request.getfixturevalue("by_faiss")
    some = [check for check in checks_for("vector-matcher") if check.name in CHECKS or check.group in GROUPS]
    report = verify_subject(subject(info(cls.name), cls), checks=some)
    assert report.ok, report.text()
    assert len(some) > len(CHECKS)


def test_an_index_that_finds_all_gives_the_answers_of_exact():
    import skyband

    class All(Rounded):
        def _candidates(self, direction):
            return np.array(list(self._buckets), np.int64)

    rng = np.random.default_rng(3)
    vectors = np.round(rng.standard_normal((300, 6)) * 2) + np.eye(1, 6)
    vectors[~vectors.any(axis=1)] = 1
    for further in ({}, {"matches": 2}, {"keep": "first"}):
        own = {"dimensions": 6, "window": 50, "threshold": 0.7, **further}
        matchers = All(**own), skyband.create("vector-matcher", "exact", **own)
        for start in range(0, 300, 70):
            times = np.arange(start, min(start + 70, 300)) // 2
            answers = [matcher.update(times, vectors[start : start + 70]) for matcher in matchers]
            assert all(np.array_equal(*both) for both in zip(*answers, strict=True))
        assert len(answers[0][1]) > 10


@pytest.mark.parametrize(
    "changes", [{"similarity": "dot"}, {"threshold": None, "matches": 3}, {"threshold": -0.5}], ids=str
)
@pytest.mark.parametrize("name", ["rounded", "projections"])
def test_what_candidates_by_angle_cannot_find_is_refused_by_name(name, changes):
    import skyband

    own = {"dimensions": 4, "window": 5, "threshold": 0.5, **changes}
    with pytest.raises(ConfigError, match=rf"{next(iter(changes))}: must be .*{name} finds .*; use exact"):
        Rounded(**own) if name == "rounded" else skyband.create("vector-matcher", name, **own)


def test_projections_warn_where_all_vectors_point_one_way():
    import skyband

    rng = np.random.default_rng(4)
    vectors = rng.standard_normal((2300, 16)) + 2.0
    matcher = skyband.create("vector-matcher", "projections", dimensions=16, window=5000, threshold=0.95)
    with pytest.warns(UserWarning, match="point one way.*exact is faster"):
        for start in range(0, 2300, 100):
            matcher.update(np.arange(start, start + 100), vectors[start : start + 100])
