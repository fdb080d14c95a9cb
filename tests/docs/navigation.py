"""The site's navigation: the guides in the order of a reader, then the reference as the registry has it."""

from collections.abc import Iterable
from pathlib import Path

from skyband.queries import kinds, load_query
from skyband.registry import installed
from skyband_specs.reference.markdown import MARK

BEGIN, END = "    # generated: begin\n", "    # generated: end\n"
PARTS = {
    "begin": ("idea.md", "raw.md", "testing.md", "beside-others.md"),
    "ask": ("questions.md", "recipes.md", "trades.md", "choose.md", "time.md", "deduplicate.md", "stories.md",
            "titles.md", "latencies.md", "changed.md", "reach.md", "detections.md", "fraud.md", "changes.md",
            "leaderboard.md", "plots.md", "states.md"),
    "run": ("sources.md", "files.md", "bad-rows.md", "kafka.md", "databases.md", "delta.md", "iceberg.md", "redis.md",
            "platforms.md", "cluster.md", "dashboard.md", "serve.md", "serve-http.md", "latency.md", "scale.md",
            "watching.md", "faults.md", "savepoints.md", "policy.md"),
    "extend": ("how-it-works.md", "writing.md", "writing-queries.md", "writing-roles.md", "writing-formats.md",
               "writing-engines.md", "hooks.md", "conformance.md", "plugins.md", "papers.md"),
}  # fmt: skip
"""The four folders of guides, in the order of a reader."""


QUERIES = (
    "distinct-count",
    "heavy-hitters",
    "quantiles",
    "row-features",
    "detections",
    "near-duplicates",
    "near-vectors",
    "top-k",
    "top-k-workload",
    "top-k-pairs",
    "uncertain-sum",
    "uncertain-join",
)
"""The queries, those first that most people need."""


def kinds_in_order() -> list[str]:
    """The kinds of query that are installed, in the order of `QUERIES`; others follow by name."""
    return [kind for kind in QUERIES if kind in kinds()] + sorted(kinds().keys() - set(QUERIES))


def roles_in_order() -> list[str]:
    """The roles, in the order of the queries that they belong to; others follow by name."""
    used = dict.fromkeys(role for kind in kinds_in_order() for role in load_query(kind).roles)
    return [*used, *sorted(installed().roles.keys() - used.keys())]


def navigation(docs: Path, pages: Iterable[str]) -> str:
    """The entries of `nav` in zensical.toml: every page of the folder once."""
    guides = guides_in(docs)
    parts = [
        _group(part.title(), [_entry(_title(docs / name), name) for name in guides if name.startswith(f"{part}/")])
        for part in PARTS
    ]
    queries = [_entry(kind, f"reference/queries/{kind}.md") for kind in kinds_in_order()]
    roles = []
    for role in roles_in_order():
        backends = sorted(path for path in pages if path.startswith(f"backends/{role}/"))
        listed = [_entry(Path(path).stem, f"reference/{path}") for path in backends]
        roles.append(_group(role, [_entry("The role", f"reference/roles/{role}.md"), *listed]))
    titles = {
        "Overview": "reference",
        "What works where": "matrix",
        "The job file": "job",
        "Python": "python",
        "For authors": "authors",
        "Commands": "commands",
        "Errors": "errors",
    }
    single = [_entry(title, f"reference/{name}.md") for title, name in titles.items()]
    reference = [*single[:5], _group("Queries", queries), _group("Roles and backends", roles), *single[5:]]
    entries = [_entry("Skyband", "index.md"), *parts, _group("Reference", reference)]
    return "".join(f"    {entry},\n" for entry in entries)


def guides_in(docs: Path) -> list[str]:
    """The pages written by hand, in the order of a reader; pages that `PARTS` does not name follow in their part."""
    written = [path for path in docs.rglob("*.md") if not path.read_text("utf-8").startswith(MARK)]
    names = sorted(path.relative_to(docs).as_posix() for path in written)
    ordered = [
        name
        for part in PARTS
        for name in (*(f"{part}/{page}" for page in PARTS[part]), *names)
        if name.startswith(f"{part}/")
    ]
    return list(dict.fromkeys(["index.md", *(name for name in ordered if name in names), *names]))


def _entry(title: str, path: str) -> str:
    return f'{{ "{title}" = "{path}" }}'


def _group(title: str, entries: list[str]) -> str:
    return f'{{ "{title}" = [{", ".join(entries)}] }}'


def _title(page: Path) -> str:
    return next(line for line in page.read_text("utf-8").splitlines() if line.startswith("# ")).removeprefix("# ")
