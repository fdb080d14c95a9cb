"""Which of Skyband's own distributions brings a role or kind of query that is not installed."""

_HOMES = {
    "near-duplicates": "skyband-setjoin",
    "set-matcher": "skyband-setjoin",
    "heavy-hitters": "skyband-totals",
    "total-ranker": "skyband-totals",
}


def comes_with(name: str) -> str:
    """What to install for a name that is unknown here, as the end of a sentence; empty where nobody knows."""
    return f"; it comes with {_HOMES[name]}: pip install {_HOMES[name]}" if name in _HOMES else ""
