"""Skyband on Spark: one function from a DataFrame to the DataFrame of its answers, in batch and in streaming.

from skyband_spark import program as spark
counts = requests.transform(spark.apply, query, backends={"sketch": "k-skb"})
"""

import time
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from attrs import evolve
from skyband.config.durations import Duration, clock_problem, parse
from skyband.config.literals import literal
from skyband.errors import ConfigError, EngineError, InputError, Problem
from skyband.operator.bind_backends import bind, column_problems
from skyband.queries import make_query
from skyband.queries.output_modes import ALL, for_a_program
from skyband.queries.query import COUNT, FAIL, Query
from skyband.registry import Binding
from skyband.watermark import Ticking

from skyband_spark.backend_limits import with_names
from skyband_spark.frames import file_rows
from skyband_spark.frames.arrow_schema import arrow_schema
from skyband_spark.frames.collations import collation_problems
from skyband_spark.frames.results_and_metrics import observed
from skyband_spark.frames.sharded_plan import ShardedPlan
from skyband_spark.spark_session.session import GROUPED_SHARDS, ROCKSDB, session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Observation, SparkSession

MOST_SHARDS = 10_000
"""More than any cluster has cores: each is a partition whose state is committed in every micro-batch."""


def apply(
    df: "DataFrame",
    query: Query | Mapping[str, Any],
    backends: Mapping[str, Any] | None = None,
    shards: int | None = None,
    observe: "str | Observation" = "skyband",
    idle_after: str | Duration | None = None,
    finish: bool | None = None,
    rules: Any = None,
) -> "DataFrame":
    """The answers of a query over a Spark DataFrame, as a DataFrame: a streaming one if `df` is.

    Rows that break a promise of the query, such as `repeats` of top-k, are left out and counted, and each worker warns
    about them once, on its stderr.

    `idle_after` and `finish` are part of a checkpoint: a stream that started without one cannot use it later. With
    them, rows that arrive after their window has been answered are late.

    Parameters
    ----------
    df : DataFrame
        the rows, in batch or streaming
    query : Query or mapping
        a Query, such as `skyband_totals.HeavyHitters(…)`, or its keys as a mapping, including `kind`
    backends : mapping, default None
        for each role the name of a backend, or a table with `name` and parameters, or in batch limits, as for
        `skyband_jobs.choose_backends`; missing roles use the setting `spark.skyband.backends.ROLE`, or else the default
    shards : int, default None
        how many operators share the work; None: 8 with `by`, else 1. Any number gives the same answers, but a
        checkpoint only resumes with the number that it started with. Without `by`, windows in rows take one shard,
        and rows that are compared in pairs are sent to several
    observe : str or Observation, default "skyband"
        the name, or in batch the Observation, under which Spark reports rows_in, rows_late, late_by, retained,
        groups, state_bytes, seconds, and rows_REASON for each reason to leave out rows
    idle_after : duration, default None
        after this long without rows, a stream's time follows the clock, so that its last windows are answered; this
        adds at most one micro-batch a second. None: a stream waits for its next row. A batch has no clock
    finish : bool, default None
        for runs with Trigger.AvailableNow that should answer the last windows too. False continues to read; a further
        run on the same checkpoint with True treats the input as complete up to the next moment of output. If rows
        arrive in that run too, they are read as usual and none is lost: the next run with True answers the last
        windows. A batch is always finished
    rules : DataFrame or table, default None
        for a query with a second table, as described on the page of its kind: what is asked, and when. For a stream,
        a streaming DataFrame, which may stay quiet, and is part of the checkpoint: pass it from the first run on. Or
        one that is not streaming, of Spark or Arrow: a stream reads it at its first micro-batch, and in a later run
        the rows that are new in it

    Returns
    -------
    DataFrame
        the answers, with the columns that the query's page lists

    Raises
    ------
    ConfigError
        the query, a backend or a number of shards is wrong: all problems at once
    InputError
        `df` is not a Spark DataFrame
    EngineError
        the session cannot run it
    """
    if not hasattr(df, "isStreaming"):
        raise InputError("df", _no_dataframe(df))
    file_rows.warn_if_derived(df)
    own = for_a_program(make_query(query))
    plan = plan_of(df, own, backends, shards, ticking_of(idle_after, finish))
    if rules is None:
        return answers_of(df, plan, observe)
    if getattr(rules, "isStreaming", False) and not df.isStreaming:
        raise InputError("rules", "is a stream, but the rows are a batch: read it with session.read")
    plan, stream = with_rules(plan, rules)
    return answers_of(df, plan, observe, stream)


def with_rules(plan: ShardedPlan, rules: Any) -> "tuple[ShardedPlan, DataFrame | None]":
    """A plan with a second table; or, where that is a stream, the plan and the stream.

    Raises ConfigError where the query takes none, InputError where it lacks columns, or is not a table.
    """
    import pyarrow as pa
    from skyband.groups.execution import check_broadcast
    from skyband.operator.static_broadcast_table import WholeTable

    if getattr(rules, "isStreaming", False):
        check_broadcast(plan.query, arrow_schema(rules).empty_table(), plan.schema)
        return plan, rules
    table = rules.toArrow() if hasattr(rules, "toArrow") else rules
    if not isinstance(table, pa.Table):
        raise InputError("rules", _no_dataframe(rules))
    refused = check_broadcast(plan.query, table, plan.schema)
    if refused and plan.query.bad_rows == FAIL:
        raise refused[0][0]
    return evolve(plan, broadcast=WholeTable.of(table)), None


def answers_of(
    df: "DataFrame", plan: ShardedPlan, observe: "str | Observation" = "skyband", rules: Any = None
) -> "DataFrame":
    """The answers of a plan over a DataFrame; rules: for a stream, a second one for all shards."""
    if not df.isStreaming:
        from skyband_spark.frames import batch

        return observed(plan, batch.run(file_rows.shuffle_rows(df, plan), plan), observe)
    _check_session(df.sparkSession, plan)
    from skyband_spark.frames import stream

    packed = file_rows.shuffle_rows(df, plan)
    if rules is not None:
        from skyband_spark.frames.broadcast_rows import with_broadcast

        packed = with_broadcast(packed, plan, rules)
    return observed(plan, stream.run(packed, plan), observe)


def files(
    path: str,
    *,
    format: str = "parquet",
    stream: bool = False,
    schema: str | None = None,
    **options: Any,
) -> "DataFrame":
    """The rows of files as a DataFrame that `apply` reads in Python, where it packs them, rather than through Java.

    Spark keeps its log of the files, so that a stream resumes from its checkpoint, also from one that was started with
    Spark's own reader of the same folder. Without `apply` it is an ordinary DataFrame, no faster than others; `apply`
    warns of a DataFrame derived from it. Spark counts files as rows; the metric rows_in of `apply` counts rows.

    Parameters
    ----------
    path : str
        a file, folder or pattern that all executors reach
    format : str, default "parquet"
        parquet, arrow, csv or json
    stream : bool, default False
        whether files that arrive later are read too
    schema : str, default None
        columns and types in Spark's notation; None: from the files
    **options
        Spark's options for files, such as maxFilesPerTrigger, and for CSV those of its dialect

    Raises
    ------
    ConfigError
        there are no files, Python cannot read them as Spark would, or an option is unknown
    """
    from pyspark.sql import SparkSession

    from skyband_spark.reading.python_file_reader import frame_of

    frame: DataFrame = frame_of(
        lambda: SparkSession.getActiveSession() or session(), path, format, stream, schema, options
    )
    return frame


def bad_rows(
    df: "DataFrame", query: Query | Mapping[str, Any], backends: Mapping[str, Any] | None = None
) -> "DataFrame":
    """The rows of a DataFrame that a query cannot take, as a DataFrame: a streaming one if `df` is.

    `apply` leaves out and counts exactly these if the query's `bad_rows` is "count". They are read separately, so that
    they can be written where and when it suits.

    Parameters
    ----------
    df : DataFrame
        the rows, in batch or streaming
    query : Query or mapping
        a Query, or its keys as a mapping, including `kind`; its own `bad_rows` is ignored
    backends : mapping, default None
        as in `apply`

    Returns
    -------
    DataFrame
        the columns that the query reads, unchanged; and `_reason`, what is wrong, `_field`, the column with the
        problem, and `_value`, its value

    Raises
    ------
    ConfigError
        the query or a backend is wrong: all problems at once
    InputError
        `df` is not a Spark DataFrame
    """
    if not hasattr(df, "isStreaming"):
        raise InputError("df", _no_dataframe(df))
    file_rows.warn_if_derived(df)
    return file_rows.bad_rows(df, plan_of(df, evolve(make_query(query), bad_rows=COUNT), backends))


def plan_of(
    df: "DataFrame",
    query: Query | Mapping[str, Any],
    backends: Mapping[str, Any] | None = None,
    shards: int | None = None,
    ticking: Ticking | None = None,
    bindings: Mapping[str, Binding] | None = None,
) -> ShardedPlan:
    """The plan of `apply` for a DataFrame, as plain data. Raises ConfigError with every problem at once.

    bindings: earlier bindings of the query and `backends`; the session may name others for the remaining roles.
    """
    own_query = make_query(query)
    if problems := collation_problems(own_query, df.schema):
        raise ConfigError(*(problem.within("query") for problem in problems))
    schema = arrow_schema(df)
    settings = _from_settings(df.sparkSession, own_query)
    if bindings is None or settings.keys() - (backends or {}).keys():
        bindings = bind(own_query, schema, with_names(df, own_query, schema, settings, backends))
    elif problems := column_problems(own_query, schema):
        raise ConfigError(*problems)
    return ShardedPlan(own_query, dict(bindings), schema, shard_count(own_query, shards), ticking)


def _no_dataframe(value: Any) -> str:
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    call = "data.to_spark()" if kind.startswith("pyspark.pandas.") else "session.createDataFrame(data)"
    remedy = f"make one with {call}, or call skyband.engines.local.apply without Spark"
    return f"must be a Spark DataFrame (got {kind}): {remedy}"


def ticking_of(idle_after: Any, finish: Any) -> Ticking | None:
    """Raises ConfigError where the two do not fit together."""
    problems = []
    if finish is not None and not isinstance(finish, bool):
        problems.append(Problem("finish", f"must be true or false (got {literal(finish)})"))
    if finish is not None and idle_after is not None:
        problems.append(Problem("idle_after", "is for streams that never end, finish for those that do: remove one"))
    wrong = None if idle_after is None else clock_problem(idle_after)
    if wrong is not None:
        problems.append(Problem("idle_after", wrong))
    if problems:
        raise ConfigError(*problems)
    if finish is not None:
        return Ticking(finish=finish)
    return None if idle_after is None else Ticking(parse(idle_after).length, started=time.time_ns() // 1000)


def _from_settings(spark: "SparkSession", query: Query) -> dict[str, str]:
    named = {role: spark.conf.get(f"spark.skyband.backends.{role}", None) for role in query.asked_roles}
    return {role: name for role, name in named.items() if name is not None}


def shard_count(query: Query, shards: int | None = None) -> int:
    """The number of operators that share a query's work. Raises ConfigError where it cannot be shared so."""
    count = (GROUPED_SHARDS if query.by else 1) if shards is None else shards
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise ConfigError(Problem("shards", f"must be a whole number, at least 1 (got {literal(count)})"))
    if count > MOST_SHARDS:
        raise ConfigError(Problem("shards", f"must be at most {MOST_SHARDS:,} (got {literal(count)})"))
    reason = query.one_shard if query.answers == ALL else "changes are found in whole answers, not in those of shards"
    if count > 1 and not query.by and reason is not None:
        message = f"{reason}: use shards = 1, or group with `by` (got {count})"
        raise ConfigError(Problem("shards", message))
    return count


def _check_session(spark: "SparkSession", plan: ShardedPlan) -> None:
    provider = "spark.sql.streaming.stateStore.providerClass"
    if spark.conf.get(provider, "") != ROCKSDB:
        raise EngineError(
            f"streaming state needs the RocksDB store: create the session with skyband.spark.session(), "
            f"or set {provider}={ROCKSDB} on yours"
        )
    partitions = int(spark.conf.get("spark.sql.shuffle.partitions"))
    if partitions > 4 * plan.shards:
        warnings.warn(
            f"spark.sql.shuffle.partitions is {partitions} for {plan.shards} shards; each partition commits "
            f"its state in every micro-batch, so set it to about {plan.shards} before the first start",
            stacklevel=4,
        )
