"""Presentation of a query: how commands compare, draw and show its answers, and suggest a first query."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypeVar

import pyarrow as pa

from skyband.queries.error_attribution import distribution_of, of
from skyband.queries.query import Query
from skyband.registry import installed
from skyband.registry.module_import import load_class

if TYPE_CHECKING:
    from skyband.queries.first_query import FirstQuery, SourceSample

Q = TypeVar("Q", bound=Query)


class QueryPresentation(Generic[Q]):
    """What `skyband compare`, `plot` and `check` know about a kind of query. `QueryInfo.presentation` names its class.

    A query without one uses this class: its answers are compared as sets of rows, and drawn as their columns suggest.
    """

    compared_value: ClassVar[str | None] = None
    """The column of numbers whose relative error is measured; None for the precision and recall of the rows."""

    compared_scale: ClassVar[Literal["each", "own", "mean"]] = "each"
    """What an error is relative to. "each": the exact value, but at least 1, for counts. "own": the exact value,
    however small, for numbers of any unit. "mean": the mean size of the values, if one may be near zero; each row
    then has an answer, and answers are compared in order."""

    compared_totals: ClassVar[Mapping[str, str]] = {}
    """With the scale "mean", more metrics: ratios of totals, each with the column that is summed."""

    chart: ClassVar[str | None] = None
    """How `skyband plot` draws its answers: "bands", lines with low and high; "ranks", a bump chart; "pairs", a table
    and a count; or "package.module:function", loaded on use. None: as the columns suggest."""

    def __init__(self, query: Q) -> None:
        self.query = query

    def readable(self, answers: pa.Table) -> pa.Table:
        """Answers for people to read, such as estimated counts rounded to integers."""
        return answers

    @classmethod
    def first_query(cls, sample: "SourceSample") -> "FirstQuery | None":  # noqa: ARG003 - most need to know more
        """A query of this kind that suits a source, for `skyband check` of data without a job; None if none does.

        It may name only columns of the sample.
        """
        return None

    def expected_state(self, rate: float, groups: int) -> tuple[float, float] | None:  # noqa: ARG002
        """The approximate rows in the state of a group, and bytes of all states, for `skyband check`.

        rate: rows of a group per microsecond. None: unknown.
        """
        return None

    def remembered_window(self, exact: bool) -> tuple[float, float, tuple[str, ...]] | None:  # noqa: ARG002
        """The bytes remembered of a window, in all and for each distinct value of some columns; exact: the backends."""
        return None

    def state_of_parts(self, first_rows: Callable[[], pa.Table | None]) -> list[str]:  # noqa: ARG002
        """What each part of the query, such as a rule, keeps: lines for `skyband check`.

        first_rows: reads the first 100,000 rows, with the columns of the query; None if there are none.
        """
        return []


def load_presentation(query: type[Query]) -> type[QueryPresentation[Any]]:
    """The presentation of a class of queries. Raises PluginError if the named class is missing or invalid."""
    distribution = distribution_of(query)
    listing = (entry for entry in installed().queries.listing if entry.distribution == distribution)
    place = next((entry.info.presentation for entry in listing if entry.info.kind == query.kind), None)
    return QueryPresentation if place is None else load_class(place, QueryPresentation, f"presentation of {of(query)}")


def presentation_of(query: Query) -> QueryPresentation[Any]:
    """The presentation of a query. Raises PluginError as `load_presentation` does."""
    return load_presentation(type(query))(query)
