"""Ranks the objects with the largest totals in any window, from one state or the union of several."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from attrs import define
from skyband.config.parameters import integer, number
from skyband.states.question import Question
from skyband.states.state import State


@define
class RankObjects(Question):
    """The objects with the largest totals in a window, from one state of heavy-hitters or the union of several: the
    totals of an object add up, and each distinct value counts once.
    """

    name: ClassVar[str] = "heavy_hitters"
    result: ClassVar[pa.DataType] = pa.list_(
        pa.struct(
            [
                ("rank", pa.int64()), ("object", pa.string()), ("total", pa.float64()), ("share", pa.float64()),
                ("low", pa.float64()), ("high", pa.float64()),
            ]
        )
    )  # fmt: skip
    objects: ClassVar[str | None] = "object"
    returns: ClassVar[str] = (
        "pyarrow.Table\n    rank (from 1), object, total, share, low and high, as the query itself answers"
    )

    k: int | None = integer(None, at_least=1, help="the most objects")
    share: float | None = number(
        None, above=0, at_most=1,
        help="only objects that may have this part of the grand total; without any limit, those of the query apply",
    )  # fmt: skip
    at_least: float | None = number(None, above=0, help="only objects that may have this total")

    def answer(self, states: Sequence[State], since: Sequence[int]) -> dict[str, Any]:
        readers = [state.reader for state in states]
        ranking = type(readers[0]).top(readers, since, self.k, self.share, self.at_least)
        return {
            "rank": np.arange(1, len(ranking.objects) + 1, dtype=np.int64), "object": ranking.objects,
            "total": ranking.totals, "share": ranking.shares, "low": ranking.low, "high": ranking.high,
        }  # fmt: skip
