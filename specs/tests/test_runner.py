import json
import re
from typing import ClassVar

import numpy as np
import pytest
from attrs import define, evolve
from skyband import ConfigError, PluginError, hookimpl
from skyband.config.parameters import integer
from skyband.registry import Registry
from skyband.registry.discovery import Plugin, read_hooks
from skyband_specs import runner
from skyband_specs.checks import checks_for
from skyband_specs.driver import Case, Driver
from skyband_specs.report import FAILED, NOT_APPLICABLE, PASSED, Report, Result
from skyband_specs.runner import Subject, subject, verify, verify_subject
from skyband_specs.sketch.driver import SketchDriver


def check_named(name):
    return next(check for check in checks_for("sketch") if check.name == name)


def test_a_correct_backend_passes_all_that_applies(toy_info, toy):
    report = verify_subject(subject(toy_info, toy))
    assert report.ok
    assert report.counts() == {PASSED: 52, NOT_APPLICABLE: 5, FAILED: 0}
    assert report.summary() == "52 passed, 5 not applicable (guarantee), 0 failed"


class Unusual(SketchDriver):
    """Has only the required streams, and also asks for an array without numbers."""

    odd, trials = Driver.odd, Driver.trials

    def answers(self, backend, stream, stop):
        backend.nothing()
        return super().answers(backend, stream, stop)


def tried(name, info, factory):
    return Subject(info, factory, (Case(info, factory, Unusual(), {}),)).run(check_named(name))


def test_checks_without_streams_from_the_driver_are_not_applicable(toy_info, toy):
    for name, tries in (("odd_streams_row_by_row", "odd"), ("large_streams_cut_and_restored", "trials")):
        result = tried(name, toy_info, toy)
        assert (result.outcome, result.reason) == (NOT_APPLICABLE, f"{tries}: the driver of sketch has none")
        assert subject(toy_info, toy).run(check_named(name)).outcome == PASSED


def test_nan_in_an_answer_is_no_change_of_it(toy_info, toy):
    class Fresh(toy):
        def nothing(self):
            return np.full(2, np.nan)

    class Kept(toy):
        kept: ClassVar = np.full(2, np.nan)

        def nothing(self):
            self.kept[0] = len(self)
            return self.kept

    assert tried("answers_are_the_callers", toy_info, Fresh).outcome == PASSED
    changed = tried("answers_are_the_callers", toy_info, Kept)
    assert changed.outcome == FAILED and re.search(r"an answer changed from \[.*\] to \[", changed.reason)


def test_progress_sees_each_result_at_once(toy_info, toy):
    seen = []
    report = verify_subject(subject(toy_info, toy), seen.append, checks_for("sketch")[:3])
    assert tuple(seen) == report.results


def test_what_a_backend_lacks_is_not_applicable(toy_info, toy):
    class Alone(toy):
        def merge(self, other):
            raise NotImplementedError

    info = evolve(toy_info, lacks={"merge": "it is alone"})
    result = subject(info, Alone).run(check_named("merge_is_commutative"))
    assert (result.outcome, result.reason) == (NOT_APPLICABLE, "merge: it is alone")
    assert subject(toy_info, Alone).run(check_named("merge_is_commutative")).outcome == FAILED


def test_what_is_declared_lacking_and_works_fails(toy_info, toy):
    info = evolve(toy_info, lacks={"merge": "it is alone"})
    result = subject(info, toy).run(check_named("merge_is_commutative"))
    assert result.outcome == FAILED
    assert "declares to lack merge (it is alone), but it works" in result.reason


def test_a_crash_fails_and_names_the_case(toy_info, toy):
    class Crashing(toy):
        def estimate(self, since):
            raise ZeroDivisionError("of course")

    result = subject(toy_info, Crashing).run(check_named("since_is_inclusive"))
    assert (result.outcome, result.reason) == (FAILED, "sketch/toy(): ZeroDivisionError: of course")


def test_a_failure_comes_with_the_shortest_stream(toy_info, toy):
    class AfterNotSince(toy):
        def estimate(self, since):
            return super().estimate(since + 1)

    result = subject(toy_info, AfterNotSince).run(check_named("seeded_streams_equal_the_oracle"))
    assert result.outcome == FAILED
    assert result.snippet.splitlines()[1:2] == ['backend = skyband.create("sketch", "toy")']
    assert re.fullmatch(r'backend.update\(np.array\(\[-?\d+\], "int64"\), .*\)', result.snippet.splitlines()[2])


def test_parameters_a_class_does_not_have_are_dropped_and_equal_sets_tried_once(toy_info, toy):
    assert [dict(case.parameters) for case in subject(toy_info, toy).cases] == [{}]


def test_given_parameters_are_tried_alone_and_as_they_are(toy_info, toy):
    cases = subject(toy_info, toy, {"colour": "red"}).cases
    assert [str(case) for case in cases] == ["sketch/toy(colour='red')"]
    with pytest.raises(ConfigError, match="colour"):
        cases[0].make()


@pytest.fixture
def demanding(toy):
    @define(eq=False)
    class Demanding(toy):
        size: int = integer(at_least=1, kw_only=True, help="a parameter that only this sketch has")

    return Demanding


def test_a_required_parameter_that_no_set_has_is_named(toy_info, demanding):
    with pytest.raises(ConfigError, match="size: required by sketch/toy, but no parameter set has it"):
        subject(toy_info, demanding)


def test_a_plugin_provides_what_its_backend_requires(monkeypatch, toy_info, demanding):
    monkeypatch.setattr(runner, "_plugin_cases", lambda info: [{"size": 3}, {"size": 3}, {"sise": 3, "size": 3}])
    cases = subject(toy_info, demanding).cases
    assert [dict(case.parameters) for case in cases] == [{"size": 3}, {"sise": 3, "size": 3}]
    assert cases[0].make().size == 3
    with pytest.raises(ConfigError, match="did you mean 'size'"):
        cases[1].make()


class Cases:
    @hookimpl
    def skyband_cases(self, role, name):
        return [{"seed": 9}] if (role, name) == ("sketch", "toy") else []


class BrokenCases:
    brings = ()

    @hookimpl
    def skyband_backends(self):
        return self.brings

    @hookimpl
    def skyband_cases(self, role, name):
        return 7


def install(monkeypatch, hooks):
    plugin = read_hooks(Plugin("skyband-toy", "1", "toy", "toy"), hooks)
    monkeypatch.setattr(runner, "installed", lambda: Registry([plugin]))


def test_plugins_add_cases(monkeypatch, toy_info, toy):
    install(monkeypatch, Cases())
    assert runner._plugin_cases(toy_info) == [{"seed": 9}]
    assert runner._plugin_cases(evolve(toy_info, name="other")) == []


def test_a_plugin_with_invalid_cases_is_named(monkeypatch, toy_info):
    hooks = BrokenCases()
    hooks.brings = [toy_info]
    install(monkeypatch, hooks)
    with pytest.raises(PluginError, match="skyband-toy: skyband_cases failed: TypeError"):
        runner._plugin_cases(toy_info)


def test_a_plugin_with_invalid_cases_harms_no_other(monkeypatch, toy_info):
    install(monkeypatch, BrokenCases())
    with pytest.warns(UserWarning, match="skyband-toy: skyband_cases failed: TypeError.*parameter sets are left out"):
        assert runner._plugin_cases(toy_info) == []


def test_verify_names_the_closest_backend():
    with pytest.raises(ConfigError, match="unknown 'sketchy'; did you mean 'sketch'"):
        verify("sketchy", "exact")
    with pytest.raises(ConfigError, match="unknown backend"):
        verify("sketch", "no-such-sketch")


@pytest.fixture
def report():
    results = (
        Result("a", "oracle", PASSED),
        Result("b", "merge", NOT_APPLICABLE, "merge: no"),
        Result("c", "merge", FAILED, "it broke", "backend.update()"),
    )
    return Report("sketch/toy", results)


def test_the_text_of_a_report(report):
    assert report.text().splitlines() == [
        "sketch/toy: 3 checks",
        "  oracle  1 passed",
        "  merge   1 not applicable, 1 failed",
        "",
        "FAILED merge: c",
        "    it broke",
        "",
        "    backend.update()",
        "",
        "1 passed, 1 not applicable (merge), 1 failed",
    ]


def test_a_reason_that_several_checks_failed_for_is_told_once():
    results = [Result(name, "edges", FAILED, reason, "code") for name, reason in (("a", "x"), ("b", "y"), ("c", "x"))]
    lines = Report("sketch/toy", tuple(results)).text().splitlines()
    assert lines[lines.index("FAILED edges: c") + 1 :] == ["    as a did", "", "0 passed, 0 not applicable, 3 failed"]
    assert [lines.count(f"    {text}") for text in ("x", "y", "code")] == [1, 1, 2]


def test_the_json_of_a_report(report):
    body = json.loads(report.as_json())
    assert (body["backend"], body["ok"]) == ("sketch/toy", False)
    assert body["counts"] == {PASSED: 1, NOT_APPLICABLE: 1, FAILED: 1}
    assert body["groups"]["merge"] == {PASSED: 0, NOT_APPLICABLE: 1, FAILED: 1}
    assert body["results"][2] == {
        "check": "c",
        "group": "merge",
        "outcome": FAILED,
        "reason": "it broke",
        "snippet": "backend.update()",
    }


def test_a_run_without_checks_does_not_pass():
    assert not Report("sketch/toy", ()).ok


def test_every_parameter_set_is_tried_but_by_checks_that_are_dear(toy_info, toy):
    """A fault that only the last set shows is a failure that names it; an expensive check tries the first."""

    @define(eq=False)
    class Sized(toy):
        size: int = integer(1, at_least=1, help="its size")

        def estimate(self, since):
            return super().estimate(since) + (self.size == 3)

    driver = SketchDriver()
    cases = tuple(Case(toy_info, Sized, driver, {"size": size}, size == 1) for size in (1, 2, 3))
    result = Subject(toy_info, Sized, cases).run(check_named("seeded_streams_equal_the_oracle"))
    assert result.outcome == FAILED and "(size=3)" in result.reason
    dear = evolve(check_named("seeded_streams_equal_the_oracle"), once=True)
    assert Subject(toy_info, Sized, cases).run(dear).outcome == PASSED
    assert Subject(toy_info, Sized, cases[::-1]).run(dear).outcome == FAILED


def test_a_state_that_fails_only_with_rows_before_and_after_is_reported(toy_info, toy):
    """One without rows and one after the last are fine, and no other check is needed."""

    class Losing(toy):
        """Leaves out the first row after it was restored with some."""

        loses = False

        def _load(self, state):
            super()._load(state)
            self.loses = len(self._last) > 0

        def _update(self, times, keys):
            first, self.loses = int(self.loses and len(times) > 0), self.loses and not len(times)
            super()._update(times[first:], keys[first:])

    result = subject(toy_info, Losing).run(check_named("restored_goes_on_as_undisturbed"))
    assert result.outcome == FAILED and "restored after" in result.reason
    assert subject(toy_info, toy).run(check_named("restored_goes_on_as_undisturbed")).outcome == PASSED
