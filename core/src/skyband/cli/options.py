"""Options that several commands share."""

import difflib
from typing import Any

import click

from skyband.errors import ConfigError, PluginError, suggest
from skyband.registry.install_hints import comes_with

QUERY, FORMAT, ENGINE_KEY = "query", "format", "engine"
"""Prefixes of the keys query/KIND, format/NAME and engine/NAME; a backend's key begins with its role."""

AS_JSON = "skyband.log_as_json"
"""Key in a context's `meta`: whether errors are written as JSON."""


class RoleName(click.types.StringParamType):
    """The name of a role; the installed roles are looked up only when needed."""

    name = "role"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from skyband.registry import installed

        try:
            return installed().role(str(value)).name  # raises PluginError for a role that is installed but unusable
        except ConfigError:
            self.fail(f"unknown role {value!r}; {suggest(value, installed().roles)}{comes_with(value)}", param, ctx)

    def get_metavar(self, *_: Any, **__: Any) -> str:
        from skyband.registry import installed

        return f"[{'|'.join(installed().roles)}]"

    def get_missing_message(self, *_: Any, **__: Any) -> str:
        from skyband.registry import installed

        return f"Choose from: {', '.join(installed().roles)}."


ROLE = RoleName()


class EngineName(click.types.StringParamType):
    """The name of an engine; the installed engines are looked up only when needed."""

    name = "engine"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from skyband.registry import installed

        try:
            return installed().engines.named(str(value)).info.name  # raises PluginError if two bring this name
        except ConfigError as error:
            self.fail(", ".join(problem.message for problem in error.problems), param, ctx)

    def get_metavar(self, *_: Any, **__: Any) -> str:
        from skyband.registry import installed

        names = dict.fromkeys(entry.info.name for entry in installed().engines.listing)
        return f"[{'|'.join(names)}]"


ENGINE = EngineName()


def backend_key(ctx: click.Context, parameter: click.Parameter, value: str) -> tuple[str, str]:
    """ROLE/NAME as a pair; the role must be known."""
    from skyband.registry import installed

    role, slash, name = value.partition("/")
    if not slash and role not in installed().roles:
        message = f"must be ROLE/NAME, query/KIND or engine/NAME (got {value!r}); {_closest(value)}"
        raise click.BadParameter(message, ctx, parameter)
    ROLE.convert(role, parameter, ctx)
    if not name:
        raise click.BadParameter(f"must be ROLE/NAME, such as {role}/{installed().role(role).default}", ctx, parameter)
    return role, name


def backend_or_query(ctx: click.Context, parameter: click.Parameter, value: str) -> tuple[str, str]:
    """ROLE/NAME, query/KIND or engine/NAME as a pair; the role, kind or engine must be known."""
    from skyband.queries import kinds
    from skyband.registry import installed

    prefix, slash, kind = value.partition("/")
    if prefix == ENGINE_KEY and slash:
        return _installed_one(ctx, parameter, prefix, kind)
    query_kinds = {entry.info.kind for entry in installed().queries.listing}
    if prefix != QUERY:
        return backend_key(ctx, parameter, value)
    if kind not in query_kinds:
        message = f"must be query/KIND, such as query/{next(iter(kinds()), 'top-k')}" if not kind else None
        raise click.BadParameter(
            message or f"unknown query {kind!r}; {suggest(kind, query_kinds)}{comes_with(kind)}", ctx, parameter
        )
    return QUERY, kind


def backend_query_or_format(ctx: click.Context, parameter: click.Parameter, value: str) -> tuple[str, str]:
    """ROLE/NAME, query/KIND, engine/NAME or format/NAME as a pair."""
    prefix, _, name = value.partition("/")
    if prefix != FORMAT:
        return backend_or_query(ctx, parameter, value)
    return _installed_one(ctx, parameter, FORMAT, name)


def _installed_one(ctx: click.Context, parameter: click.Parameter, sort: str, name: str) -> tuple[str, str]:
    """An installed format or engine, as a pair."""
    from skyband.registry import installed

    try:
        (installed().formats if sort == FORMAT else installed().engines).named(name)
    except ConfigError as error:
        raise click.BadParameter(str(error), ctx, parameter) from error
    except PluginError:
        pass  # claimed twice: --distribution may choose one
    return sort, name


def _closest(name: str) -> str:
    """A hint that names the backends, queries and engines of this name, or of the closest one."""
    from skyband.registry import installed

    others: tuple[Any, ...] = (*installed().queries.listing, *installed().engines.listing)
    infos = [*installed().backends(), *(entry.info for entry in others)]
    names = {info.key: info.key.partition("/")[2] for info in infos}
    close = difflib.get_close_matches(name, names.values(), n=1)
    keys = [key for key in names if names[key] in close]
    return f"did you mean {' or '.join(keys)}?" if keys else "`skyband backends`, `queries` and `engines` list them"
