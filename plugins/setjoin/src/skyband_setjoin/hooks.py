"""What this distribution registers. Discovery imports this module, so it imports no backend."""

from skyband import BackendInfo, QueryInfo, RoleInfo, hookimpl

_PAPER = "SWOOP: Top-k Similarity Joins over Set Streams (arXiv 1711.02476)"

_LACKS = {
    "merge": "pairs across two rankers were never compared",
    "out-of-order": "a pair expires with its older set, which has to arrive first",
}

_MATCHERS_LACK = {
    "merge": "sets across two matchers were never compared",
    "out-of-order": "a set's matches are reported on arrival, among the sets before it",
}


@hookimpl
def skyband_roles() -> list[RoleInfo]:
    """The role behind the query near-duplicates."""
    return [
        RoleInfo(
            name="set-matcher",
            interface="skyband_setjoin.set_matcher:SetMatcher",
            default="prefix",
            distribution="skyband-setjoin",
            summary="which earlier sets in the window a set is similar to",
            conformance="skyband_setjoin.conformance",
        )
    ]


@hookimpl
def skyband_queries() -> list[QueryInfo]:
    """One query over set matchers, and one over pair rankers."""
    return [
        QueryInfo(
            "near-duplicates",
            "skyband_setjoin.near_duplicates.query:NearDuplicates",
            "which earlier sets in the window each row is similar to, and which rows are the first of their kind",
            examples="skyband_setjoin.near_duplicates.examples:EXAMPLES",
            presentation="skyband_setjoin.presentation:NearDuplicatesPresentation",
        ),
        QueryInfo(
            "top-k-pairs",
            "skyband_setjoin.top_k_pairs.query:TopKPairs",
            "the most similar pairs of sets in each window, within one stream or across two",
            examples="skyband_setjoin.top_k_pairs.examples:EXAMPLES",
            presentation="skyband_setjoin.presentation:TopKPairsPresentation",
        ),
    ]


@hookimpl
def skyband_backends() -> list[BackendInfo]:
    """Pair rankers and set matchers."""
    return [*_rankers(), *_matchers()]


def _matchers() -> list[BackendInfo]:
    return [
        BackendInfo(
            role="set-matcher",
            name="prefix",
            factory="skyband_setjoin.matching.prefix:Prefix",
            summary="indexes the rarest tokens of each set, in an order learnt from the window",
            guarantee="exact",
            reference="AllPairs (WWW 2007), PPJoin (WWW 2008), over a sliding window",
            lacks=_MATCHERS_LACK,
        ),
        BackendInfo(
            role="set-matcher",
            name="inverted",
            factory="skyband_setjoin.matching.full_index:Inverted",
            summary="indexes every token, and scans a set's shortest lists",
            guarantee="exact",
            reference=f"the prefix of AllPairs (WWW 2007) by list length; lists as in {_PAPER}, section 5.1",
            lacks=_MATCHERS_LACK,
        ),
        BackendInfo(
            role="set-matcher",
            name="scan-count",
            factory="skyband_setjoin.matching.full_index:ScanCount",
            summary="counts shared tokens by scanning the lists of all of a set's tokens",
            guarantee="exact",
            reference="ScanCount of Li, Lu and Lu, ICDE 2008",
            lacks=_MATCHERS_LACK,
        ),
        BackendInfo(
            role="set-matcher",
            name="minhash-lsh",
            factory="skyband_setjoin.matching.minhash_lsh:MinHashLsh",
            summary="verified MinHash bands: for long sets, with a declared recall",
            guarantee="bounded",
            error=None,
            reference="Broder, 1997; Indyk and Motwani, STOC 1998",
            lacks=_MATCHERS_LACK,
        ),
    ]


def _rankers() -> list[BackendInfo]:
    return [
        BackendInfo(
            role="pair-ranker",
            name="base",
            factory="skyband_setjoin.baseline:Base",
            summary="compares each set with the whole window and keeps every pair",
            guarantee="exact",
            reference=f"{_PAPER}, section 3",
            lacks=_LACKS,
        ),
        BackendInfo(
            role="pair-ranker",
            name="scase",
            factory="skyband_setjoin.scase:SCase",
            summary="compares each set with the whole window, and recomputes the skyband of pairs each time",
            guarantee="exact",
            reference=f"Shen et al., ICDE 2014, a baseline of {_PAPER}, section 7",
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
