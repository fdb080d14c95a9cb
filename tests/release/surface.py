"""What a user or a plugin may rely on by name, read from the registry: a change of it needs a line in CHANGELOG.md.

python tests/release/surface.py > tests/release/surfaces/VERSION.txt     at a release, see CONTRIBUTING.md
"""

import inspect
import sys
from collections.abc import Iterator

import attrs
import click
import skyband
from attrs import frozen
from skyband import roles, spark, states
from skyband.cli.commands import group
from skyband.config.parameters import parameters_of
from skyband.queries import kinds, load_query
from skyband.registry import hookspecs, installed, load_class
from skyband.registry.backend_loading import load_interface
from skyband.registry.info import CAPABILITIES
from skyband_jobs.programs.parsing import KEYS
from skyband_jobs.tables.model import Sink, Source
from skyband_spark import states as spark_states
from skyband_specs.reference.job_file import own_tables

OURS = "skyband"


@frozen(order=True)
class Name:
    """A public name, `top-k`, or a part of one, `k` of `top-k`."""

    kind: str
    owner: str
    part: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.owner} {self.part}".rstrip()


def surface() -> list[Name]:
    """Every public name of the distributions of this repository, in order."""
    return sorted({*_queries(), *_backends(), *_roles(), *_hooks(), *_commands(), *_job(), *_python()})


def _queries() -> Iterator[Name]:
    ours = [info for plugin in installed().plugins if _is_ours(plugin.distribution) for info in plugin.queries]
    for kind in sorted({info.kind for info in ours} & kinds().keys()):
        yield Name("query", kind)
        yield from (Name("query", kind, parameter.name) for parameter in parameters_of(load_query(kind)))


def _backends() -> Iterator[Name]:
    for entry in installed().listing():
        if _is_ours(entry.distribution) and entry.problem is None:
            yield Name("backend", entry.info.key)
            parameters = parameters_of(load_class(entry.info))
            yield from (Name("backend", entry.info.key, parameter.name) for parameter in parameters)


def _roles() -> Iterator[Name]:
    for name, role in installed().roles.items():
        yield Name("role", name)
        interface = load_interface(role)
        public = [entry for entry in vars(interface) if not entry.startswith("_")]
        yield from (Name("role", name, method) for method in public if callable(getattr(interface, method)))
    yield from (Name("capability", name) for name in CAPABILITIES)


def _hooks() -> Iterator[Name]:
    for name, hook in inspect.getmembers(hookspecs, inspect.isfunction):
        if name.startswith("skyband_"):
            yield Name("hook", name)
            yield from (Name("hook", name, argument) for argument in inspect.signature(hook).parameters)


def _commands() -> Iterator[Name]:
    context = click.Context(group)
    for name in group.own_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield Name("command", name)
        options = [option for parameter in command.get_params(context) for option in parameter.opts]
        yield from (Name("command", name, option) for option in options if option.startswith("--"))


def _job() -> Iterator[Name]:
    yield from (Name("job", key) for key in KEYS)
    for table, cls in (("source", Source), ("sink", Sink), *((name, cls) for _, name, cls in own_tables())):
        yield Name("job", table)
        yield from (Name("job", table, field.name) for field in attrs.fields(cls))


def _python() -> Iterator[Name]:
    for module in (skyband, roles, states):
        yield Name("python", module.__name__)
        yield from (Name("python", module.__name__, name) for name in module.__all__)
    for module in (spark, spark_states):
        functions = inspect.getmembers(module, lambda value, of=module: getattr(value, "__module__", "") == of.__name__)
        yield Name("python", module.__name__)
        yield from (Name("python", module.__name__, name) for name, _ in functions if not name.startswith("_"))


def _is_ours(distribution: str) -> bool:
    return distribution == OURS or distribution.startswith(f"{OURS}-")


if __name__ == "__main__":
    sys.stdout.write("".join(f"{name}\n" for name in surface()))
