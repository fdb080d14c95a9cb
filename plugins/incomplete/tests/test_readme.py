"""The example in the README prints what it shows."""

import re
from pathlib import Path

README = Path(__file__).parents[1].joinpath("README.md").read_text(encoding="utf-8")


def test_the_example_prints_what_it_shows(capsys):
    (code, printed) = re.search(r"```python\n(.*?)```\n```text\n(.*?)```", README, re.DOTALL).groups()
    exec(code, {})
    assert capsys.readouterr().out == printed
