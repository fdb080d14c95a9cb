"""skyband describe: one backend in full, read from its class and from what its plugin says."""

import inspect
import json
from typing import Any

import click

from skyband.cli.options import backend_key


@click.command(short_help="Describe a backend: parameters, guarantee, paper.")
@click.argument("backend", metavar="ROLE/NAME", callback=backend_key)
@click.option("--distribution", help="Whose backend, where two distributions have one of this name.")
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
def command(backend: tuple[str, str], distribution: str | None, as_json: bool) -> None:
    """Describe a backend: its parameters with types, defaults and bounds, its guarantee, capabilities and paper."""
    from skyband.errors import ConfigError
    from skyband.parameters import parameters_of
    from skyband.registry import installed, load_class

    try:
        binding = installed().bind(*backend, distribution)
    except ConfigError as error:
        raise click.BadParameter(str(error), param_hint="'ROLE/NAME'") from error
    cls = load_class(binding.info)
    parameters = parameters_of(cls)
    described = _first_paragraph(cls)
    if as_json:
        click.echo(json.dumps(_plain(binding, described, parameters), indent=2, default=str))
    else:
        _shown(binding, described, parameters)


def _first_paragraph(cls: type) -> str:
    text = inspect.cleandoc(cls.__doc__ or "")
    return " ".join(text.partition("\n\n")[0].split())


def _shown(binding: Any, described: str, parameters: Any) -> None:
    from skyband import report
    from skyband.info import capabilities_of
    from skyband.roles import ROLES

    info = binding.info
    role = ROLES[info.role]
    click.echo(f"{info.key}: {info.summary}")
    if described and described.rstrip(".").lower() != info.summary.rstrip(".").lower():
        click.echo(f"\n{click.wrap_text(described, report.width())}")
    has = [name for name in capabilities_of(info.role) if name not in info.lacks]
    facts = [
        ("answers", role.summary + (" (the role's default)" if role.default == info.name else "")),
        ("guarantee", info.guarantee),
        ("can", ", ".join(has) or "nothing beyond its role"),
        *((f"lacks {name}", reason) for name, reason in info.lacks.items()),
        ("paper", info.reference),
        ("from", f"{binding.distribution} {binding.version}"),
    ]
    wide = max(len(name) for name, _ in facts)
    click.echo()
    for name, value in facts:
        click.echo(f"{name:<{wide}}  {value}")
    click.echo()
    if not parameters:
        click.echo("It has no parameters.")
        return
    rows = [[entry.name, entry.type, _default(entry), entry.bounds, entry.help] for entry in parameters]
    report.table(["parameter", "type", "default", "bounds", "meaning"], rows, styles={"parameter": "bold"})


def _default(parameter: Any) -> str:
    if parameter.required:
        return "required"
    return "none" if parameter.default is None else str(parameter.default)


def _plain(binding: Any, described: str, parameters: Any) -> dict[str, Any]:
    info = binding.info
    return {
        "backend": info.key,
        "summary": info.summary,
        "description": described,
        "guarantee": info.guarantee,
        "lacks": dict(info.lacks),
        "reference": info.reference,
        "distribution": binding.distribution,
        "version": binding.version,
        "parameters": [
            {
                "name": entry.name,
                "type": entry.type,
                "required": entry.required,
                "default": None if entry.required else entry.default,
                "bounds": entry.bounds,
                "help": entry.help,
            }
            for entry in parameters
        ],
    }
