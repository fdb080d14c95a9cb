"""The hooks of skyband-workload, imported by discovery, and so without any backend."""

from collections.abc import Mapping
from typing import Any

from skyband import BackendInfo, QueryInfo, hookimpl

_LACKS = {
    "out-of-order": "windows follow a clock that never goes back",
    "merge": "merge the answers instead: the top of the tops",
}
_VIEWS = {"any-subquery": "it only keeps what the views of its queries need"}
_THESIS = "Shastri, MTopS: Multi-Query Optimization for Continuous Top-K Query Workloads (WPI, 2011)"


@hookimpl
def skyband_backends() -> list[BackendInfo]:
    """The four workload-rankers."""
    return [
        _backend(
            "paneband",
            "paneband:PaneBand",
            "one skyband by panes for all queries: its cost does not depend on the number of views",
            f"{_THESIS}, chapter 4, on the k-skyband in (score, pane)",
            lacks={},
        ),
        _backend(
            "mtoplist",
            "mtoplist:MTopList",
            "one ranked list shared by all views, in which each marks its last object: retains the fewest objects",
            f"{_THESIS}, chapter 6, corrected for windows that differ",
        ),
        _backend("mtopband", "mtopband:MTopBand", "a separate top-k list for every view", f"{_THESIS}, chapter 5"),
        _backend(
            "mintopk",
            "mintopk:MinTopK",
            "every query separately: the baseline of MTopS",
            "Yang, Shastri, Rundensteiner, Ward, An Optimal Strategy for Monitoring Top-k Queries (EDBT, 2011)",
        ),
    ]


@hookimpl
def skyband_cases(role: str, name: str) -> list[Mapping[str, Any]]:
    """Conformance cases with each object once."""
    if (role, name) != ("workload-ranker", "paneband"):
        return []
    queries = [(5, 2, 1), (3, 4, 2, 1), (7, 3, 3, 2), (11, 4, 2, 9), (30, 20, 100)]
    return [{"queries": queries, "by": by, "repeats": "best"} for by in ("time", "rows")]


def _backend(name: str, factory: str, summary: str, reference: str, lacks: Mapping[str, str] = _VIEWS) -> BackendInfo:
    place = f"skyband_workload.{factory}"
    return BackendInfo("workload-ranker", name, place, summary, "exact", reference, {**_LACKS, **lacks})


@hookimpl
def skyband_queries() -> list[QueryInfo]:
    """The query top-k-workload."""
    return [
        QueryInfo(
            "top-k-workload",
            "skyband_workload.top_k_workload.query:TopKWorkload",
            "many top-k queries over one stream, each with its own window, slide and k",
            examples="skyband_workload.top_k_workload.examples:EXAMPLES",
            presentation="skyband_workload.top_k_workload.presentation:TopKWorkloadPresentation",
        ),
    ]
