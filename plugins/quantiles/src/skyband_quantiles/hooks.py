"""The hooks of skyband-quantiles, imported by discovery, and so without any backend."""

from skyband import BackendInfo, QueryInfo, RoleInfo, hookimpl


@hookimpl
def skyband_backends() -> list[BackendInfo]:
    """The quantile sketches of this distribution."""
    return [
        BackendInfo(
            role="quantile-sketch",
            name="buckets",
            factory="skyband_quantiles.buckets.backend:Buckets",
            summary="histograms that hold more rows the older they are, with certain bounds since any moment",
            guarantee="bounded",
            error="alpha",
            reference="Datar et al. 2002; Masson, Rim and Lee 2019",
            reader="skyband_quantiles.quantile_reader:BucketsReader",
            lacks={"out-of-order": "a histogram covers consecutive rows"},
        ),
        BackendInfo(
            role="quantile-sketch",
            name="exact",
            factory="skyband_quantiles.exact.backend:Exact",
            summary="all rows of the longest window, in queues by value",
            guarantee="exact",
            reference="by definition",
            reader="skyband_quantiles.quantile_reader:ExactReader",
            lacks={"out-of-order": "rows expire at the front of every queue"},
        ),
        BackendInfo(
            role="quantile-sketch",
            name="k-skb",
            factory="skyband_quantiles.k_skb.backend:KSkb",
            summary="the k smallest random numbers since any moment, each with its value: a uniform sample",
            guarantee="bounded",
            reference="Zhang et al. 2010, section 4; Uhlmann 1966",
            reader="skyband_quantiles.quantile_reader:KSkbReader",
            lacks={"out-of-order": "rows are buffered in time order"},
        ),
    ]


@hookimpl
def skyband_roles() -> list[RoleInfo]:
    """The role of the query quantiles."""
    return [
        RoleInfo(
            name="quantile-sketch",
            interface="skyband_quantiles.role:QuantileSketch",
            default="buckets",
            distribution="skyband-quantiles",
            summary="quantiles of numbers, and shares of rows above a limit, since any moment",
            conformance="skyband_quantiles.conformance",
            capabilities=("any-since",),
        )
    ]


@hookimpl
def skyband_queries() -> list[QueryInfo]:
    """The query quantiles."""
    return [
        QueryInfo(
            "quantiles",
            "skyband_quantiles.quantiles.query:Quantiles",
            "quantiles such as p50, p95 and p99 of each window, and the share of rows above a limit",
            examples="skyband_quantiles.quantiles.examples:EXAMPLES",
            presentation="skyband_quantiles.quantiles.presentation:QuantilesPresentation",
        )
    ]
