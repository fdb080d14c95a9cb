"""The example of the README prints what it says."""

import re
from pathlib import Path


def test_example_prints_what_it_says(capsys):
    text = (Path(__file__).parents[1] / "README.md").read_text()
    code, printed = re.search(r"```python\n(.*?)```\n```text\n(.*?)```", text, re.DOTALL).groups()
    exec(compile(code, "README.md", "exec"), {})
    assert capsys.readouterr().out == printed
