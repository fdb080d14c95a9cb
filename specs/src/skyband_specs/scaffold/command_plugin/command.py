"""skyband mine: counts the answers in a Parquet file."""

from pathlib import Path

import click


@click.command(short_help="Count the answers in a Parquet file.")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--at", default="at", show_default=True, help="The column with the moments of the answers.")
def command(file: Path, at: str) -> None:
    """Count the answers in a Parquet file, and the moments that they are of."""
    import pyarrow as pa  # here, so that `skyband --help` does not wait for it
    import pyarrow.parquet as pq

    try:
        answers = pq.read_table(file)
    except pa.ArrowInvalid as error:
        raise click.BadParameter(f"{file} is not a Parquet file: {error}", param_hint="FILE") from error
    if at not in answers.column_names:
        columns = ", ".join(answers.column_names)
        raise click.BadParameter(f"there is no column {at!r}; the file has {columns}", param_hint="--at")
    moments = len(answers.column(at).unique())
    click.echo(f"{len(answers)} answers at {moments} moments")
