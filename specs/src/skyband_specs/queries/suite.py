"""The conformance checks of queries under pytest, `query/{kind}:{check}`, and the docstring of each query.

In a plugin's own tests, a file of two lines tries every kind of query that the distribution brings:

    DISTRIBUTION = "skyband-mine"
    from skyband_specs.queries.suite import *

Without DISTRIBUTION, every installed kind is tried.
"""

from functools import cache

import pytest
from skyband.queries import examples_of, load_query
from skyband.registry import Listed, installed
from skyband.registry.info import QueryInfo

from skyband_specs.documentation import query_documentation_problems
from skyband_specs.pytest_plugin import RESULTS
from skyband_specs.queries.check import QueryCheck
from skyband_specs.queries.checks import query_checks
from skyband_specs.queries.runner import QuerySubject, query_subject
from skyband_specs.report import FAILED, NOT_APPLICABLE

__all__ = ["pytest_generate_tests", "test_query_conformance", "test_query_documentation"]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make one test of each query and check, and one of each query's docstring."""
    if metafunc.function not in (test_query_conformance, test_query_documentation):
        return
    distribution = getattr(metafunc.module, "DISTRIBUTION", None)
    entries = [entry for entry in installed().queries.listing if distribution in (None, entry.distribution)]
    if distribution is not None and not entries:
        raise pytest.UsageError(f"DISTRIBUTION = {distribution!r}: this plugin is not installed, or it brings no query")
    if metafunc.function is test_query_documentation:
        metafunc.parametrize("entry", entries, ids=[entry.info.key for entry in entries])
        return
    tried = [(entry.info.kind, entry.distribution, check) for entry in entries for check in query_checks()]
    ids = [f"query/{kind}:{check.name}" for kind, _, check in tried]
    metafunc.parametrize(("kind", "distribution", "check"), tried, ids=ids)


def test_query_conformance(kind: str, distribution: str, check: QueryCheck, request: pytest.FixtureRequest) -> None:
    """The query passes the check."""
    result = _subject(kind, distribution).run(check)
    request.config.stash[RESULTS].append((f"query/{kind}", result))
    if result.outcome == FAILED:
        pytest.fail("\n\n".join(filter(None, [result.reason, result.snippet])), pytrace=False)
    if result.outcome == NOT_APPLICABLE:
        pytest.skip(f"not applicable: {result.reason}")


def test_query_documentation(entry: Listed[QueryInfo]) -> None:
    """The docstring says what the query asks, and has an example that runs."""
    problems = query_documentation_problems(load_query(entry.info.kind, entry.distribution))
    if problems:
        message = "\n".join(problems)
        pytest.fail(f"the docstring of {entry.info.factory} {message}", pytrace=False)


@cache
def _subject(kind: str, distribution: str) -> QuerySubject:
    examples = examples_of(kind, distribution)
    if not examples:
        pytest.fail(f"query/{kind} has no examples: name them in QueryInfo(examples=…)", pytrace=False)
    return query_subject(load_query(kind, distribution), examples)
