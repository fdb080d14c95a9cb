"""The parts of `skyband describe` that backends and queries share: text, sections, parameters."""

import textwrap
from typing import Any

import click


def write_text(text: str, indent: str = "") -> None:
    """Write paragraphs, wrapped to the terminal."""
    from skyband import text_tables

    click.echo(click.wrap_text(text, text_tables.width(), indent, indent, preserve_paragraphs=True))


def write_sections(sections: Any) -> None:
    """Write the sections of a docstring after its parameters, each under its heading."""
    for heading, text in sections.sections.items():
        if heading != "Parameters" and text:
            click.echo(f"\n{click.style(heading, bold=True)}\n")
            if heading == "Examples":
                click.echo(textwrap.indent(text, "  "))
            else:
                write_text(text, "  ")


def parameter_rows(parameters: Any) -> list[list[str]]:
    """Parameters as rows of a table: name, type, default, bounds, meaning."""
    return [[entry.name, entry.type, _default(entry), entry.bounds, entry.help] for entry in parameters]


def _default(parameter: Any) -> str:
    if parameter.required:
        return "required"
    return "none" if parameter.default is None else str(parameter.default)


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
