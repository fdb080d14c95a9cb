"""The parts of `skyband describe` that backends and queries share: text, sections, parameters."""

import textwrap
from typing import Any

import click


def write_text(text: str, indent: str = "") -> None:
    """Write paragraphs, wrapped to the terminal."""
    from skyband import text_tables

    click.echo(click.wrap_text(text, text_tables.width(), indent, indent, preserve_paragraphs=True))


def write_facts(facts: Any) -> None:
    """Write pairs of a name and a text, the texts below each other."""
    from skyband import text_tables

    wide = max(len(name) for name, _ in facts) + 2
    lines = [click.wrap_text(value, text_tables.width(), f"{name:<{wide}}", " " * wide) for name, value in facts]
    click.echo("\n".join(["", *lines, ""]))


def write_sections(sections: Any) -> None:
    """Write the sections of a docstring after its parameters, each under its heading."""
    for heading, text in sections.sections.items():
        if heading != "Parameters" and text:
            click.echo(f"\n{click.style(heading, bold=True)}\n")
            if heading == "Examples":
                click.echo(textwrap.indent(text, "  "))
            else:
                write_text(text, "  ")


def write_parameters(parameters: Any) -> None:
    """Write parameters: of each its name, type, default and bounds, and below them its meaning."""
    for entry in parameters:
        facts = (entry.type, _default(entry), entry.bounds)
        write_text(f"{click.style(entry.name, bold=True)}  {', '.join(filter(None, facts))}")
        write_text(entry.help, "    ")


def _default(parameter: Any) -> str:
    if parameter.required:
        return "required"
    return "optional" if parameter.default is None else f"default {parameter.default}"


def plain_parameters(parameters: Any) -> list[dict[str, Any]]:
    """Parameters as JSON values."""
    return [
        {
            "name": entry.name,
            "type": entry.type,
            "required": entry.required,
            "default": None if entry.required else entry.default,
            "bounds": entry.bounds,
            "help": entry.help,
        }
        for entry in parameters
    ]
