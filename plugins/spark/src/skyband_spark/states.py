"""Functions on columns of states, for Spark's DataFrames and SQL, similar to Spark's own for its sketches.

from skyband_spark import states as spark_states

table.groupBy("status").agg(spark_states.union("state").alias("state"))
table.select(spark_states.estimate("state", last="37 minutes")["count"])

spark_states.register(session)
session.sql("select skyband_estimate(skyband_union(state), '37 minutes').count from states group by at")
"""

import inspect
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from skyband.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession


def register(session: "SparkSession") -> None:
    """Register the functions for SQL and `functions.expr`, each as `skyband_` and its name here.

    In addition to those below there is one for each question that installed backends' states answer:
    `skyband_estimate(state, '37 minutes')`. Its parameters follow the window; those at the end may be omitted.
    """
    from skyband.registry.homes import QUESTIONS

    from skyband_spark.frames.state_column_functions import functions

    for name, make in functions([f"skyband_{name}" for name in QUESTIONS]).items():
        session.udf.register(name, make())


def __getattr__(name: str) -> Any:
    """The function of a question, created when first used, and `NAMES`, the SQL names of all."""
    if name == "NAMES":
        from skyband_spark.frames.state_column_functions import functions

        return tuple(functions())
    if not name.startswith("_"):
        from skyband.registry.install_hints import comes_with
        from skyband.states.functions import questions

        if name in questions():
            return _function(questions()[name])
        hint = comes_with(name)
        if hint:
            raise AttributeError(f"skyband.spark.states.{name} is not installed{hint}")
    raise AttributeError(f"module 'skyband.spark.states' has no attribute {name!r}")


def __dir__() -> list[str]:
    from skyband.states.functions import questions

    return sorted([*globals(), *questions()])


_PARAMETERS = """{states}
since : datetime or Column, default None
    when the window starts; a Column of timestamps has one for each state
last : str or Column, default None
    instead of `since`, the window's length up to the state's moment, such as "37 minutes", or a Column of such texts.
    Without either: everything that the state covers"""


@cache
def _function(question: Any) -> Any:
    from skyband.states.functions import parameter_text, signature

    name = question.name
    leading = ("left", "right") if question.of_pairs else ("state",)

    def ask(*states: "Column | str", since: Any = None, last: Any = None, **values: Any) -> "Column":
        if len(states) != len(leading):
            raise TypeError(f"{name}() takes {' and '.join(leading)} (got {len(states)} columns)")
        return _call(f"skyband_{name}", *map(_column, states), _window(since, last), *_values(question, values))

    ask.__name__ = ask.__qualname__ = name
    terms = [f"{', '.join(leading)} : Column or str\n    the column of states, or its name"]
    text = _PARAMETERS.format(states=terms[0])
    text = "\n".join([text, *map(parameter_text, question.parameters())])
    message = "For each state; null where the state is. A parameter may be a Column."
    if not question.of_pairs:
        message += " In place of a state, an array of states counts them together."
    lead = f"{inspect.cleandoc(question.__doc__ or name)}\n\n{message}"
    arguments = ["low, high" if one.type == "range" else one.name for one in question.parameters()]
    sql = f"skyband_{name}({', '.join([*leading, 'window', *arguments])})"
    ask.__doc__ = f"{lead} In SQL: `{sql}`.\n\nParameters\n----------\n{text}"
    ask.__signature__ = signature(question, leading)  # type: ignore[attr-defined]
    return ask


def union(state: "Column | str") -> "Column":
    """An aggregate: the state of all rows that the group's states counted. Null for no states.

    They must have one backend, equal parameters, and one moment: group by `at`. Spark shuffles each state, and a
    group's states are in memory together. Streams do not support Python's aggregates: there, collect the states with
    `functions.collect_list` and use `union_list`.
    """
    return _call("skyband_union", _column(state))


def union_list(states: "Column | str") -> "Column":
    """The union of each array of states."""
    return _call("skyband_union_list", _column(states))


def describe(state: "Column | str") -> "Column":
    """A description of each state: backend, parameters, unit, at, since, latest, retained, bytes, changed."""
    return _call("skyband_describe", _column(state))


def _call(name: str, *columns: Any) -> "Column":
    from skyband_spark.frames.state_column_functions import functions

    called: Column = functions()[name]()(*columns)
    return called


def _column(value: Any) -> Any:
    from pyspark.sql import functions as sql

    return sql.col(value) if isinstance(value, str) else value


_CASTS = {"int": "bigint", "float": "double", "range": "double", "str": "string", "bool": "boolean"}


def _values(question: Any, values: Mapping[str, Any]) -> list[Any]:
    """The parameters as arguments, in order, up to the last one that is set. Values other than Columns are checked."""
    present = {name: value for name, value in values.items() if value is not None}
    plain = {name: value for name, value in present.items() if not _has_column(value)}
    question.make({name: values[name] for name in values if name in plain or name not in question.names()})
    arguments: list[list[Any]] = []
    for parameter in question.parameters():
        value = present.get(parameter.name)
        ends = ((None, None) if value is None else value) if parameter.type == "range" else [value]
        arguments.append([_argument(end, _CASTS.get(parameter.type)) for end in ends])
    last = max((place + 1 for place, one in enumerate(question.names()) if one in present), default=0)
    return [argument for part in arguments[:last] for argument in part]


def _has_column(value: Any) -> bool:
    from pyspark.sql import Column

    return any(isinstance(one, Column) for one in (value if isinstance(value, tuple | list) else [value]))


def _argument(value: Any, cast: str | None) -> Any:
    from pyspark.sql import functions as sql

    if _has_column(value):
        return value
    return sql.lit(value) if cast is None else sql.lit(value).cast(cast)


def _window(since: Any, last: Any) -> Any:
    from pyspark.sql import Column
    from pyspark.sql import functions as sql

    if since is not None and last is not None:
        raise InputError("last", "cannot be combined with `since`: give one of them")
    if isinstance(since, str):
        since = sql.lit(since).cast("timestamp")
    bound = last if since is None else since
    return bound if isinstance(bound, Column) else sql.lit(None if bound is None else bound)
