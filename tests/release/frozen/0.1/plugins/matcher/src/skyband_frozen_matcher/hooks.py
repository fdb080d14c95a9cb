"""What this distribution brings; imported to list it, so it imports no backend."""

from skyband import BackendInfo, hookimpl


@hookimpl
def skyband_backends() -> list[BackendInfo]:
    """The backends."""
    return [
        BackendInfo(
            role="matcher",
            name="frozen-matcher",
            factory="skyband_frozen_matcher.matcher:FrozenMatcher",
            summary="every sample of a probe against every sample held",
            guarantee="exact",
            reference="the definition: the sum of Pr(u)·Pr(v) over the samples within epsilon",
            api=1,
            lacks={
                "merge": "nothing merges these; the answers of two can be joined instead",
                "out-of-order": "positions count tuples in their order of arrival",
            },
        ),
    ]
