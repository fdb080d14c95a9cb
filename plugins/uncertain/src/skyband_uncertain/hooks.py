"""What this distribution registers, without importing it."""

from skyband import BackendInfo, QueryInfo, hookimpl

_PAPER = "Dallachiesa et al., Sliding windows over uncertain data streams, KAIS 2015"
_MERGE = {"merge": "two windows have no common order of arrival"}
_POSITIONS = {"merge": "positions count the arrivals of one stream"}


def _window(name: str, cls: str, summary: str, guarantee: str, section: str) -> BackendInfo:
    factory = f"skyband_uncertain.windows.{name.replace('-', '_')}:{cls}"
    return BackendInfo("window", name, factory, summary, guarantee, f"{_PAPER}, {section}", _lacks(_MERGE))


def _matcher(name: str, cls: str, summary: str, section: str) -> BackendInfo:
    factory = f"skyband_uncertain.matchers.{name.replace('-', '_')}:{cls}"
    return BackendInfo("matcher", name, factory, summary, "exact", f"{_PAPER}, {section}", _lacks(_POSITIONS))


def _lacks(merge: dict[str, str]) -> dict[str, str]:
    return {**merge, "out-of-order": "a window counts tuples in their order of arrival"}


@hookimpl
def skyband_backends() -> list[BackendInfo]:
    """Five windows and four matchers."""
    return [
        _window(
            "exact", "ExactWindow", "two stacks of Poisson-binomial products; O(sqrt(size)) per tuple", "exact", "4.2"
        ),
        _window("rf1", "Rf1Window", "recomputes the Poisson-binomial by RF1; O(size^2) per tuple", "exact", "4.3"),
        _window(
            "poisson", "PoissonWindow", "Poisson approximation; poor unless tuples are improbable", "heuristic", "4.4"
        ),
        _window("normal", "NormalWindow", "normal approximation; O(1) per tuple", "heuristic", "4.4"),
        _window(
            "refined-normal",
            "RefinedNormalWindow",
            "normal approximation corrected for skewness; O(1) per tuple",
            "heuristic",
            "4.4",
        ),
        _matcher(
            "block",
            "BlockMatcher",
            "prunes by probability mass, then compares blocks of tuples",
            "eq. 21; the pruning is ours",
        ),
        _matcher("nested-loop", "NestedLoopMatcher", "compares every sample of every tuple held", "7.4.3"),
        _matcher("index-match", "IndexMatcher", "grid over the bounding intervals of the samples", "6.2.1"),
        _matcher("sort-match", "SortMatcher", "one sorted array of all samples held", "6.2.2"),
    ]


@hookimpl
def skyband_queries() -> list[QueryInfo]:
    """The queries over uncertain tuples."""
    return [
        QueryInfo(
            "uncertain-sum",
            "skyband_uncertain.uncertain_sum.query:UncertainSum",
            "the sum of the last existing tuples, if tuples may not exist",
            examples="skyband_uncertain.uncertain_sum.examples:EXAMPLES",
            presentation="skyband_uncertain.presentation:UncertainSumPresentation",
        ),
        QueryInfo(
            "uncertain-join",
            "skyband_uncertain.uncertain_join.query:UncertainJoin",
            "which uncertain tuples of one stream or two are near each other, and with which probability",
            examples="skyband_uncertain.uncertain_join.examples:EXAMPLES",
            presentation="skyband_uncertain.presentation:UncertainJoinPresentation",
        ),
    ]
