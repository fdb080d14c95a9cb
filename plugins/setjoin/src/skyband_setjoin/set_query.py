"""The base of queries over rows with a set each."""

from typing import Any, ClassVar

import pyarrow as pa
from skyband.queries.query import Input

from skyband_setjoin.pair_query import PairQuery
from skyband_setjoin.tokens import WHAT as TOKENS
from skyband_setjoin.tokens import encode_tokens, is_tokens


class SetQuery(PairQuery):
    """A query over sets of tokens."""

    tokens: str

    payload: ClassVar[str] = "tokens"

    def payload_input(self) -> Input:
        return Input("tokens", self.tokens, TOKENS, is_tokens)

    def encode_payload(self, batch: pa.RecordBatch) -> tuple[dict[str, pa.Array], dict[str, Any]]:
        return encode_tokens(batch.column(self.tokens))
