"""What this distribution brings; imported to list it, so it imports no backend."""

from skyband import BackendInfo, hookimpl


@hookimpl
def skyband_backends() -> list[BackendInfo]:
    """The backends."""
    return [
        BackendInfo(
            role="workload-ranker",
            name="frozen-workload-ranker",
            factory="skyband_frozen_workload_ranker.workload_ranker:FrozenWorkloadRanker",
            summary="the rows of the windows to come, sorted whenever an answer is due",
            guarantee="exact",
            reference="the definition: the top k of [T - window, T) at every moment T of a query",
            api=1,
            lacks={
                "merge": "nothing merges these; the answers of two can be joined instead",
                "out-of-order": "windows follow a clock that never goes back",
            },
        ),
    ]
