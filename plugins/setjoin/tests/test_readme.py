"""The example in the README prints what it says."""

import re
from pathlib import Path


def test_example(capsys):
    text = (Path(__file__).parents[1] / "README.md").read_text()
    code, output = re.search(r"```python\n(.*?)```\n```\n(.*?)```", text, re.DOTALL).groups()
    exec(compile(code, "README.md", "exec"), {})
    assert capsys.readouterr().out == output
