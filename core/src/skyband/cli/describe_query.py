"""skyband describe query/KIND: shows its keys, answer columns and roles, from its class."""

import json
from typing import Any

import click


def describe_query(kind: str, distribution: str | None, as_json: bool) -> None:
    """Describe a kind of query. Raises ConfigError or PluginError if it cannot be used."""
    from skyband.config.parameters import parameters_of
    from skyband.queries import load_query
    from skyband.registry import installed

    entry = installed().queries.named(kind, distribution)
    cls = load_query(kind, distribution)
    keys, columns = parameters_of(cls), _columns(kind, distribution)
    if as_json:
        click.echo(json.dumps(_plain(entry, cls, keys, columns), indent=2, default=str))
    else:
        _show(entry, cls, keys, columns)


def _columns(kind: str, distribution: str | None) -> list[tuple[str, str]]:
    """Names and types of the answer columns, from the query's first example; empty if it has no example."""
    from skyband.queries import examples_of, make_query

    for example in examples_of(kind, distribution):
        owner = {} if distribution is None else {"distribution": distribution}
        query = make_query({**example.keys, "kind": kind, **owner})
        return [(field.name, str(field.type)) for field in query.answer_fields(example.rows.schema)]
    return []


def _show(entry: Any, cls: Any, keys: Any, columns: list[tuple[str, str]]) -> None:
    from skyband import text_tables
    from skyband.cli.descriptions import write_facts, write_parameters, write_sections, write_text
    from skyband.docstrings import read_docstring
    from skyband.queries.query import NULL_TIME
    from skyband.registry import installed

    info = entry.info
    write_text(f"{info.key}: {info.summary}\n")
    sections = read_docstring(cls)
    write_text(sections.text)
    roles = installed().roles
    facts = [
        *(("role", f"{role}, by default {roles[role].default}" if role in roles else role) for role in cls.roles),
        ("leaves out", ", ".join([NULL_TIME, *cls.drop_reasons, "late"]) + "; each counted"),
        ("from", f"{entry.distribution} {entry.version}"),
    ]
    write_facts(facts)
    write_parameters(keys)
    if columns:
        click.echo("\nColumns of its answers, after those of `by`, as in an example:")
        text_tables.table(["column", "type"], [list(column) for column in columns], styles={"column": "bold"})
    write_sections(sections)


def _plain(entry: Any, cls: Any, keys: Any, columns: list[tuple[str, str]]) -> dict[str, Any]:
    from skyband.cli.descriptions import plain_parameters
    from skyband.docstrings import read_docstring
    from skyband.queries.query import NULL_TIME

    info = entry.info
    return {
        "query": info.key,
        "kind": info.kind,
        "summary": info.summary,
        "description": read_docstring(cls).text,
        "roles": list(cls.roles),
        "drop_reasons": [NULL_TIME, *cls.drop_reasons],
        "distribution": entry.distribution,
        "version": entry.version,
        "keys": plain_parameters(keys),
        "columns": [{"name": name, "type": kind} for name, kind in columns],
    }
