import re
from pathlib import Path

from skyband_specs.check import GROUPS, Check
from skyband_specs.report import PASSED
from skyband_specs.runner import subject

README = Path(__file__).parents[1].joinpath("README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def block_with(text):
    names = {}
    exec(next(block for block in BLOCKS if text in block), names)
    return names


def test_the_groups_are_the_known_ones():
    table = README.split("| group | says |")[1].split("\n\n")[0]
    assert tuple(re.findall(r"^\| ([a-z-]+) \|", table, re.MULTILINE)) == GROUPS


def test_the_check_it_shows_is_a_real_one(toy_info, toy):
    check = block_with("def check_nothing_counts_after_now")["check_nothing_counts_after_now"]
    assert isinstance(check, Check)
    assert subject(toy_info, toy).run(check).outcome == PASSED


def test_the_hook_it_shows_answers():
    hook = block_with("def skyband_cases")["skyband_cases"]
    assert hook("sketch", "mine") == [{"epsilon": 0.01, "delta": 0.001}]
    assert hook("sketch", "other") == []
