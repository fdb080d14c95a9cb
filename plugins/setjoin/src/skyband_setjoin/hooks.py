"""What this distribution brings; imported by discovery, so it imports no backend."""

from skyband import BackendInfo, QueryInfo, RoleInfo, hookimpl

_PAPER = "SWOOP: Top-k Similarity Joins over Set Streams (arXiv 1711.02476)"

_LACKS = {
    "merge": "pairs across two rankers have never met",
    "out-of-order": "a pair ends with its older set, which has to be known first",
}

_MATCHERS_LACK = {
    "merge": "what two matchers keep has never met",
    "out-of-order": "what a set matches is told when it comes, among the sets before it",
}


@hookimpl
def skyband_roles() -> list[RoleInfo]:
    """The role of the query near-duplicates."""
    return [
        RoleInfo(
            name="set-matcher",
            interface="skyband_setjoin.set_matcher:SetMatcher",
            default="prefix",
            distribution="skyband-setjoin",
            summary="which earlier sets in the window a set is like",
            conformance="skyband_setjoin.conformance",
        )
    ]


@hookimpl
def skyband_queries() -> list[QueryInfo]:
    """The query that asks a set matcher, and the one that asks a ranker of pairs."""
    return [
        QueryInfo(
            "near-duplicates",
            "skyband_setjoin.near_duplicates.query:NearDuplicates",
            "which earlier sets in the window each row is like, and which rows are the first of their kind",
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
    """The rankers of pairs and the matchers of sets."""
    return [*_rankers(), *_matchers()]


def _matchers() -> list[BackendInfo]:
    return [
        BackendInfo(
            role="set-matcher",
            name="prefix",
            factory="skyband_setjoin.matching.prefix:Prefix",
            summary="an index of the rarest tokens of each set, in an order learnt from the window",
            guarantee="exact",
            reference="AllPairs (WWW 2007), PPJoin (WWW 2008), over a sliding window",
            lacks=_MATCHERS_LACK,
        ),
        BackendInfo(
            role="set-matcher",
            name="inverted",
            factory="skyband_setjoin.matching.full_index:Inverted",
            summary="an index of every token, of which a set's shortest lists are looked through",
            guarantee="exact",
            reference=f"the prefix of AllPairs (WWW 2007) by list length; lists as in {_PAPER}, section 5.1",
            lacks=_MATCHERS_LACK,
        ),
        BackendInfo(
            role="set-matcher",
            name="scan-count",
            factory="skyband_setjoin.matching.full_index:ScanCount",
            summary="counts tokens in common through all lists of a set's tokens",
            guarantee="exact",
            reference="ScanCount of Li, Lu and Lu, ICDE 2008",
            lacks=_MATCHERS_LACK,
        ),
        BackendInfo(
            role="set-matcher",
            name="minhash-lsh",
            factory="skyband_setjoin.matching.minhash_lsh:MinHashLsh",
            summary="minhashes in bands, verified: for long sets, with a declared recall",
            guarantee="bounded",
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
