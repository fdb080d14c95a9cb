"""The hooks of skyband-totals, imported by discovery, and so without any backend."""

from skyband import BackendInfo, QueryInfo, RoleInfo, hookimpl

_AGGREGATES = (
    ("count", "counts:Count", "the number of rows"),
    ("sum", "numbers:Sum", "the sum of the values, rounded once"),
    ("mean", "numbers:Mean", "the mean of the values"),
    ("min", "values:Min", "the smallest value"),
    ("max", "values:Max", "the largest value"),
    ("variance", "numbers:Variance", "the sample variance, from whole numbers"),
    ("std", "numbers:Std", "the sample standard deviation"),
    ("first", "values:First", "the value of the earliest row"),
    ("last", "values:Last", "the value of the latest row, or a list of the last k"),
    ("since-last", "values:SinceLast", "the seconds since the latest row before"),
    ("distinct", "counts:Distinct", "the number of different values"),
    ("quantile", "values:Quantile", "the value of a rank, such as the median"),
    ("share", "counts:Share", "the share of rows that meet a condition"),
)
"""Name, place and summary of each aggregate."""


@hookimpl
def skyband_backends() -> list[BackendInfo]:
    """The total-rankers, and the row-aggregates."""
    return [
        BackendInfo(
            role="total-ranker",
            name="exact",
            factory="skyband_totals.exact.backend:Exact",
            summary="the totals of every pane, and a bar that finds the largest without checking the others",
            guarantee="exact",
            reference="panes: Li, Maier, Tufte, Papadimos and Tucker 2005; the bar: Yi et al. 2003",
            reader="skyband_totals.exact.reader:ExactReader",
            lacks={
                "any-since": "a pane has one total, which cannot be split",
                "out-of-order": "a closed pane is not opened again",
            },
        ),
        BackendInfo(
            role="total-ranker",
            name="misra-gries",
            factory="skyband_totals.misra_gries.backend:MisraGries",
            summary="Misra-Gries summaries that become coarser with age: certain bounds since any moment",
            guarantee="bounded",
            reference="Misra and Gries 1982; Agarwal et al. 2012; Arasu and Manku 2004",
            lacks={"out-of-order": "a summary covers consecutive rows"},
        ),
        BackendInfo(
            role="total-ranker",
            name="k-skb",
            factory="skyband_totals.k_skb.backend:KSkb",
            summary="the k smallest random numbers since any moment, each with its object: a uniform sample",
            guarantee="bounded",
            reference="Zhang et al. 2010, section 4; Cohen and Kaplan 2007; Duffield, Lund and Thorup 2007",
            reader="skyband_totals.k_skb.reader:KSkbReader",
            lacks={"out-of-order": "rows are buffered in time order"},
        ),
        BackendInfo(
            role="total-ranker",
            name="frequent-items-panes",
            factory="skyband_totals.frequent_items_panes:FrequentItemsPanes",
            summary="an Apache DataSketches frequent-items sketch for each pane, added up for each answer",
            guarantee="bounded",
            reference="Anderson et al. 2017; panes: Li, Maier, Tufte, Papadimos and Tucker 2005",
            lacks={
                "any-since": "a pane has one sketch, which cannot be split",
                "out-of-order": "a closed pane is not opened again",
            },
        ),
        *(
            BackendInfo(
                role="row-aggregate",
                name=name,
                factory=f"skyband_totals.row_aggregates.{place}",
                summary=summary,
                guarantee="exact",
                reference="by definition",
                lacks={
                    "merge": "row-features keeps rows, and asks about them",
                    "out-of-order": "rows are kept by time",
                },
            )
            for name, place, summary in _AGGREGATES
        ),
    ]


@hookimpl
def skyband_roles() -> list[RoleInfo]:
    """The role of the query heavy-hitters, and that of aggregates in row-features."""
    return [
        RoleInfo(
            name="total-ranker",
            interface="skyband_totals.role:TotalRanker",
            default="exact",
            distribution="skyband-totals",
            summary="the objects with the most rows, the largest sum or the most distinct values",
            conformance="skyband_totals.conformance",
            capabilities=("any-since",),
        ),
        RoleInfo(
            name="row-aggregate",
            interface="skyband_totals.row_aggregates.role:RowAggregate",
            default="count",
            distribution="skyband-totals",
            summary="one number or value of the rows in each window, such as their maximum",
            conformance="skyband_totals.row_aggregates.conformance",
        ),
    ]


@hookimpl
def skyband_queries() -> list[QueryInfo]:
    """The queries heavy-hitters, which uses total-rankers, and row-features, which does not."""
    return [
        QueryInfo(
            "heavy-hitters",
            "skyband_totals.heavy_hitters.query:HeavyHitters",
            "the objects with the most rows, the largest sum or the most distinct values of each window",
            examples="skyband_totals.heavy_hitters.examples:EXAMPLES",
            presentation="skyband_totals.presentation:HeavyHittersPresentation",
        ),
        QueryInfo(
            "row-features",
            "skyband_totals.row_features.query:RowFeatures",
            "for each row, the number of rows, sums and distinct values just before it",
            examples="skyband_totals.row_features.examples:EXAMPLES",
            presentation="skyband_totals.presentation:RowFeaturesPresentation",
            reader="skyband_totals.row_features.state_reader:FeaturesReader",
        ),
    ]
