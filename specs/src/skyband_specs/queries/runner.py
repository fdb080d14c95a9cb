"""Runs every check of a query on its plugin's examples, without pytest."""

from collections.abc import Iterable
from functools import partial
from typing import Any

from attrs import frozen
from skyband.errors import ConfigError, Problem
from skyband.queries import examples_of, load_query
from skyband.queries.example import QueryExample
from skyband.queries.query import Query

from skyband_specs.check_results import Progress, report_of, result_of
from skyband_specs.queries.case import QueryCase
from skyband_specs.queries.check import NotApplicable, QueryCheck
from skyband_specs.queries.checks import query_checks
from skyband_specs.report import NOT_APPLICABLE, PASSED, Report, Result


@frozen(eq=False)
class QuerySubject:
    """A query to try: its class, and a case for each example."""

    factory: type[Query]
    cases: tuple[QueryCase, ...]

    @property
    def key(self) -> str:
        """`query/kind`."""
        return f"query/{self.factory.kind}"

    def run(self, check: QueryCheck) -> Result:
        """Try one check on every example. It is not applicable if it applies to none."""
        reasons = list[str]()
        tried = (self.cases,) if check.of_all else self.cases
        for case in tried:
            result = result_of(check, partial(_try, check, case, reasons), self.key if check.of_all else str(case))
            if result.outcome != PASSED:
                return result
        if len(reasons) == len(tried):
            return Result(check.name, check.group, NOT_APPLICABLE, reasons[0])
        return Result(check.name, check.group, PASSED)


def _try(check: QueryCheck, case: Any, reasons: list[str]) -> None:
    """Run a check; if it does not apply to the case, add why to `reasons`."""
    try:
        check(case)
    except NotApplicable as error:
        reasons.append(str(error))


def query_subject(factory: type[Query], examples: Iterable[QueryExample]) -> QuerySubject:
    """A query, installed or not, with these examples. Raises ConfigError where one does not fit it."""
    return QuerySubject(factory, tuple(QueryCase.of(factory, example) for example in examples))


def verify_query(
    kind: str, progress: Progress | None = None, distribution: str | None = None, engine: str = "local"
) -> Report:
    """Run every check on an installed kind of query; `progress` is called with each result.

    Raises ConfigError or PluginError where there is no such query, or its plugin has no example.
    """
    factory = load_query(kind, distribution)
    examples = examples_of(kind, distribution)
    if not examples:
        message = f"query/{kind} has no examples: its plugin names them in QueryInfo(examples=…)"
        raise ConfigError(Problem("query", message))
    return verify_query_subject(query_subject(factory, examples), progress, query_checks(engine))


def verify_query_subject(
    query: QuerySubject, progress: Progress | None = None, checks: Iterable[QueryCheck] | None = None
) -> Report:
    """Run every check (or those given) on a query, installed or not."""
    results = (query.run(check) for check in (query_checks() if checks is None else checks))
    return report_of(query.key, results, progress)
