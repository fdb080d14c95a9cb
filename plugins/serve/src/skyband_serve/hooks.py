"""What this distribution brings: an engine for streams in one process, and the command that runs it."""

import click
from skyband import EngineInfo, hookimpl


@hookimpl
def skyband_engines() -> list[EngineInfo]:
    """Streams in one process that resume after any kill."""
    summary = "streams in this process, without Spark; a stopped one resumes"
    return [EngineInfo("serve", "skyband_serve.engine:ServeEngine", summary, trial="skyband_serve.trial:ServeTrial")]


@hookimpl
def skyband_commands(group: click.Group) -> None:
    """Run a stream as a service."""
    from skyband_serve.command import command

    group.add_command(command, "serve")
