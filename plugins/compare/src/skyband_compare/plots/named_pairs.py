"""Finds the columns of answers that identify the two rows of a pair, one or several for each."""

from collections.abc import Sequence

from attrs import frozen

ALIKE = ("similarity", "probability")
"""Columns with the similarity of a pair; its ids are before them, carried columns after."""
_SIDES = ("left", "right")


@frozen
class NamedPair:
    """The headings of the two rows in a table, and the columns that identify each."""

    names: tuple[str, str]
    columns: tuple[tuple[str, ...], tuple[str, ...]]

    @property
    def several(self) -> bool:
        """Whether more than one column identifies a row."""
        return len(self.columns[0]) > 1


def named_pair(after: Sequence[str]) -> NamedPair | None:
    """The pair in answers with these columns after their moment; None if they are not pairs."""
    alike = next((place for place, name in enumerate(after) if name in ALIKE), len(after))
    before = after[:alike]
    if {"left", "right"} <= set(after):
        return NamedPair(_SIDES, (("left",), ("right",)))
    if alike == len(after):
        return None
    if "match_time" in before:
        return _matched(before[: before.index("match_time")])
    left, right = (tuple(name for name in before if name.startswith(f"{side}_")) for side in _SIDES)
    pairs = [tuple(name.partition("_")[2] for name in side) for side in (left, right)]
    return NamedPair(_SIDES, (left, right)) if left and pairs[0] == pairs[1] else None


def _matched(names: Sequence[str]) -> NamedPair | None:
    """The pair of near-duplicates: id and match, or host, page, match_host and match_page."""
    own, match = tuple(names[: len(names) // 2]), tuple(names[len(names) // 2 :])
    if own == ("id",) and match == ("match",):
        return NamedPair(("id", "match"), (own, match))
    return NamedPair(("row", "match"), (own, match)) if match == tuple(f"match_{name}" for name in own) else None
