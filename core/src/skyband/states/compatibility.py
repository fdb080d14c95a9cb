"""Which states may be united: those of one backend, with equal parameters, of one moment and by one clock."""

from collections.abc import Sequence

from skyband.errors import InputError
from skyband.states.coverage import Coverage
from skyband.states.state import State


def check_alike(states: Sequence[State], name: str = "states") -> None:
    """Raise InputError, naming the row, unless all are of one backend with equal parameters, and know objects alike."""
    first = states[0]
    for row, other in enumerate(states[1:], 1):
        if other.key != first.key:
            message = f"is of {other.key}, the first of {first.key}: only states of one backend go together"
            raise InputError(name, message, row)
        differing = [key for key in {**first.parameters, **other.parameters} if _differs(key, first, other)]
        if differing:
            key = differing[0]
            message = f"has {key} = {other.parameters.get(key)!r}, the first {first.parameters.get(key)!r}"
            raise InputError(name, f"{message}: they must be equal", row)
        if first.names is not None and other.names is not None:
            mine, theirs = (names.schema.field("name").type for names in (first.names, other.names))
            if mine != theirs:
                message = f"has objects of {theirs}, the first of {mine}: they must be of one type"
                raise InputError(name, message, row)
        if other.phase != first.phase:
            raise InputError(name, "has moments with another `offset` than the first: they must be equal", row)


def common_coverage(states: Sequence[State]) -> Coverage | None:
    """What all of these answer together, None where they are snapshots without one. Raises InputError, naming the row.

    States of tables that hold only what changed may be of different moments: each is its group's newest.
    """
    check_alike(states)
    whole = states[0].covers
    for row, other in enumerate(states[1:], 1):
        covers = other.covers
        if whole is None or covers is None:
            if whole is not covers:
                raise InputError("states", "a snapshot without a moment does not go with a state that has one", row)
            continue
        if covers.rows or whole.rows:
            message = "counts rows, each group its own: there is no moment that two of them share"
            raise InputError("states", f"{message}; ask each by itself", row)
        both_changed = covers.changed and whole.changed
        if covers.at != whole.at and not both_changed:
            message = f"is of {covers.show(covers.at)}, the first of {whole.show(whole.at)}"
            raise InputError("states", f"{message}: unite states of one moment", row)
        whole = Coverage(max(whole.at, covers.at), max(whole.since, covers.since), False, both_changed)
    return whole


def _differs(key: str, one: State, other: State) -> bool:
    mine, theirs = one.parameters.get(key), other.parameters.get(key)
    return mine != theirs or type(mine) is not type(theirs)
