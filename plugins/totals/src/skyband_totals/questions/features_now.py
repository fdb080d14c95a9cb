"""Features as of a moment, from the rows in one state of row-features or in several."""

from collections.abc import Sequence
from typing import Any, ClassVar

import pyarrow as pa
from attrs import define
from skyband.config.literals import literal
from skyband.config.parameters import checked
from skyband.errors import InputError, suggest
from skyband.states.question import Question
from skyband.states.since_or_last import moment_named, moment_of
from skyband.states.state import State


def _moment_problem(now: Any) -> str | None:
    if now is None:
        return None
    try:
        _moment(now)
    except InputError as error:
        return error.message
    return None


def _names_problem(feature: Any) -> str | None:
    if isinstance(feature, tuple) and all(isinstance(name, str) for name in feature):
        return None
    return f'must be a list of columns, such as ["count_1_hour"] (got {literal(feature)})'


def _as_names(feature: Any) -> Any:
    return (feature,) if isinstance(feature, str) else tuple(feature) if isinstance(feature, list | tuple) else feature


@define
class FeaturesNow(Question):
    """The features of a group at a moment, from a state of row-features: those that a row at that moment would have,
    over the rows before it, also long after the last row. Several states answer as one group with the rows of all.
    """

    name: ClassVar[str] = "features"
    result: ClassVar[pa.DataType] = pa.struct([])
    own_windows: ClassVar[bool] = True
    returns: ClassVar[str] = "dict\n    the value of each column of features, such as count_1_hour, by its name"

    now: Any = checked(
        None, type="moment", check=_moment_problem,
        help="the moment, not before that of the state: text, a datetime (UTC without a zone) or microseconds; none: "
        "the moment of the state",
    )  # fmt: skip
    feature: tuple[str, ...] = checked(
        (), type="list", check=_names_problem, converter=_as_names,
        help="the columns to return, such as count_1_hour; none: all",
    )  # fmt: skip

    def answer(self, states: Sequence[State], since: Sequence[int]) -> dict[str, Any]:
        readers = [state.reader for state in states]
        covers = states[0].covers
        at = since[0] + readers[0].query.longest
        now = at if self.now is None else _moment(self.now)
        if now < at:
            show = str if covers is None else covers.show
            message = f"{show(now)} is before {show(at)}, the moment of this state: take an earlier state"
            raise InputError("now", message)
        names = [name for name, _ in readers[0].query.named_columns]
        unknown = [name for name in self.feature if name not in names]
        if unknown:
            message = f"the state does not keep {unknown[0]!r}: add it to `features` of the query"
            raise InputError("feature", f"{message}; {suggest(unknown[0], names)}")
        values = readers[0].features(readers, now)
        return {name: values[name] for name in self.feature or names}


def _moment(now: Any) -> int:
    """In microseconds. Raises InputError."""
    if isinstance(now, str):
        return moment_named("now", now)
    try:
        return moment_of(now)
    except InputError as error:
        raise InputError("now", error.message) from error
