"""CHANGELOG.md names every change of what a user or a plugin may rely on by name."""

import re
from pathlib import Path

import pytest
import skyband
from attrs import frozen
from release.surface import Name, surface

ROOT = Path(__file__).parents[2]
SURFACES = Path(__file__).parent / "surfaces"
FIRST = Path(__file__).parent / "first_surface.txt"
"""Names that were there before entries were checked; until the first release it stands for the release before."""
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


def names_in(path: Path) -> set[Name]:
    return {Name(*line.split()) for line in path.read_text("utf-8").splitlines()}


def recorded(version: str) -> set[Name]:
    return names_in(SURFACES / f"{version}.txt")


def unnamed_since_release(written: list[Section], now: set[Name]) -> list[Name]:
    """What came or went since the newest release without an entry; before the first one, what came."""
    released = next((section for section in written if section.released), None)
    before = names_in(FIRST) & now if released is None else recorded(released.version)
    return unnamed(before, now, written[0])


WRITTEN = sections((ROOT / "CHANGELOG.md").read_text("utf-8"))


def test_the_newest_section_is_of_this_version():
    assert WRITTEN[0].version == skyband.__version__


def test_what_every_release_named_is_recorded():
    released = {section.version for section in WRITTEN if section.released}
    assert released == {path.stem for path in SURFACES.glob("*.txt")}, "record it: CONTRIBUTING.md, Releasing"


def test_every_change_of_a_public_name_has_its_entry():
    if WRITTEN[0].released:
        assert recorded(WRITTEN[0].version) == set(surface()), "open a section of the next version in CHANGELOG.md"
    missing = [str(name) for name in unnamed_since_release(WRITTEN, set(surface()))]
    assert not missing, f"CHANGELOG.md, {WRITTEN[0].version}: name these in an entry, each as `code`: {missing}"


def test_before_the_first_release_a_new_key_needs_an_entry_too():
    unreleased = [section for section in WRITTEN if not section.released][:1]
    now = names_in(FIRST) | {Name("query", "top-k", "not_written_anywhere"), Name("command", "not-written")}
    missing = [str(name) for name in unnamed_since_release(unreleased, now)]
    assert missing == ["command not-written", "query top-k not_written_anywhere"]


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
