"""skyband ask: answers any window from a table of states, without Java."""

from collections.abc import Iterable
from functools import lru_cache
from math import isfinite
from typing import Any

import click
from skyband.config.parameters import Parameter

_DIGITS_END = 1e6
"""From here on the integer part has more than six digits."""

_MEANT = dict.fromkeys(("--k", "--top", "--limit", "--first", "--number", "--count", "-n"), "-k")
"""What people type for an option of one letter, which a similar spelling would not suggest."""


class AskCommand(click.Command):
    """A command with one option for each parameter of the questions that installed backends' states answer."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        own = super().get_params(ctx)
        own_options = {name for parameter in own for name in parameter.opts}
        return [*own, *(option for option in self.of_questions if not own_options & {*option.opts})]

    @property
    def of_questions(self) -> list[click.Option]:
        """Imported when the command is called."""
        from skyband.registry import installed

        return _options(installed())

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        from skyband.registry.install_hints import comes_with

        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            short = _MEANT.get(error.option_name)
            if short in {name for parameter in self.get_params(ctx) for name in parameter.opts}:
                error.possibilities = [short]  # type: ignore[misc]  # as below
            message = error.message.rstrip(".") + comes_with(error.option_name)
            error.message = message  # type: ignore[misc]  # final for click's own types only
            raise

    def invoke(self, ctx: click.Context) -> Any:
        """Gather the questions' parameters in `values`."""
        names = [option.name for option in self.of_questions if option.name in ctx.params]
        values = {name: ctx.params.pop(name) for name in names if name is not None}
        ctx.params["values"] = {name: value for name, value in values.items() if value not in (None, (), False)}
        return super().invoke(ctx)


@lru_cache(maxsize=1)
def _options(_: Any) -> list[click.Option]:
    """The same options for the same registry, because click looks for the same objects again."""
    from skyband_jobs.files.asking_a_table import parameters

    both = {**parameters(of_pairs=True), **parameters()}
    return [_option(one.question, one.parameter, one.several) for one in both.values()]


def _option(question: str, parameter: Parameter, several: bool) -> click.Option:
    """One option; the question itself checks the value."""
    kinds: dict[str, Any] = {"int": click.INT, "float": click.FLOAT, "range": click.FLOAT, "list": _NumberOrText()}
    ends = parameter.type == "range"
    name = question if parameter.name == "of" else parameter.name  # of distance: --distance ks
    dashes = "-" if len(name) == 1 else "--"
    return click.Option(
        [dashes + name.replace("_", "-"), parameter.name],
        type=kinds.get(parameter.type, click.STRING), multiple=several, nargs=2 if ends else 1,
        is_flag=parameter.type == "bool", metavar="LOW HIGH" if ends else None,
        help=f"{question}: {parameter.help}{'; may be given several times' if several else ''}.",
    )  # fmt: skip


class _NumberOrText(click.ParamType):  # type: ignore[type-arg]  # generic in some versions of click
    name = "value"

    def convert(self, value: Any, _: Any, __: Any) -> Any:
        for kind in (int, float):
            try:
                return kind(value)
            except ValueError:
                continue
        return value


@click.command(cls=AskCommand, short_help="Answer any window from a table of states.")
@click.argument("states", type=click.Path(exists=True))
@click.option(
    "--last", "lasts", metavar="DURATION", multiple=True,
    help='Length of a window that ends at the moment asked for, such as "37 minutes"; may be given several times. '
    "[default: everything that the states cover]",
)  # fmt: skip
@click.option(
    "--at", metavar="MOMENT", help="The moment to answer for, such as 2026-11-22T10:30. [default: the newest]"
)
@click.option(
    "--against", metavar="LENGTH|PATH",
    help='Compare the states with those of this much before, such as "7 days", or with the newest of other Parquet '
    "files.",
)  # fmt: skip
@click.option(
    "--by", metavar="COLUMN", multiple=True, help="Merge the states of each value; may be given several times."
)
@click.option("--union", "united", is_flag=True, help="Add the union of all groups; without --by, answer only it.")
@click.option("--question", help="One of the questions that the states answer. [default: the first with these options]")
@click.option("--column", default="state", show_default=True, help="The column that holds the states.")
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
def command(
    states: str,
    lasts: tuple[str, ...],
    at: str | None,
    against: str | None,
    by: tuple[str, ...],
    united: bool,
    question: str | None,
    column: str,
    as_json: bool,
    values: dict[str, Any],
) -> None:
    """Answer windows from STATES, the Parquet files that a query with `emit = "state"` wrote: a folder or a file.

    Each group is answered at one moment. --by merges the groups with equal values, --union all groups: distinct items
    are counted once over all of them, largest totals are taken over all of them. The other options depend on what the
    states answer.
    """
    from skyband import text_tables

    from skyband_jobs.files.asking_a_table import ask, to_json

    answers = ask(states, lasts, at, by, united, column, question, values, against)
    if answers.left_out:
        click.echo(f"left out: groups with a state at one of the two moments only, {answers.left_out:,}", err=True)
    if as_json:
        click.echo(to_json(answers))
        return
    names = list(answers.rows[0].numbers) if answers.rows else []
    show = _whole if answers.whole_numbers else _cell
    cells = [[*_groups(answers.by, row), row.window, *map(show, names, row.numbers.values())] for row in answers.rows]
    click.echo(f"at {answers.at}" + ("" if answers.against is None else f" against {answers.against}"), err=True)
    text_tables.table([*answers.by, "last", *names], cells)


def _cell(name: str, value: Any) -> Any:
    """A float with six digits, or more if its integer part needs them; shares with four decimals."""
    if not isinstance(value, float):
        return value
    if name == "share":
        return f"{value:.4f}"
    if not isfinite(value) or value == round(value):
        return _whole(name, value)
    return f"{value:.6g}" if abs(value) < _DIGITS_END else round(value)


def _whole(_: str, value: Any) -> Any:
    return round(value) if isinstance(value, float) and isfinite(value) else value


def _groups(by: Iterable[str], row: Any) -> list[Any]:
    return [row.group.get(name, "all") for name in by]
