"""The properties of rules in force see: each fails where one turn of what it is about is wrong."""

import inspect
import textwrap
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
from skyband.errors import SkybandError
from skyband.rules import json_rules, query_with_rules, rule_rows, rules_in_force
from skyband.rules.rule_moments import InForce
from skyband.rules.rules_in_force import Rules, _Table

PROPERTIES = Path(__file__).parents[2] / "core" / "tests" / "test_rules_in_force.py"
MOMENTS, STATE = "moments_and_ends_are_those_of_the_definition", "a_state_has_exactly_the_versions_with_future_moments"
BORDERS = "rules_at_the_limits_are_accepted_and_others_rejected"
ENDS = "an_end_needs_a_running_rule_at_its_time"
DEFAULTS = "slides_phases_and_ks_that_rules_do_not_say_are_those_of_the_query"
TYPES, LONGEST = "a_key_of_another_type_is_a_bad_row_that_says_how_to_write_it", "what_goes_with_longest"
MUTANTS = {
    "a rule answers at the moment from which it holds": (
        InForce, "first_after", "least + 1 + (self.phase - least - 1)", "least + (self.phase - least)", MOMENTS,
    ),
    "a rule does not answer at its end": (InForce, "first_after", "first <= self.end", "first < self.end", MOMENTS),
    "a rule answers before it begins": (
        InForce, "first_after", "np.maximum(time, self.begin)", "np.maximum(time, self.begin - 1)", MOMENTS,
    ),
    "the last moment of a span is left to the next": (
        InForce, "due", "// self.slide + 1, 0)", "// self.slide, 0)", MOMENTS,
    ),
    "a span goes beyond the end of a rule": (
        InForce, "due", "np.minimum(self.end, end)", "np.maximum(first, end)", MOMENTS,
    ),
    "moments come by rule, not by time": (InForce, "moments", "np.lexsort((place, at))", "np.argsort(place)", MOMENTS),
    "a window is a microsecond shorter": (InForce, "moments", "at - self.window[place]", "at - self.window[place] + 1",
                                          MOMENTS),
    "a rule of one group is asked of all": (_Table, "of_group", "return self.common", "return self.every", MOMENTS),
    "a group has the rules of its own alone": (
        _Table, "of_group", "np.concatenate([np.flatnonzero(~self.own), self.places[group]])", "self.places[group]",
        MOMENTS,
    ),
    "a rule that has ended stands until it would have answered": (
        _Table, "next_due", "every.end[place] + 1", "first", MOMENTS,
    ),
    "a rule that is replaced has ended": (_Table, "next_due", "walking = walking[~answers]", "break", MOMENTS),
    "a rule for another group goes on": (
        _Table, "next_due", "holds &= ~self.own[place] | (self.group[place] == groups[walking])", "", MOMENTS,
    ),
    "a name that is to come has come": (
        _Table, "_version", "np.searchsorted(begins, times, side)", "np.searchsorted(begins, times + 1, side)",
        MOMENTS,
    ),
    "the next moment is the one of before": (Rules, "pass_to", "self._next <= self._answered", "False", MOMENTS),
    "time goes back": (Rules, "pass_to", "max(self._answered, watermark)", "watermark", MOMENTS),
    "moments at hand are those of another span": (
        Rules, "moments", "self._span != (begin, end)", "self._span is None", MOMENTS,
    ),
    "rules of groups are not among those due": (Rules, "due", "table.group[due]", "table.group[due][1:]", MOMENTS),
    "the end is that of the first rule": (Rules, "last_moment", ".max(initial=latest + 1)", ".min(initial=latest + 1)",
                                          MOMENTS),
    "an input ends with a moment more": (
        Rules, "at_the_end", "<= latest", "<= latest + 1", MOMENTS,
    ),
    "a state has versions that have just ended": (
        Rules, "dump_state", "end > self._needed", "end >= self._needed", STATE,
    ),
    "a state has all versions up to their `until`": (
        Rules, "dump_state", "_with_ends(self._versions.values())",
        "((one, one.until) for one in self._versions.values())", STATE,
    ),
    "a state forgets for which groups rules are": (
        Rules, "dump_state", "groups.null_count == len(groups)", "groups.null_count", MOMENTS,
    ),
    "a version holds on when the next begins": (
        rules_in_force, "_with_ends", "min(version.until, following.after)", "version.until", MOMENTS,
    ),
    "a window as long as the longest is too long": (
        rule_rows, "_version", "window > limits.longest", "window >= limits.longest", BORDERS,
    ),
    "a k above the largest passes": (rule_rows, "_version", "1 <= k <= limits.most", "1 <= k", BORDERS),
    "a rule may hold for no moment": (rule_rows, "_version", "until <= after", "until < after", BORDERS),
    "a rule may have held before": (
        rule_rows, "_version", 'max(row["after"], answered)', 'row["after"]', ENDS,
    ),
    "a phase is any": (rule_rows, "_version", '("phase", begin - phase)', '("phase", 0)', DEFAULTS),
    "a rule that is over may be ended": (rule_rows, "_ends_of_nothing", "previous.until > version.after", "True", ENDS),
    "a rule twice is refused though it says the same": (
        rules_in_force, "read_rules", "came.setdefault(version.key, version) != version",
        "came.setdefault(version.key, version) is not version", ENDS,
    ),
    "true is a number": (json_rules._READERS, "a whole number", "type(value) is int", "isinstance(value, int)", TYPES),
    "a number names a group": (
        json_rules._READERS, "a list of texts", "and entry is not None", "and isinstance(entry, list)", TYPES,
    ),
    "a window above the longest passes": (
        query_with_rules, "limit_problems", "length.length > longest.length", "length.length < 0", LONGEST,
    ),
    "`every` is bound by the longest": (query_with_rules, "limit_problems", 'key != "every" and ', "", LONGEST),
    "a key that is false is not there": (query_with_rules, "limit_problems", "value is not None", "value", LONGEST),
}  # fmt: skip


@pytest.mark.parametrize("kind", MUTANTS)
def test_mutant_is_caught(kind, monkeypatch):
    owner, name, before, after, test = MUTANTS[kind]
    there = owner if isinstance(owner, dict) else vars(owner)
    patch = monkeypatch.setitem if isinstance(owner, dict) else monkeypatch.setattr
    patch(owner, name, _changed(there[name], before, after))
    with pytest.raises((AssertionError, SkybandError, LookupError, TypeError, ValueError)):
        for check, case in _cases(test):
            check(*case)


def _changed(function, before, after):
    """A function with one turn of its text another."""
    text = textwrap.dedent(inspect.getsource(function))
    assert text.count(before) == 1, text
    changed = {}
    exec(text.replace(before, after), function.__globals__, changed)
    return changed[function.__name__]


def _cases(test):
    """A property as pytest calls it: with each of its parameters."""
    spec = spec_from_file_location("mutants_of_rules", PROPERTIES)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    check = getattr(module, f"test_{test}")
    (mark,) = getattr(check, "pytestmark", None) or [None]
    cases = [()] if mark is None else mark.args[1]
    return [(check, case if isinstance(case, tuple) else (case,)) for case in cases]
