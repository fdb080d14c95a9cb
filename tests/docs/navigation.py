"""The site's navigation: the guides in the order of a reader, then the reference as the registry has it."""

from collections.abc import Iterable
from pathlib import Path

from skyband.queries import kinds
from skyband.registry import installed
from skyband_specs.reference.markdown import MARK

BEGIN, END = "    # generated: begin\n", "    # generated: end\n"
GUIDES = (
    "idea.md", "questions.md", "recipes.md", "testing.md", "choose.md", "plots.md", "states.md", "savepoints.md",
    "changes.md", "leaderboard.md", "deduplicate.md", "latencies.md", "cluster.md", "platforms.md", "scale.md",
    "raw.md", "sources.md", "time.md", "faults.md", "watching.md",
    "how-it-works.md", "writing.md", "writing-queries.md",
    "writing-roles.md", "writing-formats.md", "writing-engines.md",
    "hooks.md", "conformance.md", "plugins.md", "policy.md",
)  # fmt: skip


def navigation(docs: Path, pages: Iterable[str]) -> str:
    """The entries of `nav` in zensical.toml: every page of the folder once."""
    guides = [_entry(_title(docs / name), name) for name in guides_in(docs) if name != "index.md"]
    queries = [_entry(kind, f"queries/{kind}.md") for kind in kinds()]
    roles = []
    for role in installed().roles:
        backends = sorted(path for path in pages if path.startswith(f"backends/{role}/"))
        listed = [_entry(Path(path).stem, path) for path in backends]
        roles.append(_group(role, [_entry("The role", f"roles/{role}.md"), *listed]))
    reference = [
        _entry("Overview", "reference.md"), _entry("What works where", "matrix.md"), _entry("The job file", "job.md"),
        _entry("Python", "python.md"), _entry("For authors", "authors.md"),
        _group("Queries", queries), _group("Roles and backends", roles), _entry("Commands", "commands.md"),
        _entry("Errors", "errors.md"),
    ]  # fmt: skip
    entries = [_entry("Skyband", "index.md"), _group("Guides", guides), _group("Reference", reference)]
    return "".join(f"    {entry},\n" for entry in entries)


def guides_in(docs: Path) -> list[str]:
    """The pages written by hand, in the order of a reader."""
    written = [path.name for path in docs.glob("*.md") if not path.read_text("utf-8").startswith(MARK)]
    others = sorted(set(written) - {"index.md", *GUIDES})
    return ["index.md", *(name for name in GUIDES if name in written), *others]


def _entry(title: str, path: str) -> str:
    return f'{{ "{title}" = "{path}" }}'


def _group(title: str, entries: list[str]) -> str:
    return f'{{ "{title}" = [{", ".join(entries)}] }}'


def _title(page: Path) -> str:
    return next(line for line in page.read_text("utf-8").splitlines() if line.startswith("# ")).removeprefix("# ")
