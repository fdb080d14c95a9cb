"""Which of Skyband's distributions brings which name: written by `python tests/release/install_hints.py`."""

_NAMES = {
    "skyband-compare": """
        bench compare plot test
    """,
    "skyband-detect": """
        detections elastic key-counter key-counter/newest key-total key-total/window sigma
    """,
    "skyband-distinct": """
        --between --expression --seen Change Estimate Overlap change count_of demo distinct-count estimate
        estimate_between estimates frequency overlap sketch/exact sketch/k-skb sketch/pcsa-ml sketch/se-fm
        sketch/se-pcsa theta
    """,
    "skyband-incomplete": """
        object-ranker/approx object-ranker/eaa object-ranker/sla top-k
    """,
    "skyband-jobs": """
        ask check formats run
    """,
    "skyband-lakes": """
        format/delta format/iceberg format/kafka format/redis format/sql
    """,
    "skyband-panes": """
        sketch/hll-panes
    """,
    "skyband-quantiles": """
        --above --bins --distance -q Distance distance quantile quantile-sketch quantile-sketch/buckets
        quantile-sketch/exact quantile-sketch/k-skb quantiles share_above
    """,
    "skyband-serve": """
        engine/serve serve
    """,
    "skyband-setjoin": """
        near-duplicates pair-ranker/base pair-ranker/scase pair-ranker/swoop set-matcher set-matcher/inverted
        set-matcher/minhash-lsh set-matcher/prefix set-matcher/scan-count top-k-pairs
    """,
    "skyband-spark": """
        engine/spark savepoint state
    """,
    "skyband-specs": """
        docs new verify
    """,
    "skyband-totals": """
        --at-least --feature --now --share -k features heavy-hitters heavy_hitters row-aggregate
        row-aggregate/count row-aggregate/distinct row-aggregate/first row-aggregate/last row-aggregate/max
        row-aggregate/mean row-aggregate/min row-aggregate/quantile row-aggregate/share row-aggregate/since-last
        row-aggregate/std row-aggregate/sum row-aggregate/variance row-features total-ranker total-ranker/exact
        total-ranker/frequent-items-panes total-ranker/k-skb total-ranker/misra-gries
    """,
    "skyband-uncertain": """
        matcher/block matcher/index-match matcher/nested-loop matcher/sort-match uncertain-join uncertain-sum
        window/exact window/normal window/poisson window/refined-normal window/rf1
    """,
    "skyband-vectors": """
        near-vectors vector-matcher vector-matcher/exact vector-matcher/flat vector-matcher/projections
    """,
    "skyband-workload": """
        top-k-workload workload-ranker/mintopk workload-ranker/mtopband workload-ranker/mtoplist
        workload-ranker/paneband
    """,
}
HOMES = {name: home for home, names in _NAMES.items() for name in names.split()}

QUESTIONS = (
    "change",
    "count_of",
    "distance",
    "estimate",
    "estimate_between",
    "features",
    "frequency",
    "heavy_hitters",
    "overlap",
    "quantile",
    "quantiles",
    "share_above",
    "theta",
)
"""Names of questions to states in SQL, which always knows them."""
