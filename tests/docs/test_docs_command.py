"""`skyband docs`: a third party's backend gets its page, and nothing that others wrote is lost."""

import os
import re
import subprocess
import sys

import pytest

from .conftest import ROOT

OWN = '''    """The newest time of every key.

    Complexity
    ----------
    O(1) a row.

    Examples
    --------
    >>> Newest().estimate(0)
    0.0
    """'''


QUERIES = """
from skyband import QueryInfo, RoleInfo, hookimpl

@hookimpl
def skyband_queries():
    given = dict(summary="a sum", examples="fine_examples:EXAMPLES")
    return [
        QueryInfo("fine-sum", "fine_query:FineSum", **given),
        QueryInfo("lonely-sum", "lonely_query:LonelySum", "a sum", examples="lonely_examples:EXAMPLES"),
        QueryInfo("gone-sum", "nowhere:Sum", **given),
        QueryInfo("unshown-sum", "unshown_query:UnshownSum", "a sum", examples="nowhere:EXAMPLES"),
    ]

@hookimpl
def skyband_roles():
    return [RoleInfo("gone", "nowhere:Gone", "x", "skyband-queries", "what is gone")]
"""

LONELY = '''
from skyband.queries.example import JobExample
from skyband_specs.scaffold.query_plugin.examples import EXAMPLES

JOB = JobExample("Sums.", "rows.csv", "ts,size\\n2026-11-22 10:00:00,3\\n", """
[source]
format = "csv"
path = "rows.csv"
schema = "ts timestamp, size long"
options = { header = true }

[query]
kind = "lonely-sum"
time = "ts"
value = "size"
window = "1 minute"
every = "1 minute"
""")
'''


def install(site, name, module):
    info = site / f"{name.replace('-', '_')}-0.1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1.0\n")
    (info / "entry_points.txt").write_text(f"[skyband]\nhere = {module}\n")


@pytest.fixture
def third_party(tmp_path, contributing):
    """A folder with CONTRIBUTING's backend as an installed distribution, and a broken one beside it."""
    site = tmp_path / "site"
    for name, module in (("skyband-newest", "newest_hooks"), ("skyband-broken", "nowhere")):
        install(site, name, module)
    for block in contributing.blocks("python"):
        (site / re.match(r"# (\w+\.py)\n", block.body)[1]).write_text(block.body)
    return site


def docs(site, folder, plugins="skyband-newest,skyband-broken"):
    env = {**os.environ, "PYTHONPATH": str(site), "SKYBAND_PLUGINS": plugins}
    return subprocess.run(
        [sys.executable, "-m", "skyband", "docs", folder],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=env,
        check=False,
    )


def test_a_third_partys_backend_gets_its_page(third_party, tmp_path):
    folder = tmp_path / "docs"
    made = docs(third_party, folder)
    assert made.returncode == 0, made.stderr
    assert "no page: skyband-broken: could not be imported: ModuleNotFoundError" in made.stderr
    page = (folder / "backends" / "sketch" / "newest.md").read_text("utf-8")
    assert "# `sketch/newest`" in page and "24 h: 19735 (from 19735 to 19735), exactly 19735" in page
    assert "[newest](../backends/sketch/newest.md)" in (folder / "roles" / "sketch.md").read_text("utf-8")
    for path in folder.rglob("*.md"):
        for link in re.findall(r"(?<!\\)\]\(([^)#]+)", path.read_text("utf-8")):
            assert (path.parent / link).is_file(), f"{path}: {link}"

    source = third_party / "newest.py"
    text = source.read_text().replace('    """The newest time of every key, in a dictionary."""', OWN)
    source.write_text(text.replace("def forget(self, before):", "def forget(self, before):\n        raise OSError"))
    source.write_text(source.read_text().replace("def _state(self):", "def _state(self):\n        1 / 0"))
    (folder / "mine.md").write_text("# Mine\n")
    (folder / "job.md").write_text("# Notes of my own\n")
    refused = docs(third_party, folder)
    assert refused.returncode == 1 and "was not written by `skyband docs`" in refused.stderr
    assert (folder / "backends" / "sketch" / "newest.md").read_text("utf-8") == page, "nothing is half written"
    (folder / "job.md").unlink()
    (folder / "backends" / "sketch" / "newest.md").rename(folder / "backends" / "sketch" / "older.md")
    again = docs(third_party, folder)
    assert again.returncode == 0 and "older.md is no longer generated" in again.stderr
    page = (folder / "backends" / "sketch" / "newest.md").read_text("utf-8")
    assert ">>> Newest().estimate(0)\n0.0\n" in page, "its own example, where that of its role fails"
    assert "## Complexity\n\nO(1) a row.\n" in page
    assert (folder / "mine.md").read_text() == "# Mine\n"


def test_a_broken_query_or_role_costs_the_others_no_page(tmp_path):
    site, folder = tmp_path / "site", tmp_path / "docs"
    install(site, "skyband-queries", "queries_hooks")
    (site / "queries_hooks.py").write_text(QUERIES)
    for kind, role in (("fine", "gone"), ("unshown", "gone"), ("lonely", "sketch")):
        cls = f"class {kind.title()}Sum(MineQuery):\n    kind = '{kind}-sum'\n    roles = ('{role}',)\n"
        (site / f"{kind}_query.py").write_text(
            f"from skyband_specs.scaffold.query_plugin.query import MineQuery\n{cls}"
        )
    (site / "lonely_examples.py").write_text(LONELY)
    (site / "fine_examples.py").write_text("from skyband_specs.scaffold.query_plugin.examples import EXAMPLES\n")
    made = docs(site, folder, "skyband-queries")
    assert made.returncode == 0, made.stderr
    said = [line for line in made.stderr.splitlines() if line.startswith("no page: ")]
    assert [line.partition(" of ")[0] for line in said] == [
        "no page: role gone",
        "no page: query 'gone-sum'",
        "no page: query 'unshown-sum'",
    ]
    assert all(" of skyband-queries: nowhere:" in line for line in said)
    assert sorted(path.stem for path in (folder / "queries").iterdir() if "sum" in path.stem) == [
        "fine-sum",
        "lonely-sum",
    ]
    page = (folder / "queries" / "fine-sum.md").read_text("utf-8")
    assert "Role: `gone`." in page
    lonely = (folder / "queries" / "lonely-sum.md").read_text("utf-8")
    assert "It does not run with the installed packages: backends.sketch: unknown backend 'pcsa-ml'" in lonely
    assert "| `at` | `timestamp[us, tz=UTC]` |\n| `sum` | `int64` |" in page, "its first example's, as it shows no job"
    for path in folder.rglob("*.md"):
        for link in re.findall(r"(?<!\\)\]\(([^)#]+)", path.read_text("utf-8")):
            assert (path.parent / link).is_file(), f"{path}: {link}"
