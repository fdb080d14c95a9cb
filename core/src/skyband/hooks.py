"""What core brings as a plugin, through an entry point like any other: its queries. Its roles it knows by itself."""

from skyband.registry.hookspecs import hookimpl
from skyband.registry.info import QueryInfo


@hookimpl
def skyband_queries() -> list[QueryInfo]:
    """The queries core brings, through an entry point like any other plugin's."""
    return [
        QueryInfo(
            "distinct-count",
            "skyband_distinct.distinct_count.query:DistinctCount",
            "how many different items each window holds",
            examples="skyband.reference.core_query_examples:DISTINCT_COUNT",
        ),
        QueryInfo(
            "top-k",
            "skyband_incomplete.top_k.query:TopK",
            "the best objects of each window, by values that arrive in separate streams",
            examples="skyband.reference.core_query_examples:TOP_K",
        ),
        QueryInfo(
            "top-k-pairs",
            "skyband_setjoin.top_k_pairs.query:TopKPairs",
            "the most similar pairs of sets in each window, within one stream or across two",
            examples="skyband.reference.core_query_examples:TOP_K_PAIRS",
        ),
        QueryInfo(
            "top-k-workload",
            "skyband_workload.top_k_workload.query:TopKWorkload",
            "many top-k queries over one stream, each with a window, slide and k of its own",
            examples="skyband.reference.core_query_examples:TOP_K_WORKLOAD",
        ),
        QueryInfo(
            "uncertain-sum",
            "skyband_uncertain.uncertain_sum.query:UncertainSum",
            "the sum of the last tuples that exist, where they may not",
            examples="skyband.reference.core_query_examples:UNCERTAIN_SUM",
        ),
        QueryInfo(
            "uncertain-join",
            "skyband_uncertain.uncertain_join.query:UncertainJoin",
            "which uncertain tuples of one stream or two are near each other, and how probably",
            examples="skyband.reference.core_query_examples:UNCERTAIN_JOIN",
        ),
    ]
