"""What this distribution brings; imported to list it, so it imports no backend."""

from skyband import BackendInfo, hookimpl


@hookimpl
def skyband_backends() -> list[BackendInfo]:
    """The backends."""
    return [
        BackendInfo(
            role="window",
            name="frozen-window",
            factory="skyband_frozen_window.window:FrozenWindow",
            summary="the kept probabilities, added up anew for every decision",
            guarantee="exact",
            reference="the definition: the shortest suffix that holds `size` existing tuples with probability alpha",
            api=1,
            lacks={
                "merge": "nothing merges these; the answers of two can be joined instead",
                "out-of-order": "positions count tuples in their order of arrival",
            },
        ),
    ]
