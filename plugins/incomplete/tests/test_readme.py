"""The example of the README prints what the README says."""

import re
from pathlib import Path

README = Path(__file__).parents[1].joinpath("README.md").read_text(encoding="utf-8")


def test_the_example_prints_what_it_says(capsys):
    (code, printed) = re.search(r"```python\n(.*?)```\n```text\n(.*?)```", README, re.DOTALL).groups()
    exec(code, {})
    assert capsys.readouterr().out == printed
