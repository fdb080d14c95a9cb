"""Broadcast state: the accumulated rows of a query's second table, the same in every shard of an operator."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar, TypeAlias

import numpy as np
import pyarrow as pa

from skyband.arrays import Array, Int64, UInt64
from skyband.errors import InputError

RefusedRows: TypeAlias = Sequence[tuple[InputError, str]]
"""Rows of a second table that are rejected: an error with its remedy, and the row as text."""


class BroadcastState(ABC):
    """The state of a second table that applies to all groups: small, and equal in all shards, which all get all rows.

    The term is Flink's. Its rows do not affect the watermark. Each takes effect from a moment that the state records,
    so that a replay gives the same answers. `Execution.broadcast_state` creates it, and `GroupProcessor.listen` passes
    it to processors.
    """

    reads_json: ClassVar[bool] = False
    """Whether `take` also accepts rows as lines of JSON, in a column `value`."""

    @property
    @abstractmethod
    def schema(self) -> pa.Schema:
        """The columns that rows may have, with their usual types."""

    def group_by(self, by: pa.Schema) -> None:  # noqa: B027 - rows may be for all groups
        """Set the grouping columns, empty without `by`. Called on a new one."""

    def read_from(self, schema: pa.Schema) -> None:  # noqa: B027 - rows may name no columns of the source
        """Set the columns of the source, where they are known. Called on a new one."""

    @abstractmethod
    def take(self, rows: pa.Table, watermark: int | None) -> RefusedRows:
        """Add rows that arrived together, with every moment up to `watermark` answered. Returns rejected rows.

        Raises InputError if the columns are not those that it reads.
        """

    @property
    @abstractmethod
    def next_at(self) -> int:
        """The next moment at which any group may have an answer; TIME_MAX if there is none."""

    def due(self, groups: UInt64, until: int) -> UInt64:
        """Those of these groups, ascending, that may have an answer at a moment up to `until`."""
        return groups if self.next_at <= until else groups[:0]

    def next_due(self, names: pa.Array, groups: UInt64, times: Int64) -> Int64:
        """int64[n]: how long answers stay valid, for a query whose `answers` are "changes".

        names: string[n], the first of `Query.separate_answers`, by which rows of the table name an answer; groups:
        uint64[n]; times: int64[n]. Returns the first later moment at which such an answer is due in the group, or the
        first without a request for it. Moments that every group has passed may be forgotten.
        """
        raise NotImplementedError(f"{type(self).__name__} does not say when answers are due")

    def at_the_end_of(self, names: pa.Array, at: Int64, latest: int) -> Array:  # noqa: ARG002
        """bool[n]: whether answers belong to the end of an input whose last row is at `latest`; others are withheld.

        names: as in `next_due`; at: int64[n], the moment of each.
        """
        return np.ones(len(at), bool)

    @abstractmethod
    def pass_to(self, watermark: int) -> None:
        """Every group has been processed up to here: no earlier moment will be answered."""

    def report_from(self, moment: int) -> None:  # noqa: B027 - where no changes are told, or all that was said stays
        """Keep what `next_due` needs for times from this moment on, even if every group has passed later ones."""

    @abstractmethod
    def dump_state(self) -> Mapping[str, Array]:
        """Flat arrays for `load_state`: equal for equal rows, in whatever batches they arrived."""

    @abstractmethod
    def load_state(self, arrays: Mapping[str, Array]) -> None:
        """Load the result of `dump_state` into a new one. Raises SnapshotError if it is damaged."""
