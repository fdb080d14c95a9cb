"""Names for the backends that a program gives limits for, by the first rows of a batch."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from skyband.errors import ConfigError
from skyband.operator.bind_backends import column_problems
from skyband.queries.query import Query

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


def with_names(df: "DataFrame", query: Query, schema: "pa.Schema", settings: Mapping[str, str], backends: Any) -> Any:
    """The backends of the session's settings and a program, for `bind`: with a name in place of limits.

    Those of a stream keep their limits, as it has no rows to measure on. Runs a job of Spark if there are limits.
    Raises ConfigError for a column that is not there, or as `choose_backends`.
    """
    from skyband_jobs.running.limits import MOST_ROWS, limited

    if not isinstance(backends, Mapping | None):
        return backends  # refused by `bind`
    backends = {**settings, **(backends or {})}
    if df.isStreaming or not any(limited(role, backends.get(role)) for role in query.asked_roles):
        return backends
    if problems := column_problems(query, schema):
        raise ConfigError(*problems)
    from skyband_jobs import choose_backends

    columns = [df[f"`{name.replace('`', '``')}`"] for name in query.columns]
    return choose_backends(df.select(*columns).limit(MOST_ROWS).toArrow(), query, backends)
