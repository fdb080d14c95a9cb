"""One plugin alone beside core, specs and what specs needs: its tests and conformance checks pass, without Spark.

Run by tox in an environment that holds no other, or those alone that NEEDED names:

python tests/alone/check_plugin.py alone-NAME [options of pytest]
"""

import json
import subprocess
import sys
from importlib.metadata import distributions
from pathlib import Path

ROOT = Path(__file__).parents[2]
NEEDED = {
    "incomplete": {"distinct"},  # object-ranker/approx asks a sketch
    "lakes": {"distinct"},  # its tests write answers of a query
    "panes": {"distinct"},
    # its tests ask their queries, on its default engine
    "jobs": {"distinct", "incomplete", "lakes", "quantiles", "setjoin", "spark", "totals", "workload"},
    "serve": {"distinct", "lakes", "quantiles", "spark", "totals"},
    "spark": {"distinct", "incomplete", "jit", "totals", "uncertain", "workload"},
    "vectors": {"setjoin"},
    "compare": {
        "distinct",
        "incomplete",
        "panes",
        "quantiles",
        "setjoin",
        "totals",
        "uncertain",
        "vectors",
        "workload",
    },
}
"""Plugins that another is nothing without: a backend of another's query, its base; what there is to compare."""
OF_SPECS = {"expressions", "jobs"}
"""Plugins that the conformance checks need."""


def main(environment: str, options: list[str]) -> None:
    """Raise AssertionError or CalledProcessError at the first thing that is not as it should be."""
    name = environment.removeprefix("alone-")
    check_installed(name)
    tests = ROOT / "plugins" / name / "tests"
    run("-m", "pytest", "-m", "not slow and not spark", "-n", "2", "--timeout=600", *options, str(tests))
    brought = brought_by(f"skyband-{name}")
    for one in brought:
        run("-m", "skyband", "verify", one)
    print(f"skyband-{name} is fine alone, with {', '.join(brought) or 'no backend or query'}")  # noqa: T201


def check_installed(name: str) -> None:
    """Nothing of ours but this plugin, and those it needs."""
    ours = {one.name.removeprefix("skyband-") for one in distributions() if one.name.startswith("skyband-")}
    expected = {"specs", name, *OF_SPECS, *NEEDED.get(name, ())}
    assert ours == expected, f"installed are {sorted(ours)}, not {sorted(expected)}"


def brought_by(distribution: str) -> list[str]:
    """All backends and queries of a distribution, each as `skyband verify` takes it."""
    backends = listed("backends", distribution)
    return [one["backend"] for one in backends] + [f"query/{one['kind']}" for one in listed("queries", distribution)]


def listed(what: str, distribution: str) -> list[dict[str, str]]:
    """What a command lists of a distribution, each of which can be used."""
    told = subprocess.run(
        [sys.executable, "-m", "skyband", what, "--json"], stdout=subprocess.PIPE, text=True, check=True
    )
    own = [one for one in json.loads(told.stdout)[what] if one["distribution"] == distribution]
    assert not [one for one in own if one["problem"]], own
    return own


def run(*arguments: str) -> None:
    """Run Python in the project's folder."""
    subprocess.run([sys.executable, *arguments], cwd=ROOT, check=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
