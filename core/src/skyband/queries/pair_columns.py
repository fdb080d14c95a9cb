"""Answer columns of the two rows of a pair: their ids, of one or several columns, and the carried columns of both."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from skyband.arrays import Array
from skyband.columns.hashing import hash_columns
from skyband.columns.ids import id_values, to_ids
from skyband.columns.keyed_frames import plain_type
from skyband.columns.row_store_by_position import RowStore
from skyband.columns.rows import Rows
from skyband.columns.rows_behind_answers import carried, carried_values
from skyband.columns.sides import SIDES
from skyband.columns.state_frame_checks import check_named, check_numbers, check_whole
from skyband.errors import Problem
from skyband.queries.carried_columns import carry_columns, carry_type
from skyband.queries.composite_ids import Columns, columns_of, missing, several


def _of_both(names: Sequence[str]) -> list[str]:
    return [f"{side}_{name}" for side in SIDES for name in names]


def pair_names(named: Columns) -> tuple[str, ...]:
    """Names of the two ids in answers: left and right, or left_host, left_page, right_host, … for several columns."""
    return tuple(_of_both(several(named))) or SIDES


def name_problems(named: Columns, carry: tuple[str, ...], taken: Sequence[str]) -> list[Problem]:
    """Problems of source columns whose names in the answers are already taken."""
    problems, all_names = [], set(taken)
    for key, names in (("id", several(named)), ("carry", carry)):
        for name in names:
            both = _of_both([name])
            if not all_names.isdisjoint(both):
                message = (
                    f"{name!r} would be in the answers as {both[0]!r} and {both[1]!r}, and one of these is already a"
                )
                problems.append(Problem(key, f"{message} column there: rename it in the source"))
            all_names.update(both)
    return problems


def encode_pair_columns(
    named: Columns, carry: tuple[str, ...], batch: pa.RecordBatch
) -> tuple[dict[str, pa.Array], Array]:
    """Frame columns: code, name if ids need it, and those to carry; bool[n]: rows without an id."""
    ids = [batch.column(name) for name in columns_of(named)]
    codes, names = to_ids(ids[0]) if len(ids) == 1 else (hash_columns(ids).view(np.int64), None)
    columns = {"code": pa.array(codes)} if names is None else {"code": pa.array(codes), "name": names}
    return columns | carry_columns((*several(named), *carry), batch), missing(ids)


def check_pair_columns(frame: pa.RecordBatch) -> None:
    """Raise SnapshotError if a frame from a state has a row without an id, or an invalid side."""
    check_whole(frame, "code")
    check_named(frame)
    if "side" in frame.schema.names:
        check_numbers(frame, "side", at_least=0, at_most=1)


def id_fields(named: Columns, schema: pa.Schema) -> list[pa.Field]:
    """The columns of the answers that identify the two rows."""
    kinds = [plain_type(schema.field(name).type) for name in columns_of(named)]
    return [pa.field(*pair) for pair in zip(pair_names(named), [*kinds, *kinds], strict=True)]


def carried_fields(carry: tuple[str, ...], schema: pa.Schema) -> list[pa.Field]:
    """The carried columns of both rows in the answers."""
    kinds = [carry_type(schema.field(name).type) for name in carry]
    return [pa.field(*pair) for pair in zip(_of_both(carry), [*kinds, *kinds], strict=True)]


class RowsOfPairs(RowStore):
    """Ids and carried columns of the rows of a window that may form pairs, by arrival number.

    `lookup` returns the columns of the id, then the carried ones.
    """

    def __init__(self, named: Columns, carry: tuple[str, ...], answers: pa.Schema) -> None:
        ids = _of_both(several(named))[: len(several(named))] or ["left"]
        self._plain = not several(named)
        self.ids = len(ids)
        """The number of columns of an id."""
        self._kinds = [answers.field(name).type for name in [*ids, *_of_both(carry)[: len(carry)]]]
        names = ["name"] if self._plain else []
        names += [carried(number) for number in range(len(self._kinds) - len(names))]
        super().__init__([pa.field(*pair) for pair in zip(names, self._kinds, strict=True)])

    def columns(self, rows: Rows) -> list[pa.Array]:
        """The columns of rows, in the form they are stored."""
        kinds = self._kinds[self._plain :]
        columns = [id_values(rows, self._kinds[0])] if self._plain else []
        return columns + [carried_values(rows, number, kind) for number, kind in enumerate(kinds)]
