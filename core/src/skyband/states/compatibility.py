"""Checks that states can be combined: of one backend, with equal parameters, moment and clock."""

from collections.abc import Sequence

from skyband.errors import InputError
from skyband.states.coverage import Coverage
from skyband.states.state import State


def check_alike(states: Sequence[State], name: str = "states") -> None:
    """Raise InputError, naming the row, unless all are of one backend with equal parameters and types of objects."""
    first = states[0]
    for row, other in enumerate(states[1:], 1):
        if other.key != first.key:
            message = f"is of {other.key}, the first of {first.key}: only states of one backend can be combined"
            raise InputError(name, message, row)
        differing = [key for key in {**first.parameters, **other.parameters} if _differs(key, first, other)]
        if differing:
            key = differing[0]
            message = f"has {key} = {other.parameters.get(key)!r}, the first {first.parameters.get(key)!r}"
            raise InputError(name, f"{message}: they must be equal", row)
        if first.names is not None and other.names is not None:
            first_type, other_type = (names.schema.field("name").type for names in (first.names, other.names))
            if first_type != other_type:
                message = f"has objects of type {other_type}, the first {first_type}: the types must be equal"
                raise InputError(name, message, row)
        if other.phase != first.phase:
            raise InputError(name, "has moments with another `offset` than the first: they must be equal", row)


def common_coverage(states: Sequence[State]) -> Coverage | None:
    """What all of these cover together; None if they are snapshots without coverage. Raises InputError, naming the row.

    States from tables of changes may have different moments: each is its group's newest.
    """
    check_alike(states)
    whole = states[0].covers
    for row, other in enumerate(states[1:], 1):
        covers = other.covers
        if whole is None or covers is None:
            if whole is not covers:
                raise InputError("states", "a snapshot without a moment does not combine with one that has one", row)
            continue
        if covers.rows or whole.rows:
            message = "counts rows per group, so two states share no moment"
            raise InputError("states", f"{message}; ask about each alone", row)
        both_changed = covers.changed and whole.changed
        if covers.at != whole.at and not both_changed:
            message = f"is of {covers.show(covers.at)}, the first of {whole.show(whole.at)}"
            raise InputError("states", f"{message}: combine states of one moment", row)
        whole = Coverage(max(whole.at, covers.at), max(whole.since, covers.since), False, both_changed)
    return whole


def _differs(key: str, first: State, other: State) -> bool:
    values = first.parameters.get(key), other.parameters.get(key)
    return values[0] != values[1] or type(values[0]) is not type(values[1])
