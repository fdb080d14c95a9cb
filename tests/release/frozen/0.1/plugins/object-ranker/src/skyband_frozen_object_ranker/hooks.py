"""What this distribution brings; imported to list it, so it imports no backend."""

from skyband import BackendInfo, hookimpl


@hookimpl
def skyband_backends() -> list[BackendInfo]:
    """The backends."""
    return [
        BackendInfo(
            role="object-ranker",
            name="frozen-object-ranker",
            factory="skyband_frozen_object_ranker.object_ranker:FrozenObjectRanker",
            summary="every valid report, and every object scored anew for each answer",
            guarantee="exact",
            reference="the definition: the aggregate of an object's valid values",
            api=1,
            lacks={
                "merge": "nothing merges these; the answers of two can be joined instead",
                "out-of-order": "windows follow a clock that never goes back",
            },
        ),
    ]
