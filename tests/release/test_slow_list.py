"""The list of slow tests names tests that exist, and leaves each file some that every change runs."""

import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
LISTED = (ROOT / "tests" / "slow.txt").read_text("utf-8").splitlines()
FROM_SPECS = re.compile(r"^from skyband_specs\.(queries\.)?suite import", re.MULTILINE)


def test_the_list_is_in_order_and_names_nothing_twice():
    assert sorted(set(LISTED)) == LISTED
    whole = {name for name in LISTED if "[" not in name}
    assert [name for name in LISTED if "[" in name and name.partition("[")[0] in whole] == []


def test_each_listed_test_is_in_its_file():
    for name in LISTED:
        path, _, function = name.partition("[")[0].partition("::")
        text = (ROOT / path).read_text("utf-8")
        defined = re.search(rf"^def {function}\(", text, re.MULTILINE)
        assert defined or (FROM_SPECS.search(text) and "conformance" in function), name


def test_no_file_is_slow_as_a_whole():
    slow = Counter(name.partition("::")[0] for name in LISTED if "[" not in name)
    tests = {path: len(re.findall(r"^def test_", (ROOT / path).read_text("utf-8"), re.MULTILINE)) for path in slow}
    assert [path for path, count in slow.items() if count >= tests[path]] == []
