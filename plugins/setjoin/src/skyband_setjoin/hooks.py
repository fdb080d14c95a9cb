"""What this distribution brings; imported by discovery, so it imports no backend."""

from skyband import BackendInfo, hookimpl

_PAPER = "SWOOP: Top-k Similarity Joins over Set Streams (arXiv 1711.02476)"

_LACKS = {
    "merge": "pairs across two rankers have never met",
    "out-of-order": "a pair ends with its older set, which has to be known first",
}


@hookimpl
def skyband_backends() -> list[BackendInfo]:
    """The rankers of pairs."""
    return [
        BackendInfo(
            role="pair-ranker",
            name="base",
            factory="skyband_setjoin.base:Base",
            summary="compares each set with the whole window and keeps every pair",
            guarantee="exact",
            reference=f"{_PAPER}, section 3",
            lacks=_LACKS,
        ),
        BackendInfo(
            role="pair-ranker",
            name="scase",
            factory="skyband_setjoin.scase:SCase",
            summary="compares each set with the whole window, recomputes the skyband of pairs for each",
            guarantee="exact",
            reference=f"Shen et al., ICDE 2014, as compared with in {_PAPER}, section 7",
            lacks=_LACKS,
        ),
        BackendInfo(
            role="pair-ranker",
            name="swoop",
            factory="skyband_setjoin.swoop:Swoop",
            summary="inverted lists cropped by two bounds, and a minimal stock of pairs",
            guarantee="exact",
            reference=f"{_PAPER}, sections 5 and 6",
            lacks=_LACKS,
        ),
    ]
