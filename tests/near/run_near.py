"""Runs the tests nearest to what has changed since `main`: those that changed, and those that import what changed.

python tests/near/run_near.py [--since COMMIT] [options of pytest]

For each changed module it takes the test files that import it; if there are none, those that import a module which
imports it, and so on; those of its distribution if it is only reached by an entry point. Changed pages run the tests
of documentation. Options of pytest follow, such as -x.
"""

import argparse
import ast
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

_PLACE = re.compile(r"skyband\w*(\.\w+)+(:\w+)?")
ROOT = Path(__file__).parents[2]
PAGES = "tests/docs/test_pages.py", "tests/docs/test_words.py"
MOST_FILES = 25
"""Of tests that one changed module brings in; a module that more import is covered by those nearest by name."""


def main(since: str, options: list[str]) -> int:
    """Returns the exit status of pytest; 0 if nothing changed."""
    changed = changed_files(since)
    tests = nearest(changed, import_graph(ROOT), ROOT)
    print(f"{len(changed)} files changed since {since}; tests near them: {' '.join(tests) or 'none'}")  # noqa: T201
    if not tests:
        return 0
    return subprocess.call(
        [sys.executable, "-m", "pytest", "-m", "not slow", "-n", "2", "--dist", "loadgroup", *options, *tests], cwd=ROOT
    )


def changed_files(since: str) -> list[str]:
    """Files that differ from where this branch left `since`, committed or not, without those that were removed."""
    base = _git("merge-base", since, "HEAD")[0]
    names = [*_git("diff", "--name-only", base), *_git("ls-files", "--others", "--exclude-standard")]
    return sorted({name for name in names if (ROOT / name).is_file()})


def _git(*arguments: str) -> list[str]:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()


def module_of(name: str) -> str:
    """The module that a file is: "skyband.errors" for core/src/skyband/errors.py, the stem for a file of tests."""
    path = Path(name).with_suffix("")
    parts = path.parts[path.parts.index("src") + 1 :] if "src" in path.parts else path.parts[-1:]
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


def import_graph(root: Path) -> dict[str, set[str]]:
    """For each module of the project, the files that import it, also inside functions or as "package.module:Class"."""
    importers: dict[str, set[str]] = defaultdict(set)
    for folder in ("core", "plugins", "specs", "tests"):
        for path in (root / folder).rglob("*.py"):
            name = path.relative_to(root).as_posix()
            for module in _imports(ast.parse(path.read_text("utf-8"))):
                importers[module].add(name)
    return importers


def _imports(tree: ast.AST) -> Iterable[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and _PLACE.fullmatch(node.value):
            yield node.value.partition(":")[0]


def nearest(changed: Iterable[str], importers: Mapping[str, set[str]], root: Path) -> list[str]:
    """The test files to run for these changed files, in order."""
    tests = set[str]()
    for name in changed:
        if is_test(name):
            tests.add(name)
        elif name.endswith(".py"):
            tests |= _tests_of(name, importers)
        elif name.endswith((".md", ".svg", ".toml")):
            tests |= {page for page in PAGES if (root / page).is_file()}
    return sorted(tests)


def is_test(name: str) -> bool:
    """Whether pytest collects this file."""
    return "/tests/" in f"/{name}" and Path(name).name.startswith("test_") and name.endswith(".py")


def _tests_of(name: str, importers: Mapping[str, set[str]]) -> set[str]:
    """The test files nearest to a module: those fewest imports away, and all of its own name."""
    ring, passed = {name}, {name}
    while ring:
        ring = set().union(*(importers.get(module_of(each), set()) for each in ring)) - passed
        passed |= ring
        tests = {each for each in ring if is_test(each)}
        if tests:
            return tests if len(tests) <= MOST_FILES else _by_place(name, tests)
    tests = {each for files in importers.values() for each in files if is_test(each)}
    home = name.partition("/src/")[0]
    return _by_place(name, {each for each in tests if each.startswith(f"{home}/")})


def _by_place(name: str, tests: set[str]) -> set[str]:
    """The test files whose paths share the most names with that of a module, up to the most."""
    words = set(Path(name).with_suffix("").parts)
    return set(sorted(tests, key=lambda test: (-len(words & set(Path(test).parts)), test))[:MOST_FILES])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--since", default="main", help="the commit or branch to compare with (default: main)")
    known, rest = parser.parse_known_args()
    sys.exit(main(known.since, rest))
