"""What this distribution registers: five formats of sources and sinks."""

from skyband import FormatInfo, hookimpl

_TRIALS = "skyband_lakes.trials"


@hookimpl
def skyband_formats() -> list[FormatInfo]:
    """Delta Lake, Apache Iceberg, SQL and Kafka, read and written; Redis, the newest answers."""
    can = ("reads", "writes", "streams")
    return [
        FormatInfo("delta", "skyband_lakes.delta.format:DeltaFormat", "tables of Delta Lake", (*can, "current"),
                   trial=f"{_TRIALS}:DeltaTrial"),
        FormatInfo("iceberg", "skyband_lakes.iceberg.format:IcebergFormat", "tables of Apache Iceberg",
                   (*can, "current"),
                   trial=f"{_TRIALS}:IcebergTrial"),
        FormatInfo("kafka", "skyband_lakes.kafka.format:KafkaFormat", "topics of Kafka",
                   (*can, "follows", "current")),
        FormatInfo("redis", "skyband_lakes.redis.format:RedisFormat", "the newest answers in Redis",
                   ("streams", "current")),
        FormatInfo("sql", "skyband_lakes.sql.format:SqlFormat", "tables of databases, through SQLAlchemy",
                   (*can, "current"), trial=f"{_TRIALS}:SqlTrial"),
    ]  # fmt: skip
