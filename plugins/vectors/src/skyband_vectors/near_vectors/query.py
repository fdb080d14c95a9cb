"""near-vectors: which earlier vectors in the window each row is near to, and which rows are new."""

from collections.abc import Mapping
from typing import Any, ClassVar

import pyarrow as pa
from attrs import define
from skyband.config.calendar_lengths import Length
from skyband.errors import ConfigError, Problem
from skyband.queries.composite_ids import Columns, identity
from skyband.queries.query import Input
from skyband.queries.shared_keys import column_name, column_names
from skyband_setjoin.pair_query import side_parameter
from skyband_setjoin.row_matches.query import MatchingQuery, carry_match_parameter, output_parameter, window_parameter
from skyband_setjoin.set_matcher import FIRST, keep_parameter, matches_parameter

from skyband_vectors.near_vectors.frame_columns import REASONS, WHAT, check_vectors, encode_vectors, is_vector
from skyband_vectors.role import (
    COSINE,
    dimensions_parameter,
    similarity_parameter,
    threshold_parameter,
    threshold_problem,
)


@define(eq=True)
class NearVectors(MatchingQuery):
    """Matches each row's vector with earlier vectors in the window that are at least `threshold` similar.

    Result columns: time and id of the row; match and match_time, those of the earlier row; similarity; then the row's
    columns in `carry` and the earlier row's in `carry_match`: `carry_match = ["title"]` adds match_title. `output` =
    "pairs" has a row for each match. "rows" also has a row for each source row without a match, with nulls. "kept" has
    only the rows without a match: time, id and carried columns. An answer belongs to the later row: it is given when
    the watermark passes that row, and never changes.

    `vector` is a column of lists of numbers, all of `dimensions` entries: float32 as it is, other numbers rounded to
    float32. A row whose vector is null, has a null or another length, or is not finite, or with cosine is all zero, is
    dropped and counted by reason, and does not count as a row of a window.

    `similarity` is "cosine", "dot" (the inner product), or "euclidean": the distance, reported negated, so that
    `threshold = -0.5` is a distance of at most 0.5. It is a float64 sum in a fixed order, the same number on every
    machine and for any batches. Equal vectors have cosine 1.0. With a number of `matches` and no `threshold`, a row has
    the most similar vectors, however far they are.

    Two rows are compared if they are less than the window apart. With `window = "today in Europe/Paris"`, or another
    that starts over, they are compared if they are of the same day there. Rows with equal times are ordered by id
    (integers ascending, others by hash), then by a hash of their vectors, then by carried columns, so that all engines
    agree which is earlier.

    With `keep = "first"` a row with a match is dropped, and later rows are compared with kept ones only. So no two kept
    rows less than a window apart match, and each dropped row has a kept match less than a window before it. With
    `matches = 1` a row's match, or else its own id, is a permanent name of its cluster.

    Rows without id or side are dropped and counted. Rows later than `delay` are dropped and counted: they are neither
    kept nor reported as duplicates. Columns in `carry` cost no memory after the answer; those in `carry_match` are kept
    for the window.

    With several shards, each row goes to some of them, so that every two rows are compared in one. `keep = "first"`
    takes one shard.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from skyband.engines import local
    >>> titles = {"id": [1, 2, 3], "embedding": [[0.9, 0.1], [0.0, 1.0], [1.0, 0.2]]}
    >>> rows = pa.table({"ts": pa.array([0, 10, 20], pa.timestamp("s")), **titles})
    >>> query = NearVectors("ts", id="id", vector="embedding", dimensions=2, window="1 minute", threshold=0.95)
    >>> local.apply(rows, query).select(["id", "match"]).to_pylist()
    [{'id': 3, 'match': 1}]
    """

    kind: ClassVar[str] = "near-vectors"
    roles: ClassVar[tuple[str, ...]] = ("vector-matcher",)
    answered_by: ClassVar[str] = "skyband_vectors.near_vectors.execution:NearVectorsExecution"
    drop_reasons: ClassVar[tuple[str, ...]] = ("null id", "null side", *REASONS)
    payload: ClassVar[str] = "vector"
    refused_keys: ClassVar[Mapping[str, str]] = {
        "tokens": 'are of near-duplicates, which compares sets: write vector = "embedding"',
        "metric": 'is called `similarity` here: "cosine", "dot" or "euclidean"',
        "distance": 'is `similarity = "euclidean"` here, with a negated threshold, such as -0.5',
        "k": "is called `matches` here: the most similar ones of each row",
        "top_k": "is called `matches` here: the most similar ones of each row",
    }

    id: Columns = identity(help="the column that identifies a row in answers, or several that identify it together")
    vector: str = column_name(help="the column of vectors: lists of numbers, such as embeddings")
    dimensions: int = dimensions_parameter()
    window: Length = window_parameter()
    threshold: float | None = threshold_parameter()
    similarity: str = similarity_parameter()
    matches: str | int = matches_parameter()
    keep: str = keep_parameter()
    output: str = output_parameter()
    carry: tuple[str, ...] = column_names(help="further columns of the row to include in its answer")
    carry_match: tuple[str, ...] = carry_match_parameter()
    side: str | None = side_parameter()

    def __attrs_post_init__(self) -> None:
        problem = threshold_problem(self.similarity, self.threshold, self.matches)
        problems = [] if problem is None else [problem]
        if self.keep == FIRST and self.threshold is None and problem is None:
            problems.append(Problem("keep", '"first" needs a threshold, such as 0.9: every row would match'))
        problems += self.matching_problems()
        if problems:
            raise ConfigError(*problems)

    @property
    def _directed(self) -> bool:
        return self.similarity == COSINE

    def payload_input(self) -> Input:
        return Input("vector", self.vector, WHAT, is_vector)

    def encode_payload(self, batch: pa.RecordBatch) -> tuple[dict[str, pa.Array], dict[str, Any]]:
        return encode_vectors(batch.column(self.vector), self.dimensions, self._directed)

    def check_frame(self, frame: pa.RecordBatch) -> None:
        super().check_frame(frame)
        check_vectors(frame, self.dimensions, self._directed)

    def backend_parameters(self, role: str) -> dict[str, Any]:
        return {**super().backend_parameters(role), "dimensions": self.dimensions}
