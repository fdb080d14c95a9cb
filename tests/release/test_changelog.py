"""CHANGELOG.md names every change of what a user or a plugin may rely on by name."""

import re
from pathlib import Path

import pytest
import skyband
from attrs import frozen
from release.surface import Name, surface

ROOT = Path(__file__).parents[2]
SURFACES = Path(__file__).parent / "surfaces"
HEADING = re.compile(r"^## (?P<version>\S+) \((?P<date>unreleased|\d{4}-\d\d-\d\d)\)$", re.MULTILINE)


@frozen
class Section:
    """What CHANGELOG.md says of one version, an entry a list item."""

    version: str
    date: str
    entries: tuple[str, ...]

    @property
    def released(self) -> bool:
        return self.date != "unreleased"

    def names(self, *names: str) -> bool:
        """Whether one entry names all of these, each as `code`."""
        return any(all(f"`{name}`" in entry for name in names) for entry in self.entries)


def sections(text: str) -> list[Section]:
    """The newest first."""
    pieces = HEADING.split(text)[1:]
    return [
        Section(version, date, tuple(re.split(r"^- ", body, flags=re.MULTILINE)[1:]))
        for version, date, body in zip(pieces[::3], pieces[1::3], pieces[2::3], strict=True)
    ]


def unnamed(before: set[Name], after: set[Name], section: Section) -> list[Name]:
    """What came or went without an entry. A part of what is new itself is named with it."""
    owners = {(name.kind, name.owner) for name in before}
    return [
        name
        for name in sorted(before ^ after)
        if not section.names(name.owner, *filter(None, [name.part]))
        and not ((name.kind, name.owner) not in owners and name.part)
    ]


def recorded(version: str) -> set[Name]:
    return {Name(*line.split()) for line in (SURFACES / f"{version}.txt").read_text("utf-8").splitlines()}


WRITTEN = sections((ROOT / "CHANGELOG.md").read_text("utf-8"))


def test_the_newest_section_is_of_this_version():
    assert WRITTEN[0].version == skyband.__version__


def test_what_every_release_named_is_recorded():
    released = {section.version for section in WRITTEN if section.released}
    assert released == {path.stem for path in SURFACES.glob("*.txt")}, "record it: CONTRIBUTING.md, Releasing"


def test_every_change_of_a_public_name_has_its_entry():
    released = next((section for section in WRITTEN if section.released), None)
    if WRITTEN[0].released:
        assert recorded(WRITTEN[0].version) == set(surface()), "open a section of the next version in CHANGELOG.md"
    before = recorded(released.version) if released else set()
    missing = [str(name) for name in unnamed(before, set(surface()), WRITTEN[0])]
    assert not missing, f"CHANGELOG.md, {WRITTEN[0].version}: name these in an entry, each as `code`: {missing}"


OLD = {Name("query", "top-k"), Name("query", "top-k", "k"), Name("query", "distinct-count")}


@pytest.mark.parametrize(
    ("after", "entry", "missing"),
    [
        (OLD, "nothing new", []),
        (OLD | {Name("query", "top-k", "ties")}, "`top-k` has `ties`", []),
        (OLD | {Name("query", "top-k", "ties")}, "`top-k` is faster", ["query top-k ties"]),
        (OLD | {Name("query", "median"), Name("query", "median", "at")}, "the query `median`", []),
        (OLD | {Name("query", "median"), Name("query", "median", "at")}, "a new query", ["query median"]),
        (OLD - {Name("query", "distinct-count")}, "", ["query distinct-count"]),
        (OLD - {Name("query", "top-k", "k")}, "`k` of `top-k` is gone", []),
    ],
)
def test_what_came_or_went_must_be_named(after, entry, missing):
    section = sections(f"# Changes\n\n## 2.0 (unreleased)\n\n- {entry}\n")[0]
    assert [str(name) for name in unnamed(OLD, after, section)] == missing
