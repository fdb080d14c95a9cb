"""The README's example prints what it says, and its figures are right."""

import io
import re
from contextlib import redirect_stdout
from pathlib import Path

import skyband

README = (Path(__file__).parents[1] / "README.md").read_text("utf-8")


def test_the_example_prints_what_it_says():
    program = re.search(r"```python\n(.*?)```", README, re.DOTALL)[1]
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(program, {})
    assert printed.getvalue().splitlines() == re.findall(r"print\(.*\)  # (.*)", program)


def test_a_pane_takes_the_memory_that_the_readme_states():
    sketch = skyband.create("sketch", "hll-panes")
    assert f"{2**sketch._lg_k // 1024} KB a pane at epsilon {sketch.epsilon} and delta {sketch.delta}" in README
