"""The functions on states for Spark: Arrow columns in and out, with the driver's backends.

The window is one argument: text such as "37 minutes" is the length up to the state's moment, a timestamp or an
integer is its start, null is all that the state covers. A question's parameters follow, a range as two arguments;
those at the end may be omitted.
"""

import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql.functions import arrow_udf, udf
from pyspark.sql.pandas.types import from_arrow_type
from skyband import states
from skyband.errors import InputError, PluginError
from skyband.registry.install_hints import comes_with
from skyband.states.asking import ask_states
from skyband.states.functions import questions
from skyband.states.question import Question
from skyband.states.readers import Readers
from skyband.states.since_or_last import WindowRequest
from skyband.states.state import read_state, state_bytes
from skyband_jobs.formats.json_rows import json_value

PREFIX = "skyband_"
DESCRIPTION = (
    "struct<backend: string, parameters: map<string, string>, unit: string, at: bigint, since: bigint, "
    "latest: bigint, retained: bigint, bytes: bigint, changed: boolean>"
)


def question_udf(question: type[Question]) -> Any:
    """(state, window, parameters…) -> the question's result; (state, state, window, parameters…) for pairs.

    In place of a state, an array of states counts them together, in their order. Null where a state, or a value in a
    column of windows, is null, and for an empty array. A null parameter counts as omitted.
    """
    readers = Readers.installed()
    name, leading = question.name, 2 if question.of_pairs else 1
    has_names = not pa.types.is_struct(question.result) or question.result.num_fields > 0
    result = question.result if has_names else pa.string()  # names that differ by state: JSON
    objects = question.objects
    ranges = [(one.name, one.type == "range") for one in question.parameters()]

    def ask(*columns: pa.Array) -> pa.Array:
        blobs, window, rest = columns[:leading], columns[leading], columns[leading + 1 :]
        kind, windows = _window(window)
        answers: list[Any] = []
        for row in range(len(window)):
            start = None if windows is None else window[row].as_py()
            several = _several(blobs, row)
            if not several or (windows is not None and start is None):
                answers.append(None)
                continue
            states = [read_state(state_bytes(blob), readers) for blob in several]
            values = _values(ranges, [column[row].as_py() for column in rest])
            window_asked = WindowRequest.read(**{"since": None, "last": None, kind: start})
            answers.append(_plain(ask_states(name, states, window_asked, values), result, objects))
        return pa.array(answers, result)

    return arrow_udf(ask, from_arrow_type(result))


def _several(columns: Sequence[pa.Array], row: int) -> list[pa.Scalar]:
    """The states of a row: one of each column, or those of an array; none if one is null."""
    blobs = [column[row] for column in columns]
    if len(blobs) == 1 and pa.types.is_list(columns[0].type):
        blobs = list(blobs[0].values) if blobs[0].is_valid else []
    return blobs if all(blob.is_valid for blob in blobs) else []


def union_udf() -> Any:
    """An aggregate of states to the state of all their rows; null for no states."""
    readers = Readers.installed()

    def union(state: pa.Array) -> bytes | None:
        return _union(state, readers)

    union.__annotations__["return"] = pa.Scalar  # shows Spark that it is an aggregate
    return arrow_udf(union, "binary")


def union_list_udf() -> Any:
    """(array of states) -> the state of all their rows: for streams, which do not support Python's aggregates."""
    readers = Readers.installed()

    def union_list(state: pa.Array) -> pa.Array:
        return pa.array([_union(row.values, readers) if row.is_valid else None for row in state], pa.binary())

    return arrow_udf(union_list, "binary")


def describe_udf() -> Any:
    """(state) -> struct of its description."""
    readers = Readers.installed()

    def describe(state: pa.Array) -> pa.Array:
        blobs = [blob.as_py() for blob in state]
        return pa.array([None if blob is None else _described(blob, readers) for blob in blobs], _DESCRIPTION)

    return arrow_udf(describe, DESCRIPTION)


def functions(kinds: Sequence[str] = ()) -> dict[str, Callable[[], Any]]:
    """A factory for each function, by its name in SQL.

    kinds: further names, each a function that says what to install if no installed plugin brings it.
    """
    by_name: dict[str, Callable[[], Any]] = {
        "skyband_union": union_udf, "skyband_union_list": union_list_udf, "skyband_describe": describe_udf,
    }  # fmt: skip
    for question in questions().values():
        for name in (question.name, *question.sql_names):
            by_name.setdefault(PREFIX + name, partial(question_udf, question))
    return {**{name: partial(_missing_udf, name) for name in kinds}, **by_name}


def _missing_udf(name: str) -> Any:
    message = f"{name} is not installed{comes_with(name.removeprefix(PREFIX))}"

    def missing(*_: Any) -> str:
        raise PluginError(message)

    return udf(missing, "string")


_DESCRIPTION = pa.struct(
    [
        ("backend", pa.string()), ("parameters", pa.map_(pa.string(), pa.string())), ("unit", pa.string()),
        ("at", pa.int64()), ("since", pa.int64()), ("latest", pa.int64()), ("retained", pa.int64()),
        ("bytes", pa.int64()), ("changed", pa.bool_()),
    ]
)  # fmt: skip


def _window(window: pa.Array) -> tuple[str, pa.Array | None]:
    """Whether a column has the starts of windows or their lengths; with None instead of it where all of it is null."""
    kind = window.type
    if pa.types.is_null(kind) or window.null_count == len(window):
        return "since", None
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return "last", window
    if pa.types.is_timestamp(kind) or pa.types.is_integer(kind):
        return "since", window
    raise InputError("window", f'must be a length such as "37 minutes", a timestamp or a number (it is {kind})')


def _values(parameters: Sequence[tuple[str, bool]], arguments: Sequence[Any]) -> dict[str, Any]:
    """The parameters by name, from the arguments of a row."""
    values: dict[str, Any] = {}
    remaining = list(arguments)
    for name, ends in parameters:
        if not remaining:
            break
        if ends and len(remaining) == 1:
            raise InputError(name, "has two ends: give both, null for no end")
        value: Any = (remaining.pop(0), remaining.pop(0)) if ends else remaining.pop(0)
        if value not in (None, (None, None)):
            values[name] = value
    if remaining:
        raise InputError("arguments", f"there are {len(remaining)} more than the question has parameters")
    return values


def _plain(answer: Any, kind: pa.DataType, objects: str | None = None) -> Any:
    """An answer in a form for Arrow: dictionaries for structs, objects as text."""
    if isinstance(answer, pa.Table):
        if objects is not None:
            place = answer.column_names.index(objects)
            answer = answer.set_column(place, objects, answer.column(place).cast(pa.string()))
        return answer.to_pylist()
    if isinstance(answer, tuple) and pa.types.is_struct(kind):
        return {field.name: _plain(value, field.type) for field, value in zip(kind, answer, strict=True)}
    return json.dumps(json_value(answer), default=str) if isinstance(answer, dict) else answer


def _union(column: pa.Array, readers: Readers) -> bytes | None:
    blobs = [blob for blob in column if blob.is_valid]
    return states.union(blobs, readers=readers) if blobs else None


def _described(blob: bytes, readers: Readers) -> dict[str, Any]:
    description = states.describe(blob, readers=readers)
    return {
        "backend": description.backend,
        "parameters": [(name, str(value)) for name, value in description.parameters.items()],
        "unit": description.unit, "at": description.at, "since": description.since, "latest": description.latest,
        "retained": description.retained, "bytes": description.nbytes, "changed": description.changed,
    }  # fmt: skip
