"""The package page's example prints what it says."""

import io
import re
from contextlib import redirect_stdout
from pathlib import Path

README = (Path(__file__).parents[1] / "README.md").read_text("utf-8")


def test_the_example_prints_what_it_says():
    program = re.search(r"```python\n(.*?)```", README, re.DOTALL)[1]
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(program, {})
    assert printed.getvalue().splitlines() == re.findall(r"^# (.*)", program, re.MULTILINE)
