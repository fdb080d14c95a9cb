"""skyband ask: any window, from a table of states, without Java."""

import json
from typing import Any

import click


@click.command(short_help="Answer any window from a table of states.")
@click.argument("states", type=click.Path(exists=True))
@click.option(
    "--last", "lasts", metavar="DURATION", multiple=True,
    help='Length of a window that ends at the moment asked, such as "37 minutes"; several times for several. '
    "[default: all that the states cover]",
)  # fmt: skip
@click.option(
    "--between", "ranges", metavar="LOW HIGH", multiple=True, nargs=2, type=float,
    help="Only items whose latest value v in the window has LOW <= v < HIGH; inf or -inf for no end. Several times for "
    "several ranges.",
)  # fmt: skip
@click.option("--at", metavar="MOMENT", help="The moment asked, such as 2026-11-22T10:30. [default: the newest]")
@click.option(
    "--by", metavar="COLUMN", multiple=True, help="Unite the states of each value; may be given several times."
)
@click.option("--union", "united", is_flag=True, help="Add the union of all, or answer that alone without --by.")
@click.option("-k", "k", type=click.IntRange(1), help="Of rankers: objects in an answer. [default: the query's]")
@click.option("--column", default="state", show_default=True, help="The column of states.")
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
def command(
    states: str,
    lasts: tuple[str, ...],
    ranges: tuple[tuple[float, float], ...],
    at: str | None,
    by: tuple[str, ...],
    united: bool,
    k: int | None,
    column: str,
    as_json: bool,
) -> None:
    """Answer windows from STATES, the Parquet files that a query with `emit = "state"` wrote: a folder or a file.

    Each group is answered at one moment. With --by the groups of equal values are united, with --union all of them: the
    distinct items of all, each counted once, or the objects with the largest totals of all.
    """
    from skyband import text_tables
    from skyband.states.asking_a_table import ask

    found = ask(states, lasts, at, by, united, column, k, ranges)
    if as_json:
        rows = [{**row.group, "last": row.window, **row.numbers} for row in found.rows]
        click.echo(json.dumps({"at": found.at, "answers": rows}, indent=2, default=str))
        return
    names = list(found.rows[0].numbers) if found.rows else []
    show = _whole if "count" in names else _shown
    shown = [[*_groups(found.by, row), row.window, *map(show, names, row.numbers.values())] for row in found.rows]
    click.echo(f"at {found.at}", err=True)
    text_tables.table([*found.by, "last", *names], shown)


def _shown(name: str, value: Any) -> Any:
    """Totals as they are, estimates of them to two places."""
    if not isinstance(value, float):
        return value
    if name == "share":
        return f"{value:.4f}"
    return round(value) if value == round(value) else f"{value:.2f}"


def _whole(_: str, value: float | str) -> int | str:
    return value if isinstance(value, str) else round(value)


def _groups(by: tuple[str, ...], row: Any) -> list[Any]:
    return [row.group.get(name, "all") for name in by]
