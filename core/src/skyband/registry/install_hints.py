"""Which of Skyband's own distributions brings a role, query, command or question to states that is not installed.

The one table of core that may name families.
"""

_HOMES = {
    "--between": "skyband-distinct",
    "--share": "skyband-totals",
    "-k": "skyband-totals",
    "Estimate": "skyband-distinct",
    "Overlap": "skyband-distinct",
    "estimate": "skyband-distinct",
    "estimate_between": "skyband-distinct",
    "estimates": "skyband-distinct",
    "heavy_hitters": "skyband-totals",
    "overlap": "skyband-distinct",
    "theta": "skyband-distinct",
    "sketch": "skyband-distinct",
    "bench": "skyband-compare",
    "compare": "skyband-compare",
    "docs": "skyband-specs",
    "new": "skyband-specs",
    "plot": "skyband-compare",
    "verify": "skyband-specs",
    "distinct-count": "skyband-distinct",
    "heavy-hitters": "skyband-totals",
    "near-duplicates": "skyband-setjoin",
    "quantile-sketch": "skyband-quantiles",
    "quantiles": "skyband-quantiles",
    "set-matcher": "skyband-setjoin",
    "top-k": "skyband-incomplete",
    "top-k-pairs": "skyband-setjoin",
    "top-k-workload": "skyband-workload",
    "total-ranker": "skyband-totals",
    "uncertain-join": "skyband-uncertain",
    "uncertain-sum": "skyband-uncertain",
}


def comes_with(name: str) -> str:
    """What to install for a name that is unknown here, as the end of a sentence; empty where nobody knows."""
    return f"; it comes with {_HOMES[name]}: pip install {_HOMES[name]}" if name in _HOMES else ""
