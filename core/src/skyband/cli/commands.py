"""The group of all commands, each imported when called, and how errors end a command."""

import sys
import traceback
import warnings
from errno import EPIPE
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any

import click

from skyband.cli import signals, streams
from skyband.cli.options import AS_JSON
from skyband.config.redaction import redact
from skyband.errors import ConfigError, PluginError, SkybandError
from skyband.text_tables import visible
from skyband.version import __version__

COMMANDS = ("backends", "queries", "engines", "describe")
"""Core's own commands; each is `command` in the module of that name."""

INTERRUPTED = 130


class Failure(click.ClickException):
    """Something is wrong, but the command was called correctly: exit status 1."""

    exit_code = 1
    as_json = False
    prefix = "error: "

    def show(self, file: Any = None) -> None:
        text = visible(redact(self.message), keep="\n\t")
        if self.as_json:
            from skyband.cli.json_lines import say_error

            say_error(text)
        else:
            first, *others = text.split("\n")
            click.echo("\n".join([self.prefix + (first or "failed"), *others]), err=True, file=file)


class Problems(Failure):
    """Several faults, one per line, each with its place."""

    prefix = ""


class Commands(click.Group):
    """Core's commands and those of plugins."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return [*COMMANDS, *(name for name in sorted(self._of_plugins) if name not in COMMANDS)]

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Says where to begin: a command that a plugin provides."""
        from skyband.registry.install_hints import comes_with

        hint = "." if "demo" in self.list_commands(ctx) else comes_with("demo")
        self.epilog = f"Begin with `skyband demo`{hint}"
        super().format_epilog(ctx, formatter)

    def own_commands(self, ctx: click.Context) -> list[str]:
        """The commands of Skyband's own distributions."""
        return [name for name in self.list_commands(ctx) if name not in self._brought_by]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name in COMMANDS:
            command: click.Command = import_module(f"skyband.cli.{cmd_name}").command
        else:
            of_plugin = self._of_plugins.get(cmd_name)
            if of_plugin is None:
                return None
            command = of_plugin
        if not any(parameter.name == "debug" for parameter in command.params):
            command.params.append(_debug_option())
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from skyband.errors import suggest
            from skyband.registry.install_hints import comes_with

            if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
                commands = self.list_commands(ctx)
                message = f"no command {args[0]!r}; {suggest(args[0], commands)}{comes_with(args[0])}"
                raise click.UsageError(message, ctx) from error
            raise

    def make_context(self, *arguments: Any, **named: Any) -> click.Context:
        try:
            return super().make_context(*arguments, **named)
        except KeyboardInterrupt as error:
            raise _interrupted(error) from None
        except OSError as error:  # --help and --version write here
            failure = _stdout_failure(error)
            if failure is None:
                raise
            raise failure from error

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except click.ClickException as error:
            error.message = redact(error.message)  # type: ignore[misc]  # final for click's own types only
            if isinstance(error, Failure):
                error.as_json = ctx.meta.get(AS_JSON, False)
            raise
        except (click.exceptions.Exit, click.Abort):
            raise
        except KeyboardInterrupt as error:
            raise _interrupted(error, ctx) from None
        except (Exception, SystemExit) as error:  # none of our commands raises SystemExit: a backend or plugin did
            if signals.status(error) is not None:
                raise _interrupted(error, ctx) from None
            failure = _stdout_failure(error)
            if failure is not None:
                raise failure from error
            if ctx.meta.get(_DEBUG) or isinstance(error, BrokenPipeError):
                raise
            failure = _failure(error, self._brought_by.get(ctx.invoked_subcommand or ""))
            failure.as_json = ctx.meta.get(AS_JSON, False)
            raise failure from error

    @cached_property
    def _brought_by(self) -> dict[str, str]:
        """The distribution of each command that a third-party plugin provides."""
        return {}

    @cached_property
    def _of_plugins(self) -> dict[str, click.Command]:
        """The commands of plugins, ours first. A plugin that fails is reported and does not affect the others."""
        from skyband.registry import installed
        from skyband.registry.discovery import OURS
        from skyband.registry.module_import import cause

        commands: dict[str, click.Command] = {}
        ours_first = sorted(installed().plugins, key=lambda plugin: not plugin.distribution.startswith(f"{OURS}-"))
        for plugin in ours_first:
            if plugin.manager is None or not plugin.manager.hook.skyband_commands.get_hookimpls():
                continue
            plugin_group = click.Group()
            try:
                plugin.manager.hook.skyband_commands(group=plugin_group)
            except (Exception, SystemExit) as error:  # a plugin may raise anything: report it
                reason = visible(cause(error))
                click.echo(f"warning: {plugin.distribution} could not add its commands: {reason}", err=True)
                continue
            added: Any = plugin_group.commands
            for name, command in added.items():
                if not isinstance(command, click.Command):
                    click.echo(f"warning: {plugin.distribution} adds {name!r}, not a command; skipped", err=True)
                elif name in COMMANDS or name in commands:
                    click.echo(f"warning: {plugin.distribution} adds {name!r}, a name already taken; skipped", err=True)
                else:
                    if not plugin.distribution.startswith(f"{OURS}-"):
                        command.short_help = f"{command.get_short_help_str(200)} (from {plugin.distribution})"
                        command.epilog = " ".join(
                            [command.epilog or "", f"This command comes from {plugin.distribution}."]
                        ).strip()
                        self._brought_by[name] = plugin.distribution
                    commands[name] = command
        return commands


_DEBUG = "skyband.debug"


def _interrupted(error: BaseException, ctx: click.Context | None = None) -> click.exceptions.Exit:
    status = signals.status(error) or INTERRUPTED
    if ctx is not None and ctx.meta.get(AS_JSON):
        from skyband.cli.json_lines import say_error

        say_error(signals.word(status))
    else:
        signals.say(signals.word(status))
    return click.exceptions.Exit(status)


def _stdout_failure(error: BaseException) -> Failure | None:
    """The failure to report when stdout could not be written although its reader is still there."""
    fault = streams.stdout_fault() if isinstance(error, OSError) and error.errno != EPIPE else None
    return None if fault is None else Failure(f"stdout cannot be written: {fault.strerror}")


def _failure(error: BaseException, plugin: str | None = None) -> Failure:
    """The failure to report for an error; `plugin`: the distribution of the command, unless it is core's."""
    from skyband.memory_limit import suspicion, used_up

    if isinstance(error, SkybandError) and error.names_places:
        return Problems(str(error))
    if isinstance(error, PluginError) and error.__cause__ is not None:
        return Failure(f"{error}\n--debug shows where it happened.")
    if isinstance(error, ConfigError | SkybandError):
        return Failure(str(error))
    if isinstance(error, MemoryError):
        return Failure(f"{used_up(error)}\n--debug shows where it happened.")
    if isinstance(error, OSError) and error.strerror and not _is_ours(error.filename):
        place = "" if error.filename is None else f"{error.filename}: "
        return Failure(f"{place}{error.strerror}\n--debug shows where it happened.")
    what = " ".join(f"{type(error).__name__}: {error}".split())
    if isinstance(error, UnicodeError) and streams.encoding_fault():  # a warning has explained it
        return Failure(f"{what}\n--debug shows where it happened.")
    if words := suspicion():
        return Failure(f"{what}\n{words}\n--debug shows where it happened.")
    return Failure(f"{what}\nThis is a bug in {plugin or 'Skyband or a plugin'}; --debug shows where it happened.")


def _is_ours(file: Any) -> bool:
    """Whether the file is Python code, Skyband's or a library's: a missing one is not the user's mistake."""
    return isinstance(file, str) and Path(file).suffix == ".py"


def _set_debug(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        ctx.meta[_DEBUG] = True  # shared with the contexts above


def _debug_option() -> click.Option:
    return click.Option(
        ["--debug"], is_flag=True, expose_value=False, callback=_set_debug, help="Show the traceback of an error."
    )


@click.command(
    cls=Commands,
    params=[_debug_option()],
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, message="skyband %(version)s")
def group() -> None:
    """Continuous top-k, distinct counts and similarity joins over sliding windows, every algorithm a plugin."""


def _warning(message: Warning | str, *_: object, **__: object) -> str:
    """A warning without the source line that Python adds below it."""
    return f"warning: {visible(redact(str(message)))}\n"


def _show_traceback(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    sys.stderr.write(redact("".join(traceback.format_exception(kind, error, trace))))


def main() -> None:
    """Run the command line."""
    warnings.formatwarning, sys.excepthook = _warning, _show_traceback
    streams.prepare()
    if fault := streams.encoding_fault():
        click.echo(f"warning: {fault}", err=True)
    with signals.as_interrupts():
        try:
            group(prog_name="skyband")
        except SystemExit as end:
            raise SystemExit(streams.ended_with(end.code)) from None
