"""Lists what is installed of one kind, as a table or as JSON."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

Columns = Mapping[str, Callable[[dict[str, Any]], str]]


def plain(entry: Any, problem: str | None, **own: Any) -> dict[str, Any]:
    """An entry as JSON has it: its own keys, who brings it, and why it cannot be used."""
    brought = {"distribution": entry.distribution, "version": entry.version, "api": entry.info.api}
    return {**own, **brought, "problem": problem}


def write(
    kind: str,
    entries: Sequence[dict[str, Any]],
    columns: Columns,
    as_json: bool,
    more: Sequence[Sequence[str]] = (),
    **others: Any,
) -> None:
    """Write the entries of a kind, such as "engines".

    columns: the first ones of the table. more: further rows of the table. others: further keys of the JSON.
    """
    from skyband import text_tables

    if as_json:
        click.echo(json.dumps({kind: entries, **others}, indent=2))
        return
    head = [*columns, "distribution", "version", "status"]
    rows = [
        [*(text(entry) for text in columns.values()), entry["distribution"], entry["version"], entry["problem"] or "ok"]
        for entry in entries
    ]
    first, *_, last = columns
    styles = {first: "bold", "": "green", "distribution": "dim", "version": "dim"}
    missing = text_tables.table(head, [*rows, *more], styles=styles, spare=("version", "distribution", last))
    if missing:
        click.echo(f"no room for {', '.join(missing)}: --json shows every column", err=True)
