"""The roles that core brings, as a plugin would say them."""

from skyband.registry.info import RoleInfo


def _role(name: str, interface: str, default: str, distribution: str, summary: str) -> RoleInfo:
    module = name.replace("-", "_")
    return RoleInfo(name, f"skyband.roles.{module}:{interface}", default, distribution, summary, "skyband_specs")


CORE_ROLES = (
    _role("sketch", "Sketch", "pcsa-ml", "skyband-distinct", "how many distinct objects since any moment"),
    _role("window", "Window", "exact", "skyband-uncertain", "which uncertain tuples a window holds"),
    _role("matcher", "Matcher", "block", "skyband-uncertain", "which uncertain tuples are near a probe"),
    _role("object-ranker", "ObjectRanker", "eaa", "skyband-incomplete", "the best objects, known only in part"),
    _role("pair-ranker", "PairRanker", "swoop", "skyband-setjoin", "the most similar pairs of sets"),
    _role("workload-ranker", "WorkloadRanker", "paneband", "skyband-workload", "many top-k queries at once"),
)
