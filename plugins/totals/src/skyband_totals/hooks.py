"""The hooks of skyband-totals, imported by discovery, and so without any backend."""

from skyband import BackendInfo, QueryInfo, RoleInfo, hookimpl


@hookimpl
def skyband_backends() -> list[BackendInfo]:
    """The total-rankers."""
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
    ]


@hookimpl
def skyband_roles() -> list[RoleInfo]:
    """The role of the query heavy-hitters."""
    return [
        RoleInfo(
            name="total-ranker",
            interface="skyband_totals.role:TotalRanker",
            default="exact",
            distribution="skyband-totals",
            summary="the objects with the most rows, the largest sum or the most distinct values",
            conformance="skyband_totals.conformance",
            capabilities=("any-since",),
        )
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
        ),
    ]
