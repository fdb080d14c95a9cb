"""Quantiles of any window, and shares of its rows above numbers, from one or several states of sketches."""

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pyarrow as pa
from attrs import define
from skyband.arrays import Float64
from skyband.config.parameters import checked
from skyband.errors import InputError
from skyband.states.question import Question
from skyband.states.state import State

from skyband_quantiles.asked_parameters import limits_parameter, quantiles_parameter
from skyband_quantiles.ranks import fault_of_share, shares_of
from skyband_quantiles.sketch_parameters import as_number, fault_of_limit

_USUAL = (0.5, 0.95, 0.99)
_NO_LIMITS = np.empty(0)
_NUMBERS = [(name, pa.float64()) for name in ("value", "low", "high")]
_COLUMNS = [("quantile", pa.float64()), ("above", pa.float64()), *_NUMBERS, ("rows", pa.int64())]


class Answer(NamedTuple):
    """A quantile or share with its bounds, None if there are no rows, and the number of rows."""

    value: float | None
    low: float | None
    high: float | None
    rows: int


@define
class QuantilesOfWindow(Question):
    """The quantiles of a window and the share of its rows above numbers, from a state of quantiles or from several
    together, whose rows all count. Low and high are the bounds that the sketch declares; no row, no answer.
    """

    name: ClassVar[str] = "quantiles"
    result: ClassVar[pa.DataType] = pa.list_(pa.struct(_COLUMNS))
    returns: ClassVar[str] = (
        "pyarrow.Table\n    quantile (where `q` is asked), above (where that is), value, low, high and rows, a row for "
        "each quantile\n    and then for each number; in a row of `above` the value is the share of the rows above it"
    )

    q: tuple[float, ...] = quantiles_parameter(
        "list", "the quantiles, as shares of the rows at or below them; without `q` and `above`: 0.5, 0.95 and 0.99"
    )
    above: tuple[float, ...] = limits_parameter("list")

    @property
    def columns(self) -> tuple[str, ...]:
        others = {"quantile": not self._quantiles, "above": not self.above}
        return tuple(name for name, _ in _COLUMNS if not others.get(name))

    @property
    def _quantiles(self) -> tuple[float, ...]:
        return self.q if self.q or self.above else _USUAL

    def answer(self, states: Sequence[State], since: Sequence[int]) -> dict[str, Any]:
        rows, values, shares = _ask(states, since, self._quantiles, self.above)
        numbers = np.concatenate([values, shares]) if rows else np.empty((0, 3))
        none_at: list[float | None] = [None] * len(self._quantiles)
        none_above: list[float | None] = [None] * len(self.above)
        return {
            "quantile": [*self._quantiles, *none_above][: len(numbers)],
            "above": [*none_at, *self.above][: len(numbers)],
            "value": np.ascontiguousarray(numbers[:, 0]), "low": np.ascontiguousarray(numbers[:, 1]),
            "high": np.ascontiguousarray(numbers[:, 2]), "rows": np.full(len(numbers), rows, np.int64),
        }  # fmt: skip


@define
class QuantileOfWindow(Question):
    """A quantile of a window, from one or several states, whose rows all count."""

    name: ClassVar[str] = "quantile"
    result: ClassVar[pa.DataType] = pa.struct([*_NUMBERS, ("rows", pa.int64())])
    each: ClassVar[tuple[str, ...]] = ("q",)
    returns: ClassVar[str] = "Answer\n    value, low, high and rows; the first three are None if there are no rows"

    q: float = checked(
        0.5, type="float", check=fault_of_share, converter=as_number,
        bounds="from 0 to 1, of at most nine decimals", help="which quantile: the share of the rows at or below it",
    )  # fmt: skip

    def answer(self, states: Sequence[State], since: Sequence[int]) -> Answer:
        rows, values, _ = _ask(states, since, (self.q,), ())
        return _answer(rows, values)


@define
class ShareOfWindow(Question):
    """The share of a window's rows above a number, from one or several states."""

    name: ClassVar[str] = "share_above"
    result: ClassVar[pa.DataType] = QuantileOfWindow.result
    each: ClassVar[tuple[str, ...]] = ("above",)
    returns: ClassVar[str] = QuantileOfWindow.returns

    above: float | None = checked(
        None, type="float", check=lambda value: None if value is None else fault_of_limit(value), converter=as_number,
        help="the number above which rows are counted, such as 400",
    )  # fmt: skip

    def answer(self, states: Sequence[State], since: Sequence[int]) -> Answer:
        if self.above is None:
            raise InputError("above", "is required: a number above which rows are counted, such as 400")
        rows, _, shares = _ask(states, since, (), (self.above,))
        return _answer(rows, shares)


def _ask(
    states: Sequence[State], since: Sequence[int], quantiles: Sequence[float], above: Sequence[float]
) -> tuple[int, Float64, Float64]:
    readers = [state.reader for state in states]
    limits = np.array(above, np.float64) if above else _NO_LIMITS
    count, values, shares = type(readers[0]).answer(readers, since, shares_of("q", quantiles), limits)
    return int(count[0]), values, shares


def _answer(rows: int, numbers: Float64) -> Answer:
    if not rows:
        return Answer(None, None, None, 0)
    value, low, high = numbers[0].tolist()
    return Answer(value, low, high, rows)
