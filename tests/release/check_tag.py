"""Whether a tag may be published: it is the code's version, CHANGELOG.md has its date, SECURITY.md an address.

python tests/release/check_tag.py v0.1.0      needs nothing installed
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def problems(tag: str, changelog: str, code: str, security: str) -> list[str]:
    """What is wrong with publishing `tag`; `code` is the module that holds the version."""
    version = re.search(r'^__version__ = "(.+)"$', code, re.MULTILINE)
    heading = re.search(r"^## (\S+) \((\S+)\)$", changelog, re.MULTILINE)
    if version is None or heading is None:
        return ["core/src/skyband/version.py needs __version__, CHANGELOG.md a heading such as ## 0.1.0 (2027-01-31)"]
    found = []
    if tag != f"v{version[1]}":
        found.append(f"the tag is {tag}, the code is {version[1]}: tag v{version[1]}, or change __version__")
    if heading[1] != version[1]:
        found.append(f"CHANGELOG.md begins with {heading[1]}, the code is {version[1]}: open its section")
    if heading[2] == "unreleased":
        found.append(f"CHANGELOG.md calls {heading[1]} unreleased: write the date")
    if re.search("^ADDRESS$", security, re.MULTILINE):
        found.append("SECURITY.md has no address yet: fill it in")
    return found


if __name__ == "__main__":
    files = ("CHANGELOG.md", "core/src/skyband/version.py", ".github/SECURITY.md")
    wrong = problems(sys.argv[1], *((ROOT / name).read_text("utf-8") for name in files))
    sys.exit("\n".join(wrong))
