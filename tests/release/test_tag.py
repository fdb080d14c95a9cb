"""What is published bears its own version, a date and an address for security."""

import re

import pytest
from release.check_tag import ROOT, problems

FINE = '__version__ = "0.1.0"\n'
OLDER = "## 0.0.9 (2027-01-30)\n"
TEXT = "# Changes\n\n## 0.1.0 (2027-01-31)\n\n- The first.\n"


@pytest.mark.parametrize(
    ("tag", "changelog", "said"),
    [
        ("v0.1.0", TEXT, []),
        ("v0.2.0", TEXT, ["the tag is v0.2.0, the code is 0.1.0: tag v0.1.0, or change __version__"]),
        (
            "v0.1.0",
            TEXT.replace("0.1.0", "0.0.9"),
            ["CHANGELOG.md begins with 0.0.9, the code is 0.1.0: open its section"],
        ),
        ("v0.1.0", TEXT.replace("2027-01-31", "unreleased"), ["CHANGELOG.md calls 0.1.0 unreleased: write the date"]),
    ],
)
def test_a_tag_is_published_with_its_version_and_its_date(tag, changelog, said):
    assert problems(tag, changelog, FINE, "mail@example.org") == said


def test_nothing_is_published_without_an_address_for_security():
    assert problems("v0.1.0", TEXT, FINE, "ADDRESS\n") == ["SECURITY.md has no address yet: fill it in"]


def test_workflows_run_environments_that_there_are():
    headings = re.findall(r"\[testenv:(?:([\w]+)-)?{?([\w,]+)}?\]", (ROOT / "tox.ini").read_text("utf-8"))
    used = set()
    for path in (ROOT / ".github" / "workflows").glob("*.yml"):
        text = path.read_text("utf-8")
        used |= {name for name in re.findall(r"(?:tox -e |environment: )([a-z\d]+)", text) if name != "pypi"}
        assert all((ROOT / script).is_file() for script in re.findall(r"(?:python|bash) ([\w./]+)", text)), path.name
    assert used and used <= {first or name for first, names in headings for name in names.split(",")}
