"""The README's example prints what it shows, and its query is valid."""

import io
import re
import tomllib
from contextlib import redirect_stdout
from pathlib import Path

from skyband.queries import make_query

README = (Path(__file__).parents[1] / "README.md").read_text("utf-8")


def test_the_example_prints_what_it_shows():
    program = re.search(r"```python\n(.*?)```", README, re.DOTALL)[1]
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(program, {})
    assert printed.getvalue().splitlines() == re.findall(r"print\(.*\)  # (.*)", program)


def test_the_query_is_valid():
    job = tomllib.loads(re.search(r"```toml\n(.*?)```", README, re.DOTALL)[1])
    query = make_query(job["query"])
    assert (query.dimensions, query.threshold, query.keep, query.matches) == (384, 0.9, "first", 1)
