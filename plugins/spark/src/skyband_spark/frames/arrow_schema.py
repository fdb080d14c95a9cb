"""The Arrow schema of a DataFrame."""

from inspect import signature
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def arrow_schema(df: "DataFrame") -> Any:
    """Its instants are in the session's time zone."""
    import pyarrow as pa
    from pyspark.sql.pandas.types import to_arrow_schema

    zone = df.sparkSession.conf.get("spark.sql.session.timeZone")
    if "timezone" in signature(to_arrow_schema).parameters:
        return to_arrow_schema(df.schema, timezone=zone)
    schema = to_arrow_schema(df.schema)  # PySpark 4.1 gives every instant the zone UTC
    return pa.schema(
        field.with_type(pa.timestamp("us", zone)) if getattr(field.type, "tz", None) else field for field in schema
    )
