import sys
from types import ModuleType

import pyarrow as pa
import pytest
from skyband import ConfigError, PluginError, RoleInfo
from skyband.registry import Registry, installed
from skyband.registry.discovery import Plugin
from skyband_specs import checks, drivers
from skyband_specs.check import GROUPS, check, difference, expect, expect_equal
from skyband_specs.checks import checks_for
from skyband_specs.checks.common import memory
from skyband_specs.drivers import driver_for
from skyband_specs.queries.check import equal_answers


@pytest.mark.parametrize("role", installed().roles)
def test_every_role_has_common_checks_and_its_own(role):
    found = checks_for(role)
    own = [check for check in found if ".common." not in check.body.__module__]
    assert driver_for(role).role == role
    assert len(found) - len(own) == 30
    assert own
    assert {check.group for check in found} <= set(GROUPS)


def test_the_number_of_checks_of_sketches():
    assert len(checks_for("sketch")) == 57


def test_every_check_says_what_it_checks():
    assert [check.name for role in installed().roles for check in checks_for(role) if not check.body.__doc__] == []


def test_a_suite_that_shrank_is_an_error(monkeypatch):
    monkeypatch.setattr(memory, "COUNT", 2)
    checks_for.cache_clear()
    with pytest.raises(RuntimeError, match="has 1 checks, but COUNT = 2"):
        checks_for("sketch")
    monkeypatch.undo()
    assert checks.checks_for("sketch")


def test_a_plugins_checks_that_are_not_counted_are_named_with_it(monkeypatch):
    role = RoleInfo("juggler", "skyband.roles:Sketch", "three-balls", "acme", "how many balls", "x")
    registry = Registry([Plugin("acme", "1.0", "acme", "acme.hooks", roles=(role,))])
    found = ModuleType("acme_checks")
    monkeypatch.setitem(sys.modules, "acme_checks", found)
    monkeypatch.setattr(checks, "installed", lambda: registry)
    monkeypatch.setattr(checks, "conformance_module", lambda *_: found)
    for count in ({}, {"COUNT": 2}):
        vars(found).update(count)
        with pytest.raises(PluginError, match=r"role juggler.*: acme_checks must set COUNT to the number"):
            checks._of_role("juggler")


def test_an_unknown_role_is_named_with_the_closest():
    with pytest.raises(ConfigError, match="did you mean 'sketch'"):
        checks_for("sketches")


def with_role(monkeypatch, conformance):
    role = RoleInfo("juggler", "skyband.roles:Sketch", "three-balls", "acme", "how many balls", conformance)
    registry = Registry([Plugin("acme", "1.0", "acme", "acme.hooks", roles=(role,))])
    monkeypatch.setattr(drivers, "installed", lambda: registry)


@pytest.mark.parametrize(
    ("conformance", "error", "said"),
    [
        (None, ConfigError, "juggler of acme has no conformance checks"),
        ("no_such_package", PluginError, "no_such_package.driver could not be imported"),
        ("skyband_specs", PluginError, "skyband_specs.driver.DRIVER must be a Driver of the role 'juggler'"),
    ],
)
def test_a_role_whose_driver_is_missing_says_so(monkeypatch, conformance, error, said):
    with_role(monkeypatch, conformance)
    with pytest.raises(error, match=said):
        driver_for("juggler")


@pytest.mark.parametrize(
    "tags", [{"group": "orakel"}, {"group": "merge", "needs": ("merging",)}, {"group": "edges", "guarantees": ("no",)}]
)
def test_a_misspelt_tag_is_an_error(tags):
    def check_it(make, case):
        pass

    with pytest.raises(ValueError, match="check_it"):
        check(**tags)(check_it)


def test_a_check_is_called_check_something():
    def it_works(make, case):
        pass

    with pytest.raises(ValueError, match="must be called check_"):
        check("edges")(it_works)


def test_expectations():
    expect(True, "fine")
    with pytest.raises(AssertionError, match="the sum: got 3, expected 4"):
        expect_equal(3, 4, "the sum")
    with pytest.raises(AssertionError, match="got 5 bytes, expected 0 bytes"):
        expect_equal(b"12345", b"", "the snapshot")


def test_the_first_difference_is_found_however_deep():
    assert difference([1, (2, 3), (4, 5)], [1, (2, 3), (4, 6)]) == "at [2], got (4, 5), expected (4, 6)"
    assert difference(([(1, "a")], b"xyz", 3), ([(1, "b")], b"xy", 3)) == "at [0][0], got (1, 'a'), expected (1, 'b')"
    assert difference((1, b"xyz", 3), (1, b"xy", 3)) == "at [1], got 3 bytes, expected 2 bytes"
    assert difference([1, 2], [1, 2, 3]) == "got [1, 2], expected [1, 2, 3]"
    assert difference(1, None) == "got 1, expected None"


def test_answers_are_equal_that_have_the_same_rows_each_as_often():
    rows = pa.table({"at": [1, 1, 2, 3], "count": [5.0, 5.0, None, float("nan")]})
    equal_answers(rows, rows.take([3, 1, 2, 0]), "in another order")
    for places in ([0, 2, 3], [0, 1, 2, 2, 3], [0, 1, 1, 2, 3], [0, 2, 2, 3], []):
        with pytest.raises(AssertionError, match="other rows: "):
            equal_answers(rows.take(pa.array(places, pa.int64())), rows, "other rows")
