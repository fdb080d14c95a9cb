"""What this distribution brings; imported to list it, so it imports no backend."""

from skyband import BackendInfo, hookimpl


@hookimpl
def skyband_backends() -> list[BackendInfo]:
    """The backends."""
    return [
        BackendInfo(
            role="pair-ranker",
            name="frozen-pair-ranker",
            factory="skyband_frozen_pair_ranker.pair_ranker:FrozenPairRanker",
            summary="every valid pair, each found when its younger set comes",
            guarantee="exact",
            reference="the definition: the similarity of every two sets of the window",
            api=1,
            lacks={
                "merge": "nothing merges these; the answers of two can be joined instead",
                "out-of-order": "windows follow a clock that never goes back",
            },
        ),
    ]
