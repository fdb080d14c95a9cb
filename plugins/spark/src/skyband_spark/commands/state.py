"""skyband state: shows what the checkpoint of a job's stream contains."""

import json

import click
from skyband_jobs.commands.options import settings


@click.command(short_help="Show what the checkpoint of a stream contains.")
@click.argument("job", type=click.Path(exists=True, dir_okay=False))
@click.option(
    "--set", "sets", metavar="KEY=VALUE", multiple=True, callback=settings,
    help="Change a key of the job, such as sink.checkpoint=other; may be given several times.",
)  # fmt: skip
@click.option("--largest", type=click.IntRange(0), default=10, show_default=True, help="Groups to list.")
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
def command(job: str, sets: tuple[str, ...], largest: int, as_json: bool) -> None:
    """Show how far the stream of JOB has got, how much its checkpoint holds, and the largest groups. Needs Spark.

    The stream may be running: the state shown is that after its last micro-batch.
    """
    import attrs
    from skyband import text_tables
    from skyband_jobs.programs.parsing import read_job

    from skyband_spark.savepoints.checkpoint_summary import checkpoint_state

    checked = read_job(job, sets)
    summary = checkpoint_state(checked, largest)
    if as_json:
        from skyband_jobs.formats.json_rows import json_value

        click.echo(json.dumps(json_value(attrs.asdict(summary)), indent=2, default=str))
        return

    def show(time: int | None) -> str:
        return text_tables.count(time) if checked.query.rows and time is not None else text_tables.moment(time)

    facts = [
        ("made by", f"skyband {summary.made_by}"),
        *((role, backend) for role, backend in summary.backends.items()),
        ("shards", summary.shards),
        ("micro-batches", f"{summary.steps:,}"),
        ("groups", f"{summary.groups:,}"),
        ("retained", f"{summary.retained:,}"),
        ("bytes", text_tables.size(summary.nbytes)),
        ("rows waiting", f"{summary.waiting:,}"),
        ("first row", show(summary.earliest)),
        ("last row", show(summary.latest)),
        ("watermark", show(summary.watermark)),
    ]
    wide = max(len(name) for name, _ in facts)
    for name, value in facts:
        click.echo(f"{name:<{wide}}  {text_tables.visible(str(value))}")
    if summary.largest and checked.query.by:
        click.echo()
        rows = [[*group.values.values(), group.retained, text_tables.size(group.nbytes)] for group in summary.largest]
        text_tables.table([*checked.query.by, "retained", "bytes"], rows)
