"""skyband sigma: makes rules for a job of detections of Sigma's correlations."""

import json
from pathlib import Path

import click


@click.command(short_help="Make rules of Sigma's correlations, for a job of detections.")
@click.argument("paths", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path), metavar="PATH...")
@click.option("--mapping", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE",
              help="TOML: [fields] with the column of each field, and [[logsources]] with product, category, service "
              "and where, the condition of its rows.")  # fmt: skip
@click.option("--any-logsource", is_flag=True, help="All rows are of the log source that a rule asks for.")
@click.option("--edge", is_flag=True,
              help="Answer when a bound is crossed, not at each event and then not for the timespan.")  # fmt: skip
def command(paths: tuple[Path, ...], mapping: Path | None, any_logsource: bool, edge: bool) -> None:
    """Make rules of the correlations in Sigma's files, and in all files .yml of folders, as JSON on stdout.

    The detections that a correlation names become its condition. What cannot be said is refused, by file and key, and
    the exit status is then 1; the other rules are written. What is said differently is noted on stderr. The old end of
    a window is open: an event exactly one timespan old is outside. A field without an entry in --mapping is a column of
    its name. Needs `pip install 'skyband[sigma]'`.
    """
    from skyband_detect.sigma.correlation import Correlations
    from skyband_detect.sigma.documents import Library, documents_of
    from skyband_detect.sigma.mapping import read_mapping
    from skyband_detect.sigma.refusals import RefusedError

    library = Library(documents_of(paths))
    correlations = Correlations(library, read_mapping(mapping, any_logsource), edge)
    documents = [document for document in library.documents if document.is_correlation]
    if not documents:
        raise click.ClickException(
            "none of these files has a correlation rule: add the files with `correlation` to the paths"
        )
    rules, names, refused = [], set[str](), 0
    for document in documents:
        try:
            translation = correlations.rule_of(document)
            if document.title in names:
                raise RefusedError("name", f"{document.title!r} is the name of another correlation too")
        except RefusedError as error:
            refused += 1
            click.echo(f"{document.place}: {error}", err=True)
            continue
        names.add(document.title)
        rules.append(translation.rule)
        for note in translation.notes:
            click.echo(f"note: {document.place}: {note}", err=True)
    click.echo(json.dumps(rules, indent=2, ensure_ascii=False))
    click.echo(f"{len(rules)} rule{'' if len(rules) == 1 else 's'} made, {refused} refused", err=True)
    if refused:
        raise click.exceptions.Exit(1)
