"""skyband describe: describes one backend, query or engine in full, from its class and its plugin."""

import json
from typing import Any

import click

from skyband.cli.descriptions import plain_parameters, write_facts, write_parameters, write_sections, write_text
from skyband.cli.options import ENGINE_KEY, QUERY, backend_or_query


@click.command(short_help="Describe a backend, query or engine in full.")
@click.argument("key", metavar="ROLE/NAME|query/KIND|engine/NAME", callback=backend_or_query)
@click.option("--distribution", help="The distribution to take it from, if two have this name.")
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
def command(key: tuple[str, str], distribution: str | None, as_json: bool) -> None:
    """Describe a backend: its parameters with types, defaults and bounds, its guarantee, capabilities and paper.

    For a query: keys with types, defaults and bounds, the columns of its answers, and its roles. Engines work too.
    """
    from skyband.errors import ConfigError

    try:
        if key[0] == QUERY:
            from skyband.cli.describe_query import describe_query

            describe_query(key[1], distribution, as_json)
        elif key[0] == ENGINE_KEY:
            _describe_engine(key[1], distribution, as_json)
        else:
            _describe_backend(key, distribution, as_json)
    except ConfigError as error:
        raise click.BadParameter(str(error), param_hint="'ROLE/NAME|query/KIND|engine/NAME'") from error


def _describe_backend(key: tuple[str, str], distribution: str | None, as_json: bool) -> None:
    from skyband.config.parameters import parameters_of
    from skyband.docstrings import read_docstring
    from skyband.registry import installed

    binding = installed().bind(*key, distribution)
    cls = binding.backend_class
    parameters = parameters_of(cls)
    described = read_docstring(cls)
    if as_json:
        click.echo(json.dumps(_plain(binding, described, parameters), indent=2, default=str))
    else:
        _show_backend(binding, described, parameters)


def _describe_engine(name: str, distribution: str | None, as_json: bool) -> None:
    from skyband.docstrings import read_docstring
    from skyband.registry import installed

    engine = installed().load_engine(name, distribution)
    entry = installed().engines.named(name, distribution)
    text = read_docstring(type(engine)).text
    if as_json:
        described = {"engine": entry.info.key, "summary": entry.info.summary, "description": text}
        click.echo(json.dumps({**described, "distribution": entry.distribution, "version": entry.version}, indent=2))
        return
    write_text(f"{entry.info.key}: {entry.info.summary}\n")
    write_text(text)
    click.echo(f"\nfrom  {entry.distribution} {entry.version}")


def _show_backend(binding: Any, described: Any, parameters: Any) -> None:
    from skyband.registry import installed

    info = binding.info
    role = installed().role(info.role)
    write_text(f"{info.key}: {info.summary}")
    click.echo()
    write_text(described.text)
    has = [name for name in role.all_capabilities if name not in info.lacks]
    facts = [
        ("answers", role.summary + (" (the role's default)" if role.default == info.name else "")),
        ("guarantee", info.guarantee),
        ("can", ", ".join(has) or "nothing beyond its role"),
        *((f"lacks {name}", reason) for name, reason in info.lacks.items()),
        ("paper", info.reference),
        ("from", f"{binding.distribution} {binding.version}"),
    ]
    write_facts(facts)
    write_parameters(parameters)
    if not parameters:
        click.echo("It has no parameters.")
    write_sections(described)


def _plain(binding: Any, described: Any, parameters: Any) -> dict[str, Any]:
    info = binding.info
    return {
        "backend": info.key,
        "summary": info.summary,
        "description": described.text,
        "guarantee": info.guarantee,
        "lacks": dict(info.lacks),
        "reference": info.reference,
        "complexity": described.complexity,
        "references": described.references,
        "example": described.example,
        "distribution": binding.distribution,
        "version": binding.version,
        "parameters": plain_parameters(parameters),
    }
