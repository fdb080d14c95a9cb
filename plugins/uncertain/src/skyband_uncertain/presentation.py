"""How answers about uncertain tuples are compared and drawn."""

from collections.abc import Mapping
from typing import ClassVar

from skyband.queries.presentation import QueryPresentation

from skyband_uncertain.uncertain_join.query import UncertainJoin
from skyband_uncertain.uncertain_sum.query import UncertainSum


class UncertainSumPresentation(QueryPresentation[UncertainSum]):
    """Sums of each row, some of which may be near zero."""

    chart = "bands"
    compared_value = "sum"
    compared_scale = "mean"
    compared_totals: ClassVar[Mapping[str, str]] = {"tuples kept": "kept"}


class UncertainJoinPresentation(QueryPresentation[UncertainJoin]):
    """Pairs and their probabilities."""

    chart = "pairs"
