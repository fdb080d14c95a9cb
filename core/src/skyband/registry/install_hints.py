"""Which of Skyband's own distributions brings a role or kind of query that is not installed.

The one table of core that may name families.
"""

_HOMES = {
    "distinct-count": "skyband-distinct",
    "heavy-hitters": "skyband-totals",
    "near-duplicates": "skyband-setjoin",
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
