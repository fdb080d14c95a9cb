"""Starts an operator from emitted states, one for each group: as if it had seen all rows before their moment."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from skyband import snapshot
from skyband.columns.hashing import hash_columns
from skyband.columns.keyed_frames import plain_type
from skyband.config.literals import literal
from skyband.errors import ConfigError, Problem
from skyband.groups.execution import execution_of
from skyband.groups.processor import GroupProcessor
from skyband.groups.windowed_processor import RegularProcessor
from skyband.operator.operator import Operator
from skyband.queries.query import Query
from skyband.registry import Binding
from skyband.states.coverage import Coverage
from skyband.states.state import State
from skyband_jobs.files.states_table import GroupState, StatesTable


def begin_with_states(operator: Operator, table: StatesTable, at: int | None = None) -> int:
    """Let a new operator of a whole stream start from a table's states; returns the moment from which it continues.

    at: a moment of the table; None: the newest. Raises ConfigError with everything that does not fit, InputError where
    it is not a table of states or lacks the moment, SnapshotError where a state is damaged.
    """
    query, schema = operator.query, operator.schema
    if query.rows:
        message = "are in rows, but a state does not say which of the source's rows it counted: start from history"
        raise ConfigError(Problem("query.windows", message))
    if query.zone_column is not None:
        message = f"have a zone for each group, {query.zone_column!r}, but states continue in one: start from history"
        raise ConfigError(Problem("query.windows", message))
    _check_grouping(query, table)
    moment, groups = table.as_of(at)
    _check_states(operator, groups)
    values = _values(query, schema, groups)
    keys = hash_columns(values.columns) if query.by else np.zeros(len(groups), np.uint64)
    processors = []
    for each in groups:
        processor = operator.fresh_processor()
        assert each.state.covers is not None
        _check_length(processor, moment, each.state.covers)
        processor.begin_with_state(each.state, snapshot.decode(each.blob).arrays, moment)
        processors.append(processor)
    latest = max((each.state.latest for each in groups if each.state.latest is not None), default=moment - 1)
    operator.begin_with(keys, values, processors, moment, latest)
    return moment


def _check_grouping(query: Query, table: StatesTable) -> None:
    if sorted(query.by) == sorted(table.grouping):
        return
    grouping = ", ".join(table.grouping) or "none"
    message = f"the states are grouped by {grouping}, and cannot be grouped differently, as they do not know their rows"
    raise ConfigError(Problem("query.by", f"{message} (got {', '.join(query.by) or 'none'})"))


def _check_states(operator: Operator, groups: Sequence[GroupState]) -> None:
    query, execution = operator.query, execution_of(operator.query)
    first = groups[0].state
    problems = [problem.within("query") for problem in execution.state_problems(first, operator.schema)]
    if problems:
        raise ConfigError(*problems)
    for each in groups:
        problems = _backend_problems(query, operator.bindings, each.state)
        if each.state is not first:
            problems += [
                problem.within("query") for problem in execution_of(query).state_problems(each.state, operator.schema)
            ]
        if problems:
            raise ConfigError(*problems)


def _backend_problems(query: Query, bindings: Mapping[str, Binding], state: State) -> list[Problem]:
    role = state.info.role
    if role not in bindings:
        return [Problem("query.kind", f"the states are of {state.key}, which {query.kind} does not use")]
    binding = bindings[role]
    if binding.info.name != state.info.name:
        message = f"the states are of {state.key}, and only the backend that made a state can read it"
        return [Problem(f"backends.{role}", f"{message}: choose {state.info.name} (got {binding.info.name})")]
    own_keys = query.backend_parameters(role)
    current = _plain(binding.create(**own_keys).parameters())
    problems = []
    for name, value in current.items():
        before = state.parameters.get(name)
        if name not in execution_of(query).open_parameters(role) and snapshot.text(before) != snapshot.text(value):
            place = f"query.{name}" if name in own_keys else f"backends.{role}.{name}"
            problems.append(
                Problem(place, f"the states were made with {name} = {literal(before)}: use that (got {literal(value)})")
            )
    return problems


def _check_length(processor: GroupProcessor, moment: int, covers: Coverage) -> None:
    """Raise ConfigError where the next answers need rows that the state has dropped."""
    start = processor.earliest_start(moment) if isinstance(processor, RegularProcessor) else moment
    if covers.rows or start < covers.since:
        message = f"the states cover {covers.length}, without rows before {covers.show(covers.since)}"
        remedy = f"the next answers need rows from {covers.show(start)} on: choose shorter windows"
        raise ConfigError(Problem("query.windows", f"{message}, but {remedy}"))


def _values(query: Query, schema: pa.Schema, groups: Sequence[GroupState]) -> pa.RecordBatch:
    """The grouping columns of the groups, with the source's types."""
    columns = []
    for entry in query.group_fields(schema):
        name, kind = entry.name, plain_type(entry.type)
        column = pa.array([each.group[name] for each in groups])
        try:
            columns.append(column.cast(kind))
        except pa.ArrowException as error:
            message = f"column {name!r} is {column.type} in the states, but {kind} in the source"
            raise ConfigError(Problem("query.by", f"{message}: {error}")) from error
    return pa.RecordBatch.from_arrays(columns, list(query.by))


def _plain(parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in parameters.items()}
