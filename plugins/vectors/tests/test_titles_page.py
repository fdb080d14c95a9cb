"""The page of real titles: its programs, where scikit-learn and the titles are, tell what the page shows."""

import io
import os
import re
from contextlib import redirect_stdout
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[3] / "core/docs/ask/titles.md"
pytestmark = [pytest.mark.realdata, pytest.mark.slow]


def test_the_programs_of_the_page_of_titles_print_what_it_shows(tmp_path, monkeypatch):
    """Nearly all lines: the last digits of a decomposition differ with the library, and so may a title at the edge."""
    pytest.importorskip("sklearn")
    titles = Path(os.environ.get("SKYBAND_DATA", "")) / "dblp_mdate.parquet"
    if "SKYBAND_DATA" not in os.environ or not titles.exists():
        pytest.skip(f"needs {titles.name} in the folder named by SKYBAND_DATA")
    (tmp_path / "titles.parquet").symlink_to(titles)
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```(py|text)\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    names, shown, printed = {}, [], io.StringIO()
    with redirect_stdout(printed):
        for language, body in blocks:
            if language == "text":
                shown += body.splitlines()
            elif "sentence_transformers" not in body:
                exec(compile(body, "titles.md", "exec"), names)
    lines = printed.getvalue().splitlines()
    assert len(lines) == len(shown) > 40
    assert sum(line in shown for line in lines) >= 0.8 * len(shown), printed.getvalue()
