"""What this distribution brings: Spark as an engine, and the commands for its checkpoints."""

import click
from skyband import EngineInfo, hookimpl


@hookimpl
def skyband_engines() -> list[EngineInfo]:
    """Spark, through PySpark."""
    summary, trial = "Spark through PySpark, in batch and as a stream", "skyband_specs.engines.spark_trial:SparkTrial"
    return [EngineInfo("spark", "skyband_spark.engine:SparkEngine", summary, module="skyband_spark", trial=trial)]


@hookimpl
def skyband_commands(group: click.Group) -> None:
    """The state of a stream that has stopped, and savepoints of it."""
    from skyband_spark.commands import savepoint, state

    group.add_command(state.command, "state")
    group.add_command(savepoint.command, "savepoint")
