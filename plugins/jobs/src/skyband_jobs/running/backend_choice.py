"""Chooses the backend of a role by limits on its error and its memory, judging by the first rows of the source.

Nothing is declared: each candidate answers the query over these rows, and what it keeps is measured.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs
import pyarrow as pa
from attrs import evolve, field, frozen
from skyband.columns.arrow_normalization import columns_as, usual_schema
from skyband.errors import ConfigError, PluginError, Problem
from skyband.operator.bind_backends import bind, column_problems
from skyband.queries import make_query
from skyband.queries.query import COUNT
from skyband.registry import installed
from skyband.registry.info import BackendInfo
from skyband.registry.module_import import cause
from skyband.text_tables import aligned, size

from skyband_jobs.job.opening import OpenSource
from skyband_jobs.running.limits import MOST_ROWS, Limits, limited
from skyband_jobs.running.sample import StateSize, TooSlowError, expected_size, first_of, first_rows

if TYPE_CHECKING:
    from skyband.queries.query import Query

_SLOWER, _SECONDS = 4, 2.0
"""A candidate may take this many times the CPU seconds of the role's default, or this many seconds."""


@frozen
class Candidate:
    """A backend that could be chosen: the size of its state, or why it cannot be."""

    info: BackendInfo
    promise: str
    entry: Mapping[str, Any] = field(factory=dict)
    """Its name and parameters, as a job has them."""
    state: StateSize | None = None
    unfit: str = ""


@frozen
class Choice:
    """The candidates of a role, the best first, and the number of rows they were measured on."""

    role: str
    limits: Limits
    candidates: Sequence[Candidate]
    rows: int

    @property
    def best(self) -> Candidate:
        """Raises ConfigError where none meets the limits, with the nearest."""
        best = self.candidates[0]
        if not best.unfit:
            return best
        if best.state is not None:
            reason = f"the nearest is {best.info.name}, which {best.unfit}"
        else:
            reason = "; ".join(f"{each.info.name}: {each.unfit}" for each in self.candidates)
        raise ConfigError(Problem(self.role, f"no installed backend meets {self.limits}; {reason}"))

    def lines(self) -> list[str]:
        """A heading and a table of the candidates, as text."""
        table = [
            [each.info.name, each.promise, "" if each.state is None else size(each.state.nbytes), _remark(each, place)]
            for place, each in enumerate(self.candidates)
        ]
        heading = f"{self.role} with {self.limits}, judging by the first {self.rows:,} rows:"
        return [heading, *aligned(["backend", "error", "state", "result"], table, [False, False, True, False])]


def _remark(each: Candidate, place: int) -> str:
    return each.unfit or ("the best" if place == 0 else "also within the limits")


def choose_backends(rows: Any, query: "Query | Mapping[str, Any]", backends: Mapping[str, Any]) -> dict[str, Any]:
    """The backends for a program, with a name in place of limits, as a job chooses its own.

    For each role with limits, the installed backends answer the query over the first 100,000 rows, which takes seconds.

    Parameters
    ----------
    rows : table, record batches or DataFrame
        rows such as the query will meet: an Arrow table or batches, or a DataFrame of pandas, polars or another library
        that exports to Arrow. Without any row, a role takes its default
    query : Query or mapping
        a Query, or a mapping of its keys, including `kind`
    backends : mapping
        for each role, limits such as `{"error": 0.02, "memory": "200 MB"}` or "auto", or what `apply` takes

    Returns
    -------
    dict
        the backends to pass to `apply`: with a name and parameters for each role that had limits

    Raises
    ------
    ConfigError
        the query or limits are wrong, or no installed backend meets them: all problems at once
    InputError
        the rows are of another kind
    """
    from skyband.engines.local import batches_of  # with the operator, which reading a job does not need

    batches, own_schema = batches_of(rows)
    own, schema = make_query(query), usual_schema(own_schema)
    columns = list(dict.fromkeys(own.columns))
    usual = (columns_as(batch.slice(0, MOST_ROWS), columns, schema) for batch in batches)
    return _with_names(own, schema, lambda: first_of(usual), backends, {}, or_default=True)[0]


def choose_for_job(
    query: "Query", source: OpenSource, backends: Mapping[str, Any], earlier: Mapping[str, Any] | None
) -> tuple[dict[str, Any], list[Choice]]:
    """A job's backends, with a name for each role that has limits, and how each was chosen.

    earlier: by role, the limits and the backend of a stream that goes on, which keeps its backend; None for a batch,
    which takes the role's default if it has no rows.
    Raises ConfigError with every problem at once: those of the query's columns, or those under `backends`.
    """
    before = {
        role: entry["backend"] for role, entry in (earlier or {}).items() if _is_of(role, entry, backends.get(role))
    }
    or_default = earlier is None and source.rows is not None
    return _with_names(query, source.schema, lambda: sample_of(query, source), backends, before, or_default)


def _with_names(
    query: "Query",
    schema: pa.Schema | None,
    sample: Callable[[], pa.Table | None],
    backends: Mapping[str, Any],
    before: Mapping[str, Any],
    or_default: bool,
) -> tuple[dict[str, Any], list[Choice]]:
    """or_default: whether a role takes its default where there are no rows to measure on."""
    named, choices = dict(backends), list[Choice]()
    problems = [] if schema is None else column_problems(query, schema)
    if problems:
        raise ConfigError(*problems)
    roles = [role for role in query.asked_roles if limited(role, backends.get(role))]
    rows = None if before.keys() >= set(roles) else sample()
    for role in roles:
        try:
            limits = Limits.of(role, backends[role])
            if role in before:
                named[role] = before[role]
            elif rows is None and or_default:
                named[role] = installed().role(role).default
            else:
                choices.append(choice_of(role, limits, query, rows, backends))
                named[role] = dict(choices[-1].best.entry)
        except ConfigError as error:
            problems += [problem.within("backends") for problem in error.problems]
    if problems:
        raise ConfigError(*problems)
    return named, choices


def _is_of(role: str, entry: Any, limits: Any) -> bool:
    """Whether an entry of a checkpoint's record was chosen by these limits."""
    return isinstance(entry, Mapping) and "backend" in entry and limited(role, limits) and entry.get("limits") == limits


def sample_of(query: "Query", source: OpenSource) -> pa.Table | None:
    """The first rows of a source, without those that cannot be read, which the run reports; None if there are none."""
    return None if source.rows is None else first_rows(evolve(query, bad_rows=COUNT), source.rows, query.columns)


def choice_of(role: str, limits: Limits, query: "Query", rows: pa.Table | None, backends: Mapping[str, Any]) -> Choice:
    """Measure the installed backends of a role on the first rows of a source, without those that the query cannot use.

    Raises ConfigError where there are no rows to measure on.
    """
    if rows is None:
        message = (
            "needs rows to measure on, and this process sees none in the source: give the backend's `name`; "
            "`skyband check` on a job for a file of such rows shows which"
        )
        raise ConfigError(Problem(role, message))
    query = evolve(query, bad_rows=COUNT)
    others = {name: choice for name, choice in backends.items() if name != role and not limited(name, choice)}
    candidates = sorted(_candidates(role, limits, query, rows, others), key=lambda each: _order(each, role, limits))
    return Choice(role, limits, candidates, len(rows))


def _order(each: Candidate, role: str, limits: Limits) -> tuple[Any, ...]:
    """The best first: the least memory if only the error is limited, otherwise the strongest promise."""
    nbytes = float("inf") if each.state is None else each.state.nbytes
    promise = each.info.guarantee != "exact", each.info.name != installed().role(role).default
    by_size = limits.memory is None or each.unfit
    return (bool(each.unfit), nbytes, *promise) if by_size else (False, *promise, nbytes)


def _candidates(
    role: str, limits: Limits, query: "Query", rows: pa.Table, others: Mapping[str, Any]
) -> Iterator[Candidate]:
    """Each backend of the role, the default first, as it sets how long the others may take."""
    default, most = installed().role(role).default, None
    for info in sorted(installed().backends(role), key=lambda info: info.name != default):
        entry, promise, unfit = _asked_of(info, limits)
        if unfit:
            yield Candidate(info, promise, entry, unfit=unfit)
            continue
        try:
            bindings = bind(query, rows.schema, {**others, role: entry})
            expected_size(query, bindings, rows.slice(0, 1000))  # compiles its kernels
            before = time.process_time()
            state = expected_size(query, bindings, rows, most)
            seconds = time.process_time() - before
        except TooSlowError:
            yield Candidate(info, promise, entry, unfit=f"takes more than {most:.1f} s for {len(rows):,} rows")
        except ConfigError as error:
            yield Candidate(info, promise, entry, unfit=error.problems[0].message)
        except Exception as error:  # a plugin may raise anything; we report it
            yield Candidate(info, promise, entry, unfit=f"fails: {cause(error)}")
        else:
            most = most or max(_SLOWER * seconds, _SECONDS)
            yield Candidate(info, promise, entry, state, _too_large(state, limits))


def _too_large(state: StateSize, limits: Limits) -> str:
    over = limits.memory is not None and state.nbytes > limits.memory
    return f"needs {size(state.nbytes)} of memory" if over else ""


def _asked_of(info: BackendInfo, limits: Limits) -> tuple[dict[str, Any], str, str]:
    """A backend with the parameters that meet a limit on the error, its promise, and why it cannot meet it."""
    entry: dict[str, Any] = {"name": info.name}
    if info.guarantee == "exact":
        return entry, "exact", ""
    if info.guarantee != "bounded":
        return entry, "no promise", "promises nothing: give its `name` to take it"
    if limits.error is None:
        return entry, _default_promise(info), ""
    if info.error is None:
        return entry, "bounded", "has no parameter that bounds its error"
    return {**entry, info.error: limits.error}, f"{info.error} = {limits.error:g}", ""


def _default_promise(info: BackendInfo) -> str:
    try:
        fields = attrs.fields_dict(installed().load_class(info))
    except PluginError:  # reported when it is tried
        return "bounded"
    return "bounded" if info.error is None else f"{info.error} = {fields[info.error].default:g}"
