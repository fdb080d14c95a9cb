"""The rules of what runs weekly name tests and checks that there are, and leave every subject and role one in CI."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from skyband.registry import installed
from skyband_specs.checks import checks_for
from weekly import IN_TURN, OF_EVERY_BACKEND, STAYS, weekly

ROOT = Path(__file__).parents[2]
CHECKED = {name: info for name, info in installed().roles.items() if info.conformance}


def tried(name, **parameters):
    label = "-".join(str(value) for value in parameters.values())
    return SimpleNamespace(nodeid=f"{name}[{label}]", callspec=SimpleNamespace(params=parameters))


@pytest.mark.parametrize("name", [*IN_TURN, *OF_EVERY_BACKEND])
def test_rules_name_tests_that_there_are(name):
    file, _, function = name.partition("::")
    text = (ROOT / file).read_text()
    assert f"def {function}(" in text or "suite import *" in text
    for parameter in IN_TURN.get(name, "").split() if "suite import *" not in text else ():
        assert parameter in text.partition(f"def {function}(")[2].partition(")")[0].split(", ")


def test_what_stays_is_a_check_of_its_group_for_every_role():
    for role in CHECKED:
        for group, names in STAYS.items():
            of_group = {*of(checks_for(role), group)}
            assert of_group & names, f"no check of {group} would stay for {role}"
            assert len(of_group - names) > 0


def test_a_default_backend_is_tried_by_all_checks_and_others_by_one_of_each_group_at_least():
    entries = [SimpleNamespace(info=info) for info in installed().backends() if info.role in CHECKED]
    name = "plugins/mine/tests/test_conformance.py::test_conformance"
    tests = [tried(name, entry=entry, check=check) for entry in entries for check in checks_for(entry.info.role)]
    moved = {*map(id, weekly(tests))}
    assert moved
    for entry in entries:
        of_entry = [test for test in tests if test.callspec.params["entry"] is entry]
        stay = [test.callspec.params["check"] for test in of_entry if id(test) not in moved]
        every = checks_for(entry.info.role)
        default = installed().role(entry.info.role).default == entry.info.name
        assert (stay == [*every]) is default
        assert {check.group for check in stay} == {check.group for check in every}
        for group in ("oracle", "bad-input", "edges", "memory", "merge"):
            assert of(stay, group) == of(every, group)


def of(checks, group):
    return [check.name for check in checks if check.group == group]


def test_subjects_take_the_ways_to_try_them_in_turn():
    name = next(name for name, subject in IN_TURN.items() if subject == "kind")
    tests = [tried(name, kind=kind, shards=shards) for kind in "abcd" for shards in (1, 2, 3)]
    moved = {*map(id, weekly(tests))}
    stay = [tuple(test.callspec.params.values()) for test in tests if id(test) not in moved]
    assert stay == [("a", 1), ("b", 2), ("c", 3), ("d", 1)]
    assert not [*weekly(tests[2:3])], "one that is asked for alone"
