"""Broadcast state: what the rows of a query's second table have said so far, the same in every shard of an operator."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar, TypeAlias

import numpy as np
import pyarrow as pa

from skyband.arrays import Array, Int64, UInt64
from skyband.errors import InputError

RefusedRows: TypeAlias = Sequence[tuple[InputError, str]]
"""Rows of a second table that cannot be taken: of each what is wrong, with the remedy, and the row as text."""


class BroadcastState(ABC):
    """What a second table has said to all groups, small, and the same in each shard because each is given all its rows.

    Flink's term. Its rows have no part in the watermark. What a row says holds from a moment that is in the state, so
    that to read the state again is to answer the same. `Execution.broadcast_state` makes one, and processors are given
    it by `GroupProcessor.listen`.
    """

    reads_json: ClassVar[bool] = False
    """Whether `take` also takes rows as lines of JSON, in a column `value`."""

    @property
    @abstractmethod
    def schema(self) -> pa.Schema:
        """The columns that rows may have, each of its usual type."""

    def group_by(self, by: pa.Schema) -> None:  # noqa: B027 - rows may be for all groups
        """The columns that groups are named by, none without `by`. Called on a fresh one."""

    @abstractmethod
    def take(self, rows: pa.Table, watermark: int | None) -> RefusedRows:
        """Take in rows, which came together, every moment up to `watermark` being answered. Returns those refused.

        Raises InputError where the columns are not those that it reads.
        """

    @property
    @abstractmethod
    def next_at(self) -> int:
        """The next moment at which any group may have an answer; TIME_MAX where there is none."""

    def due(self, groups: UInt64, until: int) -> UInt64:
        """Those of these groups, ascending, that may have an answer at a moment at most `until`."""
        return groups if self.next_at <= until else groups[:0]

    def next_due(self, names: pa.Array, groups: UInt64, times: Int64) -> Int64:
        """int64[n]: until when answers stand, of a query whose `answers` are "changes".

        names: string[n], the first of `Query.separate_answers`, by which rows of the table name what is answered;
        groups: uint64[n]; times: int64[n]. It is the first later moment at which such an answer is due in the group, or
        the first at which none is asked for any more. Moments that every group has passed need not be known still.
        """
        raise NotImplementedError(f"{type(self).__name__} does not say when answers are due")

    def at_the_end_of(self, names: pa.Array, at: Int64, latest: int) -> Array:  # noqa: ARG002
        """bool[n]: which answers the end of an input has whose last row is at `latest`; the others are withheld.

        names: as `next_due` has them; at: int64[n], the moment of each.
        """
        return np.ones(len(at), bool)

    @abstractmethod
    def pass_to(self, watermark: int) -> None:
        """Every group has had its turn up to here: no moment so far is answered any more."""

    def report_from(self, moment: int) -> None:  # noqa: B027 - where no changes are told, or all that was said stays
        """`next_due` is asked of times from this moment on, also where every group has passed later ones."""

    @abstractmethod
    def dump_state(self) -> Mapping[str, Array]:
        """Flat arrays, from which `load_state` makes an equal one: the same for the same rows, however they came."""

    @abstractmethod
    def load_state(self, arrays: Mapping[str, Array]) -> None:
        """Take over what `dump_state` gave. Called on a fresh one. Raises SnapshotError where it is damaged."""
