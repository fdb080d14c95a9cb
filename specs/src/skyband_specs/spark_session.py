"""The session in which checks run on Spark."""

from functools import cache
from typing import Any

from skyband_spark.spark_session.session import session


@cache
def small_session() -> Any:
    """A session of this process on two cores, in silence."""
    local = {"spark.master": "local[2]", "spark.sql.shuffle.partitions": "2", "spark.ui.enabled": "false"}
    quiet = {"spark.ui.showConsoleProgress": "false", "spark.sql.session.timeZone": "UTC"}
    loopback = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
    started = session("skyband verify", **local, **quiet, **loopback)
    started.sparkContext.setLogLevel("OFF")
    return started
