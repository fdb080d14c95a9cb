"""Which of Skyband's own distributions brings a role, backend, query, command, format or question to states.

Told where it is not installed. The one table of core that may name families.
"""

_HOMES = {
    "--between": "skyband-distinct",
    "--share": "skyband-totals",
    "--above": "skyband-quantiles",
    "-k": "skyband-totals",
    "-q": "skyband-quantiles",
    "Estimate": "skyband-distinct",
    "Overlap": "skyband-distinct",
    "estimate": "skyband-distinct",
    "estimate_between": "skyband-distinct",
    "estimates": "skyband-distinct",
    "heavy_hitters": "skyband-totals",
    "overlap": "skyband-distinct",
    "quantile": "skyband-quantiles",
    "share_above": "skyband-quantiles",
    "theta": "skyband-distinct",
    "sketch": "skyband-distinct",
    "ask": "skyband-jobs",
    "bench": "skyband-compare",
    "check": "skyband-jobs",
    "compare": "skyband-compare",
    "demo": "skyband-distinct",
    "docs": "skyband-specs",
    "new": "skyband-specs",
    "plot": "skyband-compare",
    "test": "skyband-compare",
    "formats": "skyband-jobs",
    "run": "skyband-jobs",
    "savepoint": "skyband-spark",
    "state": "skyband-spark",
    "verify": "skyband-specs",
    "distinct-count": "skyband-distinct",
    "heavy-hitters": "skyband-totals",
    "near-duplicates": "skyband-setjoin",
    "quantile-sketch": "skyband-quantiles",
    "quantiles": "skyband-quantiles",
    "row-features": "skyband-totals",
    "set-matcher": "skyband-setjoin",
    "top-k": "skyband-incomplete",
    "top-k-pairs": "skyband-setjoin",
    "top-k-workload": "skyband-workload",
    "total-ranker": "skyband-totals",
    "uncertain-join": "skyband-uncertain",
    "uncertain-sum": "skyband-uncertain",
}

_BACKENDS = {
    "skyband-distinct": ("sketch/exact", "sketch/k-skb", "sketch/pcsa-ml", "sketch/se-fm", "sketch/se-pcsa"),
    "skyband-incomplete": ("object-ranker/approx", "object-ranker/eaa", "object-ranker/sla"),
    "skyband-panes": ("sketch/hll-panes",),
    "skyband-quantiles": ("quantile-sketch/buckets", "quantile-sketch/exact", "quantile-sketch/k-skb"),
    "skyband-setjoin": (
        "pair-ranker/base", "pair-ranker/scase", "pair-ranker/swoop",
        "set-matcher/inverted", "set-matcher/minhash-lsh", "set-matcher/prefix", "set-matcher/scan-count",
    ),
    "skyband-totals": (
        "total-ranker/exact", "total-ranker/frequent-items-panes", "total-ranker/k-skb", "total-ranker/misra-gries",
    ),
    "skyband-uncertain": (
        "matcher/block", "matcher/index-match", "matcher/nested-loop", "matcher/sort-match",
        "window/exact", "window/normal", "window/poisson", "window/refined-normal", "window/rf1",
    ),
    "skyband-workload": (
        "workload-ranker/mintopk", "workload-ranker/mtopband", "workload-ranker/mtoplist", "workload-ranker/paneband",
    ),
}  # fmt: skip
_HOMES |= {backend: home for home, backends in _BACKENDS.items() for backend in backends}

QUESTIONS = (
    "estimate", "estimate_between", "overlap", "theta", "heavy_hitters", "quantiles", "quantile", "share_above",
)  # fmt: skip
"""Questions to states that SQL always knows: where nothing that is installed answers one, it says what to install."""

_FORMATS = {name: f"skyband-lakes[{name}]" for name in ("delta", "iceberg", "kafka", "redis", "sql")}
_ENGINES = {"spark": "skyband-spark"}
FORMAT_FOLDERS = {"_delta_log": "delta"}
"""A folder in a table by which its format is told: its files alone, read without the log, may be more than its rows."""

FUNCTIONS = {"skyband_jobs.formats.kafka_sink": "skyband_lakes.kafka.sink"}
"""Functions that are called by a name of core's, each with the module that has it."""


_EACH_ROW = "row-features"


def each_row_hint() -> str:
    """Which kind of query answers each row, for a query that answers at moments, as a sentence's end."""
    return f"for an answer to each row as it comes take kind = {_EACH_ROW!r}, of {_HOMES[_EACH_ROW]}"


def engine_comes_with(name: str) -> str:
    """What to install for an engine that is unknown here, as the end of a sentence; empty where nobody knows."""
    home = _ENGINES.get(name)
    return f"; it comes with {home}: pip install {home}" if home else ""


def known_formats() -> tuple[str, ...]:
    """The formats that Skyband's own distributions bring, installed or not."""
    return tuple(_FORMATS)


def format_comes_with(name: str) -> str:
    """What to install for a format that is unknown here, as the end of a sentence; empty where nobody knows."""
    home = _FORMATS.get(name)
    return f"; it comes with {home.partition('[')[0]}: pip install '{home}'" if home else ""


def comes_with(name: str) -> str:
    """What to install for a name that is unknown here, as the end of a sentence; empty where nobody knows."""
    return f"; it comes with {_HOMES[name]}: pip install {_HOMES[name]}" if name in _HOMES else ""
