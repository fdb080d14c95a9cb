"""What this distribution registers. Discovery imports this module, so it imports no backend."""

from collections.abc import Iterable

from skyband import BackendInfo, QueryInfo, hookimpl

_PAPER = "Haghani, Michel, Aberer, Evaluating top-k queries over incomplete data streams, CIKM 2009"
_LACKS = {
    "merge": "an object in two rankers has two partial scores; partition by object and combine the answers instead",
    "out-of-order": "an instance's interval only shrinks as time advances",
}


@hookimpl
def skyband_backends() -> Iterable[BackendInfo]:
    """The three object rankers."""
    return (
        BackendInfo(
            role="object-ranker",
            name="eaa",
            factory="skyband_incomplete.eaa:EarlyAggregation",
            summary="early aggregation: keeps the instances that fewer than k others dominate for good",
            guarantee="exact",
            reference=f"{_PAPER}, section 3.2 (EAA)",
            lacks=_LACKS,
        ),
        BackendInfo(
            role="object-ranker",
            name="sla",
            factory="skyband_incomplete.sla:SortedLists",
            summary="keeps every valid report in a sorted list per stream; threshold algorithm and a kmax view",
            guarantee="exact",
            reference=f"{_PAPER}, section 3.1 (SLA)",
            lacks=_LACKS,
        ),
        BackendInfo(
            role="object-ranker",
            name="approx",
            factory="skyband_incomplete.approx:AppearanceCorrelation",
            summary="early aggregation that expects missing values only as often as the streams share objects",
            guarantee="heuristic",
            reference=f"{_PAPER}, section 4",
            lacks=_LACKS,
        ),
    )


@hookimpl
def skyband_queries() -> list[QueryInfo]:
    """The query top-k."""
    return [
        QueryInfo(
            "top-k",
            "skyband_incomplete.top_k.query:TopK",
            "the best objects of each window, by values that arrive in separate streams",
            examples="skyband_incomplete.top_k.examples:EXAMPLES",
            presentation="skyband_incomplete.top_k.presentation:TopKPresentation",
        ),
    ]
