"""skyband compare: runs a job on several backends of one role and compares them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from skyband_jobs.commands.options import settings

from skyband_compare.commands.comparison_options import (
    SECONDS,
    Ticker,
    names_of,
    output_options,
    seconds_given,
    writable,
    write_report,
)

NO_SINK = 'sink={format="console"}'
"""Nothing is written, so the sink is not checked."""


@click.command(short_help="Run a job on several backends and compare them.")
@click.argument("job", type=click.Path(exists=True, dir_okay=False))
@click.option(
    "--backends", "chosen", required=True, metavar="ROLE=A,B,C",
    help="What to compare; parameters follow a name: sketch=pcsa-ml,k-skb:epsilon=0.05.",
)  # fmt: skip
@click.option("--against", metavar="NAME", help="The backend whose answers are the reference; by default an exact one.")
@click.option("--set", "sets", metavar="KEY=VALUE", multiple=True, callback=settings,
              help="Change a key of the job, such as query.k=10; repeatable.")  # fmt: skip
@click.option("--limit", type=click.IntRange(1), default=1_000_000, show_default=True, metavar="ROWS",
              help="Take only the first rows of the source.")  # fmt: skip
@click.option("--seconds", type=SECONDS, default=60.0, show_default=True,
              help="Stop a backend that takes longer, and compare its answers so far.")  # fmt: skip
@output_options
def command(
    job: str,
    chosen: str,
    against: str | None,
    sets: tuple[str, ...],
    limit: int,
    seconds: float,
    as_json: bool,
    html: Path | None,
) -> None:
    """Run a job on several backends of one role, and compare their answers, memory and speed.

    Each backend gets the same rows in this process, in order of time, twice: to warm up, and to be measured. "first
    call" is how much longer the first run took, a cost that every process pays once: importing, and compiling or
    loading kernels. The job's other roles stay the same, and nothing is written to its sink.

    The reference is an exact backend: the first one named, else the role's default if it is exact, else any installed
    one. A backend that fails is shown in red with its cause, and the exit status is 1.
    """
    from skyband_jobs import read_job

    from skyband_compare.comparison.candidates import choices, reference, role_and_names
    from skyband_compare.comparison.results import run_case

    writable(html)
    role, names = names_of("--backends", role_and_names, chosen)
    checked = _read(job, lambda: read_job(job, (*sets, NO_SINK), "local"))
    if role not in checked.query.asked_roles:
        used = " and ".join(checked.query.asked_roles) or "none, so there is nothing to compare"
        raise click.BadParameter(f"{checked.query.kind} has no role {role}; it has {used}", param_hint="--backends")
    compared = names_of("--backends", choices, role, names, checked.backends.get(role))
    if len(compared) < 2:
        raise click.BadParameter(f"only one backend, {compared[0].label}: name at least two", param_hint="--backends")
    right = (
        names_of("--against", choices, role, against, checked.backends.get(role))[0] if against is not None else None
    )
    right = names_of("--backends", reference, role, compared, right)
    steps, cut = _read(job, lambda: _steps(checked, limit))
    others = {name: chosen for name, chosen in checked.backends.items() if name != role}
    title = f"{checked.query.kind} of {checked.name}, {len(steps.frame):,} rows{' (the first)' if cut else ''}"
    with Ticker() as ticker:
        case = run_case(title, role, steps, compared, right, others, seconds, ticker.tick)
    call = ["compare", job, "--backends", chosen]
    call += ["--against", against] if against is not None else []
    call += [part for change in sets for part in ("--set", change)]
    call += ["--limit", str(limit)] if cut else []
    call += seconds_given()
    write_report("compare", role, _subject(checked.query, steps), [case], call, as_json, html)


def _steps(job: Any, limit: int) -> tuple[Any, bool]:
    """The job's rows, and whether there are more than `limit`."""
    import pyarrow as pa
    from skyband.errors import ConfigError, Problem

    from skyband_compare.comparison.replay_steps import steps_of

    files = job.rows
    if files is None:
        raise ConfigError(Problem("source", "compare reads local files only: copy some rows here first"))
    query = job.query
    if query.gives_states:
        raise ConfigError(Problem("query.emit", "compare needs answers, and these are states: leave it out"))
    columns = list(query.columns)
    schema = pa.schema([files.schema.field(name) for name in columns])
    batches = files.batches(columns)
    rows, cut = 0, False

    def first() -> Iterator[Any]:
        nonlocal rows, cut
        for batch in batches:
            cut = rows + len(batch) > limit
            piece = batch.slice(0, min(limit - rows, len(batch)))
            rows += len(piece)
            yield piece
            if cut:
                return

    with batches.placing():
        return steps_of(query, first(), schema), cut


def _read(job: str, make: Any) -> Any:
    """Call `make`; a problem with the job is reported together with the engine that measures."""
    from skyband.errors import ConfigError
    from skyband_jobs.job.job_error import JobError

    try:
        return make()
    except JobError as error:
        if "--engine spark" in str(error):
            click.echo("compare measures on the local engine:", err=True)
        raise
    except ConfigError as error:
        raise JobError(job, *error.problems) from error


def _subject(query: Any, steps: Any) -> str:
    """The query in one line."""
    import attrs

    skipped = {"by", "delay", *(entry.key for entry in query.inputs()), "time", "queries"}
    keys = [entry.name for entry in attrs.fields(type(query)) if entry.init and entry.name not in skipped]
    phrases = [f"{name} {_integers_of(getattr(query, name))}" for name in keys if getattr(query, name) is not None]
    if hasattr(query, "queries"):
        phrases.append(f"{len(query.queries)} queries")
    if query.by:
        phrases.append(f"by {', '.join(query.by)}")
    return f"{query.kind}: {', '.join(phrases)}; {len(steps.frame):,} rows"


def _integers_of(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else getattr(value, "__name__", str(value))
