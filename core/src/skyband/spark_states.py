"""Functions on columns of states, for Spark's DataFrames and SQL, as Spark's own on its sketches.

from skyband import spark_states

table.groupBy("status").agg(spark_states.union("state").alias("state"))
table.select(spark_states.estimate("state", last="37 minutes")["count"])

spark_states.register(session)
session.sql("select skyband_estimate(skyband_union(state), '37 minutes').count from states group by at")
"""

from typing import TYPE_CHECKING, Any

from skyband.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession

NAMES = (
    "skyband_estimate", "skyband_estimate_between", "skyband_union", "skyband_union_list", "skyband_overlap",
    "skyband_theta", "skyband_heavy_hitters", "skyband_describe",
)  # fmt: skip


def register(session: "SparkSession") -> None:
    """Make the functions known to SQL and to `functions.expr`, under the names in `NAMES`."""
    from skyband.engines.spark.state_column_functions import FUNCTIONS

    for name in NAMES:
        session.udf.register(name, FUNCTIONS[name]())


def estimate(state: "Column | str", *, since: Any = None, last: Any = None, between: Any = None) -> "Column":
    """How many distinct items came in a window, from each state: a struct of count, low, high; null where the state is.

    A state that does not cover the window ends the query with an InputError that says from when it answers.

    Parameters
    ----------
    state : Column or str
        the column of states, or its name
    since : datetime or Column, default None
        when the window begins; a Column of timestamps has one for each state
    last : str or Column, default None
        instead of `since`, the window's length up to the state's moment, such as "37 minutes", or a Column of such
        texts. Without either: all that the state covers
    between : (low, high), default None
        only items whose latest value v in the window has low <= v < high, of states made with a `value`; each a number,
        None for no end, or a Column. In SQL: `skyband_estimate_between(state, '37 minutes', 10, 100)`
    """
    if between is None:
        return _call("skyband_estimate", _column(state), _window(since, last))
    return _call("skyband_estimate_between", _column(state), _window(since, last), *_ends(between))


def union(state: "Column | str") -> "Column":
    """An aggregate: the state of all rows that the group's states counted. Null of no states.

    They are of one backend, with equal parameters, and of one moment: group by `at`. Spark shuffles each state, and a
    group's states are in memory together. Streams refuse Python's aggregates: there collect the states with
    `functions.collect_list` and take `union_list`.
    """
    return _call("skyband_union", _column(state))


def union_list(states: "Column | str") -> "Column":
    """The union of each array of states."""
    return _call("skyband_union_list", _column(states))


def overlap(left: "Column | str", right: "Column | str", *, since: Any = None, last: Any = None) -> "Column":
    """What the windows of two states have in common: a struct with left, right, union, intersection, left_only,
    right_only and jaccard, each a struct of count, low, high, and the method. `skyband.states.Overlap` says more.
    """
    return _call("skyband_overlap", _column(left), _column(right), _window(since, last))


def theta(state: "Column | str", *, since: Any = None, last: Any = None) -> "Column":
    """A theta sketch (binary) of the items that came in a window, from each state made with `hash = "theta"`.

    Spark's `theta_sketch_estimate`, `theta_union`, `theta_intersection`, `theta_difference` and `theta_union_agg` take
    it, also beside sketches that `theta_sketch_agg` made of the same column. The window is as `estimate` takes it; null
    where the state is. `skyband.states.theta` says more.
    """
    return _call("skyband_theta", _column(state), _window(since, last))


def heavy_hitters(state: "Column | str", *, since: Any = None, last: Any = None, k: int | None = None) -> "Column":
    """The objects with the largest totals of a window, from each state of heavy-hitters.

    An array of structs of rank, object (as text), total, share, low and high; null where the state is. In SQL
    `skyband_heavy_hitters(state, '37 minutes', 10)`.

    Parameters
    ----------
    state : Column or str
        the column of states, or its name
    since, last
        the window, as `estimate` takes them
    k : int, default None
        how many objects, at most; None: as many as the query that gave the states
    """
    from pyspark.sql import functions as sql

    most = sql.lit(k).cast("bigint")
    return _call("skyband_heavy_hitters", _column(state), _window(since, last), most)


def describe(state: "Column | str") -> "Column":
    """What each state says of itself: backend, parameters, unit, at, since, latest, retained, bytes, changed."""
    return _call("skyband_describe", _column(state))


def _call(name: str, *columns: Any) -> "Column":
    from skyband.engines.spark.state_column_functions import FUNCTIONS

    called: Column = FUNCTIONS[name]()(*columns)
    return called


def _column(given: Any) -> Any:
    from pyspark.sql import functions as sql

    return sql.col(given) if isinstance(given, str) else given


def _ends(between: Any) -> list[Any]:
    from pyspark.sql import Column
    from pyspark.sql import functions as sql

    from skyband.states.counting import range_asked

    if isinstance(between, tuple | list) and any(isinstance(end, Column) for end in between):
        return [end if isinstance(end, Column) else sql.lit(end).cast("double") for end in between]
    found = range_asked(between)
    return [] if found is None else [sql.lit(found.low), sql.lit(found.high)]


def _window(since: Any, last: Any) -> Any:
    from pyspark.sql import Column
    from pyspark.sql import functions as sql

    if since is not None and last is not None:
        raise InputError("last", "goes without `since`: ask for one of them")
    if isinstance(since, str):
        since = sql.lit(since).cast("timestamp")
    given = last if since is None else since
    return given if isinstance(given, Column) else sql.lit(None if given is None else given)
