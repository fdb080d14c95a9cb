"""near-duplicates: which earlier sets in the window each row is similar to, and which rows are new."""

from collections.abc import Callable
from typing import ClassVar

from attrs import define
from skyband.config.calendar_lengths import Length
from skyband.config.parameters import number
from skyband.errors import ConfigError, Problem
from skyband.queries.composite_ids import Columns, identity
from skyband.queries.shared_keys import column_name, column_names
from skyband.roles.pair_ranker import similarity_parameter

from skyband_setjoin.pair_query import side_parameter
from skyband_setjoin.row_matches.query import MatchingQuery, carry_match_parameter, output_parameter, window_parameter
from skyband_setjoin.set_matcher import keep_parameter, matches_parameter, threshold_fault
from skyband_setjoin.set_query import SetQuery


@define(eq=True)
class NearDuplicates(MatchingQuery, SetQuery):
    """Matches each row's set with earlier sets in the window that are at least `threshold` similar.

    Result columns: time and id of the row; match and match_time, those of the earlier row; similarity; then the row's
    columns in `carry` and the earlier row's in `carry_match`: `carry_match = ["text"]` adds match_text. `output` =
    "pairs" has a row for each match. "rows" also has a row for each source row without a match, with nulls. "kept" has
    only the rows without a match: time, id and carried columns. An answer belongs to the later row: it is given when
    the watermark passes that row, and never changes.

    Columns in `carry` cost no memory after the answer; those in `carry_match` are kept for the window.

    Two rows are compared if they are less than the window apart. With `window = "today in Europe/Paris"`, or another
    that starts over, they are compared if they are of the same day there. Rows with equal times are ordered by id
    (integers ascending, others by hash), then by a hash of their tokens, then by carried columns, so that all engines
    agree which is earlier.

    With `keep = "first"` a row with a match is dropped, and later rows are compared with kept ones only. So no two kept
    rows less than a window apart match, and each dropped row has a kept match less than a window before it. With
    `matches = 1` a row's match, or else its own id, is a permanent name of its cluster.

    Matches share at least one token. Repeated tokens count once, a null in a list is not a token, and a row with an
    empty or null list matches nothing. Rows without id or side are dropped and counted; they do not count as rows of a
    window. Rows later than `delay` are dropped and counted: they are neither kept nor reported as duplicates.

    `id` may be several columns, which identify a row together: the answers of `id = ["host", "page"]` have host, page,
    match_host and match_page instead of id and match.

    With several shards, each row goes to some of them, so that every two rows are compared in one.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from skyband.engines import local
    >>> texts = {"id": [1, 2, 3], "words": [["a", "b", "c"], ["x"], ["a", "b", "c", "d"]]}
    >>> rows = pa.table({"ts": pa.array([0, 10, 20], pa.timestamp("s")), **texts})
    >>> query = NearDuplicates("ts", id="id", tokens="words", similarity="jaccard", threshold=0.7, window="1 minute")
    >>> local.apply(rows, query).select(["id", "match", "similarity"]).to_pylist()
    [{'id': 3, 'match': 1, 'similarity': 0.75}]
    """

    kind: ClassVar[str] = "near-duplicates"
    roles: ClassVar[tuple[str, ...]] = ("set-matcher",)
    answered_by: ClassVar[str] = "skyband_setjoin.near_duplicates.execution:NearDuplicatesExecution"

    id: Columns = identity(help="the column that identifies a row in answers, or several that identify it together")
    tokens: str = column_name(help="the column of sets: lists of words or whole numbers")
    threshold: float = number(help="how similar two sets must be to match")
    window: Length = window_parameter()
    similarity: str | Callable[[int, int, int], float] = similarity_parameter()
    matches: str | int = matches_parameter()
    keep: str = keep_parameter()
    output: str = output_parameter()
    carry: tuple[str, ...] = column_names(help="further columns of the row to include in its answer")
    carry_match: tuple[str, ...] = carry_match_parameter()
    side: str | None = side_parameter()

    def __attrs_post_init__(self) -> None:
        problems = []
        fault = threshold_fault(self.similarity, self.threshold)
        if fault:
            problems.append(Problem("threshold", fault))
        problems += self.matching_problems()
        if problems:
            raise ConfigError(*problems)
