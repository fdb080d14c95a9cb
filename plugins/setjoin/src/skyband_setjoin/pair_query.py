"""The base of queries over pairs of rows: their ids, sides and carried columns, whatever is compared."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import pyarrow as pa
from skyband.columns.sides import WHAT as A_SIDE
from skyband.columns.sides import is_side, sides_of
from skyband.columns.state_frame_checks import check_whole
from skyband.config.calendar_lengths import Length
from skyband.config.parameters import checked
from skyband.queries.carried_columns import TIE, carry_inputs
from skyband.queries.composite_ids import Columns, identity_inputs
from skyband.queries.pair_columns import check_pair_columns, encode_pair_columns
from skyband.queries.query import Input, Query
from skyband.queries.shared_keys import is_name


def side_parameter() -> Any:
    """The field `side`."""
    return checked(
        None,
        type="column",
        check=lambda side: None if side is None else is_name(side),
        help='join two streams: the column that says "left" or "right", 0 or 1, false or true',
    )


class PairQuery(Query):
    """A query with the fields below, within one stream of rows or across two."""

    id: Columns
    window: Length
    carry: tuple[str, ...]
    side: str | None

    payload: ClassVar[str]
    """The frame column of what is compared, such as the tokens of sets."""

    @property
    def rows(self) -> bool:
        return self.window.rows

    @property
    def carried_names(self) -> tuple[str, ...]:
        """The distinct columns carried of either row, those of `carry` first."""
        return self.carry

    @property
    def ties(self) -> tuple[str, ...]:
        return (*self.places, TIE) if self.carried_names else self.places

    @property
    def places(self) -> tuple[str, ...]:
        """The columns that, with the time, decide the shards of a row."""
        return ("code", "tie") if self.side is None else ("code", "side", "tie")

    @abstractmethod
    def payload_input(self) -> Input:
        """The column of what is compared."""

    @abstractmethod
    def encode_payload(self, batch: pa.RecordBatch) -> tuple[dict[str, pa.Array], dict[str, Any]]:
        """Frame columns: `payload`, and "tie", a uint64 hash of it; and masks by reason, as of `encode_columns`."""

    def inputs(self) -> tuple[Input, ...]:
        joined = () if self.side is None else (Input("side", self.side, A_SIDE, is_side),)
        return (*identity_inputs("id", self.id), self.payload_input(), *joined, *carry_inputs(self.carry))

    def encode_columns(self, batch: pa.RecordBatch) -> tuple[dict[str, pa.Array], Mapping[str, Any]]:
        columns, masks = self.encode_payload(batch)
        named, masks["null id"] = encode_pair_columns(self.id, self.carried_names, batch)
        columns |= named
        if self.side is not None:
            sides = batch.column(self.side)
            columns["side"] = pa.array(sides_of(sides))
            masks["null side"] = sides.is_null().to_numpy(zero_copy_only=False)
        return columns, {reason: masks[reason] for reason in self.drop_reasons if reason in masks}

    def check_frame(self, frame: pa.RecordBatch) -> None:
        check_whole(frame, self.payload, "tie")
        check_pair_columns(frame)
